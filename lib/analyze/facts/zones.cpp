#include "analyze/facts/zones.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/zone_joins.hpp"
#include "line/zone_in_name.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostSources = 1'000;  // each file is held against all of them
// Two logs of one job need not overlap; no zone is nearer to UTC than an hour.
constexpr Nanoseconds kApart = 45 * kMinute;
constexpr Nanoseconds kGuessed = 10 * kMinute;  // not good for ordering within minutes

// Moments that tell zones apart.
const Nanoseconds kWinter = days_from_civil(2026, 1, 1) * kDay,
                  kSummer = days_from_civil(2026, 7, 1) * kDay;

// "Asia/Singapore" and "+08:00" are one.
bool same_zone(const line::Zone& a, const line::Zone& b) {
  return a.offset(kWinter) == b.offset(kWinter) && a.offset(kSummer) == b.offset(kSummer);
}

// What all these names mean; nothing where they contradict each other. "+02:00" is what a line
// printed, and "Europe/Berlin", behind it in their order, says it for the whole year.
std::optional<line::Zone> agreed(const std::set<std::string>& names) {
  const auto out = line::Zone::named(*names.rbegin());
  const bool agree = out && std::ranges::all_of(names, [&](const std::string& name) {
                       const auto other = line::Zone::named(name);
                       return other && (other->offset(kWinter) == out->offset(kWinter) ||
                                        other->offset(kSummer) == out->offset(kSummer));
                     });
  return agree ? out : std::nullopt;
}

// '*' stands for anything within a path; a folder means all below it; a name without a slash any
// file of that name.
bool path_matches(const std::string& pattern, const std::string& path) {
  const auto glob = [](std::string_view p, std::string_view text) {
    std::size_t at = 0, i = 0, star = std::string_view::npos, back = 0;
    while (at < text.size()) {
      if (i < p.size() && p[i] == '*') {
        star = i++;
        back = at;
      } else if (i < p.size() && p[i] == text[at]) {
        ++i;
        ++at;
      } else if (star != std::string_view::npos) {
        i = star + 1;
        at = ++back;
      } else
        return false;
    }
    while (i < p.size() && p[i] == '*') ++i;
    return i == p.size();
  };
  if (glob(pattern, path)) return true;
  if (pattern.find('/') == std::string::npos &&
      glob(pattern, std::string_view(path).substr(
                        path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1)))
    return true;
  std::string folder = pattern;
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

// All stamps of the job, what machines say of their own faults and of the end of those left out:
// they have a boot clock or reach days back.
void each_stamp(const Facts& facts, auto see) {
  const auto own_affair = [&](const EventRow& e) {
    if (e.role == Role::root) return true;
    const MemberRow* m = facts.member(e.place.member);
    return (e.role == Role::advice || e.role == Role::recovery) && m != nullptr && of_machine(*m);
  };
  for (const auto& e : facts.events)
    if (!own_affair(e)) see(e.time, e.place.member);
  for (const auto& t : facts.tracebacks) see(t.time, t.place.member);
  for (const auto& c : facts.clocks)
    if (c.kind == "first" || c.kind == "last") see(c.time, c.place.member);
  // Steps that a file counts from the epoch; local ones are among the clocks.
  for (const ProgressSpan& p : facts.progress)
    for (const ProgressRow* row : {&p.first, &p.last})
      if (row->time.clock == Clock::utc) see(row->time, row->place.member);
}

// The offset with the most voters, how many these are, and how many the next one has.
struct Winner {
  Nanoseconds offset = 0;
  std::size_t most = 0, second = 0;
  bool clear(std::size_t least) const { return most >= least && most > 2 * second; }
};
template <class Voters>
Winner winner(const std::map<Nanoseconds, Voters>& votes) {
  Winner out;
  for (const auto& [offset, voters] : votes)
    if (voters.size() > out.most)
      out = {offset, voters.size(), out.most};
    else
      out.second = std::max(out.second, voters.size());
  return out;
}

// "UTC+8", "UTC-3:30"
std::string utc_text(Nanoseconds offset) {
  const Nanoseconds size = std::abs(offset);
  const std::string minutes =
      size % kHour == 0 ? "" : fmt::format(":{:02}", size % kHour / kMinute);
  return fmt::format("UTC{}{}{}", offset > 0 ? "+" : "-", size / kHour, minutes);
}

struct Window {
  Nanoseconds low = 0;
  Nanoseconds high = std::numeric_limits<Nanoseconds>::min();
  bool empty() const { return high == std::numeric_limits<Nanoseconds>::min(); }
  void add(Nanoseconds t) {
    low = empty() ? t : std::min(low, t);
    high = std::max(high, t);
  }
  bool meets(const Window& other) const {
    return low <= other.high + kApart && other.low <= high + kApart;
  }
  bool ends_within(const Window& other) const { return high <= other.high + kApart; }
};

}  // namespace

