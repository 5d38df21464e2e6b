// Steps that end the walk without a fault to name: nothing collected, nothing failed, somebody
// asked for it, nobody knows.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

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

bool ended_well(const Walk& w) {
  const Case& c = w.incident;
  const bool all_steps =
      c.last_iteration && c.planned_iterations && *c.last_iteration >= *c.planned_iterations;
  return c.completed || all_steps ||
         std::any_of(c.exits.begin(), c.exits.end(), [](const ExitFact& x) { return x.code == 0; });
}

namespace {

// Something that was over before this run of the job began.
bool before_this_run(const AttemptHistory& h, const std::optional<Nanoseconds>& end,
                     Nanoseconds uncertainty, const Evidence& place) {
  if (end) return h.start && *end + uncertainty < *h.start;
  return h.first_step && place.member == h.first_step->member && place.line < h.first_step->line;
}
bool before_this_run(const AttemptHistory& h, const Finding& f) {
  if (f.start) return before_this_run(h, f.end ? f.end : f.start, f.uncertainty, {});
  // Without a time all of its lines must stand before, not only those that are kept as evidence.
  return f.count <= f.evidence.size() && !f.evidence.empty() &&
         std::all_of(f.evidence.begin(), f.evidence.end(),
                     [&](const Evidence& e) { return before_this_run(h, {}, 0, e); });
}

// The scheduler's word that ended an earlier run, after which the job ran again: the last one.
const Finding* earlier_word(const Walk& w) {
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && before_this_run(w.incident.history, f) &&
        (out == nullptr || (f.end && out->end && *f.end > *out->end)))
      out = &f;
  return out;
}

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
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
    return f.outcome == Outcome::fired && f.role == Role::cascade &&
           f.severity >= Severity::distributed && (f.start || !went_on(w.incident, w.params, f)) &&
           std::any_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
             return e.member == closing.member && e.line < closing.line;
           });
  });
}

// What machines' logs report and what does not concern the job.
std::set<const Finding*> surroundings_of(const Walk& w, Unplaced unplaced) {
  std::set<const Finding*> out;
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::surroundings || e.reason == Exclusion::ran_on ||
        e.reason == Exclusion::not_of_job ||
        (unplaced == Unplaced::left_out && e.reason == Exclusion::unplaced &&
         e.finding->origin != Origin::any))
      out.insert(e.finding);
  return out;
}

}  // namespace

Text failure(const Walk& w, Unplaced unplaced) {
  const Finding* word = earlier_word(w);
  std::int64_t worst = 0;
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0 && !torn_down(w, x) &&
        !(word != nullptr && before_this_run(w.incident.history, x.time, 0, x.evidence) &&
          !(x.time && word->start && *x.time + 2 * kSecond < *word->start)))
      worst = x.code;
  const bool zero = ended_well(w);
  const std::set<const Finding*> surroundings = surroundings_of(w, unplaced);
  bool trouble = false, communication = false;
  for (const Finding& f : w.incident.findings) {
    if (f.outcome != Outcome::fired || f.severity < Severity::distributed ||
        f.analysis != Analysis::classify || f.role == Role::confirmation ||
        surroundings.count(&f) > 0 || f.symptom == Symptom::nan_value ||
        (f.role == Role::cascade && !f.start && went_on(w.incident, w.params, f)) ||
        (word != nullptr && ended_with(w, f, *word)) ||
        (f.cause == CauseKind::outside && before_this_run(w.incident.history, f)))
      continue;
    trouble = true;
    communication = communication || f.role == Role::cascade;
  }
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::hang && f.outcome == Outcome::fired)
      return say(Phrase::ranks_were_waiting);
  if (worst != 0) return say(Phrase::process_ended_with, worst);
  if (trouble && !zero) return say(Phrase::logs_tell_of_failure);
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::collectives && f.outcome == Outcome::not_enough_evidence && !zero)
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
  if (!zero && shared != nullptr &&
      std::any_of(shared->findings.begin(), shared->findings.end(), open))
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

