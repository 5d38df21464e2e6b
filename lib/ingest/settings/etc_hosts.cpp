// /etc/hosts: which address is which machine's. Peers in broken connections are named by address.
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

struct AddressEntry {
  std::string_view address, host;
};

// False for a line of another kind. An entry for the machine itself or for a group of machines has
// no host.
bool address_entry(std::string_view line, AddressEntry& out) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  out.address = line.substr(0, end);
  const std::string_view names = trimmed(line.substr(end));
  if (!shaped_like_address(out.address) || names.empty()) return false;
  out.host = names.substr(0, std::min(names.find_first_of(" \t"), names.size()));
  if (!isalnum(static_cast<unsigned char>(out.host.front())) || out.host.size() > 253 ||
      !std::ranges::all_of(
          out.host, [](unsigned char c) { return isalnum(c) || c == '-' || c == '_' || c == '.'; }))
    return false;
  const std::string small = lower(out.address);
  if (small.starts_with("127.") || small == "::1" || small.starts_with("fe80:") ||
      small.starts_with("fe00:") || small.starts_with("ff0") || small == "0.0.0.0" ||
      small == "255.255.255.255")
    out.host = {};
  return true;
}

bool sniff_etc_hosts(const Head& head) {
  const std::string name = lower(head.base());
  if (!contains(name, "hosts")) return false;
  return every_line_fits(head, [](std::string_view text) {
    AddressEntry entry;
    return address_entry(text, entry);
  });
}

std::string read_etc_hosts(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::size_t hosts = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    AddressEntry entry;
    if (text.empty() || hosts >= kHostsPerFile) return;
    const Place place = place_of_line(member.id, number, offset, line);
    if (!address_entry(text, entry)) {
      reading.sink.put(RejectRow{place, "etc_hosts.no_entry", std::string(text.substr(0, 200))});
      return;
    }
    if (entry.host.empty()) return;
    reading.sink.put(IdentityRow{.place = place,
                                 .source = "etc-hosts",
                                 .host = Host(entry.host),
                                 .address = std::string(entry.address)});
    ++hosts;
  });
  return "";
}

}  // namespace

extern const Document kEtcHosts;
constinit const Document kEtcHosts{"etc-hosts", "/etc/hosts: addresses of machines", 16u << 20,
                                   sniff_etc_hosts, read_etc_hosts};

}  // namespace culprit::ingest
