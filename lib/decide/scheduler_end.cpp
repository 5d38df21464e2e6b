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

// A process ended itself: SIGABRT or a crash, of its own or as its shell says it.
bool ended_itself(const ExitFact& x) {
  return x.code == -6 || x.code == -11 || x.code == 134 || x.code == 139;
}

bool aborted(const Walk& w) { return std::ranges::any_of(w.incident.exits, ended_itself); }

// What of the job's communication failed, as its processes tell it.
bool communication_failed(const Finding& f) {
  return f.fired() && f.role == Role::cascade && f.analysis == Analysis::classify &&
         f.severity >= Severity::distributed && f.symptom != Symptom::job_hang;
}

// The scheduler's word and when it was said, for what may speak against it.
struct Word {
  const Finding& said;
  std::optional<Nanoseconds> when;

  bool is_limit() const { return said.traits.has(Trait::time_limit); }
};

// A process failed by itself, and communication with it, or communication after the last step: the
// log has it before the word. Of srun the exit is enough: it ends the step because of it, and tells
// of tasks that were asked to stop behind the word.
bool failed_before_the_word(const Walk& w, const Word& word) {
  bool ended = false, task = false;
  for (const ExitFact& x : w.incident.exits) {
    if (!(x.code > 0 && x.code < 128) && !ended_itself(x)) continue;
    if (!printed_before(x.evidence, word.said)) continue;
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
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return communication_failed(f) && !(f.start && word.when) &&
           std::ranges::any_of(f.evidence, [&](const Evidence& e) {
             return printed_before(e, word.said) && (ended || stopped(e));
           });
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

// What speaks against the word as the reason of the end: each with what it says. Nothing: it fits
// this end.
using AgainstWord = std::optional<Text> (*)(const Walk& w, const Word& word);

std::optional<Text> when_true(bool holds, Phrase phrase) {
  return holds ? std::optional(say(phrase)) : std::nullopt;
}

// One finding that fired speaks against it.
std::optional<Text> when_any(const Walk& w, Phrase phrase, auto fits) {
  return when_true(std::ranges::any_of(w.incident.findings,
                                       [&](const Finding& f) { return f.fired() && fits(f); }),
                   phrase);
}

constexpr AgainstWord kAgainstWord[] = {
    [](const Walk& w, const Word& word) -> std::optional<Text> {
      const auto stood = stood_until(w, word.when);
      return stood ? std::optional(say(Phrase::stood_before_word, human_duration(*stood)))
                   : std::nullopt;
    },
    [](const Walk& w, const Word& word) {
      return when_true(slow_until_word(w, word.said) != nullptr, Phrase::slow_until_word);
    },
    // What ends a step may print its word before the buffered words of who failed; a limit of time
    // does not ask.
    [](const Walk& w, const Word& word) {
      const Cause* best = w.best();
      const bool before = best != nullptr && !cleaned_up(w, word.said, word.when) &&
                          !(word.is_limit() && follows_undated(w, *best, word.said)) &&
                          !explained(w, word.said, word.when) && best->kind != CauseKind::network &&
                          best->kind != CauseKind::device_or_program &&
                          best->kind != CauseKind::outside;
      return when_true(before, Phrase::error_before_scheduler);
    },
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::rank_reports_cuda_error, [&](const Finding& f) {
        return f.traits.has(Trait::by_gpu) && !(f.start && word.when && *f.start > *word.when);
      });
    },
    [](const Walk& w, const Word& word) {
      const bool itself = aborted(w);
      return when_any(w, Phrase::aborted_undated, [&](const Finding& f) {
        return itself && communication_failed(f) && !f.start && !printed_after(w, f, word.said);
      });
    },
    // Nobody waits for half an hour because the scheduler ends the job.
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::timed_out_scheduler_undated, [&](const Finding& f) {
        return f.role == Role::cascade && f.symptom == Symptom::job_hang &&
               !(f.start && word.when) && timed_out(w);
      });
    },
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::communication_failed_before_scheduler, [&](const Finding& f) {
        return f.role == Role::cascade && f.severity >= Severity::distributed && f.start &&
               word.when && *f.start + f.uncertainty + 2 * kSecond < *word.when;
      });
    },
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::waited_on_after_scheduler, [&](const Finding& f) {
        return f.role == Role::cascade && f.symptom == Symptom::job_hang && f.start && word.when &&
               *f.start > *word.when + 5 * kMinute && !zones_apart(*f.start, *word.when) &&
               timed_out(w);
      });
    },
    // As near as the clocks allow: whoever is asked to stop does not abort.
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::aborted_with_scheduler, [&](const Finding& f) {
        return f.role == Role::cascade && f.symptom != Symptom::job_hang && f.start && word.when &&
               *f.start < *word.when && f.severity >= Severity::distributed && aborted(w);
      });
    },
    // Whoever looks at the stacks of a job that stands ends it.
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::ranks_were_waiting, [&](const Finding& f) {
        return f.analysis == Analysis::hang &&
               (word.said.traits.has(Trait::scheduler_ended) || !w.incident.last_progress);
      });
    },
    [](const Walk& w, const Word& word) {
      return when_true(
          word.said.traits.has(Trait::scheduler_ended) && failed_before_the_word(w, word),
          Phrase::communication_failed_before_scheduler);
    },
    [](const Walk& w, const Word& word) {
      return when_any(w, Phrase::process_failed_scheduler_undated, [&](const Finding& f) {
        return word.said.traits.has(Trait::scheduler_ended) && !word.when &&
               f.role == Role::confirmation && f.traits.has(Trait::nonzero_exit);
      });
    }};

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
  for (const AgainstWord& against : kAgainstWord)
    if (auto reason = against(w, {*stop, when})) return ruled_out(*std::move(reason));
  // Whoever lost a machine to the cloud did not want the end, and starts again.
  w.verdict.action = stop->traits.has(Trait::taken_back) ? Action::reattempt : Action::none;
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
