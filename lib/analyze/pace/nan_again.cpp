#include "analyze/pace/nan_again.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "rules/step_parts.hpp"

namespace culprit::analyze {

namespace {

constexpr std::int64_t kFirstSteps = 5;            // of a run: a bad checkpoint shows at once
constexpr Nanoseconds kApart = 10 * 60 * kSecond;  // ranks of one run do not start so far apart

// One log: where its numbers were first none.
struct Gone {
  MemberId member = 0;
  std::int64_t iteration = 0;
  std::optional<Nanoseconds> time = {};
  Place place = {};
  Timestamp printed = {};
  std::string words = {};
  std::optional<Nanoseconds> begun = {};  // its first step

  // It prints its zone, or counts from the epoch.
  bool zoned() const { return printed.clock == Clock::utc; }
};

std::optional<std::int64_t> iteration_in(const std::string& message) {
  static const re2::RE2 kIteration(
      fmt::format(R"((?i)\b(?:{})[ =:#]*(\d{{1,12}})\b)", fmt::join(rules::counter_names(), "|")));
  std::int64_t iteration = 0;
  return re2::RE2::PartialMatch(message, kIteration, &iteration) ? std::optional(iteration)
                                                                 : std::nullopt;
}

std::vector<Gone> first_of_each_log(const Facts& facts) {
  std::map<MemberId, Gone> out;
  const auto see = [&](Gone gone) {
    // An earlier run counts here: it is the witness.
    const MemberRow* m = facts.member(gone.member);
    if (m == nullptr || m->duplicate_of != 0) return;
    const auto [at, fresh] = out.try_emplace(gone.member, gone);
    if (!fresh && gone.iteration < at->second.iteration) at->second = std::move(gone);
  };
  std::vector<ProgressSpan> spans = facts.progress;
  spans.insert(spans.end(), facts.progress_elsewhere.begin(), facts.progress_elsewhere.end());
  for (const ProgressSpan& p : spans)
    if (p.first_nan && p.first_nan->iteration && p.last_good)
      see({p.member, *p.first_nan->iteration, p.first_nan->time_ns, p.first_nan->place,
           p.first_nan->time, ""});
  for (const EventRow& e : facts.events)
    if (e.traits.has(Trait::nan_stop))
      if (const auto iteration = iteration_in(e.message))
        see({e.place.member, *iteration, e.time_ns, e.place, e.time, e.message});
  std::vector<Gone> gone;
  for (const ProgressSpan& p : spans)
    if (const auto at = out.find(p.member);
        at != out.end() && p.first.iteration &&
        at->second.iteration >= *p.first.iteration + kFirstSteps) {
      gone.push_back(at->second);
      gone.back().begun = p.first.time_ns;
      out.erase(at);
    }
  std::ranges::sort(gone, {}, [&](const Gone& one) { return facts.order(one.member); });
  return gone;
}

// A copy whose clock is of another zone takes as long for the same steps.
bool shifted_copy(const Gone& a, const Gone& b) {
  if ((a.zoned() && b.zoned()) || !zones_apart(*a.time, *b.time)) return false;
  return !a.begun || !b.begun || std::abs((*a.time - *a.begun) - (*b.time - *b.begun)) <= kSecond;
}

bool other_run(const Facts& facts, const Gone& a, const Gone& b) {
  // A copy prints the same times of the day.
  if (a.printed.clock == Clock::local_no_date && b.printed.clock == Clock::local_no_date &&
      std::abs(a.printed.ns - b.printed.ns) > kApart)
    return true;
  const MemberRow* one = facts.member(a.member);
  const MemberRow* two = facts.member(b.member);
  if (a.time && b.time && std::abs(*a.time - *b.time) > kApart && !shifted_copy(a, b)) return true;
  return one->attempt && two->attempt && *one->attempt != *two->attempt;
}

std::vector<Gone> runs_in_logs(const Facts& facts) {
  std::vector<Gone> runs;
  for (const Gone& gone : first_of_each_log(facts))
    if (std::ranges::all_of(runs, [&](const Gone& run) { return other_run(facts, run, gone); }))
      runs.push_back(gone);
  return runs;
}

// Attempts that began again in the log of the one before.
std::vector<Gone> runs_in_one_log(const JobSteps& steps) {
  std::vector<Gone> runs;
  std::int64_t passed = 0;
  for (std::size_t from = 0, to = 0; from < steps.size(); from = to) {
    while (to < steps.size() && steps.attempt[to] == steps.attempt[from]) ++to;
    std::size_t gone = from;
    while (gone < to && (steps.not_a_number[gone] & 1U) == 0) ++gone;
    // Numbers that came back, and an attempt that got past it, say that it was by chance.
    for (std::size_t i = gone; i < to; ++i)
      if ((steps.not_a_number[i] & 1U) == 0 && std::isfinite(steps.loss[i])) return {};
    if (gone == to && to > from && steps.iteration[to - 1] != kNoValue)
      passed = std::max(passed, steps.iteration[to - 1]);
    if (gone == to || steps.iteration[gone] == kNoValue || steps.iteration[from] == kNoValue ||
        steps.iteration[gone] < steps.iteration[from] + kFirstSteps)
      continue;
    runs.push_back({.member = steps.place[gone].member,
                    .iteration = steps.iteration[gone],
                    .place = steps.place[gone]});
    if (steps.time[gone] != kNoValue) runs.back().time = steps.time[gone];
    if (runs.back().member != runs.front().member) return {};
  }
  if (!runs.empty() && passed >= runs.front().iteration) return {};
  return runs;
}

}  // namespace

std::vector<Finding> nan_again(const Facts& facts, const JobSteps& steps) {
  std::vector<Gone> runs = runs_in_logs(facts);
  if (runs.size() < 2) runs = runs_in_one_log(steps);
  if (runs.size() < 2 || std::ranges::any_of(runs, [&](const Gone& run) {
        return run.iteration != runs.front().iteration;
      }))
    return {};
  Finding f{.id = "nan_at_same_iteration",
            .analysis = Analysis::divergence,
            .subject = {SubjectKind::job, "job"},
            .event_class = "nan_at_same_iteration",
            .symptom = Symptom::nan_value,
            .severity = Severity::critical,
            .role = Role::confirmation,
            .confidence = confidence::kDiverged,
            .why = say(Phrase::nan_in_each_run, runs.front().iteration, runs.size()),
            .title = say(Phrase::nan_at_same_iteration)};
  f.facts = DivergenceFacts{.from = runs.front().iteration, .to = runs.front().iteration};
  f.count = runs.size();
  f.start = runs.back().time;
  for (const Gone& run : runs) f.evidence.push_back(facts.evidence(run.place, run.words));
  return {std::move(f)};
}

}  // namespace culprit::analyze
