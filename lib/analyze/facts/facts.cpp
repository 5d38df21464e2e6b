// Looking up members, clocks and places; what names of hosts and details of events say.
#include "analyze/facts/facts.hpp"

#include <algorithm>
#include <set>

#include <re2/re2.h>

#include "model/address.hpp"
#include "model/contains.hpp"

namespace culprit::analyze {

const MemberRow* Facts::member(MemberId id) const {
  // Asked for every row: where no member was left out, it stands at its number.
  if (id >= 1 && static_cast<std::size_t>(id) <= members.size() &&
      members[static_cast<std::size_t>(id) - 1].id == id)
    return &members[static_cast<std::size_t>(id) - 1];
  const auto it = std::lower_bound(members.begin(), members.end(), id,
                                   [](const MemberRow& m, MemberId value) { return m.id < value; });
  return it != members.end() && it->id == id ? &*it : nullptr;
}

std::optional<Nanoseconds> Facts::clock_offset(MemberId id, Clock clock) const {
  if (clock == Clock::utc) return 0;
  const auto it = std::lower_bound(member_clocks.begin(), member_clocks.end(), std::pair(id, clock),
                                   [](const MemberClock& c, const std::pair<MemberId, Clock>& of) {
                                     return std::pair(c.member, c.clock) < of;
                                   });
  return it != member_clocks.end() && it->member == id && it->clock == clock
             ? std::optional(it->offset)
             : std::nullopt;
}

Evidence Facts::evidence(const Place& place, std::string excerpt) const {
  const MemberRow* m = member(place.member);
  return {place.member, m == nullptr ? "" : m->path, place.line, place.offset,
          place.length, std::move(excerpt)};
}

bool Facts::foreign(const MemberRow& m) const {
  if (!manifest) return false;
  const std::string& own = manifest->job_id.empty() ? manifest->job : manifest->job_id;
  if (own.empty() || own.find_first_not_of("0123456789") != std::string::npos) return false;
  static const re2::RE2 kJob(R"((?:^|/)(?:slurm|job|lsf|pbs)[-_](\d+)[^/]*$)");
  std::string number;
  return re2::RE2::PartialMatch(m.path, kJob, &number) && number != own;
}

Host short_host(const std::string& name) {
  if (name.find_first_not_of("0123456789.:") == std::string::npos || is_address(name))
    return Host(name);
  const std::size_t dot = name.find('.');
  return Host(dot == std::string::npos || dot == 0 ? name : name.substr(0, dot));
}

std::string detail_of(const EventRow& e, std::string_view name) {
  const std::string start = std::string(name) + "=";
  for (std::size_t at = 0; at < e.detail.size();) {
    const std::size_t end = std::min(e.detail.find('\n', at), e.detail.size());
    if (e.detail.compare(at, start.size(), start) == 0)
      return e.detail.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  return {};
}

constexpr char kOfCluster = '@';  // in no name of a machine

Host in_cluster(const Host& host, std::string_view cluster) {
  return Host(host + kOfCluster + std::string(cluster));
}
bool in_another_cluster(const Host& host) { return contains(host, kOfCluster); }

bool said_by_kernel(const EventRow& e) { return contains(e.detail, "unit=kernel"); }
bool said_by_unit(const EventRow& e) { return contains(e.detail, "unit="); }

bool tells_of_job(const IdentityRow& row) {
  static const std::set<std::string> kOfMachines{"hostfile", "hostname",  "uname",
                                                 "prompt",   "ip addr",   "scontrol",
                                                 "pod",      "etc-hosts", "inventory"};
  return kOfMachines.count(row.source) == 0;
}

bool nameless_host(const std::string& name) {
  static const std::set<std::string> kNone{"",        "localhost", "localhost.localdomain",
                                           "(none)",  "127.0.0.1", "::1",
                                           "0.0.0.0", "<NULL>",    "None",
                                           "-",       "unknown"};
  return kNone.count(name) > 0;
}

}  // namespace culprit::analyze
