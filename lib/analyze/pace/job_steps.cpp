#include "analyze/pace/job_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>

#include "analyze/facts/path_facts.hpp"
#include "model/median.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// A process that starts again loads code, data and weights: nobody does that within a few steps'
// time. Rows that step back sooner are other ranks printing the same step.
constexpr double kRestartSteps = 5;

double upper_median(std::vector<double> values) {
  if (values.empty()) return kNoFigure;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool overlap(const ProgressSpan& a, const ProgressSpan& b) {
  if (!a.first.time_ns || !a.last.time_ns || !b.first.time_ns || !b.last.time_ns) return true;
  return *a.first.time_ns <= *b.last.time_ns && *b.first.time_ns <= *a.last.time_ns;
}

// Of logs without times: one ends before the step with which the other begins, so no process wrote
// both at once. Of one rank, since every rank's log may be cut at another place.
bool counts_on(const ProgressSpan& a, const ProgressSpan& b) {
  if (!a.first.iteration || !a.last.iteration || !b.first.iteration || !b.last.iteration)
    return false;
  return *a.last.iteration < *b.first.iteration || *b.last.iteration < *a.first.iteration;
}

// The usual time from one reported step to the next, whoever prints it first, ns; NaN without
// times.
double usual_gap(const StepTable& table) {
  std::vector<double> gaps;
  std::int64_t highest = kNoValue;
  Nanoseconds last = kNoValue;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table.iteration[i] <= highest || table.times[i] == kNoValue) continue;
    highest = table.iteration[i];
    if (last != kNoValue && table.times[i] > last)
      gaps.push_back(static_cast<double>(table.times[i] - last));
    last = table.times[i];
  }
  return upper_median(std::move(gaps));
}

// The finest unit in which any of these times is told.
Nanoseconds grain_of(std::span<const Nanoseconds> times) {
  Nanoseconds grain = kSecond;
  for (const Nanoseconds t : times)
    while (t != kNoValue && grain > 1 && t % grain != 0) grain /= 10;
  return grain;
}

// Durations from the distance of lines, where the program prints none. A clock that is too coarse
// for a single step is fine enough for several: their mean stands with the last of them, and
// nothing with the others. times: as printed, so that a clock of no known date counts, too.
void durations_from_times(JobSteps& steps, std::span<const Nanoseconds> times) {
  const Nanoseconds least = 10 * grain_of(times);  // tells a tenth
  std::vector<double> found(steps.size(), kNoFigure);
  std::size_t from = 0;  // the row at whose time the stretch begins
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (times[i] == kNoValue) continue;
    const bool begins = times[from] == kNoValue || times[i] < times[from] ||
                        steps.attempt[i] != steps.attempt[from];
    const bool counted = steps.iteration[i] != kNoValue && steps.iteration[from] != kNoValue;
    const std::int64_t n =
        counted ? steps.iteration[i] - steps.iteration[from] : static_cast<std::int64_t>(i - from);
    if (begins || n < 1) {
      from = i;
      continue;
    }
    const Nanoseconds took = times[i] - times[from];
    if (took < least) continue;
    found[i] = static_cast<double>(took) / 1e6 / static_cast<double>(n);
    from = i;
  }
  if (std::ranges::all_of(found, [](double v) { return std::isnan(v); })) return;
  steps.ms = std::move(found);
  steps.from_times = true;
}

constexpr double kFarthest = 1e17;  // three years; more are numbers that lie

// Times by dead reckoning, where no step of a log prints one: its first dated line, and the
// durations since then. Late by what the program does between its start and its first step.
void times_from_durations(const Facts& facts, JobSteps& steps) {
  if (std::ranges::any_of(steps.time, [](Nanoseconds t) { return t != kNoValue; })) return;
  Nanoseconds at = kNoValue;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || steps.attempt[i] != steps.attempt[i - 1]) {
      const auto start = facts.log_starts.find(steps.place[i].member);
      const bool own = i == 0 || steps.place[i].member != steps.place[i - 1].member;
      at = own && start != facts.log_starts.end() && start->second.first < steps.place[i].offset
               ? start->second.second
               : kNoValue;
    }
    if (at == kNoValue) continue;
    const bool counted = i > 0 && steps.attempt[i] == steps.attempt[i - 1] &&
                         steps.iteration[i] != kNoValue && steps.iteration[i - 1] != kNoValue;
    const double n = counted ? std::max(1.0, static_cast<double>(steps.iteration[i]) -
                                                 static_cast<double>(steps.iteration[i - 1]))
                             : 1;
    const double ns = std::isnan(steps.ms[i]) ? 0 : steps.ms[i] * 1e6 * n;
    if (!(ns < kFarthest)) return;
    at += static_cast<Nanoseconds>(ns);
    steps.time[i] = at;
    steps.reckoned = true;
  }
}

