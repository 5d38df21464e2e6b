// sinfo -R: which nodes the scheduler or people took out, when and why.

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/logs/node_reason.hpp"
#include "line/timestamp.hpp"
#include "model/hostlist.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostNodesOfAReason = 256;

class NodeReasons : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kRow(
        R"(^(\S.*?)\s+[\w.-]+(?:\(\d+\))?\s+(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s+(?:[a-z*~#!%$@^-]+\s+)?([A-Za-z][\w.,\[\]-]*)\s*$)");
    std::string reason, time, nodes;
    if (!re2::RE2::FullMatch(re2::StringPiece(line.raw.data(), line.raw.size()), kRow, &reason,
                             &time, &nodes))
      return line.raw.empty() ? Step::finished : Step::watching;  // a row without a time
    for (const std::string& node : expand_hostlist(nodes, kMostNodesOfAReason).hosts)
      put_node_reason(line.place, node, reason, time, reading);
    return Step::took;
  }
};

Outcome read_sinfo(const TextLine& line, Reading&) {
  static const re2::RE2 kHeading(R"(^REASON\s+USER\s+TIMESTAMP\s+(?:STATE\s+)?NODELIST\s*$)");
  if (!re2::RE2::FullMatch(re2::StringPiece(line.raw.data(), line.raw.size()), kHeading)) return {};
  return {true, std::make_unique<NodeReasons>()};
}

constexpr std::string_view kSinfoWords[] = {"NODELIST"};

constexpr std::string_view kAlsoOfReasons[] = {"reason"};

}  // namespace

void put_node_reason(const Place& place, const std::string& node, std::string_view reason,
                     std::string_view time, Reading& reading) {
  line::Line said;
  if (line::parse_iso(time, said.prefix.time) == 0) return;
  said.prefix.host = Host(node);
  said.message = reason.starts_with("Not responding")
                     ? "error: Nodes " + node + " not responding, setting DOWN"
                 : reason.starts_with("Node unexpectedly rebooted")
                     ? "Node " + node + " unexpectedly rebooted"
                     : "update_node: node " + node + " reason set to: " + std::string(reason);
  put_said(place, said, "scheduler", reading);
}

extern constinit const Recogniser kSinfo{
    "sinfo",     "sinfo -R: nodes out of service, since when and why",
    kSinfoWords, read_sinfo,
    {},          kAlsoOfReasons};

}  // namespace culprit::ingest
