#include "analyze/facts/clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "analyze/facts/boot_times.hpp"
#include "analyze/facts/days.hpp"
#include "analyze/facts/earlier_runs.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "analyze/facts/signal.hpp"
#include "analyze/facts/zones.hpp"

#include "line/timestamp.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::min();

// "2026-11-21T03:19:19Z" as the manifest writes it; seconds, optional fraction ignored.
std::optional<Nanoseconds> iso(const std::string& text) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &y, &mo, &d, &h, &mi, &s) < 6 ||
      mo < 1 || mo > 12 || d < 1 || d > 31 || y < 1970 || y > 2200)
    return std::nullopt;
  return (days_from_civil(y, static_cast<unsigned>(mo), static_cast<unsigned>(d)) * 86400 +
          h * 3600 + mi * 60 + s) *
         kSecond;
}

class ClockMap {
 public:
  explicit ClockMap(Facts& facts) : facts_(facts), zones_(facts) {
    choose_reference();
    boot_ = boot_times(
        facts, [this](const Timestamp& stamp, MemberId member) -> std::optional<Nanoseconds> {
          Nanoseconds ignored = 0;
          return stamp.clock == Clock::boot ? std::nullopt : utc(stamp, {}, member, ignored);
        });
  }

  // UTC of a stamp, with what it may be off by; nullopt when nothing ties the clock to UTC.
  std::optional<Nanoseconds> utc(const Timestamp& stamp, const std::optional<Host>& host,
                                 MemberId member, Nanoseconds& uncertainty) const {
    uncertainty = kHostSkew + stamp.precision;
    switch (stamp.clock) {
      case Clock::utc: return stamp.ns;
      case Clock::local: return in_zone(stamp.ns, member, uncertainty);
      case Clock::local_no_year: {
        const auto year = year_for(stamp.ns, member);
        if (!year) return std::nullopt;
        return in_zone(with_year(stamp.ns, *year), member, uncertainty);
      }
      case Clock::boot: {
        const auto it = boot_.find(name_of(host));
        if (it == boot_.end()) return std::nullopt;
        // Crystals drift by tens of parts in a million; dmesg's clock also stands still in suspend.
        uncertainty += it->second.uncertainty + stamp.ns / 20'000;
        return it->second.ns + stamp.ns;
      }
      case Clock::local_no_date:
      case Clock::none: return std::nullopt;
    }
    return std::nullopt;
  }

  // What to add to times near `raw` on that clock of this member; times without a year are not far
  // from each other.
  std::optional<Nanoseconds> offset(Clock clock, Nanoseconds raw, MemberId member) const {
    if (clock == Clock::utc) return 0;
    if (clock != Clock::local && clock != Clock::local_no_year) return std::nullopt;
    Nanoseconds ignored = 0;
    if (const auto t = utc({clock, raw, kSecond}, {}, member, ignored)) return *t - raw;
    return std::nullopt;
  }

  const std::map<std::string, BootTime>& boots() const { return boot_; }
  std::optional<Nanoseconds> reference() const { return reference_; }

 private:
  Nanoseconds in_zone(Nanoseconds local, MemberId member, Nanoseconds& uncertainty) const {
    const ZoneChoice& choice = zones_.of(member);
    uncertainty += choice.uncertainty;
    return choice.zone.utc(local, uncertainty);
  }