// Ranks of one run take the same time for a step: logs of the same steps that differ in it, and are
// named after runs ("run_3"), are of two; those that a word tells apart ("old" and "new") by less.
bool of_two_runs(const ProgressSpan& a, const MemberRow& of_a, const ProgressSpan& b,
                 const MemberRow& of_b) {
  constexpr std::uint64_t kWholeRun = 20;  // rows
  constexpr double kUnlike = 1.25, kUnlikeByWord = 1.08;
  if (!a.mean_ms || !b.mean_ms || a.rows < kWholeRun || b.rows < kWholeRun ||
      of_a.rank != of_b.rank || of_a.host != of_b.host)
    return false;
  const double unlike = std::max(*a.mean_ms, *b.mean_ms) / std::min(*a.mean_ms, *b.mean_ms);
  const FileOfRun run_a = file_of_run(of_a.path), run_b = file_of_run(of_b.path);
  if (run_a.series == run_b.series && run_a.age != run_b.age) return unlike > kUnlikeByWord;
  return unlike > kUnlike && named_after_run(of_a.path) && named_after_run(of_b.path) &&
         name_without_numbers(of_a.path) == name_without_numbers(of_b.path);
}

struct Candidate {
  const ProgressSpan* span;
  const MemberRow* member;
};

// by_name: their times do not tell their order.
void put_in_order(std::vector<Candidate>& chosen, bool by_name) {
  // Where none of them has a time, or one that is no other run's, runs are numbered by their names:
  // "run_2/rank0.log" and "run_11/rank0.log".
  const auto series = [](const Candidate& c) { return name_without_numbers(c.member->path); };
  by_name = (by_name ||
             std::ranges::none_of(
                 chosen, [](const Candidate& c) { return c.span->first.time_ns.has_value(); })) &&
            std::ranges::all_of(
                chosen, [&](const Candidate& c) { return series(c) == series(chosen.front()); });
  sort_rows(chosen, [&](const Candidate& a, const Candidate& b) {
    const auto key = [&](const Candidate& c) {
      return std::tuple(by_name ? 0 : c.span->first.time_ns.value_or(0),
                        !of_earlier_run(c.member->path), file_of_run(c.member->path).age,
                        c.member->attempt.value_or(0));
    };
    const auto steps = [](const Candidate& c) {
      return std::tuple(c.span->first.iteration.value_or(0), c.member->order);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    const int order = by_name ? strverscmp(a.member->path.c_str(), b.member->path.c_str()) : 0;
    return order != 0 ? order < 0 : steps(a) < steps(b);
  });
}

}  // namespace

