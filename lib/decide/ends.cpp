// Steps that end the walk without a fault to name: nothing collected, nothing failed, somebody
// asked for it, nobody knows.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"

namespace culprit::decide {

Answer bundle_empty(Walk& w) {
  if (!w.incident.findings.empty() || !w.incident.exits.empty() || w.incident.any_training_output)
    return ruled_out("the bundle holds logs that can be read");
  w.verdict.action = Action::investigate;
  w.verdict.precision = Precision::candidates;
  w.verdict.summary = "Not enough evidence: the bundle holds nothing that says how the job went.";
  next(
      w.verdict, NextKind::collect,
      "stderr and stdout of every rank (torchrun --log-dir DIR -r 3 -t 3), the scheduler's output");
  next(w.verdict, NextKind::collect,
       "kernel log of every host: dmesg -T, or journalctl -k -o short-iso-precise");
  return taken("no line of the bundle tells of a job, a fault or a machine");
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

}  // namespace

std::string failure(const Walk& w) {
  const Finding* word = earlier_word(w);
  std::int64_t worst = 0;
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0 &&
        !(word != nullptr && before_this_run(w.incident.history, x.time, 0, x.evidence) &&
          !(x.time && word->start && *x.time + 2 * kSecond < *word->start)))
      worst = x.code;
  const bool zero = ended_well(w);
  const bool trouble =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
        return f.outcome == Outcome::fired && f.severity >= Severity::distributed &&
               f.analysis == Analysis::classify && f.role != Role::confirmation &&
               f.symptom != Symptom::nan_value && !(word != nullptr && ended_with(w, f, *word)) &&
               !(f.cause == CauseKind::outside && before_this_run(w.incident.history, f));
      });
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::hang && f.outcome == Outcome::fired)
      return "ranks were waiting for something that did not come";
  if (worst != 0) return fmt::format("a process of the job ended with code {}", worst);
  if (trouble && !zero) return "the logs tell of a failure";
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::collectives && f.outcome == Outcome::not_enough_evidence && !zero)
      return "collectives are unfinished, and nothing says that the job ended well";
  // A job that ended well was not ended by a machine: what the machine reports is worth a look, and
  // no failure.
  const bool machine = w.best(CauseKind::machine) != nullptr &&
                       w.best()->confidence >= confidence::kSureOfMachine && !zero;
  if (machine) return "a machine of the job reports a critical error";
  if (w.best(CauseKind::numerics) != nullptr) return "the loss stopped being a number";
  if (!zero && w.best() != nullptr &&
      (w.best()->kind == CauseKind::environment ||
       (w.best()->kind == CauseKind::outside &&
        !before_this_run(w.incident.history, *w.best()->findings.front()))))
    return "the logs tell of a failure";
  const Cause* shared = w.best(CauseKind::shared);
  const auto open = [](const Finding* f) { return !f->alerts.empty() && !f->alerts.back().closed; };
  if (!zero && shared != nullptr &&
      std::any_of(shared->findings.begin(), shared->findings.end(), open))
    return "a service that the job needs stopped answering and did not come back";
  if (!w.incident.any_training_output && w.best() != nullptr)
    return "the machine's own log reports a fault";
  if (trouble && after_effects(w))
    return "ranks report failed communication although the job's exit code is 0";
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
    w.verdict.summary +=
        fmt::format(" The scheduler ended an earlier run{} ({}); the job ran again after that{}.",
                    at(word->end ? word->end : word->start), lower_first(word->title),
                    w.incident.last_iteration
                        ? fmt::format(" and got to iteration {}", *w.incident.last_iteration)
                        : "");
  std::size_t told = 0;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.severity == Severity::warning && f.host && told++ < 3)
      next(w.verdict, NextKind::plan,
           fmt::format("When {} is idle: {} ({}).", *f.host,
                       f.advice.empty() ? lower_first(f.title) : f.advice, f.event_class));
}