// What is no failure and still to be said: an earlier run that was ended, warnings of machines.
void remarks(Walk& w) {
  if (const Finding* word = earlier_word(w))
    w.verdict.summary += say(
        Phrase::earlier_run_ended, at(word->end ? word->end : word->start), inside(word->title),
        w.incident.last_iteration ? say(Phrase::and_got_to_iteration, *w.incident.last_iteration)
                                  : Text());
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::divergence && f.outcome == Outcome::fired)
      w.verdict.summary += say(Phrase::loss_spike_remark, f.why);
  std::size_t told = 0;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.severity == Severity::warning && f.host &&
        !f.advice.empty() && told++ < 3)
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

// Metrics of most machines go on for long behind the last step, and show no traffic.
const Finding* stands_still(const Walk& w) {
  const auto& last = w.incident.last_progress;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::stall && f.outcome == Outcome::fired && last && f.end &&
        *f.end - *last >= std::max(w.params.standstill, 10 * w.incident.step_time))
      return &f;
  return nullptr;
}

void look_again(Verdict& v) { next(v, NextKind::collect, say(Phrase::stacks_twice, kDumpStacks)); }

// Steps up to the last line that the job wrote: it was running when its logs were collected.
bool ran_to_the_end_of_its_logs(const Case& c) {
  if (!c.last_iteration && !c.last_progress) return false;
  return !c.last_progress || !c.job_end ||
         *c.job_end <= *c.last_progress + std::max<Nanoseconds>(60 * kSecond, 10 * c.step_time);
}

// Nothing proves a failure, and nothing proves success.
Answer logs_end(Walk& w, const std::vector<const Finding*>& leads) {
  Verdict& v = w.verdict;
  v.action = Action::investigate;
  v.precision = Precision::candidates;
  const Case& c = w.incident;
  v.summary =
      c.last_iteration
          ? say(Phrase::logs_end_after_iteration, *c.last_iteration,
                c.planned_iterations ? say(Phrase::of_planned, *c.planned_iterations) : Text())
      : leads.empty() ? say(Phrase::no_sign_and_logs_end)
                      : say(Phrase::logs_end_here);
  if (const Finding* f = stands_still(w)) {
    const bool unfinished =
        c.last_iteration && c.planned_iterations && *c.last_iteration < *c.planned_iterations;
    if (unfinished) v.symptom = Symptom::job_hang;
    v.start = w.incident.last_progress;
    v.summary += say(Phrase::stands_still, say(Phrase::capital, f->title),
                     human_duration(*f->end - *w.incident.last_progress));
    target(v, {SubjectKind::job, "job"}, f->confidence, {f->id});
  }
  quote_leads(w, leads);
  if (const Finding* f = undecided(w)) v.summary += say(Phrase::dumps_of_one_moment) + lead(*f);
  remarks(w);
  next(v, NextKind::collect, say(Phrase::collect_end_of_output));
  look_again(v);
  return taken(say(Phrase::no_sign_no_proof));
}

}  // namespace

Answer job_finished(Walk& w) {
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  if (!ended_well(w)) return ruled_out(say(Phrase::no_proof_of_success));
  nothing_failed(w);
  const bool code = std::any_of(w.incident.exits.begin(), w.incident.exits.end(),
                                [](const ExitFact& x) { return x.code == 0; });
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
  if (w.incident.last_progress || w.incident.last_iteration)
    return ruled_out(say(Phrase::steps_and_no_failure));
  if (std::any_of(w.incident.findings.begin(), w.incident.findings.end(), scheduler_word))
    return ruled_out(say(Phrase::scheduler_says));
  w.verdict.action = Action::investigate;
  w.verdict.precision = Precision::candidates;
  w.verdict.symptom = Symptom::none;
  w.verdict.summary = say(Phrase::dumps_undecided, f->why, lead(*f));
  look_again(w.verdict);
  next(w.verdict, NextKind::collect, say(Phrase::collect_output_after_dumps));
  return taken(f->why);
}

