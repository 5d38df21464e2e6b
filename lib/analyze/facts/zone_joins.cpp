// Moments that a job and its machines both record, each on its own clock.
#include "analyze/facts/zone_joins.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyze/facts/path_facts.hpp"

namespace culprit::analyze {

Nanoseconds rounded(Nanoseconds value, Nanoseconds step) {
  return static_cast<Nanoseconds>(
             std::llround(static_cast<double>(value) / static_cast<double>(step))) *
         step;
}

// As the manifest's `timezones` names sources: kernel scheduler system ... training.
std::string kind_of_source(const MemberRow& m) {
  if (!m.text_kind.empty() && m.text_kind != "nccl") return m.text_kind;
  const std::string_view name = std::string_view(m.path).substr(
      m.path.rfind('/') == std::string::npos ? 0 : m.path.rfind('/') + 1);
  const auto starts = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view w) { return name.starts_with(w); });
  };
  if (starts({"slurmctld", "slurmd", "scontrol", "sacct", "sinfo", "squeue", "kubelet", "pbs_",
              "mom_logs"}))
    return "scheduler";
  if (starts({"daemon.log", "auth.log"}) || system_log(m.path)) return "system";
  return "training";
}

bool is_zone(Nanoseconds offset) {
  constexpr Nanoseconds kHalf = kHour / 2, kQuarter = kHour / 4;
  constexpr Nanoseconds kOdd[] = {
      -9 * kHour - kHalf,       -3 * kHour - kHalf,       -2 * kHour - kHalf,
      3 * kHour + kHalf,        4 * kHour + kHalf,        5 * kHour + kHalf,
      6 * kHour + kHalf,        9 * kHour + kHalf,        10 * kHour + kHalf,
      5 * kHour + 3 * kQuarter, 8 * kHour + 3 * kQuarter, 12 * kHour + 3 * kQuarter};
  constexpr Nanoseconds kWesternmost = -12 * kHour;
  return offset >= kWesternmost && offset <= kFarthestZone &&
         (offset % kHour == 0 || std::ranges::find(kOdd, offset) != std::end(kOdd));
}

// What the daemons of the machine itself write, never a container.
bool of_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{"kernel", "scheduler", "system", "fabric-manager",
                                            "bmc"};
  return kKinds.count(kind_of_source(m)) > 0;
}

Nanoseconds printed(const Timestamp& t, Nanoseconds other) {
  return t.clock == Clock::local_no_year ? with_year(t.ns, nearest_year(t.ns, other)) : t.ns;
}

bool without_zone(const Timestamp& t) {
  return t.clock == Clock::local || t.clock == Clock::local_no_year;
}

std::optional<Nanoseconds> shift_by_processes(const Facts& facts, Clock machines) {
  constexpr Nanoseconds kLater = 3 * kMinute;  // launchers look at their processes now and then
  constexpr std::int64_t kLeastPid = 300;      // smaller ones are the same in every container
  std::multimap<std::int64_t, const ExitRow*> ends;
  for (const ExitRow& x : facts.exits)
    if (x.pid && *x.pid >= kLeastPid && x.code != 0 && without_zone(x.time))
      ends.emplace(*x.pid, &x);
  if (ends.empty()) return std::nullopt;
  std::set<Nanoseconds> shifts;
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    const bool on_clock =
        machines == Clock::utc ? e.time.clock == Clock::utc : without_zone(e.time);
    if (!e.pid || !on_clock || e.severity < Severity::distributed || m == nullptr ||
        !of_machine(*m))
      continue;
    for (auto [at, last] = ends.equal_range(*e.pid); at != last; ++at) {
      const ExitRow& x = *at->second;
      if (x.host && e.host && *x.host != *e.host) continue;
      // Neither has a year: both get the same.
      const bool one_has_year =
          x.time.clock == Clock::local || e.time.clock != Clock::local_no_year;
      const Nanoseconds machine = e.time.clock == Clock::local_no_year && one_has_year
                                      ? printed(e.time, x.time.ns)
                                      : e.time.ns;
      const Nanoseconds job = one_has_year ? printed(x.time, machine) : x.time.ns;
      const Nanoseconds whole = rounded(job - machine, 30 * kMinute);
      const Nanoseconds late = job - machine - whole;
      if (late >= -kSecond && late <= kLater && is_zone(whole)) shifts.insert(whole);
    }
  }
  return shifts.size() == 1 ? std::optional(*shifts.begin()) : std::nullopt;
}

bool failure_echoes(const Facts& facts, const line::Zone& zone) {
  constexpr Nanoseconds kEchoes = 2 * kMinute;
  std::optional<Nanoseconds> newest;  // of the machines, for years that are not printed
  for (const EventRow& e : facts.events)
    if (e.time.clock == Clock::utc) newest = std::max(newest.value_or(e.time.ns), e.time.ns);
  if (!newest) return false;
  // By file: another job's output may lie beside the job's.
  std::map<MemberId, Nanoseconds> failed, stopped;
  const auto see = [&](const Timestamp& t, MemberId member) {
    const MemberRow* m = facts.member(member);
    if (!without_zone(t) || m == nullptr || of_machine(*m)) return;
    const Nanoseconds at = zone.utc(printed(t, *newest));
    const auto [it, fresh] = failed.emplace(member, at);
    if (!fresh) it->second = std::min(it->second, at);
  };
  for (const ExitRow& x : facts.exits)
    if (x.code != 0) see(x.time, x.place.member);
  for (const EventRow& e : facts.events)
    if ((e.role == Role::cascade && e.severity == Severity::distributed) ||
        e.traits.has(Trait::process_end))
      see(e.time, e.place.member);
  // Whoever waits for a dead peer says so when its time-out is over: the last step was the moment.
  for (const ProgressSpan& p : facts.progress)
    if (p.framework != "tqdm" && without_zone(p.last.time) && failed.count(p.member) != 0)
      stopped[p.member] = zone.utc(printed(p.last.time, *newest));
  const auto echoes = [&](Nanoseconds first, Nanoseconds last) {
    return std::ranges::any_of(failed, [&](const auto& one) {
      const auto step = stopped.find(one.first);
      return (last <= one.second + kSecond && last >= one.second - kEchoes) ||
             (step != stopped.end() && step->second < one.second && first >= step->second &&
              first <= step->second + kEchoes);
    });
  };
  std::set<Host> warned;  // what one machine warns of may be anything
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (e.time.clock != Clock::utc || e.role != Role::root || e.severity < Severity::warning ||
        m == nullptr || !of_machine(*m))
      continue;
    if (!echoes(e.time.ns, std::max(e.time.ns, e.last_time.ns))) continue;
    if (e.severity >= Severity::distributed) return true;
    if (e.host) warned.insert(*e.host);
  }
  return warned.size() >= 2;
}

}  // namespace culprit::analyze
