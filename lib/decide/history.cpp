#include "decide/history.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

constexpr std::array kRungs{Measure::investigate, Measure::checks, Measure::reattempt,
                            Measure::rollback, Measure::replay};
constexpr std::size_t kAlikeEvictions =
    2;  // that did not help: the third machine in a row is not at fault either
constexpr std::size_t kReboots =
    3;  // Aegis, appendix B: a machine that fails after so many is repaired
constexpr double kChance = 0.05;      // that machines share a switch by accident
constexpr std::size_t kMostTold = 6;  // attempts in the walk, the last ones

std::string rung(Measure m) {
  return m == Measure::investigate ? "a closer look"
         : m == Measure::checks    ? "checks"
                                   : fmt::format("a {}", name(m));
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
  void say(StepOutcome outcome, std::string why) {
    v.steps.push_back({StepId::history, outcome, std::move(why)});
  }

  // Failures that count and whose answers have this measure.
  std::vector<const PastFailure*> answered(Measure measure, bool culprit, bool sure) const {
    std::vector<const PastFailure*> out;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      const Same same = same_root(f, root, culprit);
      if (over(f) || same == Same::no || (sure && same != Same::yes)) continue;
      if (std::any_of(f.answers.begin(), f.answers.end(),
                      [&](const Tried& t) { return t.measure == measure; }))
        out.push_back(&f);
    }
    return out;
  }

  void replace(Action action, const std::string& because, const std::string& what) {
    v.action = action;
    // What was tried comes first: it is why the answer is another one.
    v.summary = v.summary.empty() ? because : because + " " + v.summary;
    v.next.insert(v.next.begin(), {NextKind::plan, what});
  }
  void stop(const std::string& because, const std::string& what) {
    std::erase_if(v.next, [](const NextStep& n) { return n.kind == NextKind::plan; });
    replace(Action::offline, because, what);
    say(StepOutcome::taken, "nothing is left to try that was not tried: the ledger is exhausted");
  }

  // Figure 5 for a failure that has no culprit: the first rung that was not tried. own: what the
  // ladder answered. lead: why its answer does not hold, a clause; counted: rungs that what is told
  // there stands for.
  void climb(std::optional<Measure> own, const std::string& lead = "",
             std::span<const Measure> counted = {}) {
    std::array<std::vector<const PastFailure*>, kRungs.size()> tried;
    bool later = false;  // a rung below our own was tried
    for (std::size_t r = 0; r < kRungs.size(); ++r) {
      tried[r] = answered(kRungs[r], false, false);
      later = later || (own && kRungs[r] > *own && !tried[r].empty());
    }
    const auto passed = [&](std::size_t r) {
      // To look closer is an answer to what cannot be told; whoever has another answer is past
      // that.
      return !tried[r].empty() ||
             std::find(counted.begin(), counted.end(), kRungs[r]) != counted.end() ||
             (kRungs[r] == Measure::investigate && own != Measure::investigate);
    };
    // Checks that all passed, and then the job ran again: that run was the reattempt.
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      if (over(f) || same_root(f, root, false) == Same::no) continue;
      const bool only = std::all_of(f.answers.begin(), f.answers.end(), [](const Tried& t) {
        return t.measure == Measure::checks && t.passed == true;
      });
      if (only && !f.answers.empty()) tried[2].push_back(&f);
    }
    // Whoever evicted a machine had tested them.
    const bool evicted = !answered(Measure::evict, false, false).empty() && !tried[3].empty();
    std::size_t next_rung = 0;
    while (next_rung < kRungs.size() &&
           (passed(next_rung) || (evicted && kRungs[next_rung] == Measure::checks)))
      ++next_rung;
    if (own) {
      const auto mine =
          static_cast<std::size_t>(std::find(kRungs.begin(), kRungs.end(), *own) - kRungs.begin());
      if (tried[mine].empty() && !later)
        return say(StepOutcome::ruled_out,
                   fmt::format("no attempt since was answered by {}: it stands", name(*own)));
    }
    std::vector<std::string> done;
    std::vector<const PastFailure*> all;
    for (std::size_t r = 0; r < kRungs.size(); ++r)
      if (!tried[r].empty()) {
        done.push_back(kRungs[r] == Measure::investigate ? "a closer look"
                                                         : std::string(name(kRungs[r])));
        all.insert(all.end(), tried[r].begin(), tried[r].end());
      }
    const std::string where = ledger.progress_known ? " and the job got no further" : "";
    if (next_rung == kRungs.size() || kRungs[next_rung] != Measure::checks) v.request.clear();
    std::string because =
        done.empty() ? ""
                     : fmt::format("{} {} tried before ({}){}", list(done, 5),
                                   done.size() == 1 ? "was" : "were", attempts_of(all), where);
    if (!lead.empty()) because = because.empty() ? lead : lead + ", and " + because;
    std::string sentence = because;
    if (sentence.empty()) sentence = "the machines were changed and that did not help";
    if (lead.empty())
      sentence[0] = static_cast<char>(std::toupper(
          static_cast<unsigned char>(sentence[0])));  // a lead begins with a host's name
    if (next_rung == kRungs.size())
      return stop(fmt::format("{}: nothing is left to try, stop the job.", sentence),
                  "Do not start it again: hand the record of all attempts to the owners of the "
                  "code and of the machines, and test all machines offline.");
    sentence +=
        fmt::format("{} next {} {}.", lead.empty() ? ":" : ";",
                    kRungs[next_rung] == Measure::checks ? "are" : "is", rung(kRungs[next_rung]));
    std::erase_if(v.next, [](const NextStep& n) { return n.kind != NextKind::collect; });
    const bool nan = v.symptom == Symptom::nan_value;
    switch (kRungs[next_rung]) {
      case Measure::investigate:
        replace(Action::investigate, sentence,
                "Do not start it again before what is listed here is switched on: without it the "
                "next failure tells no more than this one.");
        break;
      case Measure::checks:
        replace(
            Action::checks, sentence,
            nan ? "Stop-time checks on all machines of the job: GPU and NCCL tests, then bit-wise "
                  "alignment (the same step of a reference model everywhere, outputs compared); "
                  "evict what differs, else reattempt."
                : "Stop-time checks on all machines of the job: dcgmi diag -r 3, all-to-all within "
                  "each machine, all-gather between neighbours; evict what fails, else reattempt.");
        break;
      case Measure::reattempt:
        replace(Action::reattempt, sentence,
                nan ? "Start again from the checkpoint before, if the checks had the bit-wise "
                      "alignment and all machines passed; else run it first."
                    : "Start again if the checks found nothing: what is left is a transient fault "
                      "(a flapping link, a reset connection).");
        break;
      case Measure::rollback:
        if (!v.targets.empty())
          v.targets = {{{SubjectKind::code, "the program"}, 0.4, v.targets.front().because}};
        replace(Action::rollback, sentence,
                nan ? "Go back to the code before its last changes, and to the checkpoint before "
                      "the first NaN; skip the data of that step if the same code ran before."
                    : "Go back to the code and configuration before their last changes; if the job "
                      "then runs, those changes are the cause.");
        break;
      default:
        replace(Action::replay, sentence,
                "Dual-phase replay: the job on groups of its machines, TP and PP as they are, so "
                "that the two groups in which it fails share one machine.");
        v.next.insert(v.next.begin() + 1,
                      {incident.hosts > 0 ? NextKind::command : NextKind::plan,
                       incident.hosts > 0
                           ? "culprit replay plan -d incident.db"
                           : "`culprit replay plan --hosts LIST --pp STAGES` makes the groups."});
        if (incident.hosts > 0 && !incident.pp)
          v.next.insert(v.next.begin() + 2,
                        {NextKind::plan,
                         "The number of pipeline stages is not known: give it with --pp, since a "
                         "replay that cuts a pipeline does not run."});
        break;
    }
    v.precision = Precision::candidates;
    say(StepOutcome::taken,
        fmt::format("{}next is {}", because.empty() ? "" : because + (lead.empty() ? ": " : "; "),
                    name(kRungs[next_rung])));
  }

  // Machines that failed of the same, each was taken out, and the fault came back on another one.
  struct Chase {
    std::vector<std::string> machines;
    std::vector<const PastFailure*> when;
  };
  Chase chase(const std::vector<std::string>& now) const {
    Chase out;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      if (over(f)) continue;
      for (const FailureRoot& r : f.roots) {
        const std::string m = machine_of(r.subject);
        if (m.empty() || !alike(r, root) || has(now, m) || has(out.machines, m)) continue;
        // What was only advised was done when the machine is gone.
        const bool out_of_job =
            std::any_of(f.answers.begin(), f.answers.end(), [&](const Tried& t) {
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
  std::string shared_switch(const std::vector<std::string>& machines) const {
    std::string best;
    double least = kChance;
    for (const auto& [name, members] : incident.switches) {
      const auto below = [&](const std::string& m) {
        return std::any_of(members.begin(), members.end(), [&](const std::string& s) {
          return s == m || s.substr(0, s.find('.')) == m;
        });
      };
      if (!std::all_of(machines.begin(), machines.end(), below)) continue;
      const double all = static_cast<double>(std::max(incident.hosts, members.size()));
      const double chance = std::pow(static_cast<double>(members.size()) / all,
                                     static_cast<double>(machines.size() - 1));
      if (chance < least) {
        least = chance;
        best = name;
      }
    }
    return best;
  }

  // One machine after the other is not what is broken: what they share is, or the program.
  bool chased(const std::vector<std::string>& now) {
    const Chase c = chase(now);
    if (c.when.size() < kAlikeEvictions) return false;
    std::vector<std::string> every = c.machines;
    every.insert(every.end(), now.begin(), now.end());
    const std::string shared = shared_switch(every);
    const std::string what = root.event_class.empty()
                                 ? std::string(name(root.symptom.value_or(Symptom::none)))
                                 : root.event_class;
    const std::vector<std::string> because = v.targets.front().because;
    std::string shows = fmt::format("{} on {}", what, list(now));
    for (const Finding& f : incident.findings)
      if (!because.empty() && f.id == because.front() && !f.title.empty())
        shows = fmt::format("{} on {}", lower_first(f.title), list(now));
    v.summary = fmt::format("What shows now: {}{}.", shows, at(v.start));
    v.targets = {{shared.empty() ? Subject{SubjectKind::job, "job"}
                                 : Subject{SubjectKind::network_switch, shared},
                  shared.empty() ? 0.4 : 0.5, because}};
    // Each restart without the machine was a reattempt, and says more than checks that pass; but
    // the network between them is one that no program breaks.
    const bool network = !shared.empty() || v.symptom == Symptom::infiniband_error ||
                         v.symptom == Symptom::switch_fault ||
                         v.symptom == Symptom::network_congestion;
    const std::vector<Measure> counted =
        network ? std::vector<Measure>{Measure::reattempt}
                : std::vector<Measure>{Measure::checks, Measure::reattempt};
    climb(
        {},
        fmt::format("{} {} evicted one after the other for the same ({}) and it came back on {}: "
                    "it is {} the machine{}",
                    list(c.machines), c.machines.size() == 1 ? "was" : "were", attempts_of(c.when),
                    list(now), ledger.progress_known ? "not" : "hardly",
                    shared.empty() ? "" : fmt::format(" but what they share, such as {}", shared)),
        counted);
    if (!shared.empty())
      next(v, NextKind::plan,
           fmt::format("Test {} first: its ports, cables and firmware, and the power and cooling "
                       "of what hangs on it.",
                       shared));
    next(v, NextKind::plan,
         fmt::format("What all of them share may be at fault too: versions and settings (`culprit "
                     "drift -d incident.db`), power, cooling, a service. Check {} before the next "
                     "start, but expect no cure of it.",
                     list(now)));
    return true;
  }

  // Reboots of this machine since the ledger began; one that names no machine was of the one that
  // failed.
  std::size_t reboots_of(const std::string& machine) const {
    std::size_t n = 0;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i)
      for (const Tried& t : history().failures[i].answers)
        n += t.measure == Measure::reboot && !t.advised &&
             (t.hosts.empty() || has(t.hosts, machine));
    return n;
  }

  void machines() {
    std::vector<std::string> all, back, worn, gone;
    for (const Target& t : v.targets)
      if (const std::string m = machine_of(t.subject); !m.empty() && !has(all, m)) all.push_back(m);
    std::vector<const PastFailure*> when;
    bool done = false;  // somebody says that it was done, not only that it should be
    for (const std::string& m : all) {
      std::optional<std::size_t> evicted, repaired;
      for (std::size_t i = 0; i < history().failures.size(); ++i)
        for (const Tried& t : history().failures[i].answers) {
          if (t.measure == Measure::evict && has(t.hosts, m)) {
            evicted = i;
            done = done || !t.advised;
            when.push_back(&history().failures[i]);
          }
          if (t.measure == Measure::repair && has(t.hosts, m) && !t.advised) repaired = i;
        }
      const bool absent = !history().hosts.empty() && !has(history().hosts, m);
      // A repair that gave the job a stretch of progress was one; a fault after that is a new one.
      if (absent) {
        if (evicted && *evicted >= ledger.from) gone.push_back(m);
      } else if (repaired && *repaired >= ledger.from &&
                 (evicted || same_root(history().failures[*repaired], root, true) == Same::yes))
        worn.push_back(m);
      else if (evicted)
        back.push_back(m);
    }
    if (all.empty()) {
      if (answered(Measure::evict, true, true).empty())
        return say(StepOutcome::ruled_out, "no attempt was answered by isolating that: it stands");
      return climb({});
    }
    if (back.empty() && worn.empty() && gone.empty() && all.size() == 1)
      if (const std::size_t reboots = reboots_of(all.front()); reboots >= kReboots) {
        const std::string because = fmt::format(
            "{} was rebooted {} times before and fails again: repair it, another reboot will not "
            "help.",
            all.front(), reboots);
        replace(Action::repair, because,
                fmt::format("Take {} out of service for repair: no return without a field "
                            "diagnostic (dcgmi diag -r 4).",
                            all.front()));
        return say(StepOutcome::taken, because);
      }
    if (back.empty() && worn.empty() && gone.empty()) {
      if (!chased(all))
        say(StepOutcome::ruled_out,
            fmt::format("no attempt was answered by evicting {}: it stands", list(all)));
      return;
    }
    const std::string before =
        attempts_of(when).empty() ? "" : fmt::format(" (after {})", attempts_of(when));
    const std::string was =
        std::string(all.size() == 1 ? "was" : "were") + (done ? " evicted" : " to be evicted");
    if (gone.size() == all.size()) {
      const std::string lead =
          fmt::format("{} {}{} and not in this run: the failure did not leave with it", list(gone),
                      was, before);
      say(StepOutcome::ruled_out, lead);
      return climb({}, lead);
    }
    if (!worn.empty() && worn.size() + back.size() == all.size())
      return stop(
          fmt::format("{} was repaired before and fails again: take it out for good.", list(worn)),
          fmt::format("Keep {} out of every job and test it offline (dcgmi diag -r 4, a memory "
                      "test); a repair that did not hold is not repeated.{}",
                      list(worn),
                      back.empty()
                          ? ""
                          : fmt::format(" {} came back without a cure: repair before return.",
                                        list(back))));
    std::vector<std::string> again = back;
    again.insert(again.end(), worn.begin(), worn.end());
    const std::string what = fmt::format(
        "{} {} before{} and is in the job again: repair before return, and no return without a "
        "field diagnostic (dcgmi diag -r 4).",
        list(again), was, before);
    if (again.size() == all.size()) {
      replace(Action::repair,
              fmt::format("{} {} before{} and fails in the job again: repair before return.",
                          list(again), was, before),
              what);
      return say(StepOutcome::taken,
                 fmt::format("{} {} before{} and fails again: another eviction is the same answer",
                             list(again), was, before));
    }
    next(v, NextKind::plan, what);
    say(StepOutcome::ruled_out,
        fmt::format(
            "{} {} before{}, not the others: the eviction stands, with a repair of what came back",
            list(again), was, before));
  }

  void code() {
    const auto sure = answered(Measure::rollback, true, true);
    auto maybe = answered(Measure::rollback, true, false);
    // An exception at another place is another failure.
    std::erase_if(maybe, [&](const PastFailure* f) {
      return same_root(*f, root, true) != Same::yes &&
             std::any_of(f->roots.begin(), f->roots.end(),
                         [](const FailureRoot& r) { return r.subject.kind == SubjectKind::code; });
    });
    if (sure.empty() && maybe.empty())
      return say(StepOutcome::ruled_out, "no attempt since was answered by a rollback: it stands");
    if (sure.empty() && !ledger.progress_known)
      return say(StepOutcome::not_enough_evidence,
                 fmt::format("a rollback came after {}, and neither what that failed of nor how "
                             "far it got is known",
                             attempts_of(maybe)));
    const std::string where =
        root.subject.kind == SubjectKind::code ? root.subject.id : "the program";
    stop(fmt::format("The code was rolled back before (after {}) and it fails in the program "
                     "again{}: stop and fix {}.",
                     attempts_of(sure.empty() ? maybe : sure),
                     sure.empty() ? "" : ", at the same place", where),
         fmt::format("Do not start it again before {} is fixed and that step was run on a small "
                     "job: the version that was gone back to has the same fault.",
                     where));
  }

  // Nothing could be told. The second time the same advice is none.
  void unknown() {
    if (v.symptom == Symptom::none)
      return say(StepOutcome::ruled_out,
                 "what it failed of is not known, so no earlier answer can be held against it");
    if (std::any_of(v.targets.begin(), v.targets.end(),
                    [](const Target& t) { return !machine_of(t.subject).empty(); }))
      return say(StepOutcome::ruled_out, "it names a machine to look at: no ledger for that");
    climb(Measure::investigate);
  }

  // A job that is slow and lives gets further all the time, which says nothing of what was tried
  // against it.
  void slow() {
    ledger.from = 0;
    const bool culprit = !v.targets.empty();
    const auto before = answered(culprit ? Measure::mitigate : Measure::investigate, culprit, true);
    if (before.empty())
      return say(StepOutcome::ruled_out,
                 "no earlier run was slow of the same and answered by this: it stands");
    std::vector<std::string> machines;
    for (const Target& t : v.targets)
      if (const std::string m = machine_of(t.subject); !m.empty() && !has(machines, m))
        machines.push_back(m);
    const auto checks = answered(Measure::checks, culprit, true);
    const bool checked = !checks.empty();
    const bool cleared =
        checked && std::all_of(checks.begin(), checks.end(), [](const PastFailure* f) {
          return std::all_of(f->answers.begin(), f->answers.end(), [](const Tried& t) {
            return t.measure != Measure::checks || t.passed == true;
          });
        });
    const std::string who =
        machines.empty() ? (culprit ? fmt::format("{} {}", name(v.targets.front().subject.kind),
                                                  v.targets.front().subject.id)
                                    : "")
                         : list(machines);
    const std::string again =
        who.empty()
            ? fmt::format("It was slow before ({}) and nothing was found", attempts_of(before))
            : fmt::format("{} was to be relieved before ({}) and slows the job again", who,
                          attempts_of(before));
    if (!machines.empty() && !checked) {
      replace(Action::checks, again + ": next are checks of it.",
              fmt::format("Take {} out at the next checkpoint and run the stop-time checks on it "
                          "(GREYHOUND's S4: checkpoint and restart); evict it if it fails.",
                          who));
      v.next.insert(v.next.begin() + 1, {NextKind::command, checks_of(machines)});
    } else if (!machines.empty() && cleared) {
      replace(
          Action::reattempt,
          again +
              ", and its checks all passed: next is a restart with its ranks on another machine.",
          fmt::format("Checkpoint and restart with {} in another place of the rank order: what is "
                      "slow then, the machine or the ranks it had, is the culprit.",
                      who));
    } else if (!machines.empty()) {
      replace(Action::repair, again + " after checks: repair before return.",
              fmt::format("Take {} out at the next checkpoint: repair, and no return without a "
                          "field diagnostic (dcgmi diag -r 4).",
                          who));
    } else {
      replace(Action::reattempt, again + ": checkpoint and restart is next.",
              "Checkpoint and restart (GREYHOUND's S4), on other machines if there are any: what "
              "slows it may stay behind. What that costs against waiting: `culprit plan mitigate "
              "-d incident.db`.");
    }
    say(StepOutcome::taken, again);
  }

  void repairs() {
    const auto before = answered(Measure::repair, true, true);
    if (before.empty())
      return say(StepOutcome::ruled_out, "no attempt since was answered by that repair: it stands");
    stop(fmt::format("The same was to be repaired before (after {}) and fails again: stop until it "
                     "is proven to work.",
                     attempts_of(before)),
         fmt::format("Do not start the job before {} has passed a test of its own.",
                     root.subject.id.empty() ? "it" : root.subject.id));
  }
};

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
      if (const std::string m = machine_of(s); !m.empty() && !has(t.hosts, m)) t.hosts.push_back(m);
    std::sort(t.hosts.begin(), t.hosts.end());
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
  const std::string summary = v.summary;
  Judge j{incident, v, history, root_of(v, incident.findings), ledger_of(history)};
  if (failures.size() > kMostTold)
    j.say(StepOutcome::ruled_out,
          fmt::format("{} earlier attempts; the last {}:", failures.size(), kMostTold));
  for (std::size_t i = failures.size() - std::min(failures.size(), kMostTold); i < failures.size();
       ++i)
    j.say(StepOutcome::ruled_out, told(failures[i]));
  if (!j.ledger.why.empty()) j.say(StepOutcome::ruled_out, j.ledger.why);
  if (v.action == Action::isolate)
    j.machines();
  else if (v.action == Action::rollback)
    j.code();
  else if (v.action == Action::repair)
    j.repairs();
  else if (v.action == Action::checks)
    j.climb(Measure::checks);
  else if (v.action == Action::reattempt)
    j.climb(Measure::reattempt);
  else if (v.action == Action::mitigate ||
           (v.action == Action::investigate && v.symptom == Symptom::mfu_decline))
    j.slow();
  else if (v.action == Action::investigate)
    j.unknown();
  else
    j.say(StepOutcome::ruled_out, "the answer to this is no retry: no ledger to look at");
  if (v.action == Action::none || v.summary != summary) return;
  // The answer stands; what was done before belongs to the first lines all the same.
  std::vector<std::string> before;
  for (std::size_t i = j.ledger.from; i < failures.size(); ++i)
    for (const Tried& t : failures[i].answers)
      if (!failures[i].ended_well && !failures[i].requested)
        before.push_back(fmt::format("{} (after {})", told(t), failures[i].name));
  if (before.size() > 3) before.erase(before.begin(), before.end() - 3);
  if (!before.empty()) v.summary += fmt::format(" Before this run: {}.", list(before));
}

}  // namespace culprit::decide
