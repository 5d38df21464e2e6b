// Ports of a switch that take errors, where the others take none: tables of counters as switches
// print them.
//
//   Interface  Rx CRC     Rx Symbol   Rx Drop   Tx Drop   Speed  Peer
//   swp37      0          3           0         0         400G   spine-3 swp13
//   swp38      4410922    70115519    4410922   0         400G   spine-3 swp14

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/logs/switch_name.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::uint64_t kMany = 1000;          // errors of a port
constexpr std::uint64_t kTimesOthers = 100;    // more than the usual port has
constexpr std::size_t kFewest = 4, kMost = 3;  // ports of a table; ports that stand out

// Cells stand two blanks apart; a single one is part of a cell: "Rx CRC", "15.40 GB/s".
std::vector<std::string_view> port_cells(std::string_view text) {
  std::vector<std::string_view> out;
  for (text = line::trimmed(text); !text.empty();) {
    std::size_t end = text.find("  ");
    if (const std::size_t tab = text.find('\t'); tab < end) end = tab;
    out.push_back(line::trimmed(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view{} : line::trimmed(text.substr(end));
  }
  return out;
}

// Errors of the wire. What a switch drops may be congestion.
bool counts_errors(std::string_view heading) {
  static const re2::RE2 kErrors(
      R"((?i)(?:rx[ _-]?)?(?:err(?:ors?)?|crc|fcs|symbol(?:[ _-]?err(?:ors?)?)?|fec[ _-]?uncorr\w*|uncorr(?:ectable)?\w*))");
  return re2::RE2::FullMatch(re2::StringPiece(heading.data(), heading.size()), kErrors);
}

// The rows below a heading.
class PortTable final : public Assembler {
 public:
  PortTable(std::vector<std::string> headings, std::vector<std::size_t> errors)
      : headings_(std::move(headings)), errors_(std::move(errors)) {}

  Step feed(const TextLine& line, Reading&) override {
    static const re2::RE2 kPort(
        R"((?i)(?:ethernet|swp|et|xe-|ge-|ib|hu(?:ndredgige)?|gi|te)[\d/.:-]+[a-z0-9/.:]*)");
    const auto cells = port_cells(line.raw);
    if (cells.empty() || !re2::RE2::FullMatch({cells[0].data(), cells[0].size()}, kPort))
      return Step::not_mine;
    Port port{line.place, std::string(cells[0]), {}, false};
    for (const std::size_t column : errors_) {
      std::string digits(column < cells.size() ? cells[column] : std::string_view("0"));
      std::erase(digits, ',');
      std::uint64_t value = 0;
      parse_whole(digits, value);
      port.errors.push_back(value);
    }
    constexpr std::array<std::string_view, 5> kFarEnd{"peer", "neighbor", "neighbour", "remote",
                                                      "description"};
    constexpr std::array<std::string_view, 3> kState{"state", "status", "oper"};
    if (cells.size() == headings_.size())
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string heading_text = lower(headings_[i]), cell = lower(cells[i]);
        const std::string_view heading = heading_text;
        if (contains(kFarEnd, heading)) port.of_host = port.of_host || !names_switch(cell);
        if (contains(kState, heading) && (cell == "d" || cell == "down"))
          port.of_host = true;  // nothing hangs on it
      }
    ports_.push_back(std::move(port));
    return Step::took;
  }

  void finish(Reading& reading) override {
    const std::optional<Host> owner = switch_of(reading);
    if (ports_.size() < kFewest || !owner) return;
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      std::vector<std::uint64_t> all;
      for (const Port& port : ports_) all.push_back(port.errors[i]);
      std::ranges::sort(all);
      const std::uint64_t usual = all[all.size() / 2];
      const auto stands_out = [&](const Port& port) {
        return port.errors[i] >= kMany && port.errors[i] > kTimesOthers * usual;
      };
      if (std::ranges::count_if(ports_, stands_out) > static_cast<std::ptrdiff_t>(kMost)) continue;
      for (Port& port : ports_) {
        if (!stands_out(port) || port.of_host || port.told) continue;
        port.told = true;
        put_said(port.place, owner,
                 fmt::format("switch port errors: port {}, {} {}, usual ports {}", port.name,
                             headings_[errors_[i]], port.errors[i], usual),
                 reading);
      }
    }
  }

 private:
  struct Port {
    Place place;
    std::string name;
    std::vector<std::uint64_t> errors;
    bool of_host = false, told = false;
  };
  std::vector<std::string> headings_;
  std::vector<std::size_t> errors_;
  std::vector<Port> ports_;
};

