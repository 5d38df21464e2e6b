#include "plan/links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

// The first tree: a member's level is the lowest bit of its position, and its parent has the next
// higher bit instead.
std::size_t parent_of(std::size_t member, std::size_t members) {
  if (member == 0) return kNoParent;
  const std::size_t bit = member & (~member + 1);
  const std::size_t above = (member ^ bit) | (bit << 1);
  return above < members ? above : member ^ bit;
}

std::string ordinal(std::size_t child) {
  return child == 0 ? "left" : child == 1 ? "right" : fmt::format("{}.", child + 1);
}

}  // namespace

std::vector<Pass> ring_passes(std::size_t members) {
  if (members < 2) return {};
  std::vector<Pass> out(2);
  out[0].what = "even to odd";
  out[1].what = "odd to even";
  for (std::size_t i = 0; i + 1 < members; ++i) out[i % 2].links.push_back({i, i + 1});
  const Link last{members - 1, 0};
  if (members % 2 == 0)
    out[1].links.push_back(last);
  else
    out.push_back({"last to first", {last}});
  return out;
}

Result<std::vector<Pass>> tree_passes(std::span<const std::size_t> parents) {
  const std::size_t n = parents.size();
  std::vector<std::vector<std::size_t>> children(n);
  std::size_t root = kNoParent;
  for (std::size_t i = 0; i < n; ++i) {
    if (parents[i] == kNoParent) {
      if (root != kNoParent)
        return usage_error(
            fmt::format("a tree has one root, and members {} and {} have no parent", root, i));
      root = i;
    } else if (parents[i] >= n) {
      return usage_error(fmt::format("the parent of member {} is not a member", i));
    } else {
      children[parents[i]].push_back(i);
    }
  }
  if (n > 0 && root == kNoParent)
    return usage_error("a tree has a root, and every member has a parent");
  std::size_t most = 0, reached = 0;
  std::vector<std::vector<Pass>> passes(
      2);  // by parity of the sender's level, then by which child it is
  std::vector<std::size_t> level =
      n == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{root};
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<std::size_t> next;
    for (const std::size_t parent : level) {
      ++reached;
      most = std::max(most, children[parent].size());
      auto& of_parity = passes[(depth + 1) % 2];
      if (of_parity.size() < children[parent].size()) of_parity.resize(children[parent].size());
      for (std::size_t c = 0; c < children[parent].size(); ++c) {
        of_parity[c].links.push_back({children[parent][c], parent});
        next.push_back(children[parent][c]);
      }
    }
    level = std::move(next);
  }
  if (reached != n)
    return usage_error(fmt::format(
        "{} members are on a cycle or below one: no way leads from them to the root", n - reached));
  std::vector<Pass> out;
  for (std::size_t parity = 0; parity < 2; ++parity)
    for (std::size_t c = 0; c < passes[parity].size(); ++c) {
      Pass& pass = passes[parity][c];
      if (pass.links.empty()) continue;
      sort_rows(pass.links);
      pass.what = fmt::format("{} children on {} levels to their parents", ordinal(c),
                              parity == 0 ? "even" : "odd");
      out.push_back(std::move(pass));
    }
  return out;
}

std::vector<std::vector<std::size_t>> double_binary_tree(std::size_t members) {
  std::vector<std::vector<std::size_t>> out(2, std::vector<std::size_t>(members, kNoParent));
  for (std::size_t i = 0; i < members; ++i) {
    out[0][i] = parent_of(i, members);
    const auto second = [&](std::size_t of) {
      return of == kNoParent ? of : members % 2 == 0 ? members - 1 - of : (of + 1) % members;
    };
    out[1][second(i)] = second(parent_of(i, members));
  }
  return out;
}

}  // namespace culprit::plan
