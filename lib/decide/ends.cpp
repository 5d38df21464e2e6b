// Jobs that ended without a fault to name: nothing was collected, or nothing failed.
#include <algorithm>
#include <optional>
#include <set>

#include "decide/ledger.hpp"
#include "decide/slow_part.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

Answer bundle_empty(Walk& w) {
  if (!w.incident.findings.empty() || !w.incident.exits.empty() || w.incident.completed ||
      w.incident.any_training_output)
    return ruled_out(say(Phrase::bundle_has_logs));
  w.verdict.action = Action::investigate;
  w.verdict.precision = Precision::candidates;
  w.verdict.summary = say(Phrase::bundle_says_nothing);
  next(w.verdict, NextKind::collect, say(Phrase::collect_output_of_ranks));
  next(w.verdict, NextKind::collect, say(Phrase::collect_kernel_logs));
  return taken(say(Phrase::no_line_of_a_job));
}

bool steps_left(const Case& c) {
  return c.last_iteration && c.planned_iterations && *c.last_iteration < *c.planned_iterations;
}

bool ended_well(const Walk& w) {
  const Case& c = w.incident;
  const bool all_steps =
      c.last_iteration && c.planned_iterations && *c.last_iteration >= *c.planned_iterations;
  return c.completed || all_steps ||
         std::ranges::any_of(c.exits, [](const ExitFact& x) { return x.code == 0; });
}

namespace {

bool over_before(const AttemptHistory& h, const std::optional<Nanoseconds>& end,
                 Nanoseconds uncertainty, const Evidence& place) {
  if (end) return h.start && *end + uncertainty < *h.start;
  return h.first_step && place.member == h.first_step->member && place.line < h.first_step->line;
}
}  // namespace

bool before_this_run(const AttemptHistory& h, const Finding& f) {
  if (f.start) return over_before(h, f.end ? f.end : f.start, f.uncertainty, {});
  // Without a time all of its lines must stand before, not only those that are kept as evidence.
  return f.count <= f.evidence.size() && !f.evidence.empty() &&
         std::ranges::all_of(f.evidence,
                             [&](const Evidence& e) { return over_before(h, {}, 0, e); });
}

const Finding* earlier_word(const Walk& w) {
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && before_this_run(w.incident.history, f) &&
        (out == nullptr || (f.end && out->end && *f.end > *out->end)))
      out = &f;
  return out;
}

namespace {

// That word, and the clean-up that came with it.
bool ended_with(const Walk& w, const Finding& f, const Finding& word) {
  if (!before_this_run(w.incident.history, f)) return false;
  return scheduler_word(f) || !f.start || !word.start ||
         *f.start + f.uncertainty + 2 * kSecond >= *word.start;
}

// A process that ends badly behind the framework's last word on a run that went well was being
// taken down, unless something else failed.
bool torn_down(const Walk& w, const ExitFact& x) {
  const Case& c = w.incident;
  const std::int64_t signal = signal_of(x.code);
  if (!c.closing || w.best() != nullptr || signal == 9 || signal == 11) return false;
  if (x.time && c.closing_time) return *x.time + 2 * kSecond >= *c.closing_time;
  if (x.evidence.member == c.closing->member) return x.evidence.line > c.closing->line;
  return signal == 6 || signal == 15;
}

// In the file of the framework's last word, which shows the order also without times: a pipe may
// hide the exit code.
bool broke_before_closing(const Walk& w) {
  const Evidence& closing = *w.incident.closing;
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.fired() && f.role == Role::cascade && f.severity >= Severity::distributed &&
           (f.start || !went_on(w.incident, w.params, f)) &&
           std::ranges::any_of(f.evidence, [&](const Evidence& e) {
             return e.member == closing.member && e.line < closing.line;
           });
  });
}

// In a log of a machine or of a service, not in the job's own.
bool said_elsewhere(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return f.origin != Origin::any || (line != nullptr && line->speaker != Speaker::job);
}

// Steps up to the last line that the job wrote: it was running when its logs were collected.
bool ran_to_the_end_of_its_logs(const Case& c) {
  if (!c.last_iteration && !c.last_progress) return false;
  return !c.last_progress || !c.job_end ||
         *c.job_end <= *c.last_progress + std::max<Nanoseconds>(60 * kSecond, 10 * c.step_time);
}

// What machines' logs report and what does not concern the job.
std::set<const Finding*> surroundings_of(const Walk& w, Unplaced unplaced) {
  std::set<const Finding*> out;
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::surroundings || e.reason == Exclusion::ran_on ||
        e.reason == Exclusion::not_of_job ||
        (unplaced == Unplaced::left_out && e.reason == Exclusion::unplaced &&
         said_elsewhere(*e.finding)))
      out.insert(e.finding);
  return out;
}

