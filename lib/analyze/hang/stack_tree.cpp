#include "analyze/hang/stack_tree.hpp"

#include <algorithm>
#include <iterator>

#include "model/sort.hpp"

namespace culprit::analyze {

StackTree::StackTree(const std::vector<std::vector<std::uint32_t>>& stacks,
                     std::vector<Leaf> leaves)
    : leaves_(std::move(leaves)) {
  // Frames are numbered in the order in which the input has them; the tree must not depend on it.
  // So children go by their lowest rank: leaves by lowest rank first, and frames by the first leaf
  // that has them. That is not yet lexicographic; sorting by "where was this prefix first seen" is,
  // and one pass over a trie does it.
  sort_rows(leaves_, [](const Leaf& a, const Leaf& b) {
    constexpr Rank kAfterAll{INT64_MAX};
    const Rank ra = a.ranks.empty() ? kAfterAll : a.ranks.front(),
               rb = b.ranks.empty() ? kAfterAll : b.ranks.front();
    return ra != rb ? ra < rb : a.stack < b.stack;
  });
  const std::size_t n = leaves_.size();
  // Leaves lexicographic by frame index bring equal prefixes together ...
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  const auto stack = [&](std::uint32_t leaf) -> const std::vector<std::uint32_t>& {
    return stacks[leaves_[leaf].stack];
  };
  sort_by(order, [&](std::uint32_t a) { return stack(a); });

  // ... then blocks of equal prefixes are put into the order of their first leaf, level by level,
  // and written down in preorder. An explicit list of work: stacks are as deep as the input says.
  struct Block {
    std::uint32_t begin, end, depth;
  };
  std::vector<Block> work{{0, static_cast<std::uint32_t>(n), 0}}, children;
  std::vector<Leaf> sorted;
  sorted.reserve(n);
  nodes_.reserve(n + 1);
  std::vector<std::uint32_t> least(n);
  while (!work.empty()) {
    const Block block = work.back();
    work.pop_back();
    Node node;
    node.depth = block.depth;
    if (block.depth > 0) node.frame = stack(order[block.begin])[block.depth - 1];
    node.first_leaf = static_cast<std::uint32_t>(sorted.size());
    node.last_leaf = node.first_leaf + (block.end - block.begin);
    nodes_.push_back(node);
    std::uint32_t at = block.begin;
    // Stacks that end here are shorter and therefore first.
    while (at < block.end && stack(order[at]).size() == block.depth)
      sorted.push_back(std::move(leaves_[order[at++]]));
    children.clear();
    while (at < block.end) {
      std::uint32_t next = at;
      const std::uint32_t frame = stack(order[at])[block.depth];
      std::uint32_t first = order[at];
      while (next < block.end && stack(order[next])[block.depth] == frame)
        first = std::min(first, order[next++]);
      least[at] = first;
      children.push_back({at, next, block.depth + 1});
      at = next;
    }
    // The last pushed is visited first.
    sort_rows(children,
              [&](const Block& a, const Block& b) { return least[a.begin] > least[b.begin]; });
    work.insert(work.end(), children.begin(), children.end());
  }
  leaves_ = std::move(sorted);
  // A node ends where the next one of its depth or less begins.
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    while (!open.empty() && nodes_[open.back()].depth >= nodes_[i].depth) {
      nodes_[open.back()].end = i;
      open.pop_back();
    }
    open.push_back(i);
  }
  for (const std::uint32_t i : open) nodes_[i].end = static_cast<std::uint32_t>(nodes_.size());
  lengths_.reserve(n);
  for (const Leaf& leaf : leaves_)
    lengths_.push_back(static_cast<std::uint32_t>(stacks[leaf.stack].size()));
}

std::vector<Rank> StackTree::ranks(std::uint32_t node) const {
  std::vector<Rank> out;
  for (std::uint32_t leaf = nodes_[node].first_leaf; leaf < nodes_[node].last_leaf; ++leaf)
    out.insert(out.end(), leaves_[leaf].ranks.begin(), leaves_[leaf].ranks.end());
  sort_unique(out);
  return out;
}

std::vector<Rank> StackTree::lacking(std::uint32_t node) const {
  const auto all = ranks(0), has = ranks(node);
  std::vector<Rank> out;
  std::set_difference(all.begin(), all.end(), has.begin(), has.end(), std::back_inserter(out));
  return out;
}

std::uint64_t StackTree::processes(std::uint32_t node) const {
  std::uint64_t n = 0;
  for (std::uint32_t leaf = nodes_[node].first_leaf; leaf < nodes_[node].last_leaf; ++leaf)
    n += leaves_[leaf].processes;
  return n;
}

bool StackTree::ends_here(std::uint32_t node) const {
  return nodes_[node].first_leaf < nodes_[node].last_leaf &&
         lengths_[nodes_[node].first_leaf] == nodes_[node].depth;
}

}  // namespace culprit::analyze
