#include "ingest/engine/scan.hpp"

#include <gtest/gtest.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

// The search looks at every third byte only because no word is shorter than six letters: one that
// is slows it for all.
TEST(Scanner, NoWordIsSoShortThatItSlowsTheOthers) {
  const Scanner scanner(test::pack());
  EXPECT_GE(scanner.stride(), 3u);
}

// Lines for recognisers are left to who reads them; those with a rule's word come with what the
// rules said.
TEST(Scanner, OnlyLinesWithARulesWordArePeeled) {
  const Scanner scanner(test::pack());
  const BlockScan scan = scanner.scan(
      "[2026-02-01 10:00:00,000] [INFO] [Rank 0] step=10, skipped=0, lr=[0.1], mom=[[0.9, 0.95]]\n"
      "nothing\n"
      "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
      "", {}, true);
  ASSERT_EQ(scan.candidates.size(), 2u);
  EXPECT_EQ(scan.newlines, 3u);
  EXPECT_EQ(scan.candidates[0].judged, nullptr);
  EXPECT_FALSE(scan.candidates[0].recognisers.empty());
  ASSERT_NE(scan.candidates[1].judged, nullptr);
  EXPECT_EQ(scan.candidates[1].newlines_before, 2u);
  EXPECT_EQ(scan.candidates[1].judged->line.prefix.rank, Rank(3));
  EXPECT_TRUE(scan.candidates[1].judged->match.has_value());
}

}  // namespace
}  // namespace culprit::ingest
