// Who waits for whom, as a directed graph over numbered nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::analyze {

class WaitGraph {
 public:
  struct Edge {
    std::uint32_t to;
    bool weak;
  };  // weak: the wait is likely, not proven

  explicit WaitGraph(std::size_t nodes) : out_(nodes) {}
  void add(std::uint32_t from, std::uint32_t to, bool weak = false) {
    out_[from].push_back({to, weak});
  }
  const std::vector<Edge>& out(std::uint32_t node) const { return out_[node]; }
  std::size_t size() const { return out_.size(); }

  // Strongly connected components of the nodes in `among` (Tarjan, without recursion: chains of
  // waits are as long as the job is wide). Component of each node, ~0 for nodes outside; `count` is
  // how many there are.
  std::vector<std::uint32_t> components(const std::vector<std::uint32_t>& among, bool weak_too,
                                        std::uint32_t& count) const;

 private:
  std::vector<std::vector<Edge>> out_;
};

}  // namespace culprit::analyze