Answer no_failure(Walk& w) {
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && !before_this_run(w.incident.history, f))
      return ruled_out(say(Phrase::scheduler_ended_this_run));
  if (loss_that_stayed_high(w) != nullptr) return ruled_out(say(Phrase::loss_jumped));
  std::vector<const Finding*> leads = strongest_leads(w);
  std::erase_if(leads, [&](const Finding* f) { return went_on(w.incident, w.params, *f); });
  if (!leads.empty() || stands_still(w) != nullptr || !ran_to_the_end_of_its_logs(w.incident))
    return logs_end(w, leads);
  // Somebody dumped stacks of a job that prints no error, and one rank stands where no other does.
  const Finding* dumps = undecided(w);
  if (dumps != nullptr && !lead(*dumps).empty()) return logs_end(w, leads);
  nothing_failed(w);
  w.verdict.summary = say(Phrase::no_failure_shown);
  const auto& done = w.incident.last_iteration;
  const auto& planned = w.incident.planned_iterations;
  const bool unfinished = done && planned && *done < *planned;
  if (unfinished) w.verdict.summary += say(Phrase::unfinished_unexplained, *done, *planned);
  if (dumps != nullptr) w.verdict.summary += say(Phrase::dumps_of_one_moment);
  remarks(w);
  if (unfinished) look_again(w.verdict);
  return taken(say(Phrase::no_sign_of_failure));
}

Answer gpu_throttled(Walk& w) {
  std::set<Host> hosts;
  std::vector<const Finding*> from;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.subject.kind == SubjectKind::gpu &&
        f.severity == Severity::warning && f.role == Role::root &&
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
  v.action = Action::mitigate;
  v.symptom = from.front()->symptom;
  v.precision = Precision::candidates;
  for (const Host& host : hosts)
    target(v, {SubjectKind::host, host}, confidence::kThrottled, ids(from));
  v.summary = say(Phrase::gpus_throttled, list(hosts));
  for (const Finding* f : from)
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  next(v, NextKind::collect, say(Phrase::collect_gpu_state));
  return taken(say(Phrase::class_on_place, from.front()->event_class, list(hosts)));
}

namespace {

// The job still made steps minutes later, or failed hours later: the word was another job's.
bool outlived(const Walk& w, const Finding& word, const std::optional<Nanoseconds>& said) {
  const auto before = [&](const std::optional<Nanoseconds>& sign, Nanoseconds slack) {
    return said && sign && *said + word.uncertainty + slack < *sign && !zones_apart(*said, *sign);
  };
  return before(w.incident.last_progress, w.params.cleanup) ||
         before(w.first.first_consequence, 2 * kHour);
}

// In one log with the scheduler's word, and before it.
bool printed_before(const Evidence& e, const Finding& word) {
  bool same_log = false;
  for (const Evidence& said : word.evidence) {
    if (said.member != e.member) continue;
    same_log = true;
    if (said.line <= e.line) return false;
  }
  return same_log;
}

// In its log, and all of it behind it: what processes print that are being ended. Where steps
// follow the word it ended an earlier run.
bool printed_after(const Walk& w, const Finding& f, const Finding& word) {
  const auto& last = w.incident.last_step;
  return !f.evidence.empty() &&
         std::all_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
           return std::any_of(
               word.evidence.begin(), word.evidence.end(), [&](const Evidence& said) {
                 return said.member == e.member && said.line < e.line &&
                        !(last && last->member == said.member && last->line > said.line);
               });
         });
}

// A process failed by itself, and communication with it: the log has both before the word. Of srun
// the exit is enough: it ends the step because of it, and tells of tasks that were asked to stop
// behind the word.
bool failed_before_the_word(const Walk& w, const Finding& word) {
  bool ended = false, task = false;
  for (const ExitFact& x : w.incident.exits) {
    if (x.code <= 0 || x.code >= 128 || !printed_before(x.evidence, word)) continue;
    ended = true;
    // Steps that are told elsewhere may all have come behind it.
    task = task || (x.source == "srun" &&
                    (!w.incident.last_step || w.incident.last_step->member == x.evidence.member));
  }
  if (task) return true;
  return ended &&
         std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
           return f.outcome == Outcome::fired && f.role == Role::cascade &&
                  f.analysis == Analysis::classify && !f.start &&
                  f.severity >= Severity::distributed && f.symptom != Symptom::job_hang &&
                  std::any_of(f.evidence.begin(), f.evidence.end(),
                              [&](const Evidence& e) { return printed_before(e, word); });
         });
}

