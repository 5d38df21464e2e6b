#include "decide/surroundings.hpp"

#include <algorithm>
#include <map>

#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

const LineFacts* lines_of(const Finding& f) {
  return f.analysis == Analysis::classify ? std::get_if<LineFacts>(&f.facts) : nullptr;
}
bool of_machine(const Finding& f) {
  const LineFacts* line = lines_of(f);
  return line != nullptr && line->speaker != Speaker::job;
}

// A log has it three times and more.
bool said_often(const Finding& f) {
  std::map<MemberId, std::size_t> lines;
  for (const Evidence& e : f.evidence) ++lines[e.member];
  return std::ranges::any_of(lines, [](const auto& one) { return one.second > 2; });
}

}  // namespace

Surroundings::Surroundings(const Case& incident, const DecideParams& params,
                           const std::optional<Nanoseconds>& consequence)
    : incident_(incident), params_(params) {
  for (const Finding& f : incident.findings) {
    if (!f.fired() || f.hearsay) continue;
    failed_ = failed_ || f.analysis == Analysis::hang || f.role == Role::cascade;
    const LineFacts* line = lines_of(f);
    if (line == nullptr || line->speaker != Speaker::job || f.severity < Severity::distributed)
      continue;
    classes_.insert(f.event_class);
    if (f.role == Role::teardown || f.role == Role::advice) continue;
    failed_ = true;
    if (f.symptom != Symptom::none && f.symptom != Symptom::job_hang) symptoms_.insert(f.symptom);
  }
  for (const ExitFact& x : incident.exits) {
    failed_ = failed_ || x.code != 0;
    if (x.code != -9 && x.code != 137) continue;
    symptoms_.insert(Symptom::cpu_oom);
    if (x.host) killed_.insert(*x.host);
  }
  find_failure(consequence);
  count_rates();
}

// From the last step to the first sign of failure.
void Surroundings::find_failure(const std::optional<Nanoseconds>& consequence) {
  const auto& progress = incident_.last_progress;
  std::optional<Nanoseconds> sign = consequence;
  for (const Finding& f : incident_.findings)
    if (const LineFacts* line = lines_of(f);
        line != nullptr && line->speaker == Speaker::job && f.start && f.fired() &&
        f.role == Role::root && f.severity == Severity::critical &&
        (!progress || *f.start + f.uncertainty >= *progress) && (!sign || *f.start < *sign))
      sign = f.start;
  for (const ExitFact& x : incident_.exits)
    if (x.code != 0 && x.time && (!sign || *x.time < *sign)) sign = x.time;
  const Nanoseconds step = std::min<Nanoseconds>(3 * incident_.step_time, kHour);
  if (progress)
    failure_ =
        Window{*progress - params_.went_on, std::max(sign.value_or(*progress), *progress) +
                                                (sign ? 0 : std::max(params_.same_moment, step))};
  else if (sign && incident_.job_start && !incident_.last_iteration &&
           *sign - *incident_.job_start <= params_.lived_with)  // it never began to train
    failure_ = Window{std::min(*incident_.job_start - 2 * params_.same_moment, *sign), *sign};
  else if (sign)
    failure_ = Window{*sign - params_.network_lead, *sign};
  else if (incident_.job_end)
    failure_ =
        Window{*incident_.job_end - params_.same_moment, *incident_.job_end + params_.same_moment};
}

// For how long steps came while it held. What still holds may have kept the job from its last
// step, unless nothing waited for anything.
std::optional<Nanoseconds> Surroundings::lived_with(const Alert& alert) const {
  const auto& last = incident_.last_progress;
  const auto& start = incident_.job_start;
  if (!alert.begin || !last) return std::nullopt;
  if (alert.closed) {
    if (!alert.end || *alert.end > *last || (start && *alert.begin < *start)) return std::nullopt;
    return *alert.end - *alert.begin;
  }
  const Nanoseconds lived = *last - std::max(*alert.begin, start.value_or(*alert.begin));
  const bool waited = !failure_ || failure_->to - *last > params_.same_moment;
  return waited || lived < params_.lived_with ? std::nullopt : std::optional(lived);
}

void Surroundings::count_rates() {
  for (const Finding& f : incident_.findings) {
    if (!of_machine(f)) continue;
    Rate& rate = rates_[f.event_class];
    for (const Alert& a : f.alerts)
      if (const auto lived = lived_with(a)) rate.spells.push_back(*lived);
    for (const Nanoseconds t : lines_of(f)->times) {
      rate.times.push_back(t);
      if (failure_)
        rate.outside += t < failure_->from - f.uncertainty || t > failure_->to + params_.went_on;
    }
  }
  for (auto& [event_class, rate] : rates_) {
    std::ranges::sort(rate.times);
    rate.scattered = scattered(rate.times);
  }
  for (const Finding& f : incident_.findings)
    if (failure_ && f.fired() && !f.hearsay && of_machine(f) && inside_failure(f) > 0)
      for (const Severity below :
           {Severity::info, Severity::warning, Severity::distributed, Severity::critical})
        if (below <= f.severity) fitting_.insert({f.symptom, f.role, below});
}