// Dumps of one moment that neither prove nor exclude a hang.
const Finding* undecided(const Walk& w) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::hang && f.outcome == Outcome::not_enough_evidence) return &f;
  return nullptr;
}

// Whom to look at, where somebody stands out.
std::string lead(const Finding& f) {
  const auto* hang = std::get_if<UndecidedHangFacts>(&f.facts);
  return hang == nullptr || hang->lead.empty()
             ? ""
             : fmt::format(" If the job stood still then, look first at {}.", hang->lead);
}

void look_again(Verdict& v) {
  next(v, NextKind::collect,
       fmt::format("if it stands still now, the stacks of all ranks, twice, a minute apart: {}",
                   kDumpStacks));
}

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
  v.summary = c.last_iteration
                  ? fmt::format(
                        "No sign of a known failure, and no proof of success: the logs end after "
                        "iteration {}{}.",
                        *c.last_iteration,
                        c.planned_iterations ? fmt::format(" of {}", *c.planned_iterations) : "")
                  : "No sign of a known failure, and no proof of success: the logs end here.";
  quote_leads(w, leads);
  if (const Finding* f = undecided(w))
    v.summary +=
        " The dumps are of one moment: they do not tell whether it stood still then." + lead(*f);
  remarks(w);
  next(v, NextKind::collect,
       "the end of stdout and stderr of every rank, and how the job ended: the scheduler's record "
       "(sacct -j JOBID, kubectl describe pod) or the launcher's exit code");
  look_again(v);
  return taken("no sign of a failure that is known, and no proof of success");
}

}  // namespace

Answer job_finished(Walk& w) {
  if (const std::string why = failure(w); !why.empty()) return ruled_out(why);
  if (!ended_well(w))
    return ruled_out(
        "neither an exit code nor a closing line nor the last planned step says that the job ended "
        "well");
  nothing_failed(w);
  const bool code = std::any_of(w.incident.exits.begin(), w.incident.exits.end(),
                                [](const ExitFact& x) { return x.code == 0; });
  w.verdict.summary = code ? "No failure: the job finished with exit code 0."
                      : w.incident.completed
                          ? "No failure: the job ran to its end."
                          : fmt::format("No failure: the job completed all {} planned steps.",
                                        *w.incident.planned_iterations);
  remarks(w);
  return taken("the job ended well and no rank reports trouble");
}

// Somebody took the dumps for a reason, and they are all there is.
Answer dumps_only(Walk& w) {
  const Finding* f = undecided(w);
  if (f == nullptr)
    return ruled_out("no dumps of a moment that leave it open whether the job stood still");
  if (const std::string why = failure(w); !why.empty()) return ruled_out(why);
  if (w.incident.last_progress || w.incident.last_iteration)
    return ruled_out("the logs tell of completed steps and of no failure");
  if (std::any_of(w.incident.findings.begin(), w.incident.findings.end(), scheduler_word))
    return ruled_out("the scheduler says how the job ended");
  w.verdict.action = Action::investigate;
  w.verdict.precision = Precision::candidates;
  w.verdict.symptom = Symptom::none;
  w.verdict.summary = fmt::format("Not enough evidence: {}.{}", f->why, lead(*f));
  look_again(w.verdict);
  next(w.verdict, NextKind::collect,
       "stderr and stdout of every rank, and the scheduler's output: they tell whether steps were "
       "completed after the dumps");
  return taken(f->why);
}

Answer no_failure(Walk& w) {
  if (const std::string why = failure(w); !why.empty()) return ruled_out(why);
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && !before_this_run(w.incident.history, f))
      return ruled_out("the scheduler ended this run");
  const std::vector<const Finding*> leads = strongest_leads(w);
  if (!leads.empty() || !ran_to_the_end_of_its_logs(w.incident)) return logs_end(w, leads);
  nothing_failed(w);
  w.verdict.summary =
      "No failure that the logs show: steps were completed up to the end of the logs.";
  const auto& done = w.incident.last_iteration;
  const auto& planned = w.incident.planned_iterations;
  const bool unfinished = done && planned && *done < *planned;
  if (unfinished)
    w.verdict.summary += fmt::format(
        " The logs end at iteration {} of {}, and nothing says why: the job may still run, or "
        "stand still.",
        *done, *planned);
  if (const Finding* f = undecided(w))
    w.verdict.summary +=
        " The dumps are of one moment: they do not tell whether it stood still then." + lead(*f);
  remarks(w);
  if (unfinished) look_again(w.verdict);
  return taken("no sign of a failure");
}