// Stacks of one moment show who waits for whom in a job that goes on, too.
bool stood_proven(const Finding& f) {
  const auto* hang = std::get_if<HangFacts>(&f.facts);
  return hang == nullptr || hang->standing;
}

}  // namespace

Text failure(const Walk& w, Unplaced unplaced) {
  const Finding* word = earlier_word(w);
  std::int64_t worst = 0;
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0 && !torn_down(w, x) &&
        !(word != nullptr && over_before(w.incident.history, x.time, 0, x.evidence) &&
          !(x.time && word->start && *x.time + 2 * kSecond < *word->start)))
      worst = x.code;
  const bool zero = ended_well(w);
  const std::set<const Finding*> surroundings = surroundings_of(w, unplaced);
  bool trouble = false, communication = false;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired() || f.severity < Severity::distributed || f.analysis != Analysis::classify ||
        f.role == Role::confirmation || counters_of_switch(f) || surroundings.count(&f) > 0 ||
        f.symptom == Symptom::nan_value || survived(w.incident, f) ||
        (f.role == Role::cascade && !f.start && went_on(w.incident, w.params, f)) ||
        (word != nullptr && ended_with(w, f, *word)) ||
        (f.cause == CauseKind::outside && before_this_run(w.incident.history, f)))
      continue;
    trouble = true;
    communication = communication || f.role == Role::cascade;
  }
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::hang) && !(zero && !stood_proven(f)))
      return say(Phrase::ranks_were_waiting);
  if (worst != 0) return say(Phrase::process_ended_with, worst);
  if (w.incident.recorded_failed) return say(Phrase::recorded_as_failed);
  if (trouble && !zero) return say(Phrase::logs_tell_of_failure);
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::collectives && f.outcome == Outcome::not_enough_evidence && !zero &&
        !ran_to_the_end_of_its_logs(w.incident))
      return say(Phrase::collectives_unfinished);
  // A job that ended well was not ended by a machine: what the machine reports is worth a look, and
  // no failure.
  const bool machine = w.best(CauseKind::machine) != nullptr &&
                       w.best()->confidence >= confidence::kSureOfMachine && !zero;
  if (machine) return say(Phrase::machine_reports_critical);
  if (w.best(CauseKind::numerics) != nullptr) return say(Phrase::loss_not_a_number);
  if (!zero && w.best() != nullptr &&
      (w.best()->kind == CauseKind::environment ||
       (w.best()->kind == CauseKind::outside &&
        !before_this_run(w.incident.history, *w.best()->findings.front()))))
    return say(Phrase::logs_tell_of_failure);
  const Cause* shared = w.best(CauseKind::shared);
  const auto open = [](const Finding* f) { return !f->alerts.empty() && !f->alerts.back().closed; };
  if (!zero && shared != nullptr && std::ranges::any_of(shared->findings, open))
    return say(Phrase::service_stopped_answering);
  if (!w.incident.any_training_output && w.best() != nullptr)
    return say(Phrase::machine_log_reports_fault);
  // Whoever leaves last loses its peers, behind the framework's last word on a run that went well.
  const bool closed =
      w.incident.closing && w.best() == nullptr && !timed_out(w) && !broke_before_closing(w);
  if (communication && !closed && after_effects(w)) return say(Phrase::failed_communication_exit_0);
  return {};
}

namespace {

void nothing_failed(Walk& w) {
  w.verdict.action = Action::none;
  w.verdict.symptom = Symptom::none;
}

// The first critical error after which the job made steps again: why it was started once more.
const Finding* outlived_error(const Walk& w) {
  const Finding* out = nullptr;
  for (const Excluded& e : w.first.excluded) {
    const Finding& f = *e.finding;
    if (e.reason != Exclusion::ran_on || f.severity != Severity::critical || f.role != Role::root)
      continue;
    const bool earlier = out == nullptr || (f.start && out->start && *f.start < *out->start);
    if (earlier) out = &f;
  }
  return out;
}

// The scheduler's word that ended an earlier run: of its history, or before steps of one log.
const Finding* outlived_word(const Walk& w) {
  if (const Finding* word = earlier_word(w)) return word;
  const auto& last = w.incident.last_step;
  for (const Finding& f : w.incident.findings)
    if (last && f.traits.has_any({Trait::time_limit, Trait::scheduler_ended, Trait::preempted}) &&
        std::ranges::any_of(f.evidence, [&](const Evidence& e) {
          return e.member == last->member && e.line < last->line;
        }))
      return &f;
  return nullptr;
}

// What is no failure and still to be said: what the job outlived, an earlier run that was ended,
// warnings of machines.
void remarks(Walk& w) {
  w.verdict.summary += bubble_of(w);
  if (const Finding* error = outlived_error(w))
    w.verdict.summary +=
        say(Phrase::outlived_error, inside(error->title), on(error->hosts), at(error->start));
  if (const Finding* word = outlived_word(w))
    w.verdict.summary += say(
        Phrase::earlier_run_ended, at(word->end ? word->end : word->start), inside(word->title),
        w.incident.last_iteration ? say(Phrase::and_got_to_iteration, *w.incident.last_iteration)
                                  : Text());
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::divergence))
      w.verdict.summary += say(Phrase::loss_spike_remark, f.why);
    else if (held_up(f) && !f.hearsay)
      w.verdict.summary += say(Phrase::held_up_remark, inside(f.title), at(f.start));
  std::size_t told = 0;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.severity == Severity::warning && f.host && !f.advice.empty() && told++ < 3)
      next(w.verdict, NextKind::plan,
           say(Phrase::when_idle, *f.host, Text(f.advice), f.event_class));
}

