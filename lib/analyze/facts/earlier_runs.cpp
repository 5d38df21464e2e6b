#include "analyze/facts/earlier_runs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <re2/re2.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "analyze/facts/step_lines.hpp"

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kPause = 30 * kSecond;  // a log that is rotated goes on at once

// One file after the other, with a pause between: runs. Files of ranks and machines overlap.
bool in_turn(const std::vector<OutputSpan>& files) {
  for (std::size_t i = 1; i < files.size(); ++i)
    if (!files[i - 1].ended || files[i - 1].last + kPause >= files[i].first) return false;
  return files.size() > 1;
}

// What the logs of several runs of one thing are called alike: "slurm-41.out" and
// "slurm-41.out.restart1" are. The numbers of an address are no run's: each machine wrote one of
// these.
std::string series_of(const std::string& path) {
  static const re2::RE2 kAddress(R"((?:^|[^\d.])(\d{1,3}(?:\.\d{1,3}){3})(?:[^\d]|$))");
  std::string address;
  re2::RE2::PartialMatch(path, kAddress, &address);
  static const re2::RE2 kAgain(R"([._-](?:restart|retry|requeue|resume|rerun|attempt)[._-]?#?$)");
  std::string name = name_without_numbers(path);
  re2::RE2::Replace(&name, kAgain, "");
  return name + " " + address;
}

// Files in which a process failed.
std::set<MemberId> failed_output(const Facts& facts) {
  std::set<MemberId> out;
  for (const ExitRow& x : facts.exits)
    if (x.code != 0) out.insert(x.place.member);
  for (const TracebackRow& t : facts.tracebacks) out.insert(t.place.member);
  for (const EventRow& e : facts.events)
    if (e.severity == Severity::critical ? e.role == Role::root
                                         : e.severity == Severity::distributed)
      out.insert(e.place.member);
  return out;
}

struct Earlier {
  Nanoseconds last = 0, end = 0;  // of its dated lines; the next start
};

// Rows without a time came before the end; the last dated line of the file is the nearest time.
void date(Facts& facts, const std::map<MemberId, Earlier>& earlier) {
  const auto found = [&](const Place& place, const std::optional<Nanoseconds>& time) {
    const auto it = time ? earlier.end() : earlier.find(place.member);
    return it == earlier.end() ? nullptr : &it->second;
  };
  const auto before = [](const Earlier& e) { return std::max<Nanoseconds>(0, e.end - e.last - 1); };
  for (EventRow& e : facts.events)
    if (const Earlier* was = found(e.place, e.time_ns); was != nullptr) {
      e.time_ns = e.last_time_ns = was->last;
      e.uncertainty = before(*was);
    }
  for (TracebackRow& t : facts.tracebacks)
    if (const Earlier* was = found(t.place, t.time_ns); was != nullptr) {
      t.time_ns = was->last;
      t.uncertainty = before(*was);
    }
  for (ExitRow& x : facts.exits)
    if (const Earlier* was = found(x.place, x.time_ns); was != nullptr) x.time_ns = was->last;
  for (const auto& [member, was] : earlier) facts.earlier_output.insert(member);
}

// What stands before a dated line of the same file was printed no later than that: an undated row
// of a run that is over, where another run goes on in the file.
void date_before_start(Facts& facts, Nanoseconds start) {
  std::map<MemberId, std::map<std::uint64_t, Nanoseconds>> dated;  // line -> time
  const auto note = [&](const Place& place, const std::optional<Nanoseconds>& time) {
    if (time && *time + kMinute < start) dated[place.member][place.line] = *time;
  };
  for (const EventRow& e : facts.events) note(e.place, e.time_ns);
  for (const TracebackRow& t : facts.tracebacks) note(t.place, t.time_ns);
  for (const ExitRow& x : facts.exits) note(x.place, x.time_ns);
  const auto no_later = [&](const Place& place) -> std::optional<Nanoseconds> {
    const auto of_file = dated.find(place.member);
    if (of_file == dated.end()) return std::nullopt;
    const auto next = of_file->second.upper_bound(place.line);
    return next == of_file->second.end() ? std::nullopt : std::optional(next->second);
  };
  for (EventRow& e : facts.events)
    if (const auto time = e.time_ns ? std::nullopt : no_later(e.place))
      e.time_ns = e.last_time_ns = time;
  for (TracebackRow& t : facts.tracebacks)
    if (!t.time_ns) t.time_ns = no_later(t.place);
  for (ExitRow& x : facts.exits)
    if (!x.time_ns) x.time_ns = no_later(x.place);
}

