#include "analyze/pace/slow_rank_parts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "model/json.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

struct Data {
  std::vector<std::int64_t> iterations;
  std::vector<double> iteration_ms;
  std::vector<PartSeries> parts;
  SlowParts ask(std::int64_t first, std::int64_t last) const {
    return slow_rank_parts({iterations, parts, iteration_ms, first, last});
  }
};

// metrics/rank_N.jsonl of a bundle of the corpus.
Data read_bundle(const std::string& name) {
  Data d;
  const std::filesystem::path folder =
      std::filesystem::path(CULPRIT_SHARED_DIR) / "bundles" / name / "bundle" / "metrics";
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    std::ifstream in(folder / ("rank_" + std::to_string(rank) + ".jsonl"));
    std::map<std::string, PartSeries> series;
    for (std::string line; std::getline(in, line);) {
      const auto row = nlohmann::json::parse(line);
      if (rank == 0) {
        d.iterations.push_back(row["iteration"]);
        d.iteration_ms.push_back(row["iter_ms"]);
      }
      for (const auto& [key, value] : row.items())
        if (key.ends_with("_ms")) {
          PartSeries& s = series[key];
          s.rank = Rank(rank);
          s.name = key;
          s.ms.push_back(value);
        }
    }
    for (auto& [key, s] : series) d.parts.push_back(std::move(s));
  }
  return d;
}

TEST(SlowRankParts, NamesOfParts) {
  for (const char* own :
       {"compute_ms", "data_ms", "forward-compute-time", "data_loader", "Backward (ms)",
        "optimizer", "batch-generator", "forward_backward_compute"})
    EXPECT_EQ(part_kind(own), PartKind::own) << own;
  for (const char* waiting :
       {"grad_sync_ms", "comm", "all_reduce_time", "allreduce", "recv", "p2p_wait",
        "backward-send-forward-recv", "nccl_ms", "backward_allreduce"})
    EXPECT_EQ(part_kind(waiting), PartKind::waiting) << waiting;
  for (const char* mixed :
       {"fwd_bwd_ms", "forward-backward", "iter_ms", "step_time", "foo", "", "ms"})
    EXPECT_EQ(part_kind(mixed), PartKind::mixed) << mixed;
}

TEST(SlowRankParts, TheSlowRankOfARealJob) {
  if (std::string(CULPRIT_SHARED_DIR).empty()) GTEST_SKIP();
  const Data d = read_bundle("failslow-a");
  ASSERT_EQ(d.iterations.size(), 420u);
  const SlowParts s = d.ask(150, 299);
  EXPECT_EQ(s.answer, SlowPartsAnswer::ranks) << report::words(s.why);
  EXPECT_EQ(s.ranks, Ranks{6});
  EXPECT_EQ(s.part, "compute_ms");
  EXPECT_NEAR(s.excess_ms, 60, 5);
  EXPECT_GT(s.explains, 0.8);
  // Half of it, a part of it, and with borders that are not exact.
  for (const auto& [a, b] : {std::pair(150, 200), std::pair(250, 270), std::pair(140, 310)})
    EXPECT_EQ(d.ask(a, b).ranks, Ranks{6}) << a << " " << report::words(d.ask(a, b).why);
  EXPECT_EQ(d.ask(1, 149).answer, SlowPartsAnswer::nobody) << report::words(d.ask(1, 149).why);
  EXPECT_EQ(d.ask(300, 420).answer, SlowPartsAnswer::nobody) << report::words(d.ask(300, 420).why);
}

TEST(SlowRankParts, NobodyInAHealthyJob) {
  if (std::string(CULPRIT_SHARED_DIR).empty()) GTEST_SKIP();
  const Data d = read_bundle("clean-a");
  for (std::int64_t a = 1; a < 240; a += 20)
    for (const std::int64_t length : {10, 30, 60, 120, 240})
      EXPECT_NE(d.ask(a, a + length).answer, SlowPartsAnswer::ranks)
          << a << " " << length << ": " << report::words(d.ask(a, a + length).why);
}

