// Timing the links of a ring or tree in a few passes of transfers between two (GREYHOUND §4.3,
// figure 10): every link is in exactly one pass, and nobody is in two transfers of a pass. All
// transfers have the same size, so the slow link is the one that takes longer than the others.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct Link {
  std::size_t from = 0, to = 0;  // positions in the list of members
  auto operator<=>(const Link&) const = default;
};

struct Pass {
  std::string what;         // "even to odd", "left children on even levels to their parents"
  std::vector<Link> links;  // by sender
};

// A ring in the order of its members, 0 to 1 to ... to 0: two passes when their number is even,
// three when it is odd, none below two.
std::vector<Pass> ring_passes(std::size_t members);

inline constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);

// A tree by the parent of each member, kNoParent for the root: left, then right children on even
// levels, then those on odd levels, each to its parent. Four passes at most when nobody has more
// than two children, else two for each. Of several children the one with the lowest position is the
// left one. Passes without a link are left out. Errors (usage): no root, several roots, a parent
// that is no member, a cycle.
Result<std::vector<Pass>> tree_passes(std::span<const std::size_t> parents);

// The two trees that NCCL makes of members in this order, as parents: each is a leaf in one of them
// at least, so that both together use the bandwidth of all. The second is the first one mirrored
// (an even number of members) or shifted by one.
std::vector<std::vector<std::size_t>> double_binary_tree(std::size_t members);

}  // namespace culprit::plan