Answer gpu_throttled(Walk& w) {
  std::set<std::string> hosts;
  std::vector<const Finding*> from;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.subject.kind == SubjectKind::gpu &&
        f.severity == Severity::warning && f.role == Role::root &&
        (f.symptom == Symptom::mfu_decline || f.symptom == Symptom::thermal) && f.host) {
      hosts.insert(*f.host);
      from.push_back(&f);
    }
  if (from.empty()) return ruled_out("no GPU reports that its hardware slows it down");
  if (w.best() != nullptr && w.best()->kind != CauseKind::network)
    return ruled_out("something ended the job");
  if (after_effects(w)) return ruled_out("the job failed; a slow GPU does not explain that");
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0) return ruled_out("the job failed; a slow GPU does not explain that");
  if (shared_by(w, hosts.size(), w.incident.hosts))
    return ruled_out(fmt::format("{} of {} hosts report it: no host stands out", hosts.size(),
                                 w.incident.hosts));
  Verdict& v = w.verdict;
  v.action = Action::mitigate;
  v.symptom = from.front()->symptom;
  v.precision = Precision::candidates;
  for (const std::string& host : hosts) target(v, {SubjectKind::host, host}, 0.6, ids(from));
  v.summary = fmt::format(
      "The job lives, but GPUs of {} are held back by heat or power, and in synchronous training "
      "one slows all.",
      list({hosts.begin(), hosts.end()}));
  for (const Finding* f : from)
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  next(v, NextKind::collect,
       "nvidia-smi -q of all hosts under load, and the iteration times: do they rise when the "
       "slow-down begins?");
  return taken(
      fmt::format("{} on {}", from.front()->event_class, list({hosts.begin(), hosts.end()})));
}

namespace {

// A process ended itself: SIGABRT or a crash, of its own or as its shell says it.
bool aborted(const Walk& w) {
  return std::any_of(w.incident.exits.begin(), w.incident.exits.end(), [](const ExitFact& x) {
    return x.code == -6 || x.code == -11 || x.code == 134 || x.code == 139;
  });
}

}  // namespace

