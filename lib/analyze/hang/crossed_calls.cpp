// Finds ranks that called the collectives of their group in different orders.
#include "analyze/hang/crossed_calls.hpp"

#include <algorithm>
#include <tuple>

#include "model/contains.hpp"

namespace culprit::analyze {

namespace {

bool any_of_them(const std::vector<Rank>& ranks, const std::vector<Rank>& among) {
  return std::ranges::any_of(ranks, [&](Rank r) { return contains(among, r); });
}

}  // namespace

std::optional<CrossedCalls> crossed_calls(const std::vector<StackWait>& waits) {
  for (const StackWait& a : waits)
    for (const StackWait& b : waits) {
      if (a.group.empty() || a.group != b.group || a.operation.empty() || b.operation.empty() ||
          a.operation == b.operation || is_p2p(a.operation) || is_p2p(b.operation) ||
          a.from.size() >= b.from.size() || !any_of_them(a.from, b.to) ||
          !any_of_them(b.from, a.to))
        continue;
      return CrossedCalls{a.from, b.from, a.operation, b.operation};
    }
  return std::nullopt;
}

std::int32_t branch_of(const StackTable& table, std::size_t stack, std::size_t other) {
  const auto &one = table.stacks[stack], &two = table.stacks[other];
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    const Frame &x = table.frames[a], &y = table.frames[b];
    return a == b || std::tie(x.function, x.file, x.line) == std::tie(y.function, y.file, y.line);
  };
  const std::size_t most = std::min(one.size(), two.size());
  std::size_t shared = 0;
  while (shared < most && same(one[one.size() - 1 - shared], two[two.size() - 1 - shared]))
    ++shared;
  if (shared == one.size()) return -1;
  return static_cast<std::int32_t>(one[one.size() - 1 - shared]);
}

}  // namespace culprit::analyze
