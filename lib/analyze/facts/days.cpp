#include "analyze/facts/days.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analyze/facts/zone_joins.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Every printed time of the facts that a line of a log bears, with the place of the line.
void each_time(Facts& facts, auto see) {
  for (auto& e : facts.events) {
    see(e.time, e.place);
    see(e.last_time, e.place);
  }
  for (auto& t : facts.tracebacks) see(t.time, t.place);
  for (auto& x : facts.exits) see(x.time, x.place);
  // What tells an uptime is placed by whoever asks for the start of a machine.
  for (auto& c : facts.clocks)
    if (c.kind == "first" || c.kind == "last" || c.kind == "sample") see(c.time, c.place);
  for (auto& p : facts.progress) p.each_row([&](ProgressRow& row) { see(row.time, row.place); });
}

// The last date that is printed, by what is surest to be near the failure. Of two of a kind that
// with a year is the better one.
std::optional<Timestamp> last_date(const Facts& facts) {
  std::optional<Timestamp> best;
  const auto see = [&](const Timestamp& t) {
    if (t.clock != Clock::utc && t.clock != Clock::local && t.clock != Clock::local_no_year) return;
    const auto rank = [](const Timestamp& of) {
      return std::pair(of.clock != Clock::local_no_year, of.ns);
    };
    if (!best || rank(t) > rank(*best)) best = t;
  };
  const auto of_incident = [&](MemberId id) {
    const MemberRow* m = facts.member(id);
    return facts.counts(m) && m->belonging != Belonging::unplaced;
  };
  for (const ProgressSpan& p : facts.progress)
    if (of_incident(p.member)) see(p.last.time);
  if (best) return best;
  // A machine's faults may be of any day: they are asked last.
  const auto see_failures = [&](bool of_machines) {
    for (const EventRow& e : facts.events)
      if (of_incident(e.place.member) && e.severity >= Severity::distributed &&
          of_machines == (said_by_unit(e) || of_machine(*facts.member(e.place.member))))
        see(e.time);
  };
  see_failures(false);
  if (best) return best;
  for (const ClockRow& c : facts.clocks)
    if (of_incident(c.place.member) && c.kind != "boot_time") see(c.time);
  if (!best) see_failures(true);
  return best;
}

// The times of one file, and the days that they have passed since the first of them.
struct TimesOfFile {
  struct At {
    Place place;
    Timestamp* time;
  };
  std::vector<At> times;  // in the order of the file, once they are all there
  bool dated = false;

  // The unwrapped time of the last line; each time counts from the midnight before the first.
  Nanoseconds unwrap() {
    constexpr Nanoseconds kHalf = 12 * kHour;
    Nanoseconds days = 0, last = times.front().time->ns;
    for (At& at : times) {
      if (at.time->ns + days + kHalf < last) days += kDay;
      // A line that came late, of the day before.
      const bool late = days > 0 && at.time->ns + days > last + kHalf;
      at.time->ns += days - (late ? kDay : 0);
      last = std::max(last, at.time->ns);
    }
    return last;
  }
};

}  // namespace

std::map<MemberId, FirstDay> date_times_of_day(Facts& facts) {
  constexpr Nanoseconds kFromStart = 2 * kMinute;
  std::map<MemberId, FirstDay> out;
  std::map<MemberId, TimesOfFile> files;
  each_time(facts, [&](Timestamp& time, const Place& place) {
    if (time.clock == Clock::local_no_date)
      files[place.member].times.push_back({place, &time});
    else if (time.clock != Clock::none && time.clock != Clock::boot)
      files[place.member].dated = true;
  });
  std::erase_if(files, [](const auto& one) { return one.second.times.empty(); });
  if (files.empty()) return out;
  const auto reference = last_date(facts);
  if (!reference) return out;
  std::set<MemberId> of_kernel;
  for (const EventRow& e : facts.events)
    if (said_by_kernel(e)) of_kernel.insert(e.place.member);
  std::vector<std::string> named;
  for (auto& [member, file] : files) {
    const MemberRow* m = facts.member(member);
    sort_by(file.times, [](const TimesOfFile::At& a) { return a.place.offset; });
    const Nanoseconds first = file.times.front().time->ns;
    // A machine's log may be of any day, and what it reports would accuse it.
    if (file.dated || first < kFromStart || !facts.counts(m) || of_machine(*m) ||
        of_kernel.count(member) > 0)
      continue;
    const Nanoseconds last = file.unwrap();
    FirstDay day;
    day.clock = reference->clock == Clock::local_no_year ? Clock::local_no_year : Clock::local;
    // To the nearest midnight: half a day on, rounded down.
    const Nanoseconds apart = reference->ns - last + 12 * kHour;
    day.midnight = (apart - ((apart % kDay) + kDay) % kDay);
    for (const TimesOfFile::At& at : file.times) {
      at.time->clock = day.clock;
      at.time->ns += day.midnight;
    }
    out.emplace(member, day);
    named.push_back(m->path);
  }
  if (named.empty()) return out;
  sort_rows(named);
  facts.notes.push_back(
      named.size() == 1 ? say(Phrase::times_of_day_dated, named.front())
                        : say(Phrase::times_of_day_dated_more, named.front(), named.size() - 1));
  return out;
}

}  // namespace culprit::analyze