// Dumps of one moment that neither prove nor exclude a hang.
const Finding* undecided(const Walk& w) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::hang && f.outcome == Outcome::not_enough_evidence) return &f;
  return nullptr;
}

// Whom to look at, where somebody stands out.
Text lead(const Finding& f) {
  const auto* hang = std::get_if<UndecidedHangFacts>(&f.facts);
  return hang == nullptr || hang->lead.empty() ? Text() : say(Phrase::look_first_at, hang->lead);
}

// Metrics of most machines go on for long behind the last step, and show no work.
const Finding* stands_still(const Walk& w) {
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::stall) || !f.start || !f.end) continue;
    // Idle GPUs are a sign where somebody dumped stacks; else the job may have ended, or evaluate.
    if (f.event_class == "stall/gpu_utilization" && undecided(w) == nullptr) continue;
    const Nanoseconds last = std::max(w.incident.last_progress.value_or(*f.start),
                                      w.incident.job_end.value_or(*f.start));
    if (*f.end - last >= std::max(w.params.standstill, 10 * w.incident.step_time)) return &f;
  }
  return nullptr;
}

void look_again(Verdict& v) { next(v, NextKind::collect, say(Phrase::stacks_twice, kDumpStacks)); }

// Nothing proves a failure, and nothing proves success.
Answer logs_end(Walk& w, const std::vector<const Finding*>& leads) {
  Verdict& v = w.verdict;
  act(v, Action::investigate, Precision::candidates);
  const Case& c = w.incident;
  v.summary =
      c.last_iteration
          ? say(Phrase::logs_end_after_iteration, *c.last_iteration,
                c.planned_iterations ? say(Phrase::of_planned, *c.planned_iterations) : Text())
      : leads.empty() ? say(Phrase::no_sign_and_logs_end)
                      : say(Phrase::logs_end_here);
  if (const Finding* f = stands_still(w)) {
    if (steps_left(c)) v.symptom = Symptom::job_hang;
    v.start = c.last_progress ? c.last_progress : f->start;
    v.summary += c.last_progress ? say(Phrase::stands_still, say(Phrase::capital, f->title),
                                       human_duration(*f->end - *c.last_progress))
                                 : say(Phrase::idle_at_the_end, say(Phrase::capital, f->title));
    target(v, {SubjectKind::job, "job"}, f->confidence, {f->id});
  }
  quote_leads(w, leads);
  if (const Finding* f = undecided(w)) v.summary += say(Phrase::dumps_of_one_moment) + lead(*f);
  remarks(w);
  next(v, NextKind::collect, say(Phrase::collect_end_of_output));
  look_again(v);
  return taken(say(Phrase::no_sign_no_proof));
}

// Why it is a fault that several runs or machines show together, whatever became of the last run.
std::optional<Text> shown_by_runs(const Walk& w) {
  if (const Finding* again = came_back(w)) return again->why;
  if (failed_together(w)) return say(Phrase::fault_on_several_gpus);
  if (const auto alike = failed_alike(w))
    return say(Phrase::runs_failed_at, attempts_of(alike->runs), alike->what);
  return std::nullopt;
}

}  // namespace

Answer job_finished(Walk& w) {
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  if (!ended_well(w)) return ruled_out(say(Phrase::no_proof_of_success));
  if (const auto why = shown_by_runs(w)) return ruled_out(*why);
  nothing_failed(w);
  const bool code =
      std::ranges::any_of(w.incident.exits, [](const ExitFact& x) { return x.code == 0; });
  w.verdict.summary = code ? say(Phrase::finished_exit_0)
                      : w.incident.completed
                          ? say(Phrase::ran_to_its_end)
                          : say(Phrase::completed_planned_steps, *w.incident.planned_iterations);
  remarks(w);
  return taken(say(Phrase::ended_well));
}