Zones::Zones(Facts& facts) {
  read_words(facts);
  read_names(facts);
  choose_for_job(facts);
  if (!written_by_machines_ && !machines_noted_ && of_host_.empty()) by_faults_of_machines(facts);
  choose_for_members(facts);
}

const ZoneChoice& Zones::of(MemberId member) const {
  const auto it = of_member_.find(member);
  return it == of_member_.end() ? job_ : it->second;
}

void Zones::read_words(const Facts& facts) {
  if (facts.manifest)
    for (const auto& [source, name] : facts.manifest->timezones)
      if (const auto zone = line::Zone::named(name); zone && of_source_.size() < kMostSources)
        of_source_.emplace_back(source, *zone);
  // /etc/timezone, timedatectl, the zone that `date` prints. A machine that says two things says
  // nothing.
  std::map<std::string, std::set<std::string>> said;
  std::set<std::string> of_job, of_machines;  // what people note
  std::map<std::string, std::set<std::string>> of_file;
  for (const ConfigRow& c : facts.configs) {
    if (c.name.starts_with("timezone.file[") && c.name.ends_with(']'))
      of_file[c.name.substr(14, c.name.size() - 15)].insert(c.value);
    if (c.name == "timezone.job") of_job.insert(c.value);
    if (c.name == "timezone.machines") of_machines.insert(c.value);
    if (c.name != "timezone") continue;
    const MemberRow* m = facts.member(c.place.member);
    const Host host = c.host         ? short_host(*c.host)
                      : m != nullptr ? m->host.value_or(Host())
                                     : Host();
    said[host].insert(c.value);
  }
  for (const auto& [file, names] : of_file)
    if (const auto zone = agreed(names); zone && of_source_.size() < kMostSources)
      of_source_.emplace_back(file, *zone);
  job_is_local_ = of_job.contains("local");
  if (of_job.size() == 1) job_noted_ = line::Zone::named(*of_job.begin());
  if (of_machines.size() == 1) machines_noted_ = line::Zone::named(*of_machines.begin());
  for (const MemberRow& m : facts.members)
    if (const std::size_t at = m.link_target.find("zoneinfo/");
        at != std::string::npos && m.path.ends_with("localtime"))
      said[name_of(m.host)].insert(m.link_target.substr(at + 9));
  for (const auto& [host, names] : said) {
    std::vector<line::Zone> zones;
    for (const std::string& name : names)
      if (const auto zone = line::Zone::named(name)) zones.push_back(*zone);
    if (!zones.empty() && std::ranges::all_of(zones, [&](const line::Zone& z) {
          return same_zone(z, zones.front());
        }))
      of_host_.emplace(host, zones.front());
  }
}

// A job whose every output has the zone in its name runs in that zone.
void Zones::read_names(const Facts& facts) {
  for (const MemberRow& m : facts.members) {
    const auto noted = std::ranges::find_if(
        of_source_, [&](const auto& one) { return path_matches(one.first, m.path); });
    if (noted != of_source_.end()) of_name_.emplace(m.id, noted->second);
    // What the manifest or the machine itself says is surer than a word of a name.
    else if (const auto zone = line::zone_in_name(m.path);
             zone && !(facts.manifest && !facts.manifest->timezone.empty()) &&
             of_host_.count(name_of(m.host)) == 0)
      of_name_.emplace(m.id, *zone);
  }
  if (of_name_.empty()) return;
  const line::Zone* of_outputs = nullptr;
  bool all = true;
  const auto see = [&](const Timestamp& stamp, MemberId member) {
    const MemberRow* m = facts.member(member);
    if (m == nullptr || of_machine(*m) || !without_zone(stamp)) return;
    const line::Zone* own = named(member);
    all = all && own != nullptr && (of_outputs == nullptr || same_zone(*own, *of_outputs));
    of_outputs = own;
  };
  for (const auto& e : facts.events) see(e.time, e.place.member);
  for (const auto& t : facts.tracebacks) see(t.time, t.place.member);
  for (const auto& p : facts.progress) see(p.first.time, p.member);
  if (!job_noted_ && all && of_outputs != nullptr) job_noted_ = *of_outputs;
}