// Over hours, and no moment has most of them.
bool Surroundings::scattered(const std::vector<Nanoseconds>& times) const {
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
    while (times[last] - times[first] > params_.same_moment) ++first;
    most = std::max(most, last - first + 1);
  }
  return times.size() > 1 && 2 * most <= times.size();
}

bool Surroundings::said_by_job(const Finding& f) const {
  return classes_.count(f.event_class) != 0 || symptoms_.count(f.symptom) != 0 ||
         (f.symptom == Symptom::cpu_oom &&
          std::ranges::any_of(f.leads_to,
                              [&](const std::string& one) { return classes_.count(one) != 0; }));
}

// Machines print such lines at other times as well, and not much less often.
bool Surroundings::everyday(const Finding& f, std::size_t inside) const {
  const auto rate = rates_.find(f.event_class);
  if (rate == rates_.end() || rate->second.outside == 0) return false;
  if (inside < 3) return true;
  const auto length = static_cast<double>(failure_->to - failure_->from + kMinute);
  const auto all =
      static_cast<double>(rate->second.times.back() - rate->second.times.front()) - length;
  return all > 0 &&
         static_cast<double>(inside) < 3 * length * static_cast<double>(rate->second.outside) / all;
}

// Only behind its last step can a service have kept the job from anything: for as long as that, it
// had done so before, again and again, and steps came. A link that fails again breaks connections
// at any time.
std::optional<Text> Surroundings::lived_through(const Finding& f) const {
  constexpr std::ptrdiff_t kHabit = 3;
  const auto rate = rates_.find(f.event_class);
  if (!failure_ || !incident_.last_progress || rate == rates_.end() ||
      f.cause != CauseKind::shared || f.subject.kind == SubjectKind::network_switch)
    return std::nullopt;
  const Nanoseconds standing = failure_->to - *incident_.last_progress;
  const auto longer = std::ranges::count_if(rate->second.spells,
                                            [&](Nanoseconds spell) { return spell >= standing; });
  if (longer < kHabit) return std::nullopt;
  return say(Phrase::lived_through_spells, longer, human_duration(standing));
}

// How often in the moment of the failure.
std::size_t Surroundings::inside_failure(const Finding& f) const {
  const std::vector<Nanoseconds>& times = lines_of(f)->times;
  return static_cast<std::size_t>(std::ranges::count_if(times, [&](Nanoseconds t) {
    return t + f.uncertainty >= failure_->from && t - f.uncertainty <= failure_->to;
  }));
}

// The job reports the same, and a machine that reports it at the moment of the failure is the one
// it speaks of; not so where a process of the job was killed on this one, or more lines were
// printed than kept times.
bool Surroundings::another_fits(const Finding& f) const {
  if (!failure_ || lines_of(f)->times.empty() || lines_of(f)->times_cut || inside_failure(f) > 0)
    return false;
  if (f.host && killed_.count(*f.host) != 0) return false;
  return fitting_.count({f.symptom, f.role, f.severity}) != 0;
}

std::optional<Text> Surroundings::unrelated(const Finding& f) const {
  const LineFacts* line = lines_of(f);
  if (line == nullptr || line->speaker == Speaker::job) return std::nullopt;
  if (said_by_job(f))
    return another_fits(f) ? std::optional(say(Phrase::not_in_failures_moment)) : std::nullopt;
  const bool placed = failure_ && incident_.any_training_output;
  const auto rate = rates_.find(f.event_class);
  if (!placed && f.alerts.empty() && !line->names_trainer && rate != rates_.end() &&
      rate->second.scattered)
    return say(Phrase::printed_at_other_times);
  // What runs on a switch is the switch.
  if (line->speaker == Speaker::service && f.subject.kind != SubjectKind::network_switch)
    return say(Phrase::service_not_job);
  if (!incident_.any_training_output) return std::nullopt;
  // A service that stopped answering and has not come back has no moment, but a beginning; without
  // one it may be of any day, and a job that shows no trouble had none of it.
  // Who says it again and again had answers in between.
  if (auto why = lived_through(f)) return why;
  if (!f.alerts.empty() && (failed_ || !line->times.empty() || !said_often(f))) return std::nullopt;
  if (line->times.empty())  // what has no time supports others, and decides nothing
    return line->names_trainer ? std::nullopt : std::optional(say(Phrase::undated_unconfirmed));
  if (!failed_ && (!line->names_trainer || f.cause == CauseKind::crash))
    return say(Phrase::job_without_failure);
  if (!failure_) return std::nullopt;
  const std::size_t inside = inside_failure(f);
  if (inside == 0) return say(Phrase::not_in_failures_moment);
  if (!line->names_trainer && everyday(f, inside)) return say(Phrase::printed_at_other_times);
  return std::nullopt;
}

}  // namespace culprit::decide
