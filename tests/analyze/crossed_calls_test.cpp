// Ranks that wait for each other in different collectives of one group, by hand.
#include "analyze/hang/crossed_calls.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

std::vector<Rank> ranks(std::initializer_list<std::int64_t> numbers) {
  std::vector<Rank> out;
  for (const std::int64_t n : numbers) out.push_back(Rank(n));
  return out;
}

TEST(CrossedCalls, OneRankEvaluatesWhileTheOthersAreInABarrier) {
  const auto crossed = crossed_calls({{"dp/0", "all_gather", ranks({0}), ranks({1, 2, 3})},
                                      {"dp/0", "barrier", ranks({1, 2, 3}), ranks({0})}});
  ASSERT_TRUE(crossed);
  EXPECT_EQ(crossed->ranks, ranks({0}));
  EXPECT_EQ(crossed->others, ranks({1, 2, 3}));
  EXPECT_EQ(crossed->operation, "all_gather");
  EXPECT_EQ(crossed->operation_of_others, "barrier");
}

TEST(CrossedCalls, TwoGroupsDoNotCross) {
  EXPECT_FALSE(crossed_calls({{"tp/0", "all_reduce", ranks({0}), ranks({1})},
                              {"dp/0", "barrier", ranks({1, 2}), ranks({0})}}));
}

TEST(CrossedCalls, SendsAndReceivesCrossByDesign) {
  EXPECT_FALSE(crossed_calls(
      {{"pp/0", "send", ranks({0}), ranks({1, 2})}, {"pp/0", "recv", ranks({1, 2}), ranks({0})}}));
}

TEST(CrossedCalls, AsManyOnEitherSideNameNobody) {
  EXPECT_FALSE(crossed_calls({{"dp/0", "all_gather", ranks({0, 1}), ranks({2, 3})},
                              {"dp/0", "barrier", ranks({2, 3}), ranks({0, 1})}}));
}

TEST(CrossedCalls, TheBranchIsTheFirstFrameFromOutsideThatDiffers) {
  StackTable table;
  const auto frame = [&](const char* function, const char* file, std::int64_t line) {
    Frame f;
    f.function = function;
    f.file = file;
    f.line = line;
    table.frames.push_back(f);
    return static_cast<std::uint32_t>(table.frames.size() - 1);
  };
  const auto module = frame("<module>", "train.py", 402), loop = frame("train", "train.py", 351),
             after = frame("train", "train.py", 352), eval = frame("run_eval", "hook.py", 66),
             barrier = frame("barrier", "torch/distributed/distributed_c10d.py", 4628);
  table.stacks = {{eval, loop, module}, {barrier, after, module}, {module}};
  EXPECT_EQ(branch_of(table, 0, 1), static_cast<std::int32_t>(loop));
  EXPECT_EQ(branch_of(table, 2, 0), -1);
}

}  // namespace
}  // namespace culprit::analyze