// A process ended itself: SIGABRT or a crash, of its own or as its shell says it.
bool aborted(const Walk& w) {
  return std::any_of(w.incident.exits.begin(), w.incident.exits.end(), [](const ExitFact& x) {
    return x.code == -6 || x.code == -11 || x.code == 134 || x.code == 139;
  });
}

// The scheduler's word that ended this run: the first, or that it reached its time limit.
const Finding* word_that_ended(const Walk& w) {
  const Finding* stop = nullptr;
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && !before_this_run(w.incident.history, f) &&
        !outlived(w, f, f.end ? f.end : f.start))
      if (stop == nullptr ||
          (f.traits.has(Trait::time_limit) && !stop->traits.has(Trait::time_limit)) ||
          (f.start && stop->start && *f.start < *stop->start &&
           !stop->traits.has(Trait::time_limit)))
        stop = &f;
  return stop;
}

}  // namespace

Answer user_request(Walk& w) {
  const Finding* stop = word_that_ended(w);
  if (stop == nullptr) {
    if (const Finding* word = earlier_word(w))
      return ruled_out(
          say(Phrase::earlier_run_ended_by_scheduler, at(word->end ? word->end : word->start)));
    return ruled_out(say(Phrase::no_scheduler_word));
  }
  // Said of an earlier run or of another job, and of this one: the last time counts.
  const auto& begun = w.incident.history.start;
  const bool of_another =
      begun && stop->start && stop->end && *stop->start < *begun && *stop->end >= *begun;
  const std::optional<Nanoseconds> when =
      of_another || outlived(w, *stop, stop->start) ? stop->end : stop->start;
  if (const auto stood = stood_until(w, when))
    return ruled_out(say(Phrase::stood_before_word, human_duration(*stood)));
  if (slow_until_word(w, *stop) != nullptr) return ruled_out(say(Phrase::slow_until_word));
  // What fails shortly after the word is clean-up; what fails much later failed in a run that went
  // on or came after.
  const bool cause_after = w.best() != nullptr && w.best()->start && when &&
                           *w.best()->start - w.best()->uncertainty > *when + 5 * kSecond &&
                           *w.best()->start < *when + w.params.cleanup;
  if (w.best() != nullptr && !cause_after && w.best()->kind != CauseKind::network &&
      w.best()->kind != CauseKind::device_or_program && w.best()->kind != CauseKind::outside)
    return ruled_out(say(Phrase::error_before_scheduler));
  for (const Finding& f : w.incident.findings) {
    if (f.outcome == Outcome::fired && f.traits.has(Trait::by_gpu) &&
        !(f.start && when && *f.start > *when))
      return ruled_out(say(Phrase::rank_reports_cuda_error));
    if (f.outcome == Outcome::fired && f.role == Role::cascade && !f.start &&
        f.analysis == Analysis::classify && f.severity >= Severity::distributed &&
        f.symptom != Symptom::job_hang && aborted(w) && !printed_after(w, f, *stop))
      return ruled_out(say(Phrase::aborted_undated));
    // Nobody waits for half an hour because the scheduler ends the job.
    if (f.outcome == Outcome::fired && f.role == Role::cascade && f.symptom == Symptom::job_hang &&
        !(f.start && when) && timed_out(w))
      return ruled_out(say(Phrase::timed_out_scheduler_undated));
    if (f.outcome != Outcome::fired || f.role != Role::cascade || !f.start) continue;
    if (when && *f.start + f.uncertainty + 2 * kSecond < *when)
      return ruled_out(say(Phrase::communication_failed_before_scheduler));
    if (when && f.symptom == Symptom::job_hang && *f.start > *when + 5 * kMinute &&
        !zones_apart(*f.start, *when) && timed_out(w))
      return ruled_out(say(Phrase::waited_on_after_scheduler));
    // As near as the clocks allow: whoever is asked to stop does not abort.
    if (when && *f.start < *when && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed && aborted(w))
      return ruled_out(say(Phrase::aborted_with_scheduler));
  }
  // Whoever looks at the stacks of a job that stands ends it.
  if (stop->traits.has(Trait::scheduler_ended))
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::hang && f.outcome == Outcome::fired)
        return ruled_out(say(Phrase::ranks_were_waiting));
  if (stop->traits.has(Trait::scheduler_ended) && failed_before_the_word(w, *stop))
    return ruled_out(say(Phrase::communication_failed_before_scheduler));
  if (stop->traits.has(Trait::scheduler_ended) &&
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(),
                  [](const Finding& f) {
                    return f.outcome == Outcome::fired && f.role == Role::confirmation &&
                           f.traits.has(Trait::nonzero_exit);
                  }) &&
      !when)
    return ruled_out(say(Phrase::process_failed_scheduler_undated));
  w.verdict.action = Action::none;
  w.verdict.symptom = Symptom::none;
  w.verdict.start = when;
  w.verdict.summary = stop->traits.has(Trait::time_limit)
                          ? say(Phrase::time_limit, at(when))
                          : say(Phrase::scheduler_ended_job, inside(stop->title), at(when));
  w.verdict.summary += in_its_words(*stop);
  target(w.verdict, {SubjectKind::job, "job"}, confidence::kSchedulerEnded, {stop->id});
  return taken(say(Phrase::no_error_before, stop->event_class));
}

