// Counters of the ports of an InfiniBand fabric, as its own tools print them: ibqueryerrors, and
// the performance monitor of ibdiagnet.
//
//   Errors for 0xb0cf0e0300b7 "MF0;leaf-2:MQM9700/U1"
//      GUID 0xb0cf0e0300b7 port 41: [SymbolErrorCounter == 65535] [LinkDownedCounter == 9]
//            Link info:  77 41[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 0x... 91 14[  ] "spine-3"
//            ( )
//
//   Port=41 Lid=0x0217 GUID=0xb0cf0e0300b7 Device=54002 Port Name=leaf-2/U1/P41
//   symbol_error_counter=65535
//
//   -E- lid=0x0217 dev=54002 leaf-2/U1/P41
//           symbol_error_counter            : 65535             (threshold=10)

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/logs/fabric_names.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "model/metric.hpp"
#include "rules/metrics.hpp"

namespace culprit::ingest {

namespace {

constexpr double kMany = 1000;  // errors of a port that nobody looked at before

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

// Whoever compares looks at a port knows no more of their order than that counters grow. far: the
// card at the other end of a switch's port; empty where that is none, or nothing tells.
void put_counter(const FabricPort& of, const FabricPort& far, const std::string& counter,
                 double value, const Place& place, Reading& reading) {
  SeriesRow key;
  key.name = counter;
  key.kind = "counter";
  key.host = Host(of.node);
  key.nic = of.port;
  key.clock = Clock::none;
  const bool to_card = !far.node.empty() && !far.of_switch;
  if (of.of_switch && !to_card) key.labels = kOfSwitch;
  // Two ends of a link count apart.
  if (of.of_switch && to_card)
    key.host = Host(far.node), key.nic = far.port, key.labels = "end=switch";
  SeriesBook& book = reading.keep<SeriesBook>();
  const auto series = book.series(key);
  if (series != SeriesBook::kFull) book.add(series, kNoValue, kNoValue, value, place, reading);
}

// A port of a switch towards another switch that counts many errors of its wire.
void tell_errors(const FabricPort& of, const std::string& counters, const Place& place,
                 Reading& reading) {
  put_said(place, Host(of.node), fmt::format("switch port errors: port {}, {}", of.port, counters),
           reading);
}

bool of_wire(const std::string& counter) {
  const auto match = rules::Catalogue::built_in().find(counter);
  return match && match->metric->wire;
}

// The ports of one node, below "Errors for".
class NodeErrors final : public Assembler {
 public:
  explicit NodeErrors(FabricPort node) : node_(std::move(node)) {}

  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kPort(R"(^\s+GUID \S+ port (\d+|ALL): (\[.*))"),
        kLink(R"re(^\s+Link info:.*==>.*"([^"]*)")re"), kCounter(R"(\[(\w+) == (\d+)\])");
    std::string port, counters, far, name;
    if (re2::RE2::PartialMatch(piece(line.raw), kPort, &port, &counters)) {
      flush({}, reading);
      place_ = line.place;
      message_.clear();
      if (port == "ALL") return Step::took;  // their sum
      if (node_.of_switch) node_.port = port;
      double value = 0;
      for (re2::StringPiece rest(counters);
           re2::RE2::FindAndConsume(&rest, kCounter, &name, &value);) {
        counters_.emplace_back(name, value);
        if (value >= kMany && message_.empty() && of_wire(name))
          message_ = fmt::format("{} {:.0f}", name, value);
      }
      return Step::took;
    }
    if (!re2::RE2::PartialMatch(piece(line.raw), kLink, &far)) return Step::not_mine;
    const FabricPort other = fabric_node(far);
    if (!message_.empty() && node_.of_switch && other.of_switch)
      tell_errors(node_, fmt::format("{}, link to {}", message_, far), place_, reading);
    flush(other, reading);
    return Step::took;
  }
  void finish(Reading& reading) override { flush({}, reading); }

 private:
  // The other end stands below the counters.
  void flush(const FabricPort& far, Reading& reading) {
    for (const auto& [name, value] : counters_)
      put_counter(node_, far, name, value, place_, reading);
    counters_.clear();
  }

  FabricPort node_;
  std::string message_;
  std::vector<std::pair<std::string, double>> counters_;  // of the port, not put yet
  Place place_;
};

// "leaf-2/U1/P41", "leaf-2/41", "dgx-031/mlx5_2/P1"
FabricPort port_named(const std::string& text) {
  static const re2::RE2 kNumber(R"(/P?(\d+)$)");
  FabricPort out = fabric_node(text);
  if (out.of_switch && !re2::RE2::PartialMatch(text, kNumber, &out.port)) out.node.clear();
  return out;
}

// Counters of one port, a line each; reported: only those beyond a threshold, which prove by
// themselves.
class PortCounters final : public Assembler {
 public:
  PortCounters(FabricPort port, bool reported) : port_(std::move(port)), reported_(reported) {}

  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kCounter(R"(^\s*([a-z][a-z0-9_]+)\s*[:=]\s*(\d+)(?:\s+\(threshold.*)?$)");
    const std::string_view text = line::trimmed(line.raw);
    if (text.empty() || text.starts_with("---") || text.starts_with("Performance Monitor"))
      return Step::took;
    std::string name;
    double value = 0;
    if (!re2::RE2::FullMatch(piece(line.raw), kCounter, &name, &value)) return Step::not_mine;
    put_counter(port_, {}, name, value, line.place, reading);
    if (reported_ && !told_ && port_.of_switch && value >= kMany && of_wire(name)) {
      told_ = true;
      tell_errors(port_, fmt::format("{} {:.0f}", name, value), line.place, reading);
    }
    return Step::took;
  }

 private:
  FabricPort port_;
  bool reported_ = false, told_ = false;
};

Outcome read_fabric(const TextLine& line, Reading&) {
  static const re2::RE2 kNode(R"re(^Errors for (?:0x[0-9a-f]+ )?"([^"]+)")re"),
      kMonitor(R"(^Port=\d+ .*\bPort Name=(\S+)$)"),
      kReported(R"(^-E- lid=\S+ dev=\S+ (\S+/P?\d+)$)");
  std::string name;
  if (re2::RE2::PartialMatch(piece(line.raw), kNode, &name))
    return {true, std::make_unique<NodeErrors>(fabric_node(std::move(name)))};
  const bool reported = re2::RE2::PartialMatch(piece(line.raw), kReported, &name);
  if (!reported && !re2::RE2::PartialMatch(piece(line.raw), kMonitor, &name)) return {};
  FabricPort port = port_named(name);
  if (port.node.empty()) return {};
  return {true, std::make_unique<PortCounters>(std::move(port), reported)};
}

constexpr std::string_view kFabricWords[] = {"Errors for ", " Port Name=", "-E- lid="};

}  // namespace

extern constinit const Recogniser kFabricCounters{
    "fabric-counters", "counters of ports by ibqueryerrors and ibdiagnet", kFabricWords,
    read_fabric};

}  // namespace culprit::ingest
