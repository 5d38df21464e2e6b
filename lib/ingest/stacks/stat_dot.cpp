// The call graph of LLNL STAT: one node a frame, each edge labelled with the ranks that came so
// far. The ranks of an edge that no edge below has stopped there: one stack for each such place.
#include <algorithm>
#include <iterator>
#include <map>

#include "ingest/engine/document.hpp"
#include "ingest/stacks/pyspy.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr int kDotDepth = 1'000;

bool sniff_stat_dot(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \r\n\t\xEF\xBB\xBF");
  if (at == std::string_view::npos || head.bytes.substr(at, 7) != "digraph") return false;
  const std::string_view top = head.bytes.substr(at, 8 << 10);
  return contains(top, "type=\"stat_") ||
         (head.has(" -> ") && (head.has(":[") || head.has("bv=\"")));
}

// The value of key="..." among the attributes, without escapes.
std::optional<std::string> attribute(std::string_view attributes, std::string_view key) {
  for (std::size_t at = attributes.find(key); at != std::string_view::npos;
       at = attributes.find(key, at + 1)) {
    if (at > 0 && attributes[at - 1] != ' ' && attributes[at - 1] != ',' &&
        attributes[at - 1] != '[' && attributes[at - 1] != '\t')
      continue;
    if (attributes.substr(at + key.size(), 2) != "=\"") continue;
    std::string value;
    for (std::size_t i = at + key.size() + 2; i < attributes.size(); ++i) {
      if (attributes[i] == '\\' && i + 1 < attributes.size()) {
        value += attributes[++i];
        continue;
      }
      if (attributes[i] == '"') return value;
      value += attributes[i];
    }
    return std::nullopt;  // cut
  }
  return std::nullopt;
}

struct Node {
  Frame frame;
  bool root = false;
  std::int64_t parent = -1;
  std::vector<Rank> ranks;  // of the edge into it
  std::int64_t count = 0;
  bool some = false;  // count and one representative instead of a list
  std::vector<Rank> below;
  std::int64_t count_below = 0;
  Place place;
};

Frame dot_frame(std::string_view attributes) {
  Frame frame;
  const std::string label = attribute(attributes, "label").value_or("");
  std::string function = attribute(attributes, "function").value_or("");
  std::string source = attribute(attributes, "source").value_or("");
  std::string line = attribute(attributes, "line").value_or("");
  if (function.empty()) {  // "main@x.c:12"
    const std::size_t at = label.rfind('@');
    function = label.substr(0, at);
    if (at != std::string::npos) {
      const std::size_t colon = label.rfind(':');
      if (source.empty())
        source = label.substr(
            at + 1, colon == std::string::npos || colon < at ? std::string::npos : colon - at - 1);
      if (line.empty() && colon != std::string::npos && colon > at) line = label.substr(colon + 1);
    }
  }
  frame.function = function.empty() ? "?" : function;
  frame.file = source == "?" ? "" : source;
  std::string_view digits = line;
  frame.line = take_number(digits).value_or(0);
  frame.module = attribute(attributes, "module").value_or("");
  frame.native = !python_file(frame.file);
  return frame;
}

// "8:[0-3,6]" · "8(16):[0-3]" · "8:[0](12345)"
void read_edge(std::string_view attributes, Node& node) {
  const std::string label = attribute(attributes, "label").value_or("");
  std::string_view text = label;
  node.count = take_number(text).value_or(0);
  std::string set;
  if (const std::size_t open = label.find('['); open != std::string::npos) {
    const std::size_t close = label.find(']', open);
    if (close != std::string::npos) set = label.substr(open, close + 1 - open);
    node.some = close != std::string::npos && close + 1 < label.size() && label[close + 1] == '(';
  }
  if (set.empty()) set = attribute(attributes, "bv").value_or("");
  node.ranks = from_ranges(set);
  if (node.count == 0) node.count = static_cast<std::int64_t>(node.ranks.size());
  node.some = node.some || static_cast<std::int64_t>(node.ranks.size()) < node.count;
}

// The tree of a file, as its lines tell it.
struct Graph {
  std::map<std::int64_t, Node> nodes;
  std::uint64_t lines = 0;
  std::size_t edges = 0;
  bool closed = false;  // the file is whole
};

Graph read_graph(std::string_view bytes, MemberId member) {
  Graph out;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line = trim(bytes.substr(at, end - at));
    const Place place{member, ++out.lines, at,
                      static_cast<std::uint32_t>(std::min<std::size_t>(end - at, 1u << 20))};
    at = end + 1;
    out.closed = out.closed || line == "}";
    const auto id = take_number(line);
    if (!id) continue;
    line = trim(line);
    if (take(line, "->")) {
      line = trim(line);
      const auto to = take_number(line);
      if (!to || *to == *id) continue;
      Node& node = out.nodes[*to];
      if (node.parent >= 0) continue;
      node.parent = *id;
      node.place = place;
      read_edge(line, node);
      ++out.edges;
    } else if (!line.empty() && line[0] == '[') {
      Node& node = out.nodes[*id];
      node.frame = dot_frame(line);
      node.root = attribute(line, "label") == "/";
    }
  }
  for (auto& [id, node] : out.nodes) {
    if (node.parent < 0) continue;
    const auto above = out.nodes.find(node.parent);
    if (above == out.nodes.end()) continue;
    std::vector<Rank>& below = above->second.below;
    below.insert(below.end(), node.ranks.begin(), node.ranks.end());
    above->second.count_below += node.count;
  }
  return out;
}

// The ranks whose stack ends in a node: those that none below it has.
std::vector<Rank> ranks_that_end_in(Node& node) {
  sort_rows(node.below);
  std::vector<Rank> out;
  if (node.some && node.count <= node.count_below) return out;
  std::set_difference(node.ranks.begin(), node.ranks.end(), node.below.begin(), node.below.end(),
                      std::back_inserter(out));
  return out;
}

std::string read_stat_dot(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Graph graph = read_graph(bytes, member.id);
  if (graph.edges == 0) return "stat.no_edges";
  std::size_t put = 0;
  for (auto& [id, node] : graph.nodes) {
    if (node.parent < 0 || node.root) continue;
    const auto stopped = ranks_that_end_in(node);
    if (stopped.empty()) continue;
    StackRow row{.place = node.place, .source = "stat"};
    row.main = true;  // what STAT walks unless told otherwise
    row.ranks = to_ranges(stopped);
    if (node.some)
      row.state = std::to_string(node.count - node.count_below) + " tasks, of which " + row.ranks;
    std::int64_t walk = id;
    for (int depth = 0; depth < kDotDepth && walk >= 0; ++depth) {
      const auto it = graph.nodes.find(walk);
      if (it == graph.nodes.end() || it->second.root) break;
      add_frame(row, it->second.frame);
      walk = it->second.parent;
    }
    reading.sink.put(row);
    ++put;
  }
  if (put == 0) return "stat.no_ranks";
  reading.cut = !graph.closed;
  if (!graph.closed)
    reading.sink.put(RejectRow{
        {member.id, graph.lines, bytes.size(), 0},
        "stat.cut",
        std::string(bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 200)))});
  return {};
}

}  // namespace

extern constinit const Document kStatDot{"stat-dot", "LLNL STAT: merged call graph of all ranks",
                                         64u << 20, sniff_stat_dot, read_stat_dot};

}  // namespace culprit::ingest