// A difference of versions or settings is harmless on most days: it is the answer only when
// communication failed, nothing before this step says why, and the setting is one that
// communication hangs on.
namespace {

bool explains_communication(const Finding& f) {
  const auto* setting = std::get_if<SettingFacts>(&f.facts);
  return setting != nullptr && setting->explains == "communication";
}

}  // namespace

Answer config_check(Walk& w) {
  std::vector<const Finding*> from;
  std::size_t others = 0;
  bool compared = false;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::drift) continue;
    compared = compared || f.outcome != Outcome::not_enough_evidence;
    if (f.outcome != Outcome::fired) continue;
    if ((f.severity == Severity::warning || f.severity == Severity::critical) &&
        explains_communication(f))
      from.push_back(&f);
    else
      ++others;
  }
  if (!compared) return not_enough(say(Phrase::settings_of_one_host));
  if (from.empty())
    return ruled_out(others == 0   ? say(Phrase::settings_equal)
                     : others == 1 ? say(Phrase::setting_differs_harmlessly)
                                   : say(Phrase::settings_differ_harmlessly, others));
  // Time-outs alone are a hang: a rank that stopped explains them better.
  const Finding* broke = nullptr;
  for (const Finding& f : w.incident.findings)
    if (broke == nullptr && f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed)
      broke = &f;
  if (broke == nullptr) return ruled_out(say(Phrase::settings_differ_nothing_broke));
  sort_rows(from, [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  // What does not fit shows when communicators are set up: a job that completed steps ran with it.
  // Where the connections that broke first have no common end, one host that differs from all
  // others is the answer all the same (Aegis algorithm 1).
  const bool ran = w.incident.last_iteration.value_or(0) > 0 || w.incident.last_progress;
  const bool no_common_end =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
        return f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out;
      });
  if (ran && !(no_common_end && from.front()->hosts.size() == 1 && w.incident.hosts >= 4)) {
    next(w.verdict, NextKind::plan, say(Phrase::make_settings_equal, from.front()->subject.id));
    return ruled_out(say(Phrase::setting_differs_job_ran, from.front()->subject.id));
  }
  std::set<Host> reporters, odd;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.severity >= Severity::distributed)
      reporters.insert(f.hosts.begin(), f.hosts.end());
  for (const Finding* f : from) odd.insert(f->hosts.begin(), f->hosts.end());
  if (!reporters.empty() && !odd.empty() && reporters.size() <= w.params.few_reporters &&
      std::none_of(reporters.begin(), reporters.end(),
                   [&](const Host& host) { return odd.count(host) > 0; }))
    return ruled_out(say(Phrase::reporters_have_majority_settings, list(reporters)));
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.precision = Precision::candidates;
  v.symptom = broke->symptom;
  v.start = broke->start;
  std::set<Host> hosts;
  for (std::size_t i = 0; i < from.size() && i < 3; ++i) {
    target(v, from[i]->subject,
           from[i]->severity == Severity::critical ? confidence::kSettingCritical
                                                   : confidence::kSettingDiffers,
           {from[i]->id});
    hosts.insert(from[i]->hosts.begin(), from[i]->hosts.end());
  }
  std::size_t named = 0;
  for (const Host& host : hosts)
    if (named++ < 8) target(v, {SubjectKind::host, host}, confidence::kHostOfSetting, ids(from));
  v.summary = say(Phrase::setting_explains_connections, from.front()->why);
  for (std::size_t i = 0; i < from.size() && i < 3; ++i)
    if (!from[i]->advice.empty()) next(v, NextKind::plan, from[i]->advice);
  next(v, NextKind::collect, say(Phrase::collect_drift));
  return taken(say(Phrase::setting_differs, from.front()->subject.id));
}

