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
  if (blocks < 2 || world < blocks || world % blocks != 0) return;
  const std::int64_t size = world / blocks;
  struct Block {
    std::optional<Host> host;
    std::int64_t known = 0;
  };
  std::vector<Block> of(hosts.size());
  for (const auto& [rank, row] : ranks) {
    if (!row.host) continue;
    if (!is_rank_of(world, rank)) return;
    Block& block = of[static_cast<std::size_t>(number_of(rank) / size)];
    if (block.host && *block.host != *row.host) return;  // not in blocks
    block.host = row.host;
    ++block.known;
  }
  for (const Block& block : of)
    if (!block.host || hosts.erase(*block.host) == 0 || 2 * block.known < size) return;
  for (auto& [rank, row] : ranks) {
    if (row.host || !is_rank_of(world, rank)) continue;
    row.host = of[static_cast<std::size_t>(number_of(rank) / size)].host;
    row.source += ", by the ranks of its block";
  }
}

}  // namespace culprit::analyze