Outcome read_ports(const TextLine& line, Reading&) {
  std::vector<std::string> headings;
  std::vector<std::size_t> errors;
  for (const std::string_view cell : port_cells(line.raw.substr(0, 1024))) {
    if (counts_errors(cell)) errors.push_back(headings.size());
    headings.emplace_back(cell);
  }
  if (headings.size() < 3 || errors.empty()) return {};
  const std::string first = lower(headings.front());
  if (first != "interface" && first != "iface" && first != "port" && first != "intf") return {};
  return {true, std::make_unique<PortTable>(std::move(headings), std::move(errors))};
}

// Of the ports of one switch, those between switches that carry no large packets where most do, or
// that count larger ones which they dropped.
class PortMtus final : public Kept {
 public:
  void add(std::string_view name, std::string_view rest, std::int64_t mtu, const Place& place) {
    static const re2::RE2 kUplink(
        R"((?i)port-?channel|^po\d|bond|^ae\d|\blag|uplink|spine|leaf|\bisl\b|peer-?link|core|aggr?\b|trunk)");
    large_ += mtu >= kLarge;
    usual_ = std::max(usual_, mtu);
    if (mtu >= kLarge || !first_.name.empty()) return;
    const std::string text = std::string(name) + " " + std::string(rest);
    // Too large for it, and sent to it all the same.
    static const re2::RE2 kManagement(R"((?i)\b(?:mgmt|oob|management|ipmi|bmc)\b)");
    static const re2::RE2 kDropped(R"((?i)\b[1-9]\d* (?:giants?|oversized?)\b)");
    if (re2::RE2::PartialMatch(text, kDropped) && !re2::RE2::PartialMatch(text, kManagement))
      first_ = {place, std::string(name), mtu, true};
    else if (re2::RE2::PartialMatch(text, kUplink))
      first_ = {place, std::string(name), mtu};
  }
  // A line of a comparison of two configurations.
  void changed(bool added, std::int64_t mtu, const Place& place) {
    if (!added)
      before_ = mtu;
    else if (before_ >= kLarge && mtu < kLarge && change_.mtu == 0)
      change_ = {place, std::to_string(before_), mtu};
    if (added) before_ = 0;
  }
  void finish(Reading& reading) override {
    if (change_.mtu != 0)
      put_said(change_.place, switch_of(reading),
               fmt::format("path MTU: set to {} where it was {}", change_.mtu, change_.name),
               reading);
    if (first_.name.empty() || large_ < kFewestLarge) return;
    put_said(first_.place, switch_of(reading),
             fmt::format("path MTU: port {} {} has {}, {} other ports {}", first_.name,
                         first_.drops ? "that drops larger packets" : "between switches",
                         first_.mtu, large_, usual_),
             reading);
  }

 private:
  static constexpr std::int64_t kLarge = 4000;
  static constexpr std::size_t kFewestLarge = 2;  // ports
  struct Port {
    Place place;
    std::string name;
    std::int64_t mtu = 0;
    bool drops = false;
  };
  Port first_, change_;
  std::int64_t before_ = 0;
  std::size_t large_ = 0;  // ports
  std::int64_t usual_ = 0;
};

Outcome read_mtu(const TextLine& line, Reading& reading) {
  static const re2::RE2 kNamed(
      R"((?i)^\s*((?:ethernet|eth|port-?channel|po|ae|swp|hundredgige|fourhundredgige)[\d/.:-]+)\b(.*\bmtu[ :=]*(\d{4,5})\b.*))"),
      kTable(R"((?i)^\s*((?:ethernet|port-?channel)[\d/.:-]+)\s+(1500|9\d{3})\s+(.*))");
  static const re2::RE2 kChanged(
      R"((?i)^([-+])\s+(?:system )?(?:ip )?mtu[ :=]+(\d{4,5})\s*;?\s*$)");
  const re2::StringPiece text(line.raw.data(), std::min<std::size_t>(line.raw.size(), 1024));
  std::string name, rest;
  std::int64_t mtu = 0;
  if (re2::RE2::FullMatch(text, kChanged, &name, &mtu)) {
    reading.keep<PortMtus>().changed(name == "+", mtu, line.place);
    return {true};
  }
  const bool named = re2::RE2::PartialMatch(text, kNamed, &name, &rest, &mtu);
  if (!named && !re2::RE2::PartialMatch(text, kTable, &name, &mtu, &rest)) return {};
  reading.keep<PortMtus>().add(name, rest, mtu, line.place);
  return {true};
}

constexpr std::string_view kMtuWords[] = {"Ethernet", "ort-channel", "undredGigE", " mtu 1",
                                          " mtu 9"};

constexpr std::string_view kPortWords[] = {"IFACE ", "Interface ", "Port   ", "Intf   "};

}  // namespace

extern constinit const Recogniser kSwitchMtus{
    "switch-mtus", "ports between switches that carry no large packets", kMtuWords, read_mtu};
extern constinit const Recogniser kSwitchPorts{
    "switch-ports", "counters of the ports of a switch: ports that take errors", kPortWords,
    read_ports};

}  // namespace culprit::ingest