// Ranks compute 50 ms with some noise; the step ends when all are done. `slow` has so many ms more
// in iterations 100..199.
Data job(std::int64_t ranks, const std::map<std::int64_t, double>& slow, double everybody = 0,
         unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 1.5);
  Data d;
  std::map<std::int64_t, PartSeries> own, waits;
  for (std::int64_t i = 0; i < 300; ++i) {
    const bool in = i >= 100 && i < 200;
    std::vector<double> compute;
    for (std::int64_t r = 0; r < ranks; ++r)
      compute.push_back(50 + noise(random) +
                        (in ? everybody + (slow.count(r) ? slow.at(r) : 0) : 0));
    const double last = *std::max_element(compute.begin(), compute.end());
    d.iterations.push_back(i);
    d.iteration_ms.push_back(last + 10);
    for (std::int64_t r = 0; r < ranks; ++r) {
      own[r].ms.push_back(compute[static_cast<std::size_t>(r)]);
      waits[r].ms.push_back(last + 10 - compute[static_cast<std::size_t>(r)]);
    }
  }
  for (std::int64_t r = 0; r < ranks; ++r) {
    own[r].rank = waits[r].rank = Rank(r);
    own[r].name = "forward_ms";
    waits[r].name = "all_reduce_ms";
    d.parts.push_back(own[r]);
    d.parts.push_back(waits[r]);
  }
  return d;
}

// A part of which the name says nothing is work where it makes up for the waiting.
TEST(SlowRankParts, APartOfUnknownKindThatMakesUpForTheWaiting) {
  Data d = job(8, {{5, 30}});
  for (PartSeries& p : d.parts)
    if (p.name == "forward_ms") p.name = "vorne";
  const SlowParts s = d.ask(100, 199);
  EXPECT_EQ(s.ranks, Ranks{5}) << report::words(s.why);
  EXPECT_EQ(s.part, "vorne");
  // One that does not, as what is counted since the start, says nothing.
  for (PartSeries& p : d.parts)
    if (p.name == "vorne")
      for (std::size_t i = 0; i < p.ms.size(); ++i)
        p.ms[i] = 10.0 * static_cast<double>(number_of(p.rank)) + 3;
  EXPECT_NE(d.ask(100, 199).answer, SlowPartsAnswer::ranks);
}

// Where no part tells of waiting, the ranks wait in the work at whose end they meet.
TEST(SlowRankParts, WhereTheRanksMeetTheyWait) {
  Data d = job(16, {{5, 30}});
  std::erase_if(d.parts, [](const PartSeries& p) { return p.name != "forward_ms"; });
  const std::vector<PartSeries> own = d.parts;
  for (PartSeries p : own) {
    p.name = "bwd_ms";
    for (std::size_t i = 0; i < p.ms.size(); ++i) p.ms[i] = d.iteration_ms[i] - p.ms[i];
    d.parts.push_back(p);
  }
  const SlowParts s = d.ask(100, 199);
  EXPECT_EQ(s.ranks, Ranks{5}) << report::words(s.why);
  EXPECT_EQ(s.part, "forward_ms");
}

// Where nobody tells how long the iterations were, the parts do.
TEST(SlowRankParts, WithoutTheTimesOfIterations) {
  Data d = job(8, {{5, 30}});
  for (double& ms : d.iteration_ms) ms = std::nan("");
  const SlowParts s = d.ask(100, 199);
  EXPECT_EQ(s.ranks, Ranks{5}) << report::words(s.why);
  EXPECT_NEAR(s.iteration_ms, 92, 4);
}

TEST(SlowRankParts, BothRanksOfATensorPair) {
  const SlowParts s = job(16, {{4, 30}, {5, 33}}).ask(100, 199);
  EXPECT_EQ(s.ranks, (Ranks{4, 5})) << report::words(s.why);
  EXPECT_GT(s.explains, 0.8);
  EXPECT_EQ(job(8, {{2, 30}, {3, 31}}).ask(100, 199).ranks, (Ranks{2, 3}));
}

// Timers that are printed once inside and once outside, of all ranks.
TEST(SlowRankParts, OneReadingOfManyRanksTellsWhereSeveralStandOut) {
  const auto once = [](const Data& d) {
    Data out = d;
    for (PartSeries& p : out.parts)
      for (std::size_t i = 0; i < p.ms.size(); ++i)
        if (i != 50 && i != 150) p.ms[i] = std::nan("");
    return out;
  };
  std::map<std::int64_t, double> machine;
  for (std::int64_t rank = 8; rank < 16; ++rank) machine[rank] = 30;
  const SlowParts s = once(job(32, machine)).ask(100, 199);
  EXPECT_EQ(s.answer, SlowPartsAnswer::ranks) << report::words(s.why);
  EXPECT_EQ(s.ranks.size(), 8u);
  EXPECT_EQ(once(job(32, {{4, 30}})).ask(100, 199).ranks, Ranks{4})
      << "it is what all steps of the interval take longer";
  Data bad = once(job(32, {{4, 30}}));
  for (std::size_t i = 100; i < 200; ++i) bad.iteration_ms[i] += 30;
  EXPECT_NE(bad.ask(100, 199).answer, SlowPartsAnswer::ranks)
      << "a single rank may have had one bad step";
}

