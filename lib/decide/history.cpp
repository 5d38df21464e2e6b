#include "decide/history.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

constexpr std::array kRungs{Measure::investigate, Measure::checks, Measure::reattempt,
                            Measure::rollback, Measure::replay};
constexpr std::size_t kAlikeEvictions =
    2;  // that did not help: the third machine in a row is not at fault either
constexpr std::int64_t kStepsBetween = 10;  // fewer, and a machine that fails at once is as likely
constexpr std::int64_t kRound = 50;
constexpr std::size_t kReboots =
    3;  // Aegis, appendix B: a machine that fails after so many is repaired
constexpr double kChance = 0.05;      // that machines share a switch by accident
constexpr std::size_t kMostTold = 6;  // attempts in the walk, the last ones

Text rung(Measure m) {
  return m == Measure::investigate ? say(Phrase::a_closer_look)
         : m == Measure::checks    ? say(Phrase::checks_done)
                                   : say(Phrase::a_measure, name(m));
}

Text was(const std::vector<Host>& machines) {
  return say(machines.size() == 1 ? Phrase::was : Phrase::were);
}

bool over(const PastFailure& f) { return f.ended_well || f.requested; }

// Runs that the scheduler ended did not fail, and what came after them was an answer to nothing.
AttemptHistory without_requests(const Case& incident) {
  AttemptHistory out = incident.history;
  for (const Finding& f : incident.findings)
    for (const auto& time : {f.start, f.end}) {
      if (!scheduler_word(f) || !time) continue;
      for (std::size_t i = 0; i < out.failures.size(); ++i) {
        PastFailure& run = out.failures[i];
        const std::optional<Nanoseconds> next =
            i + 1 < out.failures.size() ? out.failures[i + 1].start : out.start;
        // The end of a run that only its steps tell is its last step; the word comes after it.
        if (run.start && next && *run.start <= *time && *time < *next &&
            (!run.end || *run.end <= *time + 60 * kSecond) && run.roots.empty())
          run.requested = true;
      }
    }
  return out;
}

struct Judge {
  const Case& incident;
  Verdict& v;
  const AttemptHistory& past;
  FailureRoot root;
  Ledger ledger;

  const AttemptHistory& history() const { return past; }
  void note(StepOutcome outcome, Text why) {
    v.steps.push_back({StepId::history, outcome, std::move(why)});
  }

