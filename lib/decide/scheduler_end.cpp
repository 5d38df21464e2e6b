// The scheduler's word, or its owner's, that ended the job: nobody's fault.
#include <algorithm>
#include <optional>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

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

// In its log and behind it. Where steps follow the word it ended an earlier run.
bool printed_behind(const Walk& w, const Evidence& e, const Finding& word) {
  const auto& last = w.incident.last_step;
  return std::ranges::any_of(word.evidence, [&](const Evidence& said) {
    return said.member == e.member && said.line < e.line &&
           !(last && last->member == said.member && last->line > said.line);
  });
}

// All of it is: what processes print that are being ended.
bool printed_after(const Walk& w, const Finding& f, const Finding& word) {
  return !f.evidence.empty() && std::ranges::all_of(f.evidence, [&](const Evidence& e) {
    return printed_behind(w, e, word);
  });
}

// Undated, and nothing of it is known to have been printed before the word, but some behind it.
bool follows_undated(const Walk& w, const Cause& cause, const Finding& word) {
  bool behind = false;
  for (const Finding* f : cause.findings) {
    if (f->start) return false;
    for (const Evidence& e : f->evidence) {
      if (printed_before(e, word)) return false;
      behind = behind || printed_behind(w, e, word);
    }
  }
  return behind;
}

// What fails shortly after the word is clean-up; what fails much later failed in a run that went on
// or came after. A limit of time is reached by jobs that work: what fails in its very moment fails
// of it.
bool cleaned_up(const Walk& w, const Finding& word, const std::optional<Nanoseconds>& said) {
  const Cause* best = w.best();
  const Nanoseconds clear =
      word.traits.has(Trait::time_limit) ? -w.params.order_slack : w.params.order_slack;
  return best != nullptr && best->start && said &&
         *best->start - best->uncertainty > *said + clear &&
         *best->start < *said + w.params.cleanup;
}

// What the best cause shows is what such a word leads to, and none of it is known to have come
// first: a record apart from the job's log says nothing of the order of its undated lines.
bool explained(const Walk& w, const Finding& word, const std::optional<Nanoseconds>& said) {
  const Cause* best = w.best();
  if (best == nullptr || !said) return false;
  return std::ranges::all_of(best->findings, [&](const Finding* f) {
    if (!leads_to(word, f->event_class)) return false;
    if (f->start) return *f->start + f->uncertainty + 2 * kSecond >= *said;
    return std::ranges::any_of(word.evidence, [&](const Evidence& e) {
      return std::ranges::none_of(f->evidence,
                                  [&](const Evidence& own) { return own.member == e.member; });
    });
  });
}

// A process failed by itself, and communication with it, or communication after the last step: the
// log has it before the word. Of srun the exit is enough: it ends the step because of it, and tells
// of tasks that were asked to stop behind the word.
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
  // Between the last step and the word nobody retries any more.
  const auto& last = w.incident.last_step;
  const auto stopped = [&](const Evidence& e) {
    return last && last->member == e.member && last->line < e.line;
  };
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& f) {
    return f.outcome == Outcome::fired && f.role == Role::cascade &&
           f.analysis == Analysis::classify && !f.start && f.severity >= Severity::distributed &&
           f.symptom != Symptom::job_hang &&
           std::any_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
             return printed_before(e, word) && (ended || stopped(e));
           });
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
  const bool cause_after = cleaned_up(w, *stop, when);
  // What ends a step may print its word before the buffered words of who failed; a limit of time
  // does not ask.
  const bool undated_after = w.best() != nullptr && stop->traits.has(Trait::time_limit) &&
                             follows_undated(w, *w.best(), *stop);
  if (w.best() != nullptr && !cause_after && !undated_after && !explained(w, *stop, when) &&
      w.best()->kind != CauseKind::network && w.best()->kind != CauseKind::device_or_program &&
      w.best()->kind != CauseKind::outside)
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
}  // namespace culprit::decide
