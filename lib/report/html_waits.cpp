// Wait-for graph: those who wait on the left, the end of the chain on the right.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr int kBoxWidth = 206, kBoxHeight = 62, kColumnGap = 44, kRowGap = 14, kColumns = 4;
constexpr std::size_t kMostInColumn = 4;
constexpr std::size_t kLabelLength = 30;

struct WaitBox {
  const json* node = nullptr;
  int column = 0, row = 0;
  int x() const { return 2 + column * (kBoxWidth + kColumnGap); }
  int y() const { return 2 + row * (kBoxHeight + kRowGap); }
};

std::string who(const json& node) {
  const std::uint64_t size = count(node, "size");
  const std::string ranks = text(node, "ranks");
  if (ranks.empty()) return counted(size, "other rank");
  return (size == 1 ? "rank " : "ranks ") + ranks;
}

std::string drawn(const WaitBox& box) {
  const json& n = *box.node;
  const bool end = member(n, "end") == true;
  const std::string hosts = text(n, "hosts"), doing = text(n, "doing");
  std::string out = "<g><title>" + escaped(who(n)) +
                    (hosts.empty() ? "" : " on " + escaped(hosts)) + ": " + escaped(doing) +
                    "</title>";
  out += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
                     end ? "node culprit" : "node", box.x(), box.y(), kBoxWidth, kBoxHeight);
  const std::string lines[] = {who(n), hosts, doing};
  int y = box.y() + 18;
  for (std::size_t i = 0; i < 3; ++i) {
    if (lines[i].empty()) continue;
    out += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", i == 0 ? "strong" : "dim",
                       box.x() + 9, y, html_label(lines[i], i == 0 ? 26 : kLabelLength));
    y += 17;
  }
  return out + "</g>\n";
}

std::string arrow(const WaitBox& from, const WaitBox& to, const std::string& what, bool cut) {
  const int x1 = from.x() + kBoxWidth, y1 = from.y() + kBoxHeight / 2, x2 = to.x() - 7,
            y2 = to.y() + kBoxHeight / 2, bend = (x1 + x2) / 2;
  return fmt::format(
      "<path class=\"{}\" d=\"M{} {}C{} {} {} {} {} {}\">{}</path><path class=\"head\" d=\"M{} "
      "{}l-7 -4v8z\"/>\n",
      cut ? "wait cut" : "wait", x1, y1, bend, y1, bend, y2, x2, y2,
      what.empty() ? "" : "<title>waits in " + escaped(what) + "</title>", x2 + 6, y2);
}

// The last column is the end; of more layers than columns those between are left out.
int column_of(std::uint64_t layer, std::uint64_t layers) {
  const auto last = std::min<std::uint64_t>(layers, kColumns) - 1;
  if (layer + 1 == layers) return 0;
  if (layer >= last) return -1;
  return static_cast<int>(last - layer);
}

}  // namespace

std::string html_waits(const json& d) {
  const json& graph = member(d, "waits");
  const json& nodes = list(graph, "nodes");
  if (nodes.size() < 2) return "";
  std::uint64_t layers = 0;
  for (const json& n : nodes) layers = std::max(layers, count(n, "layer") + 1);
  std::map<std::size_t, WaitBox> boxes;
  std::map<int, std::size_t> filled;
  std::size_t hidden = count(graph, "hidden");
  int rows = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int column = column_of(count(nodes[i], "layer"), layers);
    if (column < 0 || filled[column] >= kMostInColumn) {
      ++hidden;
      continue;
    }
    const int row = static_cast<int>(filled[column]++);
    boxes[i] = {&nodes[i], column, row};
    rows = std::max(rows, row + 1);
  }
  std::string arrows, body, said;
  for (const json& e : list(graph, "edges")) {
    const auto from = boxes.find(count(e, "from")), to = boxes.find(count(e, "to"));
    if (from != boxes.end() && to != boxes.end() && from->second.column < to->second.column)
      arrows += arrow(from->second, to->second, text(e, "what"), false);
  }
  const auto at = [&](int column) {
    return std::ranges::find_if(boxes, [&](const auto& b) { return b.second.column == column; });
  };
  if (layers > kColumns && at(0) != boxes.end() && at(1) != boxes.end())
    arrows += arrow(at(0)->second, at(1)->second, "", true);
  for (const auto& [i, box] : boxes) {
    body += drawn(box);
    said += (said.empty() ? "" : "; ") + who(*box.node) + ": " + text(*box.node, "doing");
  }
  const int columns = static_cast<int>(std::min<std::uint64_t>(layers, kColumns));
  std::string lead =
      text(graph, "source") == "stacks"
          ? "By the call stacks: waiting ranks on the left, what they wait for on the right."
          : "By the collectives that each rank has launched and finished: who "
            "waits on the left, what they wait for on the right.";
  if (hidden > 0) lead += fmt::format(" Not drawn: {}.", counted(hidden, "more place"));
  // As wide as all pictures are, so that letters are of one size.
  return html_section("waits", "Wait-for graph", lead,
                      html_picture("waits-picture", columns <= 2 ? 480 : 960,
                                   rows * (kBoxHeight + kRowGap) - kRowGap + 4, "Wait-for graph",
                                   said + ".", arrows + body));
}

}  // namespace culprit::report