  void choose_reference() {
    const auto see = [&](const Timestamp& stamp, MemberId member) -> std::optional<Nanoseconds> {
      if (stamp.clock != Clock::utc && stamp.clock != Clock::local) return std::nullopt;
      Nanoseconds ignored = 0;
      const Nanoseconds t = utc(stamp, {}, member, ignored).value_or(0);
      auto& best = of_member_.emplace(member, t).first->second;
      best = std::max(best, t);
      reference_ = std::max(reference_.value_or(t), t);
      return t;
    };
    for (const auto& e : facts_.events) see(e.time, e.place.member);
    for (const auto& t : facts_.tracebacks) see(t.time, t.place.member);
    for (const auto& c : facts_.clocks)
      if (const auto t = see(c.time, c.place.member); t && c.kind == "collected")
        collected_ = std::max(collected_.value_or(*t), *t);
    for (const auto& p : facts_.progress) {
      see(p.first.time, p.member);
      see(p.last.time, p.member);
    }
    if (facts_.manifest)
      for (const ManifestAttempt& a : facts_.manifest->attempts)
        for (const std::string& text : {a.start, a.end})
          if (const auto t = iso(text)) reference_ = std::max(reference_.value_or(*t), *t);
    for (const ConfigRow& c : facts_.configs)
      if (c.name == "slurm.job.start" || c.name == "slurm.job.end")
        if (const auto t = iso(c.value.substr(std::min(c.value.find(' '), c.value.size() - 1) + 1)))
          reference_ = std::max(reference_.value_or(*t), *t);
    // Nothing prints a year: none of an archive's files is younger than the collection.
    if (!collected_ && !reference_)
      for (const MemberRow& m : facts_.members)
        if (m.in_archive && m.mtime_s > kOldestArchive)
          collected_ = std::max(collected_.value_or(0), m.mtime_s * kSecond);
  }

  // The last year that is not after the collection; without a collection the year that brings it
  // nearest to dates that print theirs.
  std::optional<std::int64_t> year_for(Nanoseconds in_2000, MemberId member) const {
    if (facts_.manifest && facts_.manifest->year) return *facts_.manifest->year;
    Nanoseconds near = kNever;
    if (const auto it = of_member_.find(member); it != of_member_.end())
      near = it->second;
    else if (collected_)
      return last_year(in_2000, *collected_);
    else if (reference_)
      near = *reference_;
    else if (const MemberRow* m = facts_.member(member); m != nullptr && m->mtime_s > 86400)
      return last_year(in_2000, m->mtime_s * kSecond);  // nothing was written after that
    if (near == kNever) return std::nullopt;
    return nearest_year(in_2000, near);
  }

  // The last one that does not bring it behind `end`. Zones lie up to 14 hours apart, clocks a
  // little more.
  static std::int64_t last_year(Nanoseconds in_2000, Nanoseconds end) {
    const std::int64_t year = civil_from_days(end / kDay).year;
    return with_year(in_2000, year) <= end + kDay       ? year
           : with_year(in_2000, year + 1) <= end + kDay ? year + 1
                                                        : year - 1;
  }

  static constexpr std::int64_t kOldestArchive =
      946'684'800;  // 2000: tools that forget times write 0 or 1980

  Facts& facts_;
  Zones zones_;
  std::optional<Nanoseconds> reference_, collected_;
  std::map<MemberId, Nanoseconds> of_member_;
  std::map<std::string, BootTime> boot_;
};

}  // namespace

