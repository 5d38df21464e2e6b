// The job stood: it made no step for long although it had work left, and something dated speaks of
// it much later. Whoever ends such a job answers a hang and does not cause the end.
#include <algorithm>

#include "decide/walk.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// As many usual steps, and as many lines of steps, take less than this where the job moves.
constexpr std::int64_t kSteps = 20, kStepLines = 5;

Nanoseconds longest_without_step(const Walk& w) {
  const Case& c = w.incident;
  return std::max({w.params.standstill, kSteps * c.step_time, kStepLines * c.step_line_interval});
}

// The program's own clock gives that moment, too, so that it is not another zone's.
bool by_own_clock(const Walk& w, Nanoseconds moment) {
  const auto& last = w.incident.last_step;
  return last && std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
           return f.fired() && f.start && !scheduler_word(f) && f.origin == Origin::any &&
                  std::abs(*f.start - moment) < kMinute &&
                  std::ranges::any_of(f.evidence,
                                      [&](const Evidence& e) { return e.member == last->member; });
         });
}

// The first moment at which something ended, failed or asked for an end.
std::optional<Nanoseconds> first_end(const Walk& w) {
  std::optional<Nanoseconds> out = w.first.first_consequence;
  const auto see = [&](const std::optional<Nanoseconds>& t) {
    if (t && (!out || *t < *out) && w.incident.last_progress && *t >= *w.incident.last_progress)
      out = t;
  };
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f)) see(f.start);
  for (const ExitFact& x : w.incident.exits) see(x.time);
  return out;
}

}  // namespace

std::optional<Nanoseconds> stood_until(const Walk& w, const std::optional<Nanoseconds>& moment) {
  const Case& c = w.incident;
  if (!moment || !c.last_progress || ended_well(w)) return std::nullopt;
  const Nanoseconds stood = *moment - *c.last_progress;
  if (stood < longest_without_step(w)) return std::nullopt;
  if (zones_apart(*moment, *c.last_progress) && !by_own_clock(w, *moment)) return std::nullopt;
  return stood;
}

Answer stood_still(Walk& w) {
  const Case& c = w.incident;
  const auto end = first_end(w);
  const auto stood = stood_until(w, end);
  if (!stood) return ruled_out(say(Phrase::steps_to_the_end));
  Verdict& v = w.verdict;
  act(v, Action::investigate, Precision::candidates, Symptom::job_hang, c.last_progress);
  const Text step = c.last_iteration ? say(Phrase::step_numbered, *c.last_iteration) : Text();
  v.summary =
      say(Phrase::stood_without_cause, at(c.last_progress), step, human_duration(*stood), at(end));
  const std::vector<const Finding*> leads = strongest_leads(w);
  quote_leads(w, leads);
  next(v, NextKind::collect, say(Phrase::stacks_of_all_while_hanging, kDumpStacks));
  if (c.uses_gpus) next(v, NextKind::collect, say(Phrase::recorder_and_ncclras));
  return taken(say(Phrase::no_step_for, human_duration(*stood)));
}

}  // namespace culprit::decide
