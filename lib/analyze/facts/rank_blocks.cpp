// Places of ranks whose own machine nothing names, by the ranks around them.
#include "analyze/facts/rank_blocks.hpp"

#include <set>
#include <vector>

namespace culprit::analyze {

void place_by_blocks(std::map<Rank, RankRow>& ranks, std::int64_t world) {
  std::set<Host> hosts;
  for (const auto& [rank, row] : ranks)
    if (row.host) hosts.insert(*row.host);
  const auto blocks = static_cast<std::int64_t>(hosts.size());
  constexpr std::int64_t kMostRanks = 1'000'000;
  if (blocks < 2 || world < blocks || world > kMostRanks || world % blocks != 0) return;
  const std::int64_t size = world / blocks;
  struct Block {
    std::optional<Host> host;
    std::int64_t known = 0;
    bool first = false, last = false;
  };
  std::vector<Block> of(hosts.size());
  for (const auto& [rank, row] : ranks) {
    if (!row.host) continue;
    if (!is_rank_of(world, rank)) return;
    Block& block = of[static_cast<std::size_t>(number_of(rank) / size)];
    if (block.host && *block.host != *row.host) return;  // not in blocks
    block.host = row.host;
    ++block.known;
    block.first = block.first || number_of(rank) % size == 0;
    block.last = block.last || number_of(rank) % size == size - 1;
  }
  for (const Block& block : of)
    if (!block.host || hosts.erase(*block.host) == 0 ||
        (2 * block.known < size && !(block.first && block.last)))
      return;
  for (std::int64_t r = 0; r < world; ++r) {
    const auto [at, unheard] = ranks.try_emplace(Rank(r));
    RankRow& row = at->second;
    if (row.host) continue;
    row.rank = Rank(r);
    row.host = of[static_cast<std::size_t>(r / size)].host;
    row.source += unheard ? "the ranks of its block" : ", by the ranks of its block";
  }
}

}  // namespace culprit::analyze
