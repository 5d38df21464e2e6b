#include "analyze/hang/wait_graph.hpp"

#include <algorithm>
#include <utility>

namespace culprit::analyze {

std::vector<std::uint32_t> WaitGraph::components(const std::vector<std::uint32_t>& among,
                                                 bool weak_too, std::uint32_t& count) const {
  constexpr std::uint32_t none = ~0u;
  std::vector<std::uint32_t> component(out_.size(), none), order(out_.size(), none),
      low(out_.size(), 0);
  std::vector<char> member(out_.size(), 0), on_stack(out_.size(), 0);
  for (const std::uint32_t n : among) member[n] = 1;
  std::vector<std::uint32_t> stack;
  std::vector<std::pair<std::uint32_t, std::size_t>> calls;
  std::uint32_t next = 0;
  count = 0;
  for (const std::uint32_t root : among) {
    if (order[root] != none) continue;
    calls.push_back({root, 0});
    while (!calls.empty()) {
      auto& [node, edge] = calls.back();
      if (edge == 0 && order[node] == none) {
        order[node] = low[node] = next++;
        stack.push_back(node);
        on_stack[node] = 1;
      }
      bool deeper = false;
      while (edge < out_[node].size()) {
        const Edge& e = out_[node][edge++];
        if (!member[e.to] || (e.weak && !weak_too)) continue;
        if (order[e.to] == none) {
          calls.push_back({e.to, 0});
          deeper = true;
          break;
        }
        if (on_stack[e.to]) low[node] = std::min(low[node], order[e.to]);
      }
      if (deeper) continue;
      const std::uint32_t done = node;
      if (low[done] == order[done]) {
        while (true) {
          const std::uint32_t n = stack.back();
          stack.pop_back();
          on_stack[n] = 0;
          component[n] = count;
          if (n == done) break;
        }
        ++count;
      }
      calls.pop_back();
      if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
    }
  }
  return component;
}

}  // namespace culprit::analyze