const line::Zone* Zones::named(MemberId member) const {
  const auto it = of_name_.find(member);
  return it == of_name_.end() ? nullptr : &it->second;
}

// The same failure of one rank on two clocks: error.json counts from the epoch, torchrun's report
// is local.
bool Zones::by_twice_recorded(Facts& facts) {
  std::map<Rank, Nanoseconds> epoch;
  std::map<Nanoseconds, int> votes;
  for (const auto& t : facts.tracebacks)
    if (t.rank && t.source == "error.json" && t.time.clock == Clock::utc)
      epoch.emplace(*t.rank, t.time.ns);
  for (const auto& t : facts.tracebacks) {
    if (!t.rank || t.time.clock != Clock::local) continue;
    const auto it = epoch.find(*t.rank);
    if (it == epoch.end()) continue;
    const Nanoseconds difference = t.time.ns - it->second;
    const Nanoseconds whole = rounded(difference, 15 * kMinute);
    if (std::abs(difference - whole) < 2 * kMinute && is_zone(whole)) ++votes[whole];
  }
  if (votes.empty()) return false;
  const Nanoseconds offset = std::ranges::max_element(votes, [](const auto& a, const auto& b) {
                               return a.second < b.second;
                             })->first;
  job_ = {line::Zone::fixed(offset), 0, true};
  if (offset != 0) facts.notes.push_back(say(Phrase::zone_by_failures, utc_text(offset)));
  return true;
}

// A process of the job that a machine's log names by its number when it failed.
bool Zones::by_processes(Facts& facts) {
  for (const Clock machines : {Clock::utc, Clock::local}) {
    const auto shift = shift_by_processes(facts, machines);
    if (!shift) continue;
    if (machines == Clock::utc) {
      job_ = {line::Zone::fixed(*shift), 0, true};
    } else {
      // Neither prints a zone: how far they stand apart is known, and nothing else.
      facts.zone_known = false;
      written_by_machines_ = -*shift;
    }
    if (*shift != 0)
      facts.notes.push_back(machines == Clock::utc
                                ? say(Phrase::zone_of_job_by_process, utc_text(*shift))
                                : say(Phrase::zone_of_machines_by_process, utc_text(-*shift)));
    return true;
  }
  return false;
}