// "run_a.log", "run_b.log" of one folder: logs of runs of one program. Numbers may be of its ranks.
bool named_alike(const std::string& a, const std::string& b) {
  if (a.size() != b.size() || folder_of(a) != folder_of(b)) return false;
  const auto [one, other] = std::mismatch(a.begin(), a.end(), b.begin());
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return one != a.end() && letter(*one) && letter(*other) &&
         std::equal(one + 1, a.end(), other + 1);
}

// What began then says that it ended well, and nothing of its output failed.
bool ended_well_since(const Facts& facts, std::span<const OutputSpan> output, Nanoseconds begun) {
  const std::set<MemberId> failed = failed_output(facts);
  return std::ranges::none_of(
             output,
             [&](const OutputSpan& s) { return s.first >= begun && failed.count(s.member) > 0; }) &&
         std::ranges::any_of(facts.events, [&](const EventRow& e) {
           return e.traits.has_any({Trait::completed, Trait::launcher_completed}) && e.time_ns &&
                  *e.time_ns > begun;
         });
}

// Whose name says so, and that end before all other output begins; nullopt for its beginning: there
// is none of these.
std::optional<Nanoseconds> begin_after_named(const Facts& facts, std::span<const OutputSpan> output,
                                             std::map<MemberId, Earlier>& earlier) {
  std::optional<Nanoseconds> begun;
  const auto named = [&](const OutputSpan& s) {
    const MemberRow* m = facts.member(s.member);
    return m != nullptr && of_earlier_run(m->path);
  };
  for (const OutputSpan& s : output)
    if (!named(s)) begun = std::min(begun.value_or(s.first), s.first);
  if (!begun) return std::nullopt;
  // What ended not long before is why it was started again: the same incident, unless that is over.
  const Nanoseconds another = ended_well_since(facts, output, *begun) ? 0 : 30 * kMinute;
  for (const OutputSpan& s : output)
    if (named(s) && s.ended && s.last + another < *begun) earlier[s.member] = {s.last, *begun};
  return earlier.empty() ? std::nullopt : begun;
}

// Logs without any time, and the last of them by name ends in an exception: how the runs before it
// ended is another question.
void leave_undated_runs(Facts& facts, std::span<const OutputSpan> output) {
  constexpr std::uint64_t kEnd = 40;  // lines: of the traceback, of a launcher's, of clean-up
  std::set<MemberId> dated;
  for (const OutputSpan& s : output) dated.insert(s.member);
  const auto undated = [&](const MemberRow& m) {
    return facts.counts(&m) && m.belonging == Belonging::job && !m.rank && m.lines > 0 &&
           dated.count(m.id) == 0;
  };
  const StepLines steps(facts);
  std::set<MemberId> last;
  for (const TracebackRow& t : facts.tracebacks)
    if (const MemberRow* m = facts.member(t.place.member);
        m != nullptr && t.place.line + kEnd >= m->lines && undated(*m) &&
        !steps.follow(t.place.member, t.last_line, std::nullopt))
      last.insert(m->id);
  constexpr std::size_t kMost = 8;  // more are no runs that somebody made by hand
  if (last.size() > kMost) return;
  for (const MemberId failed : last) {
    const MemberRow& at = *facts.member(failed);
    for (const MemberRow& m : facts.members)
      if (m.order < at.order && named_alike(m.path, at.path) && undated(m))
        facts.earlier_output.insert(m.id);
  }
}

