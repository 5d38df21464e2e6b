// Work that is unequal by what the ranks are given, and work of one rank that is slow.
#include "analyze/pace/unequal_load.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace culprit::analyze {
namespace {

// Sixteen ranks; who was given most is another one in each iteration.
struct Job {
  std::vector<std::int64_t> iterations;
  std::vector<PartSeries> parts, loads;
  std::vector<double> iteration_ms;

  explicit Job(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) iterations.push_back(static_cast<std::int64_t>(i));
    iteration_ms.assign(n, 1000);
    for (int rank = 0; rank < 16; ++rank) {
      PartSeries work{Rank(rank), "compute_ms", {}}, wait{Rank(rank), "all_reduce_ms", {}},
          load{Rank(rank), "tokens", {}};
      for (std::size_t i = 0; i < n; ++i) {
        const auto turn = (rank * 7 + static_cast<int>(i) * 5) % 16;
        const double tokens = 4000 + turn * 200.0;
        load.ms.push_back(tokens);
        work.ms.push_back(tokens / 10);
        wait.ms.push_back(1000 - tokens / 10);
      }
      parts.push_back(work);
      parts.push_back(wait);
      loads.push_back(load);
    }
  }
  std::optional<UnequalLoad> ask(std::span<const PartSeries> of_loads) const {
    return unequal_load({iterations, parts, iteration_ms, 0, iterations.back()}, of_loads);
  }
};

TEST(UnequalLoad, IsFollowedByTheWork) {
  const Job job(20);
  const auto found = job.ask(job.loads);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->load, "tokens");
  EXPECT_GT(found->correlation, 0.99);
  EXPECT_EQ(found->part, "compute_ms");
  EXPECT_NEAR(found->excess_ms, 150, 20);
}

TEST(UnequalLoad, OfAFixedRankThatDoesNoMoreThanItWasGivenIsNobodys) {
  Job job(4);
  for (PartSeries& p : job.parts)
    if (p.rank == Rank(3)) p.ms.assign(4, p.name == "compute_ms" ? 900 : 100);
  for (PartSeries& p : job.loads)
    if (p.rank == Rank(3)) p.ms.assign(4, 9000);
  const auto found = job.ask(job.loads);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->load, "tokens");
}

TEST(UnequalLoad, WandersWhereNothingTellsOfIt) {
  Job job(32);
  for (PartSeries& p : job.parts)
    for (std::size_t i = 0; i < p.ms.size(); ++i) {
      const bool turn = i % 16 == static_cast<std::size_t>(number_of(p.rank));
      p.ms[i] = (p.name == "compute_ms") == turn ? 700 : 300;
    }
  const auto found = job.ask({});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->load.empty());
  EXPECT_LE(found->leads, 0.25);
}

TEST(UnequalLoad, OfOneRankThatIsAlwaysTheSlowestIsAnotherMatter) {
  Job job(32);
  for (PartSeries& p : job.parts)
    p.ms.assign(32, (p.name == "compute_ms") == (p.rank == Rank(5)) ? 700 : 300);
  EXPECT_FALSE(job.ask({}));
  EXPECT_FALSE(job.ask(job.loads)) << "it was given no more";
}

// A part that may hold both is work where it makes up for the waiting in most iterations.
TEST(UnequalLoad, InAPartThatMayHoldBoth) {
  Job job(20);
  for (PartSeries& p : job.parts)
    if (p.name == "compute_ms") p.name = "fwd_bwd_ms";
  const auto found = job.ask(job.loads);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->part, "fwd_bwd_ms");
}

TEST(UnequalLoad, OfFewRanksOrReadingsSaysNothing) {
  Job job(1);
  EXPECT_FALSE(job.ask(job.loads));
  Job few(20);
  few.parts.resize(8);
  EXPECT_FALSE(few.ask(few.loads));
}

}  // namespace
}  // namespace culprit::analyze