// What the ends of a job leave in the logs of its machines, with a zone, against the moments when
// its own output, without one, tells of failed communication: several machines that show one whole
// shift, or one whose faults meet several ends.
bool Zones::by_echoes(Facts& facts) {
  constexpr Nanoseconds kNear = 3 * kMinute;
  constexpr std::size_t kLeastHosts = 2, kLeastEnds = 3;
  const auto after_effect = [](const EventRow& e) {
    return e.role == Role::cascade || e.role == Role::teardown || e.role == Role::confirmation;
  };
  // By the job, on its own clock. An operation that timed out began to fail when it began: then,
  // and not when somebody gave it up, a machine had its fault.
  struct Failed {
    Clock clock;
    Nanoseconds began, given_up;
    auto operator<=>(const Failed&) const = default;
  };
  std::set<Failed> told;
  std::map<std::pair<MemberId, std::uint64_t>, Nanoseconds> timeouts;
  for (const CollectiveSample& c : facts.collectives)
    if (c.row.timeout_ms && *c.row.timeout_ms > 0 &&
        *c.row.timeout_ms * (kSecond / 1000) < 24 * kHour)
      timeouts.emplace(std::pair(c.row.place.member, c.row.place.line),
                       *c.row.timeout_ms * (kSecond / 1000));
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (without_zone(e.time) && after_effect(e) && e.severity == Severity::distributed &&
        m != nullptr && !of_machine(*m) && told.size() < kMostSources) {
      const auto timeout = timeouts.find({e.place.member, e.place.line});
      const Nanoseconds waited = timeout == timeouts.end() ? 0 : timeout->second;
      told.insert(
          {e.time.clock, (e.time.ns - waited) / kMinute * kMinute, e.time.ns / kMinute * kMinute});
    }
  }
  if (told.empty()) return false;
  std::map<Nanoseconds, std::set<std::string>> votes;   // shift -> machines
  std::map<Nanoseconds, std::set<Nanoseconds>> faults;  // shift -> hours of the ends that they meet
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    const bool fault = e.role == Role::root && e.severity == Severity::critical;
    if (e.time.clock != Clock::utc || !e.host || !(fault || after_effect(e)) || m == nullptr ||
        !of_machine(*m))
      continue;
    std::map<Nanoseconds, Nanoseconds> shifts;  // -> the moment that was told
    for (const auto& [clock, began, given_up] : told) {
      const bool before = e.role == Role::root || e.role == Role::confirmation;
      const Nanoseconds printed = before ? began : given_up;
      const Nanoseconds t =
          clock == Clock::local ? printed : with_year(printed, nearest_year(printed, e.time.ns));
      const Nanoseconds shift = t - e.time.ns, whole = rounded(shift, 30 * kMinute);
      if (std::abs(shift - whole) <= (fault ? kMinute : kNear) && is_zone(whole))
        shifts.emplace(whole, t);
    }
    for (const auto& [shift, moment] : shifts)
      if (fault)
        faults[shift].insert(rounded(moment, kHour));
      else
        votes[shift].insert(*e.host);
  }
  const Winner machines = winner(votes), ends = winner(faults);
  const bool by_machines = machines.clear(kLeastHosts) && machines.offset != 0;
  if (!by_machines && (ends.most < kLeastEnds || ends.most < ends.second + 2)) return false;
  const Nanoseconds offset = by_machines ? machines.offset : ends.offset;
  job_ = {line::Zone::fixed(offset), 0, true};
  if (by_machines)
    facts.notes.push_back(say(Phrase::zone_by_job_end, utc_text(offset), machines.most));
  else if (offset != 0)
    facts.notes.push_back(say(Phrase::zone_by_faults, utc_text(offset), ends.most));
  else
    facts.notes.push_back(say(Phrase::job_clock_utc));
  return true;
}

// Recorders count from the epoch, and a job that stands launched its last operations a step or two
// after the last step that its log prints.
bool Zones::by_recorders(Facts& facts) {
  constexpr std::size_t kLeastDumps = 2, kLeastSteps = 4;
  constexpr Nanoseconds kWidest = 5 * kMinute, kSlack = 5 * kSecond;
  std::map<MemberId, Nanoseconds> newest;  // operation of a dump
  for (const CollectiveSample& c : facts.collectives)
    if (c.row.time.clock == Clock::utc) {
      Nanoseconds& t = newest.emplace(c.row.place.member, c.row.time.ns).first->second;
      t = std::max(t, c.row.time.ns);
    }
  const ProgressSpan* latest = nullptr;
  for (const ProgressSpan& p : facts.progress)
    if (p.first.time.clock == Clock::local && p.last.time.clock == Clock::local &&
        p.rows >= kLeastSteps && (latest == nullptr || p.last.time.ns > latest->last.time.ns))
      latest = &p;
  if (newest.size() < kLeastDumps || latest == nullptr) return false;
  Nanoseconds last_launch = 0;
  for (const auto& [member, t] : newest) last_launch = std::max(last_launch, t);
  const Nanoseconds between_lines =
      (latest->last.time.ns - latest->first.time.ns) / static_cast<Nanoseconds>(latest->rows - 1);
  const Nanoseconds window = 2 * between_lines + kSlack;
  const Nanoseconds shift = latest->last.time.ns - last_launch,
                    whole = rounded(shift, 30 * kMinute);
  if (window > kWidest || shift - whole > kSlack || whole - shift > window || !is_zone(whole))
    return false;
  job_ = {line::Zone::fixed(whole), 0, true};
  if (whole != 0) facts.notes.push_back(say(Phrase::zone_by_recorders, utc_text(whole)));
  return true;
}