// Steps without times that go on where those of another log ended: that one tells of the run
// before. Ranks of one run make the same steps.
void leave_runs_by_steps(Facts& facts) {
  constexpr std::int64_t kFurther = 10;
  const auto undated = [&](const ProgressSpan& p) {
    return !p.first.time_ns && !p.last.time_ns && p.first.iteration && p.last.iteration &&
           facts.counts(facts.member(p.member));
  };
  for (const ProgressSpan& was : facts.progress) {
    if (!undated(was)) continue;
    const std::int64_t middle = (*was.first.iteration + *was.last.iteration + 1) / 2;
    if (std::ranges::any_of(facts.progress, [&](const ProgressSpan& now) {
          return now.member != was.member && undated(now) && now.framework == was.framework &&
                 *now.first.iteration > middle &&
                 *now.last.iteration > *was.last.iteration + kFurther;
        }))
      facts.earlier_output.insert(was.member);
  }
}

}  // namespace

void find_earlier_runs(Facts& facts, std::span<const OutputSpan> output) {
  leave_undated_runs(facts, output);
  leave_runs_by_steps(facts);
  std::map<MemberId, Earlier> earlier;
  if (facts.start_is_known && facts.job_start) {
    for (const OutputSpan& s : output)
      if (s.ended && s.last + kMinute < *facts.job_start)
        earlier[s.member] = {s.last, *facts.job_start};
    for (const MemberId member : output_of_jobs_before(facts, job_in_question(facts)))
      earlier.try_emplace(member, Earlier{*facts.job_start - kMinute - 1, *facts.job_start});
    date_before_start(facts, *facts.job_start);
    return date(facts, earlier);
  }
  const std::optional<Nanoseconds> after_named = begin_after_named(facts, output, earlier);
  std::map<std::pair<std::optional<Host>, std::string>, std::vector<OutputSpan>> alike;
  for (const OutputSpan& s : output)
    if (const MemberRow* m = facts.member(s.member); m != nullptr && m->duplicate_of == 0 &&
                                                     !m->rank && !m->local_rank &&
                                                     earlier.count(s.member) == 0)
      alike[{m->host, series_of(m->path)}].push_back(s);
  const std::set<MemberId> failed = failed_output(facts);
  // The last run began after all that is earlier had paused, and before any of its own files.
  Nanoseconds paused = std::numeric_limits<Nanoseconds>::min(),
              begun = std::numeric_limits<Nanoseconds>::max();
  std::vector<OutputSpan> before_last;
  for (auto& [name, files] : alike) {
    std::ranges::sort(files, [](const OutputSpan& a, const OutputSpan& b) {
      return std::tie(a.first, a.last, a.member) < std::tie(b.first, b.last, b.member);
    });
    if (!in_turn(files) || !std::all_of(files.begin(), files.end() - 1, [&](const OutputSpan& s) {
          return failed.count(s.member) > 0;
        }))
      continue;
    paused = std::max(paused, files[files.size() - 2].last + kPause);
    begun = std::min(begun, files.back().first);
    before_last.insert(before_last.end(), files.begin(), files.end() - 1);
  }
  // What runs on through the pause is no other run's.
  const bool runs_on = std::ranges::any_of(
      output, [&](const OutputSpan& s) { return s.first < paused && s.last > paused; });
  const bool in_runs = !before_last.empty() && paused <= begun && !runs_on;
  if (in_runs)
    for (const OutputSpan& s : before_last) earlier[s.member] = {s.last, paused};
  if (earlier.empty()) return;
  date(facts, earlier);
  facts.job_start = in_runs ? begun : *after_named;
}

}  // namespace culprit::analyze
