// Host files of launchers, in node order: "host slots=8" (Open MPI, DeepSpeed), "host:8" (MPICH),
// bare names.
#include <algorithm>
#include <map>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

struct HostfileEntry {
  std::string_view host;
  std::int64_t slots = 0;   // 0: not told
  bool says_slots = false;  // slots=, which no other kind of file writes
};

bool host_name(std::string_view text) {
  if (text.empty() || text.size() > 255 || !isalnum(static_cast<unsigned char>(text.front())))
    return false;
  return std::ranges::all_of(
      text, [](unsigned char c) { return isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::int64_t slots_in(std::string_view digits) {
  std::int64_t value = 0;
  return parse_whole(digits, value) && value > 0 && value <= 1024 ? value : -1;
}

// False for a line that is none of a host file.
bool hostfile_entry(std::string_view line, HostfileEntry& out) {
  line = trimmed(line.substr(0, line.find(" #")));  // a remark
  std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  out.host = line.substr(0, end);
  std::string_view rest = trimmed(line.substr(end));
  if (const std::size_t colon = out.host.find(':'); colon != std::string_view::npos) {
    if ((out.slots = slots_in(out.host.substr(colon + 1))) < 0) return false;
    out.host = out.host.substr(0, colon);
  }
  while (!rest.empty()) {
    end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    const std::string_view key = word.substr(0, equals);
    if (key == "slots") {
      if ((out.slots = slots_in(word.substr(equals + 1))) < 0) return false;
      out.says_slots = true;
    } else if (key != "max_slots" && key != "max-slots" && key != "type" && key != "gpus" &&
               key != "cores") {
      return false;
    }
  }
  return host_name(out.host);
}

bool sniff_hostfile(const Head& head) {
  const std::string name = lower(head.base());
  bool named = name == "hosts" || name == "hosts.txt";
  for (const char* part :
       {"hostfile", "host_file", "hostlist", "machinefile", "machine_file", "nodefile", "nodelist"})
    named = named || contains(name, part);
  bool all_say_slots = true;
  const bool all_fit = every_line_fits(head, [&](std::string_view text) {
    HostfileEntry entry;
    const bool fits = hostfile_entry(text, entry);
    all_say_slots = all_say_slots && entry.says_slots;
    return fits;
  });
  return all_fit && (all_say_slots || named);
}

std::string read_hostfile(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::map<std::string, std::int64_t, std::less<>>
      seen;  // MPICH's lists may name a host once for each of its slots
  std::vector<std::pair<IdentityRow, std::int64_t>> hosts;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    HostfileEntry entry;
    if (text.empty() || hosts.size() >= kHostsPerFile) return;
    const Place place = place_of_line(member.id, number, offset, line);
    if (!hostfile_entry(text, entry)) {
      reading.sink.put(RejectRow{place, "hostfile.no_host", std::string(text.substr(0, 200))});
      return;
    }
    const auto [it, fresh] =
        seen.emplace(std::string(entry.host), static_cast<std::int64_t>(hosts.size()));
    if (!fresh) {
      auto& slots = hosts[static_cast<std::size_t>(it->second)].second;
      slots = std::max<std::int64_t>(slots, 1) + std::max<std::int64_t>(entry.slots, 1);
      return;
    }
    IdentityRow row{
        .place = place, .source = "hostfile", .host = Host(entry.host), .node_rank = it->second};
    hosts.emplace_back(std::move(row), entry.slots);
  });
  for (const auto& [row, slots] : hosts) {
    reading.sink.put(row);
    if (slots > 0)
      reading.sink.put(ConfigRow{row.place, "hostfile.slots", std::to_string(slots), row.host});
  }
  return hosts.empty() ? "hostfile.no_host" : "";
}

}  // namespace

extern constinit const Document kHostfile{
    "hostfile", "host files of mpirun and DeepSpeed: hosts in node order, with their slots",
    16u << 20, sniff_hostfile, read_hostfile};

}  // namespace culprit::ingest
