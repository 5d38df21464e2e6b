// /etc/hosts, and lists of machines with their addresses behind ("node-4 rail6 10.7.6.4") or before
// them ("10.7.4.4 172.20.4.4 node-4"): which address is which machine's. Peers in broken
// connections are named by address.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/rank_range.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

struct AddressEntry {
  std::string_view address, host;
};

// False for what is none. An entry for the machine itself or for a group of machines has no host.
bool entry_of(std::string_view address, std::string_view host, AddressEntry& out) {
  out = {address, host};
  if (!shaped_like_address(address) || host.empty() || host.size() > 253 ||
      !isalnum(static_cast<unsigned char>(host.front())) ||
      !std::ranges::all_of(
          host, [](unsigned char c) { return isalnum(c) || c == '-' || c == '_' || c == '.'; }))
    return false;
  const std::string small = lower(address);
  if (small.starts_with("127.") || small == "::1" || small.starts_with("fe80:") ||
      small.starts_with("fe00:") || small.starts_with("ff0") || small == "0.0.0.0" ||
      small == "255.255.255.255")
    out.host = {};
  return true;
}

// The addresses that stand before the first name are all of that machine.
bool address_entry(std::string_view line, std::vector<AddressEntry>& out) {
  constexpr std::size_t kMostAddresses = 16;
  out.clear();
  while (out.size() < kMostAddresses) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end);
    if (!shaped_like_address(word)) {
      for (AddressEntry& entry : out)
        if (!entry_of(entry.address, word, entry)) return false;
      return !out.empty();
    }
    out.push_back({word, {}});
    line = trimmed(line.substr(end));
  }
  return false;
}

// "node-4 10.7.0.4", "node-4,rail6,10.7.6.4": a machine, one of its links, its address. Another
// word between them may say that the address is not the machine's own: "node-4 gateway 10.7.0.1".
bool address_behind(std::string_view line, std::vector<AddressEntry>& out) {
  static const re2::RE2 kLink(
      R"((?i)(?:rail|ib|ibs|ens|enp|eth|eno|bond|mlx|roce|rdma|hsn)[-_\w]*\d[\w./-]*)");
  static const re2::RE2 kMachine(R"([A-Za-z][\w.-]*\d[\w.-]*)");
  constexpr std::string_view kBetween = " \t,;";
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBetween, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  const auto is = [](std::string_view word, const re2::RE2& pattern) {
    return re2::RE2::FullMatch(re2::StringPiece(word.data(), word.size()), pattern);
  };
  if (words.size() < 2 || words.size() > 3 || !is(words[0], kMachine) || is(words[0], kLink) ||
      shaped_like_address(words[0]) || (words.size() == 3 && !is(words[1], kLink)))
    return false;
  out.assign(1, {});
  return entry_of(words.back(), words[0], out[0]);
}

// "addr.txt", "rail-addresses.csv": of nothing else, as neighbours and hosts that did not answer
// are.
bool named_as_addresses(const std::string& name) {
  static const re2::RE2 kName(
      R"((?:(?:hosts?|nodes?|rails?|ib|ips?|addr|addrs|address|addresses|list|map|table)[-_.]?)+)"
      R"((?:txt|csv|tsv|lst|map|log|out)?)");
  return re2::RE2::FullMatch(name, kName);
}

// Names on a line of the loopback's that are neither its own nor forms of the machine's, which
// stands first: "127.0.1.1 cx-4 cx-4.example head". Who looks them up there meets itself.
// own: the first, which the machine then gives others as its address.
void take_others_on_loopback(std::string_view line, std::vector<std::string>& out,
                             std::string& own) {
  own.clear();
  for (const std::string_view name : cells_of(line)) {
    const std::string small = lower(name);
    if (shaped_like_address(name) || small.starts_with("localhost") || small.ends_with("localhost"))
      continue;
    const std::string stem = small.substr(0, small.find('.'));
    if (own.empty()) own = stem;
    if (stem != own) out.push_back(small);
  }
}

bool sniff_etc_hosts(const Head& head) {
  const std::string name = lower(head.base());
  std::vector<AddressEntry> entries;
  // Where the ranks stand behind the names it is a list of those.
  return (contains(name, "hosts") && every_line_fits(head,
                                                     [&](std::string_view text) {
                                                       return address_entry(text, entries) &&
                                                              !rank_range(text);
                                                     })) ||
         (named_as_addresses(name) && every_line_fits(head, [&](std::string_view text) {
            return address_behind(text, entries);
          }));
}

std::string read_etc_hosts(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::size_t hosts = 0;
  std::vector<std::string> on_loopback;
  std::string own;
  std::optional<Place> loopback;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    std::vector<AddressEntry> entries;
    if (text.empty() || hosts >= kHostsPerFile) return;
    const Place place = place_of_line(member.id, number, offset, line);
    if (!address_entry(text, entries) && !address_behind(text, entries)) {
      reading.sink.put(RejectRow{place, "etc_hosts.no_entry", std::string(text.substr(0, 200))});
      return;
    }
    if (text.starts_with("127.")) {
      const std::size_t before = on_loopback.size();
      std::string first;
      take_others_on_loopback(text, on_loopback, first);
      if (!first.empty()) own = first;
      if (!loopback || on_loopback.size() > before) loopback = place;
    }
    for (const AddressEntry& entry : entries) {
      if (entry.host.empty()) continue;
      reading.sink.put(IdentityRow{.place = place,
                                   .source = "etc-hosts",
                                   .host = Host(entry.host),
                                   .address = std::string(entry.address)});
      ++hosts;
    }
  });
  if (loopback)
    reading.sink.put(
        ConfigRow{*loopback, "hosts.others_on_loopback",
                  on_loopback.empty() ? "none" : fmt::format("{}", fmt::join(on_loopback, " "))});
  if (loopback)
    reading.sink.put(
        ConfigRow{*loopback, "hosts.own_name_on_loopback", own.empty() ? "no" : "yes"});
  return "";
}

}  // namespace

extern constinit const Document kEtcHosts{"etc-hosts",    "/etc/hosts: addresses of machines",
                                          16u << 20,      sniff_etc_hosts,
                                          read_etc_hosts, true};

}  // namespace culprit::ingest
