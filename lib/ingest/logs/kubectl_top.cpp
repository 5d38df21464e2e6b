// kubectl top nodes: whose processors are full while those of the others are not.
//
//   NAME          CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%
//   ip-10-42-7-12 16000m       7%     434Gi           20%
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

constexpr double kFull = 90, kUsual = 60;  // percent
constexpr std::size_t kFewestNodes = 3, kMostNodes = 100'000;

class TopNodes final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading&) override {
    static const re2::RE2 kRow(R"(^([a-z0-9][\w.-]*)\s+\d+m?\s+(\d+)%\s+\d+\w*\s+\d+%\s*$)");
    Node node{.place = line.place};
    if (!re2::RE2::FullMatch({line.raw.data(), line.raw.size()}, kRow, &node.name, &node.percent))
      return Step::not_mine;
    if (nodes_.size() < kMostNodes) nodes_.push_back(std::move(node));
    return Step::took;
  }

  void finish(Reading& reading) override {
    if (nodes_.size() < kFewestNodes) return;
    std::vector<double> all;
    for (const Node& node : nodes_) all.push_back(node.percent);
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    const double usual = all[all.size() / 2];
    if (usual > kUsual) return;
    for (const Node& node : nodes_) {
      if (node.percent < kFull) continue;
      line::Line said;
      said.prefix.host = Host(node.name);
      said.message = fmt::format("busy node {}: {:.0f} % of its processors, {:.0f} % are usual",
                                 node.name, node.percent, usual);
      put_said(node.place, said, {}, reading);
    }
  }
  std::uint64_t most_lines() const override { return kMostNodes; }

 private:
  struct Node {
    Place place;
    std::string name;
    double percent = 0;
  };
  std::vector<Node> nodes_;
};

Outcome read_top_nodes(const TextLine& line, Reading&) {
  static const re2::RE2 kHeading(R"(^NAME\s+CPU\(cores\)\s+CPU%\s+MEMORY\(bytes\)\s+MEMORY%\s*$)");
  if (!re2::RE2::FullMatch({line.raw.data(), line.raw.size()}, kHeading)) return {};
  return {true, std::make_unique<TopNodes>()};
}

constexpr std::string_view kTopWords[] = {"CPU(cores)"};

}  // namespace

extern constinit const Recogniser kKubectlTop{
    "kubectl-top", "kubectl top nodes: whose processors are full while the others' are not",
    kTopWords, read_top_nodes};

}  // namespace culprit::ingest