// A job that goes on printing makes no step from the moment on in which several machines report a
// fault, a whole number of hours away.
bool Zones::by_last_step(Facts& facts) {
  constexpr std::size_t kLeastHosts = 3, kMostMoments = 10;
  constexpr Nanoseconds kBefore = 10 * kSecond, kBehind = kMinute;
  std::optional<Timestamp> last;
  for (const ProgressSpan& p : facts.progress) {
    const MemberRow* m = facts.member(p.member);
    if (m == nullptr || of_machine(*m) || named(m->id) != nullptr || !without_zone(p.last.time) ||
        (last && p.last.time.clock != last->clock))
      return false;
    if (!last || last->ns < p.last.time.ns) last = p.last.time;
  }
  if (!last) return false;
  std::map<Nanoseconds, std::set<std::string>> votes;
  std::set<Nanoseconds> moments;  // machines that report all the time meet anything
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (e.time.clock != Clock::utc || !e.host || m == nullptr || !of_machine(*m) ||
        (e.role != Role::root && e.role != Role::confirmation) || e.severity < Severity::warning)
      continue;
    moments.insert(rounded(e.time.ns, 10 * kMinute));
    const Nanoseconds shift = printed(*last, e.time.ns) - e.time.ns, whole = rounded(shift, kHour);
    if (whole - shift >= -kBefore && whole - shift <= kBehind && is_zone(whole))
      votes[whole].insert(*e.host);
  }
  const Winner machines = winner(votes);
  if (!machines.clear(kLeastHosts) || moments.size() > kMostMoments) return false;
  job_ = {line::Zone::fixed(machines.offset), 0, true};
  facts.notes.push_back(machines.offset == 0 ? say(Phrase::job_clock_utc)
                                             : say(Phrase::zone_by_last_step,
                                                   utc_text(machines.offset), machines.most));
  return true;
}

// A log was last written when its last line was: the time that the folder or archive keeps for the
// file, which is UTC, less that of the line is the zone. Copied files have other times, so several
// logs must show one zone, each by itself.
void Zones::by_file_times(const Facts& facts) {
  constexpr Nanoseconds kClose = 3 * kSecond;
  std::map<Nanoseconds, std::set<Nanoseconds>>
      votes[2];  // of job and machines: offset -> moments of the last lines
  for (const ClockRow& c : facts.clocks) {
    const MemberRow* m = facts.member(c.place.member);
    if (c.kind != "last" || c.time.clock != Clock::local || m == nullptr || m->mtime_s <= 0)
      continue;
    const Nanoseconds difference = c.time.ns - m->mtime_s * kSecond;
    const Nanoseconds whole = rounded(difference, 15 * kMinute);
    if (std::abs(difference - whole) <= kClose && is_zone(whole))
      votes[of_machine(*m)][whole].insert(c.time.ns / (2 * kClose));
  }
  for (const bool machines : {false, true}) {
    if (const Winner zone = winner(votes[machines]); zone.clear(3))
      (machines ? written_by_machines_ : written_by_job_) = zone.offset;
  }
}