  // Failures that count and whose answers have this measure.
  std::vector<const PastFailure*> answered(Measure measure, bool culprit, bool sure) const {
    std::vector<const PastFailure*> out;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      const Same same = same_root(f, root, culprit);
      if (over(f) || same == Same::no || (sure && same != Same::yes)) continue;
      if (std::ranges::any_of(f.answers, [&](const Tried& t) { return t.measure == measure; }))
        out.push_back(&f);
    }
    return out;
  }

  void replace(Action action, const Text& because, Text what) {
    v.action = action;
    // What was tried comes first: it is why the answer is another one.
    v.summary = v.summary.empty() ? because : say(Phrase::two_sentences, because, v.summary);
    v.next.insert(v.next.begin(), {NextKind::plan, std::move(what)});
  }
  void stop(const Text& because, Text what) {
    std::erase_if(v.next, [](const NextStep& n) { return n.kind == NextKind::plan; });
    replace(Action::offline, because, std::move(what));
    note(StepOutcome::taken, say(Phrase::ledger_exhausted));
  }

  // Failures that were answered by each rung.
  using Tries = std::array<std::vector<const PastFailure*>, kRungs.size()>;
  Tries tries() const {
    Tries out;
    for (std::size_t r = 0; r < kRungs.size(); ++r) out[r] = answered(kRungs[r], false, false);
    // Checks that all passed, and then the job ran again: that run was the reattempt.
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      if (over(f) || same_root(f, root, false) == Same::no) continue;
      const bool only = std::ranges::all_of(f.answers, [](const Tried& t) {
        return t.measure == Measure::checks && t.passed == true;
      });
      if (only && !f.answers.empty()) out[2].push_back(&f);
    }
    return out;
  }

  // Why the answer does not hold, as a clause, and rungs that it stands for.
  struct Lead {
    Text why;
    std::vector<Measure> counted;
  };

  // The first rung that was not tried; as many as there are rungs: none is left.
  std::size_t untried(std::optional<Measure> own, const Tries& tried, const Lead& lead) const {
    // Whoever evicted a machine had tested them.
    const bool evicted = !answered(Measure::evict, false, false).empty() && !tried[3].empty();
    const auto passed = [&](std::size_t r) {
      // To look closer is an answer to what cannot be told; whoever has another answer is past
      // that.
      return !tried[r].empty() || contains(lead.counted, kRungs[r]) ||
             (kRungs[r] == Measure::investigate && own != Measure::investigate) ||
             (evicted && kRungs[r] == Measure::checks);
    };
    std::size_t next = 0;
    while (next < kRungs.size() && passed(next)) ++next;
    return next;
  }

  // "rollback was tried before (attempt 1)"; empty when nothing was.
  Text tried_before(const Tries& tried) const {
    std::vector<Text> done;
    std::vector<const PastFailure*> all;
    for (std::size_t r = 0; r < kRungs.size(); ++r) {
      if (tried[r].empty()) continue;
      done.push_back(kRungs[r] == Measure::investigate ? say(Phrase::a_closer_look)
                                                       : Text(std::string(name(kRungs[r]))));
      all.insert(all.end(), tried[r].begin(), tried[r].end());
    }
    if (done.empty()) return {};
    return say(Phrase::tried_before, list(done, 5),
               say(done.size() == 1 ? Phrase::was : Phrase::were), attempts_of(all),
               ledger.progress_known ? say(Phrase::got_no_further) : Text());
  }

  // Figure 5 for a failure that has no culprit: the first rung that was not tried. own: what the
  // comparison answered.
  void climb(std::optional<Measure> own, const Lead& lead = {}) {
    const Tries tried = tries();
    const std::size_t next = untried(own, tried, lead);
    if (own) {
      bool later = false;  // a rung below our own was tried
      for (std::size_t r = 0; r < kRungs.size(); ++r)
        later = later || (kRungs[r] > *own && !tried[r].empty());
      const auto mine =
          static_cast<std::size_t>(std::find(kRungs.begin(), kRungs.end(), *own) - kRungs.begin());
      if (tried[mine].empty() && !later)
        return note(StepOutcome::ruled_out, say(Phrase::no_attempt_answered_by, name(*own)));
    }
    if (next == kRungs.size() || kRungs[next] != Measure::checks) v.request.clear();
    Text because = tried_before(tried);
    if (!lead.why.empty())
      because = because.empty() ? lead.why : say(Phrase::lead_and, lead.why, because);
    // A lead begins with a host's name.
    Text sentence = because.empty() ? say(Phrase::machines_were_changed) : because;
    if (lead.why.empty()) sentence = say(Phrase::capital, sentence);
    if (next == kRungs.size())
      return stop(say(Phrase::nothing_left_to_try, sentence), say(Phrase::hand_over_record));
    const bool checks = kRungs[next] == Measure::checks;
    sentence =
        say(lead.why.empty() ? (checks ? Phrase::next_are_rungs : Phrase::next_is_rung)
                             : (checks ? Phrase::so_next_are_rungs : Phrase::so_next_is_rung),
            sentence, rung(kRungs[next]));
    std::erase_if(v.next, [](const NextStep& n) { return n.kind != NextKind::collect; });
    go_to(kRungs[next], sentence);
    v.precision = Precision::candidates;
    note(StepOutcome::taken,
         because.empty() ? say(Phrase::next_is, name(kRungs[next]))
                         : say(lead.why.empty() ? Phrase::because_next_is : Phrase::lead_next_is,
                               because, name(kRungs[next])));
  }

  void go_to(Measure rung, const Text& sentence) {
    const bool nan = v.symptom == Symptom::nan_value;
    switch (rung) {
      case Measure::investigate:
        return replace(Action::investigate, sentence, say(Phrase::collect_before_restart));
      case Measure::checks:
        return replace(Action::checks, sentence,
                       say(nan ? Phrase::stop_time_checks_nan : Phrase::stop_time_checks));
      case Measure::reattempt:
        return replace(Action::reattempt, sentence,
                       say(nan ? Phrase::restart_if_checked_nan : Phrase::restart_if_checked));
      case Measure::rollback:
        if (!v.targets.empty())
          v.targets = {{{SubjectKind::code, "the program"},
                        confidence::kAfterHistory,
                        v.targets.front().because}};
        return replace(Action::rollback, sentence,
                       say(nan ? Phrase::rollback_nan : Phrase::rollback_code));
      default: break;
    }
    replace(Action::replay, sentence, say(Phrase::dual_phase_replay));
    if (incident.hosts == 0) {
      v.next.insert(v.next.begin() + 1,
                    {NextKind::plan, say(Phrase::replay_command_without_hosts)});
      return;
    }
    v.next.insert(v.next.begin() + 1,
                  {NextKind::command, std::string("culprit replay plan -d incident.db")});
    if (!incident.pp)
      v.next.insert(v.next.begin() + 2, {NextKind::plan, say(Phrase::pipeline_stages_unknown)});
  }

  // Machines that failed of the same, each was taken out, and the fault came back on another one.
  struct Chase {
    std::vector<Host> machines;
    std::vector<const PastFailure*> when;
  };
  Chase chase(const std::vector<Host>& now) const {
    Chase out;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      if (over(f)) continue;
      for (const FailureRoot& r : f.roots) {
        const Host m = machine_of(r.subject);
        if (m.empty() || !alike(r, root) || has(now, m) || has(out.machines, m)) continue;
        // What was only advised was done when the machine is gone.
        const bool out_of_job = std::ranges::any_of(f.answers, [&](const Tried& t) {
          return t.measure == Measure::evict && has(t.hosts, m) &&
                 (!t.advised || (!history().hosts.empty() && !has(history().hosts, m)));
        });
        if (!out_of_job) continue;
        out.machines.push_back(m);
        if (out.when.empty() || out.when.back() != &f) out.when.push_back(&f);
      }
    }
    return out;
  }

  // The smallest switch or pod above all of them, when that is no accident.
  std::string shared_switch(const std::vector<Host>& machines) const {
    std::string best;
    double least = kChance;
    for (const auto& one : incident.switches) {
      const std::vector<Host>& members = one.second;
      const auto below = [&](const Host& m) {
        return std::ranges::any_of(
            members, [&](const std::string& s) { return s == m || s.substr(0, s.find('.')) == m; });
      };
      if (!std::ranges::all_of(machines, below)) continue;
      const double all = static_cast<double>(std::max(incident.hosts, members.size()));
      const double chance = std::pow(static_cast<double>(members.size()) / all,
                                     static_cast<double>(machines.size() - 1));
      if (chance < least) {
        least = chance;
        best = one.first;
      }
    }
    return best;
  }

  // One machine after the other is not what is broken: what they share is, or the program.
  bool chased(const std::vector<Host>& now) {
    const Chase c = chase(now);
    if (c.when.size() < kAlikeEvictions) return false;
    std::vector<Host> every = c.machines;
    every.insert(every.end(), now.begin(), now.end());
    const std::string shared = shared_switch(every);
    const std::string what = root.event_class.empty()
                                 ? std::string(name(root.symptom.value_or(Symptom::none)))
                                 : root.event_class;
    const std::vector<std::string> because = v.targets.front().because;
    Text shows = say(Phrase::class_on_place, what, list(now));
    for (const Finding& f : incident.findings)
      if (!because.empty() && f.id == because.front() && !f.title.empty())
        shows = say(Phrase::title_on_place, inside(f.title), list(now));
    v.summary = say(Phrase::what_shows_now, shows, at(v.start));
    v.targets = {{shared.empty() ? Subject{SubjectKind::job, "job"}
                                 : Subject{SubjectKind::network_switch, shared},
                  shared.empty() ? confidence::kAfterHistory : confidence::kSwitchAfterHistory,
                  because}};
    // Each restart without the machine was a reattempt, and says more than checks that pass; but
    // the network between them is one that no program breaks.
    const bool network = !shared.empty() || v.symptom == Symptom::infiniband_error ||
                         v.symptom == Symptom::switch_fault ||
                         v.symptom == Symptom::network_congestion;
    const std::vector<Measure> counted =
        network ? std::vector<Measure>{Measure::reattempt}
                : std::vector<Measure>{Measure::checks, Measure::reattempt};
    const Phrase chased = ledger.progress_known ? Phrase::evicted_one_after_another
                                                : Phrase::evicted_hardly_the_machine;
    climb({}, {say(chased, list(c.machines), was(c.machines), attempts_of(c.when), list(now),
                   shared.empty() ? Text() : say(Phrase::but_what_they_share, shared)),
               counted});
    if (!shared.empty()) next(v, NextKind::plan, say(Phrase::test_what_they_share, shared));
    next(v, NextKind::plan, say(Phrase::test_common_settings, list(now)));
    return true;
  }

  // Reboots of this machine since the ledger began; one that names no machine was of the one that
  // failed.
  std::size_t reboots_of(const Host& machine) const {
    std::size_t n = 0;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i)
      for (const Tried& t : history().failures[i].answers)
        n += t.measure == Measure::reboot && !t.advised &&
             (t.hosts.empty() || has(t.hosts, machine));
    return n;
  }

  // What became of the machines that the verdict names: none of it, or back in the job after an
  // eviction, or repaired and failing again, or not in this run.
  struct Records {
    std::vector<Host> all, back, worn, gone;
    std::vector<const PastFailure*> when;
    bool done = false;  // somebody says that it was done, not only that it should be

    bool none() const { return back.empty() && worn.empty() && gone.empty(); }
  };
  Records records() const {
    Records out;
    for (const Target& t : v.targets)
      if (const Host m = machine_of(t.subject); !m.empty() && !has(out.all, m))
        out.all.push_back(m);
    for (const Host& m : out.all) {
      std::optional<std::size_t> evicted, repaired;
      for (std::size_t i = 0; i < history().failures.size(); ++i)
        for (const Tried& t : history().failures[i].answers) {
          if (t.measure == Measure::evict && has(t.hosts, m)) {
            evicted = i;
            out.done = out.done || !t.advised;
            out.when.push_back(&history().failures[i]);
          }
          if (t.measure == Measure::repair && has(t.hosts, m) && !t.advised) repaired = i;
        }
      const bool absent = !history().hosts.empty() && !has(history().hosts, m);
      // A repair that gave the job a stretch of progress was one; a fault after that is a new one.
      if (absent) {
        if (evicted && *evicted >= ledger.from) out.gone.push_back(m);
      } else if (repaired && *repaired >= ledger.from &&
                 (evicted || same_root(history().failures[*repaired], root, true) == Same::yes))
        out.worn.push_back(m);
      else if (evicted)
        out.back.push_back(m);
    }
    return out;
  }

  // Runs before this one that hung at the very step at which it hangs, many steps after their
  // start: a machine fails at any step, the program and its data at that one. At round steps jobs
  // save and evaluate, which leads to storage or a machine as well. A machine that computes wrongly
  // may do so with the same data again: NaN speaks for the data only where other machines got it.
  bool same_step() {
    const auto& now = history();
    const bool hang = v.symptom == Symptom::job_hang, nan = v.symptom == Symptom::nan_value;
    if ((!hang && !nan) || !now.furthest || !now.first ||
        *now.furthest - *now.first < kStepsBetween)
      return false;
    if (hang && (*now.furthest % kRound == 0 || (*now.furthest + 1) % kRound == 0)) return false;
    const auto elsewhere = [&](const PastFailure& f) {
      return !f.hosts.empty() && !now.hosts.empty() &&
             std::ranges::none_of(f.hosts, [&](const Host& host) { return has(now.hosts, host); });
    };
    std::vector<const PastFailure*> same;
    for (const PastFailure& f : now.failures)
      if (!over(f) && f.furthest == now.furthest && (hang || elsewhere(f))) same.push_back(&f);
    if (same.empty()) return false;
    const Text because =
        say(Phrase::capital, say(hang ? Phrase::hung_at_same_step : Phrase::nan_at_same_step,
                                 attempts_of(same), *now.furthest));
    const Target rank = v.targets.empty() ? Target{} : v.targets.back();
    std::erase_if(v.next, [](const NextStep& n) {
      return n.kind == NextKind::plan || n.kind == NextKind::command;
    });
    go_to(Measure::rollback, because);
    if (rank.subject.kind == SubjectKind::rank) v.targets.push_back(rank);
    next(v, NextKind::plan, say(Phrase::look_at_that_step, *now.furthest));
    v.precision = Precision::candidates;
    note(StepOutcome::taken, because);
    return true;
  }

  void machines() {
    if (same_step()) return;
    const Records r = records();
    if (r.all.empty()) {
      if (answered(Measure::evict, true, true).empty())
        return note(StepOutcome::ruled_out, say(Phrase::isolating_that_not_tried));
      return climb({});
    }
    if (r.none() && r.all.size() == 1)
      if (const std::size_t reboots = reboots_of(r.all.front()); reboots >= kReboots) {
        const Text because = say(Phrase::rebooted_before, r.all.front(), reboots);
        replace(Action::repair, because, say(Phrase::take_out_for_repair, r.all.front()));
        return note(StepOutcome::taken, because);
      }
    if (r.none()) {
      if (!chased(r.all))
        note(StepOutcome::ruled_out, say(Phrase::evicting_not_tried, list(r.all)));
      return;
    }
    seen_before(r);
  }

  // Machines of the verdict that were evicted or repaired before.
  void seen_before(const Records& r) {
    const Text attempts = attempts_of(r.when);
    const Text before = attempts.empty() ? Text() : say(Phrase::after_attempts, attempts);
    const bool one = r.all.size() == 1;
    const Text evicted =
        say(r.done ? (one ? Phrase::was_evicted_then : Phrase::were_evicted_then)
                   : (one ? Phrase::was_to_be_evicted : Phrase::were_to_be_evicted));
    if (r.gone.size() == r.all.size()) {
      const Text lead = say(Phrase::did_not_leave_with_it, list(r.gone), evicted, before);
      note(StepOutcome::ruled_out, lead);
      return climb({}, {lead, {}});
    }
    if (!r.worn.empty() && r.worn.size() + r.back.size() == r.all.size())
      return stop(say(Phrase::repaired_before, list(r.worn)),
                  say(Phrase::keep_out_test_offline, list(r.worn),
                      r.back.empty() ? Text() : say(Phrase::came_back_without_cure, list(r.back))));
    std::vector<Host> again = r.back;
    again.insert(again.end(), r.worn.begin(), r.worn.end());
    const auto tell = [&](Phrase phrase) { return say(phrase, list(again), evicted, before); };
    if (again.size() == r.all.size()) {
      replace(Action::repair, tell(Phrase::evicted_and_fails_again),
              tell(Phrase::evicted_and_in_job_again));
      return note(StepOutcome::taken, tell(Phrase::evicted_same_answer));
    }
    next(v, NextKind::plan, tell(Phrase::evicted_and_in_job_again));
    note(StepOutcome::ruled_out, tell(Phrase::evicted_not_the_others));
  }

  void code() {
    const auto sure = answered(Measure::rollback, true, true);
    auto maybe = answered(Measure::rollback, true, false);
    // An exception at another place is another failure.
    std::erase_if(maybe, [&](const PastFailure* f) {
      return same_root(*f, root, true) != Same::yes &&
             std::ranges::any_of(f->roots, [](const FailureRoot& r) {
               return r.subject.kind == SubjectKind::code;
             });
    });
    if (sure.empty() && maybe.empty())
      return note(StepOutcome::ruled_out, say(Phrase::no_rollback_tried));
    if (sure.empty() && !ledger.progress_known)
      return note(StepOutcome::not_enough_evidence,
                  say(Phrase::rollback_unknown_progress, attempts_of(maybe)));
    const std::string where =
        root.subject.kind == SubjectKind::code ? root.subject.id : "the program";
    stop(say(Phrase::rolled_back_before, attempts_of(sure.empty() ? maybe : sure),
             sure.empty() ? Text() : say(Phrase::at_the_same_place), where),
         say(Phrase::fix_before_start, where));
  }

  // Nothing could be told. The second time the same advice is none.
  void unknown() {
    if (v.symptom == Symptom::none)
      return note(StepOutcome::ruled_out, say(Phrase::failure_unknown));
    if (std::ranges::any_of(v.targets,
                            [](const Target& t) { return !machine_of(t.subject).empty(); }))
      return note(StepOutcome::ruled_out, say(Phrase::names_a_machine));
    climb(Measure::investigate);
  }

  // A job that is slow and lives gets further all the time, which says nothing of what was tried
  // against it.
  void slow() {
    ledger.from = 0;
    const bool culprit = !v.targets.empty();
    const auto before = answered(culprit ? Measure::mitigate : Measure::investigate, culprit, true);
    if (before.empty()) return note(StepOutcome::ruled_out, say(Phrase::not_slow_before));
    std::vector<Host> machines;
    for (const Target& t : v.targets)
      if (const Host m = machine_of(t.subject); !m.empty() && !has(machines, m))
        machines.push_back(m);
    const auto checks = answered(Measure::checks, culprit, true);
    const bool checked = !checks.empty();
    const bool cleared = checked && std::ranges::all_of(checks, [](const PastFailure* f) {
                           return std::ranges::all_of(f->answers, [](const Tried& t) {
                             return t.measure != Measure::checks || t.passed == true;
                           });
                         });
    const Text who = !machines.empty() ? list(machines)
                     : culprit ? say(Phrase::kind_and_id, name(v.targets.front().subject.kind),
                                     v.targets.front().subject.id)
                               : Text();
    const Text again = who.empty() ? say(Phrase::slow_before_nothing_found, attempts_of(before))
                                   : say(Phrase::relieved_before, who, attempts_of(before));
    if (!machines.empty() && !checked) {
      replace(Action::checks, say(Phrase::next_checks_of_it, again),
              say(Phrase::take_out_and_check, who));
      v.next.insert(v.next.begin() + 1, {NextKind::command, checks_of(machines).text});
    } else if (!machines.empty() && cleared) {
      replace(Action::reattempt, say(Phrase::next_restart_elsewhere, again),
              say(Phrase::restart_in_other_place, who));
    } else if (!machines.empty()) {
      replace(Action::repair, say(Phrase::repair_before_return, again),
              say(Phrase::take_out_and_repair, who));
    } else {
      replace(Action::reattempt, say(Phrase::next_checkpoint_restart, again),
              say(Phrase::checkpoint_restart));
    }
    note(StepOutcome::taken, again);
  }

  void repairs() {
    const auto before = answered(Measure::repair, true, true);
    if (before.empty()) return note(StepOutcome::ruled_out, say(Phrase::no_repair_tried));
    stop(say(Phrase::repair_again, attempts_of(before)),
         say(Phrase::test_before_start,
             root.subject.id.empty() ? say(Phrase::it) : Text(root.subject.id)));
  }
};