Answer user_request(Walk& w) {
  const Finding* stop = nullptr;
  for (const Finding& f : w.incident.findings)
    if (scheduler_word(f) && !before_this_run(w.incident.history, f))
      if (stop == nullptr ||
          (f.event_class == "scheduler_time_limit" && stop->event_class != f.event_class) ||
          (f.start && stop->start && *f.start < *stop->start &&
           stop->event_class != "scheduler_time_limit"))
        stop = &f;
  if (stop == nullptr) {
    if (const Finding* word = earlier_word(w))
      return ruled_out(
          fmt::format("the scheduler ended an earlier run{}, and the job ran again after that",
                      at(word->end ? word->end : word->start)));
    return ruled_out("no word of the scheduler ended the job");
  }
  // Said of an earlier run and of this one: the last time counts.
  const auto& begun = w.incident.history.start;
  const std::optional<Nanoseconds> when =
      begun && stop->start && stop->end && *stop->start < *begun && *stop->end >= *begun
          ? stop->end
          : stop->start;
  // What fails shortly after the word is clean-up; what fails much later failed in a run that went
  // on or came after.
  const bool cause_after = w.best() != nullptr && w.best()->start && when &&
                           *w.best()->start - w.best()->uncertainty > *when + 5 * kSecond &&
                           *w.best()->start < *when + w.params.cleanup;
  if (w.best() != nullptr && !cause_after && w.best()->kind != CauseKind::network &&
      w.best()->kind != CauseKind::device_or_program && w.best()->kind != CauseKind::outside)
    return ruled_out("an error came before the scheduler's word, or cannot be placed after it");
  for (const Finding& f : w.incident.findings) {
    if (f.outcome == Outcome::fired && f.event_class.rfind("cuda_", 0) == 0 &&
        !(f.start && when && *f.start > *when))
      return ruled_out("a rank reports a CUDA error");
    if (f.outcome == Outcome::fired && f.role == Role::cascade && !f.start &&
        f.analysis == Analysis::classify && f.severity >= Severity::distributed &&
        f.symptom != Symptom::job_hang && aborted(w))
      return ruled_out(
          "ranks reported failed communication and aborted, and neither can be placed after the "
          "scheduler's word");
    if (f.outcome != Outcome::fired || f.role != Role::cascade || !f.start) continue;
    if (when && *f.start + f.uncertainty + 2 * kSecond < *when)
      return ruled_out("ranks reported failed communication before the scheduler ended the job");
    // As near as the clocks allow: whoever is asked to stop does not abort.
    if (when && *f.start < *when && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed && aborted(w))
      return ruled_out(
          "ranks reported failed communication and aborted when the scheduler ended the job");
    if (!when && f.symptom == Symptom::job_hang)
      return ruled_out("ranks timed out; the scheduler's word cannot be placed in time");
  }
  if (stop->event_class == "scheduler_teardown" &&
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(),
                  [](const Finding& f) {
                    return f.outcome == Outcome::fired && f.role == Role::confirmation &&
                           f.event_class == "proc_exit_nonzero";
                  }) &&
      !when)
    return ruled_out("a process failed, and the scheduler's word cannot be placed before it");
  w.verdict.action = Action::none;
  w.verdict.symptom = Symptom::none;
  w.verdict.start = when;
  w.verdict.summary =
      stop->event_class == "scheduler_time_limit"
          ? fmt::format("Nobody is at fault: the job reached its time limit{}.", at(when))
          : fmt::format(
                "Nobody is at fault: the scheduler ended the job{} and nothing failed before.",
                at(when));
  target(w.verdict, {SubjectKind::job, "job"}, 0.8, {stop->id});
  return taken(fmt::format("{} and no error before it", stop->event_class));
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
  if (!compared)
    return not_enough(
        "no version or setting is known of more than one host (`culprit drift -d incident.db` "
        "compares them)");
  if (from.empty())
    return ruled_out(
        others == 0 ? "the versions and settings that are known are the same on all hosts"
                    : fmt::format("{} setting{} between hosts, none that communication hangs on",
                                  others, others == 1 ? " differs" : "s differ"));
  // Time-outs alone are a hang: a rank that stopped explains them better.
  const Finding* broke = nullptr;
  for (const Finding& f : w.incident.findings)
    if (broke == nullptr && f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed)
      broke = &f;
  if (broke == nullptr)
    return ruled_out("settings differ between hosts, and no connection broke or failed to come up");
  std::stable_sort(from.begin(), from.end(),
                   [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  // What does not fit shows when communicators are set up: a job that completed steps ran with it.
  // Where the connections that broke first have no common end, one host that differs from all
  // others is the answer all the same (Aegis algorithm 1).
  const bool ran = w.incident.last_iteration.value_or(0) > 0 || w.incident.last_progress;
  const bool no_common_end =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
        return f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out;
      });
  if (ran && !(no_common_end && from.front()->hosts.size() == 1 && w.incident.hosts >= 4)) {
    next(w.verdict, NextKind::plan,
         fmt::format("Hosts differ in {}, which is not what ended the job: make them equal before "
                     "the next start (`culprit drift -d incident.db`).",
                     from.front()->subject.id));
    return ruled_out(fmt::format("{} differs between hosts, and the job completed steps with it",
                                 from.front()->subject.id));
  }
  std::set<std::string> reporters, odd;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.severity >= Severity::distributed)
      reporters.insert(f.hosts.begin(), f.hosts.end());
  for (const Finding* f : from) odd.insert(f->hosts.begin(), f->hosts.end());
  if (!reporters.empty() && !odd.empty() && reporters.size() <= w.params.few_reporters &&
      std::none_of(reporters.begin(), reporters.end(),
                   [&](const std::string& host) { return odd.count(host) > 0; }))
    return ruled_out(
        fmt::format("only {} report broken connections, and {} the settings of the majority",
                    list({reporters.begin(), reporters.end()}),
                    reporters.size() == 1 ? "it has" : "they have"));
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.precision = Precision::candidates;
  v.symptom = broke->symptom;
  v.start = broke->start;
  std::set<std::string> hosts;
  for (std::size_t i = 0; i < from.size() && i < 3; ++i) {
    target(v, from[i]->subject, from[i]->severity == Severity::critical ? 0.6 : 0.45,
           {from[i]->id});
    hosts.insert(from[i]->hosts.begin(), from[i]->hosts.end());
  }
  std::size_t named = 0;
  for (const std::string& host : hosts)
    if (named++ < 8) target(v, {SubjectKind::host, host}, 0.4, ids(from));
  v.summary = fmt::format(
      "Connections broke, no machine reports a fault, and hosts differ in a setting that "
      "communication hangs on: {}",
      from.front()->why);
  for (std::size_t i = 0; i < from.size() && i < 3; ++i)
    if (!from[i]->advice.empty()) next(v, NextKind::plan, from[i]->advice);
  next(v, NextKind::collect, "all differences: culprit drift -d incident.db --all");
  return taken(
      fmt::format("{} differs between hosts (Aegis ConfigCheck)", from.front()->subject.id));
}

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
    v.summary =
        "Not enough evidence: the job hung, and nothing says which rank the others waited for.";
    next(v, NextKind::collect, fmt::format("stacks of all ranks while it hangs: {}", kDumpStacks));
    next(v, NextKind::collect,
         "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 for the flight recorder; ncclras "
         "-v while it hangs");
  } else if (crash) {
    v.action = Action::checks;
    for (const Finding& f : w.incident.findings)
      if (f.outcome == Outcome::fired && f.role == Role::cascade && f.symptom != Symptom::none)
        v.symptom = f.symptom;
    v.summary = leads.empty()
                    ? "Not enough evidence: the job crashed and no log names a cause."
                    : "Not enough evidence: the job crashed and nothing proves the cause.";
    if (leads.empty()) v.request = "run stop-time checks before the next start";
    if (w.incident.uses_gpus)
      next(v, NextKind::plan,
           "Stop-time checks on all machines of the job: dcgmi diag -r 3, all-to-all within each "
           "machine, all-gather between neighbours; evict what fails, else reattempt.");
  } else {
    v.action = Action::investigate;
    v.summary = "Not enough evidence: the logs tell of trouble, and not of its cause.";
  }
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.role == Role::cascade && f.start &&
        (!v.start || *f.start < *v.start))
      v.start = f.start;
  quote_leads(w, leads);
  next(v, NextKind::collect,
       w.incident.uses_gpus
           ? "kernel log of every host (dmesg -T, or journalctl -k -o short-iso-precise), "
             "nvidia-smi -q, ibstat"
           : "kernel log of every host (dmesg -T, or journalctl -k -o short-iso-precise)");
  if (w.incident.uses_gpus)
    next(v, NextKind::collect,
         "NCCL_DEBUG=WARN at least, NCCL_DEBUG=INFO for the first minutes: it ties ranks to hosts, "
         "GPUs and addresses");
  if (!w.incident.has_rank_map)
    next(v, NextKind::collect,
         "a job.json with hosts in node-rank order and gpus_per_node (`culprit schema "
         "job-v1.json`)");
  return taken("nothing above applies");
}

}  // namespace culprit::decide
