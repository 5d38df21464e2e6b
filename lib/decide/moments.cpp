// When others began to notice that something had failed, and when the scheduler spoke.
#include "decide/moments.hpp"

#include <algorithm>
#include <iterator>

#include "decide/candidate.hpp"

namespace culprit::decide {

Moments::Moments(const Case& incident, const DecideParams& params)
    : incident_(incident), params_(params) {
  for (const Finding& f : incident.findings)
    if (f.fired() && f.host && f.start &&
        f.traits.has_any({Trait::node_drained, Trait::pods_evicted}))
      evictions_[*f.host].insert(*f.start);
  find_first_consequence();
  noticed = first_consequence;
  if (!noticed) find_undated_consequence();
  find_failed_starts();
}

namespace {

constexpr Nanoseconds kStarted = 2 * kMinute;  // after somebody ended it, at the earliest

// Only a start can fail with it.
bool of_a_start(const Finding& f) {
  return f.fired() && !f.hearsay && f.traits.has(Trait::setup_only) &&
         f.severity == Severity::critical && f.start && kind_of(f) == CauseKind::environment;
}

bool ends_the_job(const Finding& f) {
  return f.fired() && !f.hearsay && f.start && kind_of(f) == CauseKind::outside;
}

}  // namespace

void Moments::find_failed_starts() {
  for (const Finding& f : incident_.findings) {
    if (ends_the_job(f)) ended_.push_back(*f.start);
    if (of_a_start(f) && (last_failed_start_ == nullptr || *f.start > *last_failed_start_->start))
      last_failed_start_ = &f;
  }
  std::ranges::sort(ended_);
}

bool Moments::fails_new_start(const Finding& f, const Finding& word) const {
  return of_a_start(f) && word.start && *word.start + kStarted < *f.start - f.uncertainty &&
         (!incident_.last_progress || *incident_.last_progress < *word.start + kStarted);
}

bool Moments::fails_new_start(const Finding& f) const {
  if (ended_.empty() || !of_a_start(f)) return false;
  // The last word before it, since the steps must end by then.
  const auto after = std::ranges::lower_bound(ended_, *f.start - f.uncertainty - kStarted);
  return after != ended_.begin() &&
         (!incident_.last_progress || *incident_.last_progress < *std::prev(after) + kStarted);
}

const Finding* Moments::new_start_after(const Finding& word) const {
  return last_failed_start_ != nullptr && fails_new_start(*last_failed_start_, word)
             ? last_failed_start_
             : nullptr;
}

bool Moments::went_on(const Finding& f) const {
  return decide::went_on(incident_, params_, f) && !evicted_for(f);
}

// A node that is not ready keeps its pods for minutes (tolerationSeconds, 300 by default); then
// they are evicted, and with them the job, which had no other fault until then.
bool Moments::evicted_for(const Finding& f) const {
  if (!f.traits.has(Trait::node_missed) || !f.host || !f.start) return false;
  const auto own = evictions_.find(*f.host);
  if (own == evictions_.end()) return false;
  const auto next = own->second.lower_bound(*f.start);
  return next != own->second.end() && *next - *f.start <= params_.evicted_within;
}

// Noise of a healthy phase (a reset connection an hour before) does not count.
void Moments::find_first_consequence() {
  for (const Finding& f : incident_.findings) {
    if (!f.fired() || !decide::consequence(f) || !f.start || f.analysis != Analysis::classify ||
        f.subject.kind != SubjectKind::job || went_on(f))
      continue;
    // The scheduler's word is a decision; what failed before it is another question (user_request).
    if (f.traits.has_any({Trait::scheduler_ended, Trait::time_limit, Trait::pods_evicted})) {
      scheduler_spoke = std::max(scheduler_spoke.value_or(*f.start), *f.start);
      continue;
    }
    const Nanoseconds begin =
        incident_.last_progress
            ? std::max(*f.start, std::min(*incident_.last_progress, f.end.value_or(*f.start)))
            : *f.start;
    if (!first_consequence || begin < *first_consequence) {
      first_consequence = begin;
      consequence = &f;
    }
    if (f.role == Role::cascade && (!first_cascade || begin < *first_cascade))
      first_cascade = begin;
  }
}

// Broken connections without times, behind the last step of its log: they were noticed when the
// next step was due.
void Moments::find_undated_consequence() {
  const auto& last = incident_.last_step;
  if (!last || !incident_.last_progress) return;
  for (const Finding& f : incident_.findings)
    if (f.fired() && f.role == Role::cascade && !f.start && f.analysis == Analysis::classify &&
        f.severity >= Severity::distributed && f.symptom != Symptom::job_hang &&
        f.subject.kind == SubjectKind::job && !f.evidence.empty() &&
        std::ranges::all_of(f.evidence, [&](const Evidence& e) {
          return e.member == last->member && e.line > last->line;
        })) {
      noticed = *incident_.last_progress + incident_.step_time;
      return;
    }
}

// A machine that restarted without a word went at some time between its last line and its start.
static Nanoseconds open_for(const Finding& f) {
  return f.traits.has(Trait::restarted) && f.end ? *f.end - *f.start : f.uncertainty;
}

Moments::First Moments::first_trouble(const std::vector<const Finding*>& candidates) const {
  First out{first_consequence};
  for (const Finding* f : candidates) {
    if (*kind_of(*f) == CauseKind::network || *kind_of(*f) == CauseKind::device_or_program)
      continue;
    if (f->start && (!out.at || *f->start < *out.at)) out = {f->start, open_for(*f), true};
  }
  return out;
}

}  // namespace culprit::decide