// A machine that the cloud took back is no failure that could come again elsewhere.
bool taken_back(const Verdict& v, std::span<const Finding> findings) {
  return std::ranges::any_of(findings, [&](const Finding& f) {
    return f.traits.has(Trait::taken_back) && !v.targets.empty() &&
           contains(v.targets.front().because, f.id);
  });
}

}  // namespace

FailureRoot root_of(const Verdict& verdict, const std::vector<Finding>& findings) {
  FailureRoot out;
  out.symptom = verdict.symptom;
  out.verdict = true;
  if (verdict.targets.empty()) {
    out.subject = {SubjectKind::job, "job"};
    return out;
  }
  const Target& t = verdict.targets.front();
  out.subject = t.subject;
  for (const Finding& f : findings)
    if (!t.because.empty() && f.id == t.because.front()) out.event_class = f.event_class;
  return out;
}

std::vector<Tried> answer_of(Action action, const std::vector<Subject>& targets) {
  Tried t;
  if (action == Action::isolate || action == Action::repair || action == Action::mitigate) {
    t.measure = action == Action::isolate  ? Measure::evict
                : action == Action::repair ? Measure::repair
                                           : Measure::mitigate;
    for (const Subject& s : targets)
      if (const Host m = machine_of(s); !m.empty() && !has(t.hosts, m)) t.hosts.push_back(m);
    sort_rows(t.hosts);
  } else if (action == Action::checks)
    t.measure = Measure::checks;
  else if (action == Action::reattempt)
    t.measure = Measure::reattempt;
  else if (action == Action::rollback)
    t.measure = Measure::rollback;
  else if (action == Action::investigate)
    t.measure = Measure::investigate;
  else if (action == Action::replay)
    t.measure = Measure::replay;
  else if (action == Action::offline)
    t.measure = Measure::stop;
  else
    return {};
  return {t};
}