// Somebody took the dumps for a reason, and they are all there is.
Answer dumps_only(Walk& w) {
  const Finding* f = undecided(w);
  if (f == nullptr) return ruled_out(say(Phrase::no_open_dumps));
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  const Case& c = w.incident;
  const bool unfinished = !ended_well(w) && steps_left(c);
  const bool moved_on = f->start && c.last_progress && *f->start < *c.last_progress;
  if ((c.last_progress || c.last_iteration) && (!unfinished || moved_on))
    return ruled_out(say(Phrase::steps_and_no_failure));
  if (std::ranges::any_of(w.incident.findings, scheduler_word))
    return ruled_out(say(Phrase::scheduler_says));
  w.verdict.action = Action::investigate;
  w.verdict.precision = Precision::candidates;
  w.verdict.symptom = Symptom::none;
  w.verdict.summary = say(Phrase::dumps_undecided, f->why, lead(*f));
  look_again(w.verdict);
  next(w.verdict, NextKind::collect, say(Phrase::collect_output_after_dumps));
  return taken(f->why);
}

// The last steps took longer than all before, when the logs were collected.
static const Finding* slow_tail(const Walk& w) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::slow && f.event_class == "slow/tail") return &f;
  return nullptr;
}

static Answer slow_at_the_end(Walk& w, const Finding& tail) {
  Verdict& v = w.verdict;
  act(v, Action::investigate, Precision::candidates, Symptom::mfu_decline);
  target(v, {SubjectKind::job, "job"}, confidence::kLead, {tail.id});
  v.summary = say(Phrase::slow_when_collected, tail.why);
  next(v, NextKind::collect, say(Phrase::collect_step_parts));
  next(v, NextKind::collect, say(Phrase::collect_stacks_while_slow));
  return taken(tail.why);
}

Answer no_failure(Walk& w) {
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && !before_this_run(w.incident.history, f) && !survived(w.incident, f))
      return ruled_out(say(Phrase::scheduler_ended_this_run));
  // A loss that rises says nothing against another answer.
  if (const Finding* high = loss_that_stayed_high(w);
      high != nullptr && (high->event_class == "loss_jumped" || slow_stretches(w).empty()))
    return ruled_out(say(Phrase::loss_jumped));
  if (const auto why = shown_by_runs(w)) return ruled_out(*why);
  std::vector<const Finding*> leads = strongest_leads(w);
  std::erase_if(leads, [&](const Finding* f) { return went_on(w.incident, w.params, *f); });
  if (!leads.empty() || stands_still(w) != nullptr || !ran_to_the_end_of_its_logs(w.incident))
    return logs_end(w, leads);
  // Somebody dumped stacks of a job that prints no error, and one rank stands where no other does.
  const Finding* dumps = undecided(w);
  if (dumps != nullptr && !lead(*dumps).empty()) return logs_end(w, leads);
  if (const Finding* tail = slow_tail(w); tail != nullptr && !ended_well(w))
    return slow_at_the_end(w, *tail);
  nothing_failed(w);
  w.verdict.summary = say(Phrase::no_failure_shown);
  const Case& c = w.incident;
  const bool unfinished = steps_left(c);
  if (unfinished)
    w.verdict.summary +=
        say(Phrase::unfinished_unexplained, *c.last_iteration, *c.planned_iterations);
  if (dumps != nullptr) w.verdict.summary += say(Phrase::dumps_of_one_moment);
  remarks(w);
  if (unfinished) look_again(w.verdict);
  return taken(say(Phrase::no_sign_of_failure));
}

Answer gpu_throttled(Walk& w) {
  std::set<Host> hosts;
  std::vector<const Finding*> from;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.subject.kind == SubjectKind::gpu && f.severity == Severity::warning &&
        f.role == Role::root &&
        (f.symptom == Symptom::mfu_decline || f.symptom == Symptom::thermal) && f.host) {
      hosts.insert(*f.host);
      from.push_back(&f);
    }
  if (from.empty()) return ruled_out(say(Phrase::no_gpu_throttled));
  if (w.best() != nullptr && w.best()->kind != CauseKind::network)
    return ruled_out(say(Phrase::something_ended_job));
  if (after_effects(w)) return ruled_out(say(Phrase::throttling_explains_no_failure));
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0) return ruled_out(say(Phrase::throttling_explains_no_failure));
  if (shared_by(w, hosts.size()))
    return ruled_out(say(Phrase::many_hosts_report, hosts.size(), w.incident.hosts));
  Verdict& v = w.verdict;
  act(v, Action::mitigate, Precision::candidates, from.front()->symptom);
  for (const Host& host : hosts)
    target(v, {SubjectKind::host, host}, confidence::kThrottled, ids(from));
  v.summary = say(Phrase::gpus_throttled, list(hosts));
  for (const Finding* f : from)
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  next(v, NextKind::collect, say(Phrase::collect_gpu_state));
  return taken(say(Phrase::class_on_place, from.front()->event_class, list(hosts)));
}

}  // namespace culprit::decide