std::vector<MemberId> step_logs(const Facts& facts) {
  std::vector<Candidate> all;
  for (const ProgressSpan& span : facts.progress) {
    const MemberRow* m = facts.member(span.member);
    if (!facts.counts(m) || span.rows < 2 || !span.last.iteration) continue;
    all.push_back({&span, m});
  }
  static constexpr Rank kLast{1'000'000'000};
  // A log that says how long a step took is worth more than one that must be timed, and one that
  // says when it was more than a table of all ranks.
  sort_by(all, [](const Candidate& a) {
    return std::tuple(of_earlier_run(a.member->path), !a.span->last.iteration_ms,
                      !a.span->last.time_ns, ~a.span->rows, a.member->rank.value_or(kLast),
                      a.member->order);
  });
  // Most have times: their spans are apart, and a later one is held against its neighbour alone.
  std::map<Nanoseconds, Nanoseconds> spans;
  std::vector<Candidate> chosen, others;  // others: of the chosen, those that are no such span
  bool by_name = false;                   // runs whose times do not tell their order
  for (const Candidate& c : all) {
    const auto& begin = c.span->first.time_ns;
    const auto& end = c.span->last.time_ns;
    const bool span = begin && end && *begin <= *end;
    if (!chosen.empty() && std::ranges::all_of(chosen, [&](const Candidate& other) {
          return of_two_runs(*c.span, *c.member, *other.span, *other.member);
        })) {
      chosen.push_back(c);
      by_name = true;
      continue;
    }
    if (const auto after = span ? spans.upper_bound(*end) : spans.begin();
        after != spans.begin() && std::prev(after)->second >= *begin)
      continue;
    const bool another_time =
        std::ranges::all_of(span ? others : chosen, [&](const Candidate& other) {
          const bool timed = c.span->first.time_ns && other.span->first.time_ns;
          if (timed) return !overlap(*c.span, *other.span);
          if (of_earlier_run(c.member->path) != of_earlier_run(other.member->path)) return true;
          if (c.member->attempt && other.member->attempt)
            return *c.member->attempt != *other.member->attempt;
          // A run that goes on elsewhere has other machines, or pods of other names.
          const auto earlier = [&](const Candidate& one) {
            return facts.earlier_output.count(one.member->id) > 0;
          };
          return counts_on(*c.span, *other.span) &&
                 ((c.member->rank == other.member->rank && c.member->host == other.member->host) ||
                  earlier(c) != earlier(other));
        });
    if (!another_time) continue;
    chosen.push_back(c);
    if (span)
      spans.emplace(*begin, *end);
    else
      others.push_back(c);
  }
  put_in_order(chosen, by_name);
  std::vector<MemberId> out;
  for (const Candidate& c : chosen) out.push_back(c.member->id);
  return out;
}

JobSteps job_steps(const Facts& facts, std::span<const StepTable> tables) {
  JobSteps out;
  std::vector<Nanoseconds> as_printed;
  std::size_t attempt = 0;
  for (const StepTable& table : tables) {
    if (table.size() == 0) continue;
    const MemberRow* m = facts.member(table.member);
    out.sources.push_back(m == nullptr ? "" : m->path);
    const auto offset =
        table.clock == Clock::none ? std::nullopt : facts.clock_offset(table.member, table.clock);
    const double gap = usual_gap(table);
    std::int64_t highest = kNoValue;  // of this attempt
    Nanoseconds last_time = kNoValue;
    if (out.size() > 0) ++attempt;
    // Beside lines that count the steps, those that do not (a dictionary of losses) tell of the
    // same steps.
    const bool counted =
        std::ranges::any_of(table.iteration, [](std::int64_t it) { return it != kNoValue; });
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::int64_t it = table.iteration[i];
      if (counted && it == kNoValue && std::isnan(table.iteration_ms[i])) {
        ++out.repeated;
        continue;
      }
      const Nanoseconds raw = table.times[i];
      if (it != kNoValue && highest != kNoValue && it <= highest) {
        const bool pause = raw == kNoValue || last_time == kNoValue || std::isnan(gap) ||
                           static_cast<double>(raw - last_time) > kRestartSteps * gap;
        const bool back = it < highest || raw == kNoValue;
        if (it == highest || !pause || !back) {
          ++out.repeated;
          continue;
        }
        ++attempt;
        highest = it;
      }
      if (it != kNoValue) highest = highest == kNoValue ? it : std::max(highest, it);
      if (raw != kNoValue) last_time = raw;
      out.iteration.push_back(it);
      as_printed.push_back(raw);
      out.time.push_back(raw != kNoValue && offset ? raw + *offset : kNoValue);
      out.ms.push_back(table.iteration_ms[i] > 0 && std::isfinite(table.iteration_ms[i])
                           ? table.iteration_ms[i]
                           : kNoFigure);
      out.loss.push_back(table.loss[i]);
      out.grad_norm.push_back(table.grad_norm[i]);
      out.not_a_number.push_back(table.not_a_number[i]);
      out.attempt.push_back(attempt);
      out.place.push_back({table.member, static_cast<std::uint64_t>(table.lines[i]),
                           static_cast<std::uint64_t>(table.offsets[i]), 0});
    }
  }
  const auto printed = static_cast<std::size_t>(
      std::ranges::count_if(out.ms, [](double v) { return !std::isnan(v); }));
  if (printed * 2 < out.size())
    durations_from_times(out, as_printed);
  else
    times_from_durations(facts, out);
  return out;
}

double usual_step_ms(const JobSteps& steps) {
  std::vector<double> ms;
  for (const double one : steps.ms)
    if (std::isfinite(one) && one > 0) ms.push_back(one);
  return median_of(std::move(ms));
}

}  // namespace culprit::analyze