// The other way round: logs of machines without a zone, and a job whose output has one. One fault
// that several machines report at one moment is what ended it, a whole number of hours away. As it
// is that end which fixed the zone, the end is no proof of the fault.
void Zones::by_faults_of_machines(Facts& facts) {
  constexpr Nanoseconds kBefore = 3 * kMinute, kBehind = 45 * kSecond;  // transfers are retried
  constexpr std::size_t kLeastHosts = 2;
  std::set<Nanoseconds> ends;  // of the job's outputs, and what they tell of failures
  const auto see = [&](const Timestamp& t) {
    if (t.clock == Clock::utc && ends.size() < kMostSources) ends.insert(t.ns);
  };
  std::set<MemberId> outputs;
  for (const ProgressSpan& p : facts.progress)
    if (const MemberRow* m = facts.member(p.member); m != nullptr && !of_machine(*m))
      outputs.insert(p.member);
  for (const ClockRow& c : facts.clocks)
    if (c.kind == "last" && outputs.contains(c.place.member)) see(c.time);
  for (const EventRow& e : facts.events)
    if (const MemberRow* m = facts.member(e.place.member);
        e.severity >= Severity::distributed && m != nullptr && !of_machine(*m))
      see(e.time);
  if (ends.empty()) return;
  using Fault = std::pair<std::string, Nanoseconds>;                  // class, end that it meets
  std::map<Nanoseconds, std::map<Fault, std::set<std::string>>> met;  // shift -> machines
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (e.role != Role::root || e.severity < Severity::warning || !e.host || m == nullptr ||
        !of_machine(*m) || named(m->id) != nullptr || !without_zone(e.time))
      continue;
    for (const Nanoseconds end : ends) {
      const Nanoseconds shift = printed(e.time, end) - end;
      const Nanoseconds whole = rounded(shift, kHour);
      if (shift - whole >= -kBefore && shift - whole <= kBehind && is_zone(whole))
        met[whole][{e.event_class, rounded(end, 2 * kBefore)}].insert(*e.host);
    }
  }
  std::map<Nanoseconds, std::set<std::string>> votes;
  for (const auto& [shift, faults] : met)
    votes[shift] = std::ranges::max_element(faults, {}, [](const auto& fault) {
                     return fault.second.size();
                   })->second;
  const Winner machines = winner(votes);
  if (!machines.clear(kLeastHosts)) return;
  machines_guessed_ = true;
  written_by_machines_ = machines.offset;
  if (machines.offset != 0)
    facts.notes.push_back(
        say(Phrase::zone_of_machines_by_faults, utc_text(machines.offset), machines.most));
}

// How well the job's times without a zone go with those that have one when they are taken for
// `zone`.
Zones::Fit Zones::fit(const Facts& facts, const line::Zone& zone) const {
  Window utc, local, yearless;
  each_stamp(facts, [&](const Timestamp& stamp, MemberId member) {
    if (stamp.clock == Clock::utc) utc.add(stamp.ns);
    if (const line::Zone* own = named(member); own != nullptr && stamp.clock == Clock::local)
      utc.add(own->utc(stamp.ns));
  });
  each_stamp(facts, [&](const Timestamp& stamp, MemberId member) {
    const MemberRow* m = facts.member(member);
    if (m == nullptr || of_machine(*m) || named(member) != nullptr) return;
    if (stamp.clock == Clock::local)
      local.add(zone.utc(stamp.ns));
    else if (stamp.clock == Clock::local_no_year && !utc.empty())
      yearless.add(zone.utc(with_year(stamp.ns, nearest_year(stamp.ns, utc.high))));
  });
  if (local.empty()) local = yearless;  // a year that was guessed only where there is no other time
  if (utc.empty() || local.empty()) return Fit::within;
  if (!utc.meets(local)) return Fit::apart;
  return local.ends_within(utc) ? Fit::within : Fit::later;
}

const line::Zone* Zones::zone_of_all_hosts() const {
  if (of_host_.empty()) return machines_noted_ && !job_is_local_ ? &*machines_noted_ : nullptr;
  const line::Zone& first = of_host_.begin()->second;
  return std::ranges::all_of(of_host_,
                             [&](const auto& one) { return same_zone(one.second, first); })
             ? &first
             : nullptr;
}

