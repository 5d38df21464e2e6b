// Many stacks as one tree, outermost frame first: who shares which way into the program.
//
// Leaves stand in the order of the tree, so that a node is a range of leaves and needs no set of
// its own: memory is in proportion to distinct stacks, whatever the number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "model/rank.hpp"

namespace culprit::analyze {

class StackTree {
 public:
  struct Node {
    std::uint32_t frame = 0;  // index of a name; the root has none
    std::uint32_t depth = 0;  // 0: the root
    std::uint32_t end =
        0;  // index behind the last node below; the first child stands right behind its parent
    std::uint32_t first_leaf = 0, last_leaf = 0;  // a half-open range
  };
  struct Leaf {
    std::uint32_t stack = 0;      // index of a normal stack
    std::vector<Rank> ranks;      // sorted, unique
    std::uint64_t processes = 0;  // with those of unknown rank
  };

  StackTree() = default;
  // `stacks` outermost first; each leaf's stack is an index into them. Leaves of equal stacks must
  // have been merged.
  StackTree(const std::vector<std::vector<std::uint32_t>>& stacks, std::vector<Leaf> leaves);

  // Preorder; nodes()[0] is the root, children in the order of their ranks: the lowest first.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  std::vector<Rank> ranks(std::uint32_t node) const;
  // The ranks of the tree that do not come through here.
  std::vector<Rank> lacking(std::uint32_t node) const;
  std::uint64_t processes(std::uint32_t node) const;
  // Ranks whose stack ends here.
  bool ends_here(std::uint32_t node) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> lengths_;  // of the leaves' stacks
};

}  // namespace culprit::analyze