// Somebody looked once, while it was slow: what one has more to do than the others is what the
// steps grew by.
TEST(SlowRankParts, OneLookThatExplainsHowMuchStepsGrew) {
  Data d;
  for (std::int64_t i = 0; i < 40; ++i) {
    d.iterations.push_back(i);
    d.iteration_ms.push_back(i < 20 ? 2000 : 3200);
  }
  const auto look = [&](double more, const char* name) {
    d.parts.clear();
    for (std::int64_t rank = 0; rank < 16; ++rank) {
      PartSeries part{Rank(rank), name, std::vector<double>(40, std::nan(""))};
      part.ms.back() = 1500 + static_cast<double>(rank % 3) + (rank == 5 ? more : 0);
      d.parts.push_back(std::move(part));
    }
    return d.ask(20, 39);
  };
  EXPECT_EQ(look(1200, "compute_ms").ranks, std::vector<Rank>{Rank(5)});
  EXPECT_EQ(look(1200, "fwd_bwd_ms").ranks, std::vector<Rank>{Rank(5)});
  EXPECT_TRUE(look(300, "compute_ms").ranks.empty());   // the steps grew by much more
  EXPECT_TRUE(look(6000, "compute_ms").ranks.empty());  // ... or by much less
}

TEST(SlowRankParts, ASharedCause) {
  const SlowParts s = job(16, {}, 25).ask(100, 199);
  EXPECT_EQ(s.answer, SlowPartsAnswer::shared) << report::words(s.why);
  EXPECT_TRUE(s.ranks.empty());
}

TEST(SlowRankParts, LongerWorkThatNobodyWaitsForIsNoCause) {
  Data d = job(8, {{3, 20}});
  for (double& ms : d.iteration_ms) ms = 120;  // it hides behind something else
  EXPECT_EQ(d.ask(100, 199).answer, SlowPartsAnswer::nobody);
  Data waits = job(8, {{3, 20}});
  for (PartSeries& p : waits.parts)
    if (p.rank == Rank(3) && p.name == "all_reduce_ms")
      for (std::size_t i = 100; i < 200; ++i) p.ms[i] = 200;
  EXPECT_EQ(waits.ask(100, 199).answer, SlowPartsAnswer::nobody)
      << report::words(waits.ask(100, 199).why);
}

TEST(SlowRankParts, WithoutAnOutside) {
  const SlowParts s = job(8, {{3, 30}}).ask(0, 1000);
  EXPECT_FALSE(s.against_outside);
  EXPECT_NE(s.answer, SlowPartsAnswer::not_enough);
  const Data d = job(8, {{3, 30}});
  Data only = d;
  only.iterations.assign(d.iterations.begin() + 100, d.iterations.begin() + 200);
  only.iteration_ms.assign(d.iteration_ms.begin() + 100, d.iteration_ms.begin() + 200);
  for (PartSeries& p : only.parts)
    p.ms = std::vector<double>(p.ms.begin() + 100, p.ms.begin() + 200);
  EXPECT_EQ(only.ask(100, 199).ranks, Ranks{3}) << report::words(only.ask(100, 199).why);
}

TEST(SlowRankParts, NotEnough) {
  EXPECT_EQ(slow_rank_parts({}).answer, SlowPartsAnswer::not_enough);
  EXPECT_EQ(job(2, {{1, 30}}).ask(100, 199).answer, SlowPartsAnswer::not_enough);
  EXPECT_EQ(job(7, {{1, 30}}).ask(100, 102).answer, SlowPartsAnswer::not_enough);
  EXPECT_EQ(job(8, {{1, 30}}).ask(500, 600).answer, SlowPartsAnswer::not_enough);
  Data d = job(8, {{1, 30}});
  for (PartSeries& p : d.parts)
    for (double& ms : p.ms) ms = std::nan("");
  EXPECT_EQ(d.ask(100, 199).answer, SlowPartsAnswer::not_enough);
  Data shorter = job(8, {{1, 30}});
  for (PartSeries& p : shorter.parts) p.ms.resize(150);  // rows that a crash cut off
  EXPECT_EQ(shorter.ask(100, 199).ranks, Ranks{1});
}

RC_GTEST_PROP(SlowRankParts, NoiseAccusesNobody, (unsigned seed)) {
  const Data d = job(4 + seed % 60, {}, 0, seed);
  RC_ASSERT(d.ask(100, 199).answer == SlowPartsAnswer::nobody);
  RC_ASSERT(d.ask(20, 30).answer == SlowPartsAnswer::nobody);
}

}  // namespace
}  // namespace culprit::analyze
