// Ranks are placed by their neighbours only where all of them stand in blocks.
#include "analyze/facts/rank_blocks.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

std::map<Rank, RankRow> ranks_on(std::int64_t size, std::int64_t world,
                                 const std::set<int>& without) {
  std::map<Rank, RankRow> out;
  for (std::int64_t r = 0; r < world; ++r) {
    RankRow& row = out[Rank(r)];
    row.rank = Rank(r);
    if (without.count(static_cast<int>(r)) == 0) row.host = Host("cx-" + std::to_string(r / size));
  }
  return out;
}

TEST(RankBlocks, TheSilentRankIsWhereItsNeighboursAre) {
  auto ranks = ranks_on(8, 32, {21});
  place_by_blocks(ranks, 32);
  EXPECT_EQ(ranks[Rank(21)].host, Host("cx-2"));
  EXPECT_EQ(ranks[Rank(21)].source, ", by the ranks of its block");
}

TEST(RankBlocks, NothingWhereTheBlocksAreNotSure) {
  auto mixed = ranks_on(8, 32, {21});
  mixed[Rank(22)].host = Host("cx-3");
  place_by_blocks(mixed, 32);
  EXPECT_FALSE(mixed[Rank(21)].host) << "two machines in one block";
  auto thin = ranks_on(8, 32, {17, 18, 19, 20, 21, 23});
  place_by_blocks(thin, 32);
  EXPECT_FALSE(thin[Rank(21)].host) << "less than half of the block is known";
  auto ends = ranks_on(8, 16, {1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14});
  place_by_blocks(ends, 16);
  EXPECT_EQ(ends[Rank(9)].host, Host("cx-1")) << "both ends of each block are known";
  auto unknown = ranks_on(8, 32, {21});
  place_by_blocks(unknown, 0);
  EXPECT_FALSE(unknown[Rank(21)].host) << "how many ranks there are is not known";
  auto one = ranks_on(8, 8, {3});
  place_by_blocks(one, 8);
  EXPECT_FALSE(one[Rank(3)].host) << "one machine makes no blocks";
}

}  // namespace
}  // namespace culprit::analyze