void Zones::choose_for_job(Facts& facts) {
  if (facts.manifest && !facts.manifest->timezone.empty())
    if (const auto zone = line::Zone::named(facts.manifest->timezone)) {
      job_ = {*zone, 0, true};
      return;
    }
  if (job_noted_) {
    job_ = {*job_noted_, 0, true};
    return;
  }
  if (by_twice_recorded(facts) || by_processes(facts)) return;
  by_file_times(facts);
  if (written_by_job_) {
    job_ = {line::Zone::fixed(*written_by_job_), 0, true};
    return;
  }
  // All machines in one zone: the job's, unless its own times then miss those that have one.
  Nanoseconds either = 0;  // between that zone and UTC, where nothing shows which it is
  if (const line::Zone* hosts = zone_of_all_hosts(); hosts != nullptr) {
    const Fit as_hosts = fit(facts, *hosts), as_utc = fit(facts, line::Zone());
    const bool utc_only = as_hosts != Fit::apart && as_utc != Fit::apart &&
                          !failure_echoes(facts, *hosts) && failure_echoes(facts, line::Zone());
    if (as_hosts != Fit::apart && as_hosts <= as_utc && !utc_only) {
      job_ = {*hosts, 0, true};
      return;
    }
    if (as_hosts == Fit::later && as_utc == Fit::within && !utc_only)
      either = std::abs(hosts->offset(kWinter)) + kHour;
    if ((as_hosts == Fit::apart && as_utc != Fit::apart) || utc_only) {
      job_ = {line::Zone(), 0, true};
      facts.notes.push_back(say(Phrase::job_clock_utc));
      return;
    }
  }
  bool has_utc = false;
  bool has_local = false;
  const auto see = [&](const Timestamp& time, MemberId member) {
    const bool local = without_zone(time);
    has_utc = has_utc || time.clock == Clock::utc || (local && named(member) != nullptr);
    has_local = has_local || (local && named(member) == nullptr);
  };
  for (const auto& e : facts.events) see(e.time, e.place.member);
  for (const auto& t : facts.tracebacks) see(t.time, t.place.member);
  for (const auto& p : facts.progress) see(p.first.time, p.member);
  for (const auto& c : facts.clocks)
    if (c.kind == "first" || c.kind == "last") see(c.time, c.place.member);
  if (has_local && has_utc && by_echoes(facts)) return;
  if (has_local && by_recorders(facts)) return;
  if (has_local && has_utc && by_last_step(facts)) return;
  if (has_local) facts.zone_known = false;
  if (either > 0)
    job_ = {line::Zone(), either, false};
  else if (has_local && has_utc)
    guess(facts);
}

// Two families of stamps, one with a zone: if they overlap as UTC, they are UTC; else the shift
// that makes the failure the same moment, which stays a guess and is not good for ordering within
// minutes.
void Zones::guess(Facts& facts) {
  Window utc, local;
  each_stamp(facts, [&](const Timestamp& stamp, MemberId member) {
    const line::Zone* own = named(member);
    if (stamp.clock == Clock::utc)
      utc.add(stamp.ns);
    else if (stamp.clock == Clock::local)
      own != nullptr ? utc.add(own->utc(stamp.ns)) : local.add(stamp.ns);
  });
  if (utc.empty() || local.empty() || utc.meets(local)) return;
  Nanoseconds shift = rounded(local.high - utc.high, kHour / 2);
  if (std::abs(shift) < 3 * kHour) shift = rounded(shift, kHour);
  if (!is_zone(shift)) return;  // times of other days: nothing to compare with
  job_ = {line::Zone::fixed(shift), kGuessed, false};
  facts.zone_moved = true;
  facts.notes.push_back(say(Phrase::zones_moved));
}

void Zones::choose_for_members(const Facts& facts) {
  if (of_source_.empty() && of_name_.empty() && of_host_.empty() && !written_by_machines_ &&
      !machines_noted_)
    return;
  const line::Zone* const of_all = zone_of_all_hosts();
  const std::optional<line::Zone> of_machines =
      machines_noted_        ? machines_noted_
      : written_by_machines_ ? std::optional(line::Zone::fixed(*written_by_machines_))
                             : std::nullopt;
  for (const MemberRow& m : facts.members) {
    const auto by = [&](auto accept) -> const line::Zone* {
      for (const auto& [source, zone] : of_source_)
        if (accept(source)) return &zone;
      return nullptr;
    };
    const line::Zone* zone = named(m.id);
    if (zone == nullptr && m.host)
      zone = by([&](const std::string& source) { return short_host(source) == *m.host; });
    if (zone == nullptr)
      zone = by([&](const std::string& source) { return source == kind_of_source(m); });
    if (zone == nullptr && of_machine(m) && !(facts.manifest && !facts.manifest->timezone.empty()))
      zone = of_host_.count(name_of(m.host)) > 0 ? &of_host_.find(name_of(m.host))->second
             : of_machines                       ? &*of_machines
             // sacct of the site; and what nobody knows whose it is may be a list of all machines
             : !m.host || of_host_.count("") > 0 ? of_all
                                                 : nullptr;
    if (zone == nullptr) continue;
    const bool guessed = machines_guessed_ && of_machines && zone == &*of_machines;
    of_member_[m.id] = {*zone, guessed ? kGuessed : 0, !guessed};
  }
}

}  // namespace culprit::analyze
