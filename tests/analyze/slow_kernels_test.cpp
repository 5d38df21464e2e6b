#include "analyze/pace/slow_kernels.hpp"

#include <gtest/gtest.h>

#include <random>

namespace culprit::analyze {
namespace {

// Eight ranks that launch the same three kernels; their launches take what `slower` says.
std::vector<KernelTime> eight_ranks(unsigned seed, int slow, double factor, double launches = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<KernelTime> out;
  for (int rank = 0; rank < 8; ++rank) {
    const double mine = (rank == slow ? factor : 1) * noise(random);
    const double many = rank == slow ? launches : 1;
    out.push_back({Rank(rank), "gemm", 60 * mine * many, 120 * many});
    out.push_back({Rank(rank), "flash", 30 * mine * many, 40 * many});
    out.push_back({Rank(rank), "norm", 10 * mine * many, 240 * many});
  }
  return out;
}

TEST(SlowKernels, SlowerAtTheSameWork) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto times = eight_ranks(seed, static_cast<int>(seed % 8), 1.2 + 0.02 * seed);
    for (int rank = 0; rank < 8; ++rank) {
      const auto found = slow_kernels(times, Rank(rank));
      EXPECT_EQ(found.has_value(), rank == static_cast<int>(seed % 8)) << seed << " " << rank;
    }
    EXPECT_NEAR(slow_kernels(times, Rank(seed % 8))->factor, 1.2 + 0.02 * seed, 0.06);
    EXPECT_EQ(slow_kernels(times, Rank(seed % 8))->kernel, "gemm");
  }
}

TEST(SlowKernels, MoreWorkIsNoSlowerDevice) {
  EXPECT_FALSE(slow_kernels(eight_ranks(1, 3, 1.0, 1.5), Rank(3)));
  EXPECT_FALSE(slow_kernels(eight_ranks(1, 3, 1.5, 1.5), Rank(3)));  // cannot be told apart
  // Another kernel, which the others do not launch.
  auto times = eight_ranks(1, 3, 1.3);
  times.push_back({Rank(3), "a reward model", 400, 9});
  EXPECT_FALSE(slow_kernels(times, Rank(3)));
}

TEST(SlowKernels, OneKernelAloneHasMoreToDo) {
  auto times = eight_ranks(1, 3, 1.0);
  for (KernelTime& one : times)
    if (one.rank == Rank(3) && one.kernel == "gemm") one.ms *= 1.4;
  EXPECT_FALSE(slow_kernels(times, Rank(3))) << "experts, sequences of other lengths";
}

TEST(SlowKernels, NothingBelowATenthNorBesideAnotherThatIsNear) {
  EXPECT_FALSE(slow_kernels(eight_ranks(1, 3, 1.05), Rank(3)));
  auto times = eight_ranks(1, 3, 1.5);
  for (KernelTime& one : times)
    if (one.rank == Rank(5)) one.ms *= 1.4;
  EXPECT_FALSE(slow_kernels(times, Rank(3)));
}

TEST(SlowKernels, NeedsThreeOthers) {
  auto times = eight_ranks(1, 3, 1.5);
  std::erase_if(times, [](const KernelTime& one) { return number_of(one.rank) > 3; });
  EXPECT_TRUE(slow_kernels(times, Rank(3)));
  std::erase_if(times, [](const KernelTime& one) { return one.rank == Rank(0); });
  EXPECT_FALSE(slow_kernels(times, Rank(3)));
}

}  // namespace
}  // namespace culprit::analyze