namespace {

Nanoseconds middle_time(std::vector<Nanoseconds> values) {
  sort_rows(values);
  return values[values.size() / 2];
}

void move_times(Facts& facts, const Host& host, Nanoseconds by, Nanoseconds uncertainty) {
  const auto move = [&](std::optional<Nanoseconds>& time) {
    if (time) *time -= by;
  };
  for (auto& e : facts.events)
    if (e.host == host) {
      move(e.time_ns);
      move(e.last_time_ns);
      e.uncertainty += uncertainty;
    }
  for (auto& x : facts.tracebacks)
    if (x.host == host) {
      move(x.time_ns);
      x.uncertainty += uncertainty;
    }
  for (auto& x : facts.exits)
    if (x.host == host) move(x.time_ns);
}

void move_progress(Facts& facts, const Host& host, Nanoseconds by) {
  for (ProgressSpan& p : facts.progress)
    if (const MemberRow* m = facts.member(p.member); m != nullptr && m->host == host)
      p.each_row([&](ProgressRow& row) {
        if (row.time_ns) *row.time_ns -= by;
      });
}

// What the time service of a machine says of its clock (chronyc tracking), when that is seconds or
// more.
void mend_clocks_by_words(Facts& facts) {
  constexpr std::int64_t kLeastMs = 1000;
  std::map<Host, std::set<std::int64_t>> said;
  for (const ConfigRow& c : facts.configs) {
    if (c.name != "clock_ahead_ms") continue;
    const MemberRow* m = facts.member(c.place.member);
    const Host host = c.host         ? short_host(*c.host)
                      : m != nullptr ? m->host.value_or(Host())
                                     : Host();
    if (!host.empty()) said[host].insert(std::strtoll(c.value.c_str(), nullptr, 10));
  }
  for (const auto& [host, values] : said) {
    const std::int64_t ahead = *values.begin();
    if (values.size() != 1 || std::abs(ahead) < kLeastMs) continue;
    facts.notes.push_back(say(ahead > 0 ? Phrase::clock_ahead_of_ntp : Phrase::clock_behind_ntp,
                              host, human_duration(std::abs(ahead) * (kSecond / 1000))));
    const Nanoseconds by = ahead * (kSecond / 1000);
    move_times(facts, host, by, kSecond);
    move_progress(facts, host, by);
  }
}

// All ranks end a step together, within a second. A host that prints the first and the last step
// that hosts have in common minutes before or after all others has a clock that is off by that.
void mend_clocks_by_steps(Facts& facts) {
  constexpr Nanoseconds kTogether = 2 * kSecond;
  constexpr Nanoseconds kOff = 5 * kSecond;
  constexpr std::size_t kLeastHosts = 3;
  std::map<std::int64_t, std::map<Host, std::vector<Nanoseconds>>> first,
      last;  // iteration -> host -> when
  for (const ProgressSpan& p : facts.progress) {
    const MemberRow* m = facts.member(p.member);
    if (!facts.counts(m) || !m->host || p.framework == "tqdm" || !p.first.iteration ||
        !p.last.iteration || !p.first.time_ns || !p.last.time_ns ||
        *p.last.iteration <= *p.first.iteration)
      continue;
    first[*p.first.iteration][*m->host].push_back(*p.first.time_ns);
    last[*p.last.iteration][*m->host].push_back(*p.last.time_ns);
  }
  const auto commonest = [](const auto& by_iteration) {
    const auto it = std::ranges::max_element(by_iteration, [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    return it == by_iteration.end() ? std::map<Host, std::vector<Nanoseconds>>{} : it->second;
  };
  const auto begin = commonest(first);
  const auto end = commonest(last);
  if (begin.size() < kLeastHosts || end.size() < kLeastHosts) return;
  const auto offsets = [](const auto& times) {  // of each host from the middle one
    std::map<Host, Nanoseconds> out;
    std::vector<Nanoseconds> all;
    for (const auto& [host, list] : times) all.push_back(out[host] = middle_time(list));
    const Nanoseconds middle = middle_time(all);
    for (auto& [host, t] : out) t -= middle;
    return out;
  };
  const auto at_begin = offsets(begin);
  const auto at_end = offsets(end);
  const auto together = [&](const auto& all) {
    return 5 * std::ranges::count_if(
                   all, [&](const auto& one) { return std::abs(one.second) <= kTogether; }) >=
           3 * static_cast<std::ptrdiff_t>(all.size());
  };
  if (!together(at_begin) || !together(at_end)) return;
  for (const auto& [host, off] : at_end) {
    const auto it = at_begin.find(host);
    if (it == at_begin.end() || std::abs(off) < kOff || std::abs(off - it->second) > kTogether)
      continue;
    facts.notes.push_back(
        say(off > 0 ? Phrase::clock_ahead_by_steps : Phrase::clock_behind_by_steps, host,
            human_duration(std::abs(off))));
    move_times(facts, host, off, kTogether);
    move_progress(facts, host, off);
  }
}

// A host whose clock is set to another zone shows the common end of the job whole hours away from
// all others. Its times are moved; a difference that is no whole half hour means something else,
// and more than two zones can be apart (a year that was guessed for one log of the host) says
// nothing of its other logs.
void mend_host_clocks(Facts& facts) {
  std::map<Host, Nanoseconds> last;
  for (const auto& e : facts.events)
    if (e.host && e.time_ns && (e.role == Role::cascade || e.role == Role::teardown) &&
        (e.severity == Severity::distributed)) {
      const auto [it, fresh] = last.emplace(*e.host, *e.time_ns);
      if (!fresh) it->second = std::max(it->second, *e.time_ns);
    }
  if (last.size() < 4) return;
  std::vector<Nanoseconds> all;
  for (const auto& [host, t] : last) all.push_back(t);
  sort_rows(all);
  const Nanoseconds middle = all[all.size() / 2];
  const auto near = static_cast<std::size_t>(std::ranges::count_if(
      all, [&](Nanoseconds t) { return std::abs(t - middle) < 300 * kSecond; }));
  if (near * 5 < all.size() * 3) return;  // no common moment to compare with
  for (const auto& [host, t] : last) {
    const Nanoseconds away = t - middle;
    if (std::abs(away) < 1500 * kSecond) continue;
    const Nanoseconds half = 1800 * kSecond;
    const Nanoseconds step = static_cast<Nanoseconds>(std::llround(static_cast<double>(away) /
                                                                   static_cast<double>(half))) *
                             half;
    if (std::abs(away - step) > 240 * kSecond || std::abs(step) < 2 * half ||
        std::abs(step) > 52 * half)
      continue;  // it joined later, or ended earlier
    facts.notes.push_back(say(Phrase::clock_away, host, human_duration(step)));
    move_times(facts, host, step, 300 * kSecond);
  }
}

}  // namespace

std::optional<Nanoseconds> boot_time_of(const EventRow& event) {
  if (event.time.clock == Clock::boot) return event.time.ns;
  return event.boot ? std::optional(event.boot->ns) : std::nullopt;
}

std::optional<Nanoseconds> exact_distance(const Facts& facts, const EventRow& a,
                                          const EventRow& b) {
  const auto from = boot_time_of(a);
  const auto to = boot_time_of(b);
  if (from && to && a.place.member == b.place.member) return *to - *from;
  if (a.time_ns && b.time_ns && a.host && a.host == b.host) return *b.time_ns - *a.time_ns;
  // Two files of one machine that was not restarted between them, as far as the files tell.
  const MemberRow* x = facts.member(a.place.member);
  const MemberRow* y = facts.member(b.place.member);
  if (from && to && a.host && a.host == b.host && x != nullptr && y != nullptr &&
      x->attempt == y->attempt)
    return *to - *from;
  return std::nullopt;
}

namespace {

struct SlurmJob {
  std::optional<Nanoseconds> start, end;
};

// The controller's log speaks of every job of the site: what it says of this one fills what the
// records leave open.
void add_log_of_controller(const Facts& facts, const ClockMap& map, const std::string& id,
                           SlurmJob& job) {
  std::map<std::pair<MemberId, std::uint64_t>, const ClockRow*> times;
  for (const ClockRow& c : facts.clocks)
    if (c.kind == "job record") times.emplace(std::pair(c.place.member, c.place.line), &c);
  std::optional<Nanoseconds> start, end;
  for (const ConfigRow& c : facts.configs) {
    if (!c.name.starts_with("slurm.log.") || c.value != id) continue;
    const auto it = times.find({c.place.member, c.place.line});
    if (it == times.end()) continue;
    Nanoseconds ignored = 0;
    const auto t = map.utc(it->second->time, {}, c.place.member, ignored);
    auto& slot = c.name == "slurm.log.start" ? start : end;
    if (t) slot = std::max(slot.value_or(*t), *t);
  }
  if (!job.start) job.start = start;
  if (!job.end) job.end = end;
}

// What scontrol, sacct or the controller's log says of the job. Of one that was requeued, its last
// run.
SlurmJob slurm_job(const Facts& facts, const ClockMap& map) {
  constexpr std::string_view kPrefix = "slurm.job.";
  const std::string wanted = job_in_question(facts);
  SlurmJob out;
  for (const ConfigRow& c : facts.configs) {
    if (!c.name.starts_with(kPrefix)) continue;
    const std::size_t space = c.value.find(' ');
    if (space == std::string::npos || c.value.compare(0, space, wanted) != 0) continue;
    const std::string_view key = std::string_view(c.name).substr(kPrefix.size());
    Timestamp stamp;
    if ((key != "start" && key != "end") ||
        line::parse_iso(std::string_view(c.value).substr(space + 1), stamp) == 0)
      continue;
    Nanoseconds ignored = 0;
    const auto t = map.utc(stamp, {}, c.place.member, ignored);
    if (!t) continue;
    auto& slot = key == "start" ? out.start : out.end;
    slot = std::max(slot.value_or(*t), *t);
  }
  add_log_of_controller(facts, map, wanted, out);
  if (out.end && out.start && *out.end < *out.start) out.end.reset();
  return out;
}

// The times of all rows, as their printed times give them.
void resolve_rows(Facts& facts, const ClockMap& map, const std::map<MemberId, FirstDay>& days) {
  Nanoseconds ignored = 0;
  for (auto& e : facts.events) {
    e.time_ns = map.utc(e.time, e.host, e.place.member, e.uncertainty);
    // Its own clock is what the line complains of.
    if (e.traits.has(Trait::clock_wrong)) e.uncertainty = std::max(e.uncertainty, kWrongClock);
    e.last_time_ns = map.utc(e.last_time, e.host, e.place.member, ignored);
  }
  for (auto& t : facts.tracebacks)
    t.time_ns = map.utc(t.time, t.host, t.place.member, t.uncertainty);
  for (auto& x : facts.exits) x.time_ns = map.utc(x.time, x.host, x.place.member, ignored);
  for (auto& p : facts.progress) {
    p.each_row([&](ProgressRow& row) { row.time_ns = map.utc(row.time, {}, p.member, ignored); });
    if (const auto offset = map.offset(p.first.time.clock, p.first.time.ns, p.member))
      facts.member_clocks.push_back({p.member, p.first.time.clock, *offset});
    // Its other steps still bear the times of day that were printed.
    if (const auto day = days.find(p.member); day != days.end())
      if (const auto offset = map.offset(day->second.clock, day->second.midnight, p.member))
        facts.member_clocks.push_back(
            {p.member, Clock::local_no_date, day->second.midnight + *offset});
    facts.day_assumed = facts.day_assumed || days.contains(p.member);
  }
  const auto member_and_clock = [](const MemberClock& c) { return std::pair(c.member, c.clock); };
  sort_by(facts.member_clocks, member_and_clock);
  // Steps without times are placed by the first line of their log that has one.
  std::set<MemberId> timeless;
  for (const auto& p : facts.progress)
    if (p.first.time.clock == Clock::none) timeless.insert(p.member);
  for (const auto& c : facts.clocks)
    if (c.kind == "first" && timeless.count(c.place.member) > 0)
      if (const auto t = map.utc(c.time, {}, c.place.member, ignored))
        facts.log_starts.emplace(c.place.member, std::pair(c.place.offset, *t));
  const auto know = [&](const SeriesRow& s, Nanoseconds offset) {
    facts.member_clocks.insert(
        std::ranges::upper_bound(facts.member_clocks, std::pair(s.member, s.clock), {},
                                 member_and_clock),
        {s.member, s.clock, offset});
  };
  for (const auto& s : facts.series) {
    if (s.clock == Clock::utc || facts.clock_offset(s.member, s.clock)) continue;
    if (const auto day = days.find(s.member);
        s.clock == Clock::local_no_date && day != days.end()) {
      const FirstDay& first = day->second;
      if (const auto offset = map.offset(first.clock, first.midnight, s.member))
        know(s, first.midnight + *offset);
      continue;
    }
    // The job's own days: an offset differs between summer and winter.
    if (const auto offset = map.offset(s.clock, map.reference().value_or(0), s.member);
        offset && s.clock == Clock::local)
      know(s, *offset);
  }
}

// The members that hold the job's own output.
std::set<MemberId> output_of_job(const Facts& facts) {
  std::set<MemberId> training;
  for (const auto& p : facts.progress) training.insert(p.member);
  for (const auto& t : facts.tracebacks) training.insert(t.place.member);
  for (const auto& i : facts.identities)
    if (i.source.rfind("nccl", 0) == 0 || i.source == "torchrun") training.insert(i.place.member);
  for (const auto& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    // A machine's journal holds errors of many weeks before the job, and lines that take them back.
    const bool of_job = e.role == Role::cascade || e.role == Role::teardown ||
                        e.role == Role::confirmation ||
                        e.traits.has_any({Trait::rendezvous_timeout, Trait::store_unreached});
    if (m == nullptr || !(of_job || (e.role != Role::root && m->rank)) ||
        e.traits.has(Trait::storage_server))
      continue;
    // A history of Xids is no output, whatever its name, and what a daemon says in a machine's log
    // is none either: "xinetd[26482]: Connection reset by peer".
    if (said_by_kernel(e) || (!m->rank && (system_log(m->path) || said_by_unit(e)))) continue;
    if (m->text_kind != "kernel" && m->text_kind != "bmc" && m->text_kind != "fabric-manager" &&
        m->text_kind != "commands")
      training.insert(e.place.member);
  }
  std::erase_if(training, [&](MemberId id) {
    const MemberRow* m = facts.member(id);
    return m != nullptr && (facts.foreign(*m) || m->belonging == Belonging::another ||
                            m->belonging == Belonging::unplaced);
  });
  return training;
}

// When the steps of a log began that dates none of its lines before it fails: as long before its
// first date as they took.
std::optional<Nanoseconds> begun_before_first_date(const Facts& facts, const ProgressSpan& p) {
  constexpr double kLongestRun = 30.0 * 24 * 3600 * 1e3;  // ms
  if (p.first.time_ns || p.last.time_ns || !p.mean_ms || !p.first.iteration || !p.last.iteration)
    return std::nullopt;
  const double took = static_cast<double>(*p.last.iteration - *p.first.iteration) * *p.mean_ms;
  const auto dated = facts.log_starts.find(p.member);
  if (!(took > 0 && took < kLongestRun) || dated == facts.log_starts.end() ||
      dated->second.first < p.last.place.offset)
    return std::nullopt;
  return dated->second.second - static_cast<Nanoseconds>(took * 1e6);
}

// The frame of the job: what its own output covers.
void frame_job_by_output(Facts& facts, const ClockMap& map, const std::set<MemberId>& training) {
  constexpr Nanoseconds kLongestStart = 24 * kHour;
  std::vector<Nanoseconds> told;
  const auto frame = [&](std::optional<Nanoseconds> t) {
    if (!t) return;
    told.push_back(*t);
    facts.job_start = std::min(facts.job_start.value_or(*t), *t);
    facts.job_end = std::max(facts.job_end.value_or(*t), *t);
  };
  // A collective that ran for half an hour before it timed out had begun half an hour before.
  for (const auto& e : facts.events) {
    if (!e.traits.has(Trait::watchdog_timeout) || !e.time_ns) continue;
    if (const auto waited = ran_for(e.message)) frame(*e.time_ns - *waited);
  }
  Nanoseconds ignored = 0;
  for (const auto& c : facts.clocks)
    if ((c.kind == "first" || c.kind == "last") && training.count(c.place.member) > 0)
      frame(map.utc(c.time, {}, c.place.member, ignored));
  for (const auto& p : facts.progress) {
    frame(p.first.time_ns);
    frame(p.last.time_ns);
    frame(begun_before_first_date(facts, p));
  }
  for (const auto& t : facts.tracebacks) frame(t.time_ns);
  // What is dated days before the first step tells of data sets and images, and of no start.
  std::optional<Nanoseconds> step;
  for (const ProgressSpan& p : facts.progress)
    if (p.first.time_ns) step = std::min(step.value_or(*p.first.time_ns), *p.first.time_ns);
  if (!step || *facts.job_start >= *step - kLongestStart) return;
  facts.job_start = step;
  for (const Nanoseconds t : told)
    if (t >= *step - kLongestStart) facts.job_start = std::min(*facts.job_start, t);
}

// Files of the job's own output that have dated lines; after clocks were mended.
std::vector<OutputSpan> spans_of_output(const Facts& facts, const ClockMap& map,
                                        const std::set<MemberId>& training) {
  // A run that died early has printed nothing but its error: it is output if one of its name is.
  std::set<std::string> names;
  for (const MemberId member : training)
    if (const MemberRow* m = facts.member(member); m != nullptr)
      names.insert(name_without_numbers(m->path));
  std::set<MemberId> output;
  for (const MemberRow& m : facts.members)
    if (names.count(name_without_numbers(m.path)) > 0) output.insert(m.id);
  std::map<MemberId, OutputSpan> spans;
  const auto see = [&](MemberId member, const std::optional<Nanoseconds>& t) -> OutputSpan* {
    if (!t || output.count(member) == 0) return nullptr;
    OutputSpan& span = spans.emplace(member, OutputSpan{member, *t, *t}).first->second;
    span.first = std::min(span.first, *t);
    span.last = std::max(span.last, *t);
    return &span;
  };
  Nanoseconds ignored = 0;
  for (const auto& c : facts.clocks)
    if (c.kind == "first" || c.kind == "last")
      if (OutputSpan* span = see(c.place.member, map.utc(c.time, {}, c.place.member, ignored));
          span != nullptr && c.kind == "last")
        span->ended = true;
  for (const EventRow& e : facts.events)
    see(e.place.member, e.last_time_ns ? e.last_time_ns : e.time_ns);
  for (const TracebackRow& t : facts.tracebacks) see(t.place.member, t.time_ns);
  for (const ExitRow& x : facts.exits) see(x.place.member, x.time_ns);
  for (const ProgressSpan& p : facts.progress) see(p.member, p.last.time_ns);
  std::vector<OutputSpan> out;
  for (const auto& [member, span] : spans) out.push_back(span);
  return out;
}

// The scheduler knows when the job began and ended, the manifest better: the last attempt is the
// one in question.
void frame_job_by_records(Facts& facts, const ClockMap& map) {
  if (const SlurmJob job = slurm_job(facts, map); job.start) {
    facts.job_start = job.start;
    facts.start_is_known = true;
    if (job.end) facts.job_end = job.end;
    facts.end_is_known = job.end.has_value();
  }
  if (!facts.manifest || facts.manifest->attempts.empty()) return;
  const ManifestAttempt& last = facts.manifest->attempts.back();
  if (const auto t = iso(last.start)) {
    facts.job_start = t;
    facts.start_is_known = true;
  }
  if (const auto t = iso(last.end)) {
    facts.job_end = std::max(facts.job_end.value_or(*t), *t);
    facts.end_is_known = true;
  }
}

// Snapshots of machines (nvidia-smi, ps) say when they were taken; logs only when something was
// printed.
std::map<Host, Nanoseconds> last_snapshots(const Facts& facts, const ClockMap& map) {
  std::map<Host, Nanoseconds> out;
  for (const ClockRow& c : facts.clocks) {
    const MemberRow* m = facts.member(c.place.member);
    if (!facts.counts(m) ||
        !(c.kind == "collected" || m->text_kind == "nvidia-smi" || m->text_kind == "process"))
      continue;
    Nanoseconds ignored = 0;
    if (const auto t = map.utc(c.time, m->host, c.place.member, ignored)) {
      const auto at = out.emplace(m->host ? short_host(*m->host) : Host(), *t).first;
      at->second = std::max(at->second, *t);
    }
  }
  return out;
}

}  // namespace

void resolve_clocks(Facts& facts) {
  const std::map<MemberId, FirstDay> days = date_times_of_day(facts);
  const ClockMap map(facts);
  resolve_rows(facts, map, days);
  mend_clocks_by_words(facts);
  mend_clocks_by_steps(facts);
  mend_host_clocks(facts);
  for (HostRow& host : facts.hosts)
    if (const auto it = map.boots().find(host.host); it != map.boots().end()) {
      host.boot_ns = it->second.ns;
      host.boot_source = it->second.source;
      host.boot_uncertainty = it->second.uncertainty;
    }
  const std::set<MemberId> training = output_of_job(facts);
  frame_job_by_output(facts, map, training);
  frame_job_by_records(facts, map);
  facts.looked_at = last_snapshots(facts, map);
  find_earlier_runs(facts, spans_of_output(facts, map, training));
}

}  // namespace culprit::analyze
