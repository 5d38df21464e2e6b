// What people write of how machines are wired, a line a switch or a line a machine:
//
//   ib-leaf-12: gx025 gx027 gx029            gx-1: {rail0: leaf-r1a, rail1: leaf-r1b}
#include <map>
#include <set>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "line/header_layout.hpp"

namespace culprit::ingest {

namespace {

bool called_switch(std::string_view name) {
  static const re2::RE2 kSwitch(R"((?i)(?:^|[^a-z])(?:leaf|tor|sw|switch|mlxsw)(?:[^a-z]|$))");
  return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), kSwitch);
}

bool called_machine(std::string_view name) {
  return name.find_first_of("0123456789") != std::string_view::npos &&
         line::may_name_machine(name) && !called_switch(name);
}

struct Wire {
  std::string_view name, host;
};

// The wires of a line; none: it is no such line.
std::vector<Wire> wires_of(std::string_view text) {
  constexpr std::size_t kMost = 4096;
  static constexpr std::string_view kBetween = " \t,;{}[]\"'";
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto bare = [&](std::string_view word) {
    while (!word.empty() && kBetween.find(word.front()) != word.npos) word.remove_prefix(1);
    while (!word.empty() && kBetween.find(word.back()) != word.npos) word.remove_suffix(1);
    return word;
  };
  const std::string_view key = bare(text.substr(0, colon));
  const bool of_switch = called_switch(key);
  if (key.find_first_of(" \t") != key.npos || (!of_switch && !called_machine(key))) return {};
  std::vector<Wire> out;
  std::string_view rest = text.substr(colon + 1);
  for (std::size_t at = 0; (at = rest.find_first_not_of(kBetween, at)) != rest.npos;) {
    const std::size_t end = std::min(rest.find_first_of(kBetween, at), rest.size());
    const std::string_view word = rest.substr(at, end - at);
    at = end;
    if (word.ends_with(':')) continue;  // the port that the next word is behind
    if (out.size() >= kMost || (of_switch ? !called_machine(word) : !called_switch(word)))
      return {};
    out.push_back(of_switch ? Wire{key, word} : Wire{word, key});
  }
  return out;
}

bool sniff_wiring(const Head& head) {
  std::size_t lines = 0;
  return every_line_fits(head,
                         [&](std::string_view text) {
                           ++lines;
                           return !wires_of(text).empty();
                         }) &&
         lines >= 2;
}

std::string read_wiring(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::map<std::string, NetworkRow, std::less<>> rows;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    if (text.empty()) return;
    const Place place = place_of_line(member.id, number, offset, line);
    const std::vector<Wire> wires = wires_of(text);
    if (wires.empty())
      reading.sink.put(RejectRow{place, "wiring.row", std::string(text.substr(0, 200))});
    for (const Wire& wire : wires) {
      if (seen.size() >= kHostsPerFile || !seen.insert({wire.name, wire.host}).second) continue;
      const auto [at, fresh] = rows.try_emplace(std::string(wire.name));
      if (fresh) at->second.place = place;
      at->second.hosts.emplace_back(wire.host);
    }
  });
  for (auto& [name, row] : rows) {
    row.source = "wiring";
    row.kind = "switch";
    row.name = name;
    reading.sink.put(row);
  }
  return rows.empty() ? "wiring.no_host" : "";
}

}  // namespace

extern constinit const Document kWiring{"wiring", "which machines are wired to which switches",
                                        16u << 20, sniff_wiring, read_wiring};

}  // namespace culprit::ingest