namespace {

// Whether the machines were at work when it crashed: processes that never came together were kept
// from it by addresses, settings or time-outs, and tests of GPUs show nothing of that.
bool machines_at_work(const Walk& w) {
  if (w.incident.last_iteration || w.incident.last_progress) return true;
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
    return f.outcome == Outcome::fired && f.analysis == Analysis::classify &&
           f.role == Role::cascade && f.severity >= Severity::distributed &&
           !f.traits.has_any({Trait::rendezvous, Trait::rendezvous_timeout, Trait::store_unreached,
                              Trait::store_lost, Trait::launcher_failed, Trait::process_end,
                              Trait::nonzero_exit});
  });
}

}  // namespace

Answer not_enough_evidence(Walk& w) {
  Verdict& v = w.verdict;
  const bool hang = timed_out(w);
  const bool crash =
      after_effects(w) || std::any_of(w.incident.exits.begin(), w.incident.exits.end(),
                                      [](const ExitFact& x) { return x.code != 0; });
  const std::vector<const Finding*> leads = strongest_leads(w);
  v.precision = Precision::candidates;
  if (hang) {
    v.action = Action::investigate;
    v.symptom = Symptom::job_hang;
    v.summary = say(Phrase::hung_nobody_named);
    next(v, NextKind::collect, say(Phrase::stacks_of_all_while_hanging, kDumpStacks));
    next(v, NextKind::collect, say(Phrase::recorder_and_ncclras));
  } else if (crash) {
    const bool at_work = machines_at_work(w);
    v.action = at_work ? Action::checks : Action::investigate;
    for (const Finding& f : w.incident.findings)
      if (f.outcome == Outcome::fired && f.role == Role::cascade && f.symptom != Symptom::none)
        v.symptom = f.symptom;
    v.summary = leads.empty() ? say(Phrase::crashed_no_cause) : say(Phrase::crashed_nothing_proven);
    if (leads.empty() && at_work) v.request = say(Phrase::request_stop_time_checks);
    if (w.incident.uses_gpus && at_work) next(v, NextKind::plan, say(Phrase::stop_time_checks));
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out &&
          f.hosts.size() > w.params.few_reporters)
        halve(v, f.hosts);
  } else {
    v.action = Action::investigate;
    v.summary = say(Phrase::trouble_without_cause);
  }
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.role == Role::cascade && f.start &&
        (!v.start || *f.start < *v.start))
      v.start = f.start;
  quote_leads(w, leads);
  next(v, NextKind::collect,
       w.incident.uses_gpus ? say(Phrase::collect_host_state)
                            : say(Phrase::collect_kernel_logs_short));
  if (w.incident.uses_gpus) next(v, NextKind::collect, say(Phrase::collect_nccl_debug));
  if (!w.incident.has_rank_map) next(v, NextKind::collect, say(Phrase::collect_job_json));
  return taken(say(Phrase::nothing_else_applies));
}

}  // namespace culprit::decide