void consider_history(const Case& incident, Verdict& v) {
  if (incident.history.failures.empty()) return;
  const AttemptHistory history = without_requests(incident);
  const auto& failures = history.failures;
  const Text summary = v.summary;
  Judge j{incident, v, history, root_of(v, incident.findings), ledger_of(history)};
  if (failures.size() > kMostTold)
    j.note(StepOutcome::ruled_out, say(Phrase::earlier_attempts, failures.size(), kMostTold));
  for (std::size_t i = failures.size() - std::min(failures.size(), kMostTold); i < failures.size();
       ++i)
    j.note(StepOutcome::ruled_out, described(failures[i]));
  if (!j.ledger.why.empty()) j.note(StepOutcome::ruled_out, j.ledger.why);
  if (v.action == Action::isolate)
    j.machines();
  else if (v.action == Action::rollback)
    j.code();
  else if (v.action == Action::repair)
    j.repairs();
  else if (v.action == Action::checks) {
    if (!j.same_step()) j.climb(Measure::checks);
  } else if (v.action == Action::reattempt && !taken_back(v, incident.findings))
    j.climb(Measure::reattempt);
  else if (v.action == Action::mitigate ||
           (v.action == Action::investigate && v.symptom == Symptom::mfu_decline))
    j.slow();
  else if (v.action == Action::investigate)
    j.unknown();
  else
    j.note(StepOutcome::ruled_out, say(Phrase::no_retry));
  if (v.action == Action::none || v.summary != summary) return;
  // The answer stands; what was done before belongs to the first lines all the same.
  std::vector<Text> before;
  for (std::size_t i = j.ledger.from; i < failures.size(); ++i)
    for (const Tried& t : failures[i].answers)
      if (!failures[i].ended_well && !failures[i].requested)
        before.push_back(say(Phrase::tried_after, described(t), failures[i].name));
  if (before.size() > 3) before.erase(before.begin(), before.end() - 3);
  if (!before.empty()) v.summary += say(Phrase::before_this_run, list(before));
}

}  // namespace culprit::decide
