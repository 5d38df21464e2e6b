#include "decide/history.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

constexpr std::array kRungs{Measure::checks, Measure::reattempt, Measure::rollback, Measure::replay};
constexpr std::size_t kMostTold = 6;         // attempts in the walk, the last ones

// The machine of "node-07/gpu 0000:3b:00"; "" of what is no part of a machine.
std::string machine_of(const Subject& s) {
  if (s.kind == "host") return s.id;
  if (s.kind == "gpu" || s.kind == "nic") return s.id.substr(0, s.id.find('/'));
  return {};
}

bool has(const std::vector<std::string>& sorted, const std::string& word) { return std::find(sorted.begin(), sorted.end(), word) != sorted.end(); }
bool agree(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == "None" || b == "None" || a == b; }

enum class Same { yes, no, unknown };

// Of a failure with a culprit: the same culprit. Of one without: what shows is the same, on whichever rank.
Same same_root(const PastFailure& f, const FailureRoot& now, bool culprit) {
  bool told = false;
  for (const FailureRoot& r : f.roots) {
    if (!agree(r.event_class, now.event_class) || !agree(r.symptom, now.symptom)) { told = told || r.verdict; continue; }
    if (!culprit) {
      if (r.verdict) return Same::yes;
      continue;
    }
    const std::string machine = machine_of(now.subject);
    if (r.subject == now.subject || (!machine.empty() && machine_of(r.subject) == machine)) return Same::yes;
    told = told || r.verdict;
  }
  return told ? Same::no : Same::unknown;
}

// The first failure whose answers still count: an attempt that gets further than all before it starts the ledger anew.
struct Ledger {
  std::size_t from = 0;
  std::string why;                           // of the last reset
  bool progress_known = false;               // how far the job got is known of this run and of an earlier one
};

Ledger ledger_of(const AttemptHistory& h) {
  Ledger out;
  std::optional<std::int64_t> best;
  const auto further = [&](const std::optional<std::int64_t>& furthest, std::size_t index, const std::string& who) {
    if (!furthest) return;
    if (best && *furthest > *best) {
      out.from = index;
      out.why = fmt::format("{} got to iteration {}, beyond {}: what was tried before that helped, and counts no more", who, *furthest, *best);
    }
    best = std::max(best.value_or(*furthest), *furthest);
  };
  for (std::size_t i = 0; i < h.failures.size(); ++i) further(h.failures[i].furthest, i, h.failures[i].name);
  out.progress_known = best && h.furthest;
  further(h.furthest, h.failures.size(), "this run");
  return out;
}

std::string told(const Tried& t) {
  std::string out;
  if (t.advised) return fmt::format("the advice to {}{}", t.measure == Measure::checks ? "run checks" : t.measure == Measure::rollback ? "roll back" : std::string(name(t.measure)), t.hosts.empty() ? "" : " " + list(t.hosts));
  switch (t.measure) {
    case Measure::evict: out = t.hosts.empty() ? "an eviction" : list(t.hosts) + (t.inferred ? " left the job" : " evicted"); break;
    case Measure::repair: out = t.hosts.empty() ? "a repair" : list(t.hosts) + " repaired"; break;
    case Measure::checks: out = !t.passed ? "checks" : *t.passed ? "checks, all passed" : "checks, not all passed"; break;
    case Measure::reattempt: out = "started again"; break;
    case Measure::rollback: out = t.inferred ? "another version of the code" : "a rollback"; if (!t.to.empty()) out += t.inferred ? ", " + t.to : " to " + t.to; break;
    case Measure::replay: out = "a replay"; break;
    case Measure::stop: out = "stopped"; break;
    case Measure::other: out = "something else was done"; break;
  }
  return out;
}

std::string told(const PastFailure& f) {
  std::vector<std::string> words;
  for (const Tried& t : f.answers) words.push_back(told(t));
  return fmt::format("{}{}{}{}", f.name, f.furthest ? fmt::format(", to iteration {}", *f.furthest) : "", f.ended_well ? ", ended well" : "", words.empty() ? "" : "; then " + list(words));
}

std::string attempts_of(const std::vector<const PastFailure*>& failures) {
  std::vector<std::string> names;
  for (const PastFailure* f : failures)
    if (!has(names, f->name)) names.push_back(f->name);
  return list(names, 3);
}

struct Judge {
  const Case& incident;
  Verdict& v;
  FailureRoot root;
  Ledger ledger;

  const AttemptHistory& history() const { return incident.history; }
  void say(std::string outcome, std::string why) { v.steps.push_back({"history", std::move(outcome), std::move(why)}); }

  // Failures that count and whose answers have this measure.
  std::vector<const PastFailure*> answered(Measure measure, bool culprit, bool sure) const {
    std::vector<const PastFailure*> out;
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      const Same same = same_root(f, root, culprit);
      if (f.ended_well || same == Same::no || (sure && same != Same::yes)) continue;
      if (std::any_of(f.answers.begin(), f.answers.end(), [&](const Tried& t) { return t.measure == measure; })) out.push_back(&f);
    }
    return out;
  }

  void replace(std::string action, const std::string& because, const std::string& what) {
    v.action = std::move(action);
    v.summary += " " + because;
    v.next.insert(v.next.begin(), {"plan", what});
  }
  void stop(const std::string& because, const std::string& what) {
    std::erase_if(v.next, [](const NextStep& n) { return n.kind == "plan"; });
    replace("offline", because, what);
    say("taken", "nothing is left to try that was not tried: the ledger is exhausted");
  }

  std::string replay_command() const {
    std::string out = "culprit replay plan";
    out += incident.hosts > 0 ? fmt::format(" --machines {}", incident.hosts) : " --hosts LIST";
    out += incident.pp ? fmt::format(" --pp {}", *incident.pp) : " --pp PP";
    if (incident.tp) out += fmt::format(" --tp {}", *incident.tp);
    if (incident.gpus_per_host && *incident.gpus_per_host != 8) out += fmt::format(" --gpus-per-host {}", *incident.gpus_per_host);
    return out;
  }

  // Figure 5 for a failure that has no culprit: the first rung that was not tried. own: what the ladder answered.
  void climb(std::optional<Measure> own) {
    std::array<std::vector<const PastFailure*>, kRungs.size()> tried;
    bool later = false;                      // a rung below our own was tried
    for (std::size_t r = 0; r < kRungs.size(); ++r) {
      tried[r] = answered(kRungs[r], false, false);
      later = later || (own && kRungs[r] > *own && !tried[r].empty());
    }
    // Checks that all passed, and then the job ran again: that run was the reattempt.
    for (std::size_t i = ledger.from; i < history().failures.size(); ++i) {
      const PastFailure& f = history().failures[i];
      if (f.ended_well || same_root(f, root, false) == Same::no) continue;
      const bool only = std::all_of(f.answers.begin(), f.answers.end(), [](const Tried& t) { return t.measure == Measure::checks && t.passed == true; });
      if (only && !f.answers.empty()) tried[1].push_back(&f);
    }
    std::size_t next_rung = 0;
    while (next_rung < kRungs.size() && !tried[next_rung].empty()) ++next_rung;
    if (own) {
      const auto mine = static_cast<std::size_t>(std::find(kRungs.begin(), kRungs.end(), *own) - kRungs.begin());
      if (tried[mine].empty() && !later) return say("ruled_out", fmt::format("no attempt since was answered by {}: it stands", name(*own)));
    }
    std::vector<std::string> done;
    std::vector<const PastFailure*> all;
    for (std::size_t r = 0; r < kRungs.size(); ++r)
      if (!tried[r].empty()) {
        done.push_back(std::string(name(kRungs[r])));
        all.insert(all.end(), tried[r].begin(), tried[r].end());
      }
    const std::string where = ledger.progress_known ? " and the job got no further" : "";
    if (next_rung == kRungs.size()) return stop(fmt::format("Checks, a reattempt, a rollback and a replay were tried{}: stop the job.", where), "Do not start it again: hand the record of all attempts to the owners of the code and of the machines, and test all machines offline.");
    const std::string because = done.empty() ? "" : fmt::format("{} {} tried before ({}){}.", list(done), done.size() == 1 ? "was" : "were", attempts_of(all), where);
    const std::string sentence = because.empty() ? "The machines were changed and that did not help: next are checks of all." : fmt::format("But {}: next is {}.", because.substr(0, because.size() - 1), kRungs[next_rung] == Measure::checks ? "checks" : fmt::format("a {}", name(kRungs[next_rung])));
    std::erase_if(v.next, [](const NextStep& n) { return n.kind != "collect"; });
    const bool nan = v.symptom == "NaN value";
    switch (kRungs[next_rung]) {
      case Measure::checks:
        replace("checks", sentence, nan ? "Stop-time checks on all machines of the job: GPU and NCCL tests, then bit-wise alignment (the same step of a reference model everywhere, outputs compared); evict what differs, else reattempt."
                                        : "Stop-time checks on all machines of the job: dcgmi diag -r 3, all-to-all within each machine, all-gather between neighbours; evict what fails, else reattempt.");
        break;
      case Measure::reattempt:
        replace("reattempt", sentence, nan ? "Start again from the checkpoint before, if the checks had the bit-wise alignment and all machines passed; else run it first."
                                           : "Start again if the checks found nothing: what is left is a transient fault (a flapping link, a reset connection).");
        break;
      case Measure::rollback:
        if (!v.targets.empty()) v.targets = {{{"code", "the program"}, 0.4, v.targets.front().because}};
        replace("rollback", sentence, nan ? "Go back to the code before its last changes, and to the checkpoint before the first NaN; skip the data of that step if the same code ran before."
                                          : "Go back to the code and configuration before their last changes; if the job then runs, those changes are the cause.");
        break;
      default:
        replace("replay", sentence, "Dual-phase replay: the job on groups of its machines, TP and PP as they are, so that the two groups in which it fails share one machine.");
        v.next.insert(v.next.begin() + 1, {"command", replay_command()});
        break;
    }
    v.precision = "candidates";
    say("taken", fmt::format("{}next is {}", done.empty() ? "" : because.substr(0, because.size() - 1) + ": ", name(kRungs[next_rung])));
  }

  void machines() {
    std::vector<std::string> all, back, worn, gone;
    for (const Target& t : v.targets)
      if (const std::string m = machine_of(t.subject); !m.empty() && !has(all, m)) all.push_back(m);
    std::vector<const PastFailure*> when;
    bool done = false;                       // somebody says that it was done, not only that it should be
    for (const std::string& m : all) {
      std::optional<std::size_t> evicted, repaired;
      for (std::size_t i = 0; i < history().failures.size(); ++i)
        for (const Tried& t : history().failures[i].answers) {
          if (t.measure == Measure::evict && has(t.hosts, m)) { evicted = i; done = done || !t.advised; when.push_back(&history().failures[i]); }
          if (t.measure == Measure::repair && has(t.hosts, m)) repaired = i;
        }
      const bool absent = !history().hosts.empty() && !has(history().hosts, m);
      // A repair that gave the job a stretch of progress was one; a fault after that is a new one.
      if (absent) { if (evicted && *evicted >= ledger.from) gone.push_back(m); }
      else if (repaired && *repaired >= ledger.from && (evicted || same_root(history().failures[*repaired], root, true) == Same::yes)) worn.push_back(m);
      else if (evicted) back.push_back(m);
    }
    if (all.empty()) {
      if (answered(Measure::evict, true, true).empty()) return say("ruled_out", "no attempt was answered by isolating that: it stands");
      return climb({});
    }
    if (back.empty() && worn.empty() && gone.empty()) return say("ruled_out", fmt::format("no attempt was answered by evicting {}: it stands", list(all)));
    const std::string before = attempts_of(when).empty() ? "" : fmt::format(" (after {})", attempts_of(when));
    const std::string was = std::string(all.size() == 1 ? "was" : "were") + (done ? " evicted" : " to be evicted");
    if (gone.size() == all.size()) {
      say("ruled_out", fmt::format("{} {}{} and not in this run: the failure did not leave with it", list(gone), was, before));
      return climb({});
    }
    if (!worn.empty() && worn.size() + back.size() == all.size())
      return stop(fmt::format("{} was repaired before and fails again: take it out for good.", list(worn)), fmt::format("Keep {} out of every job and test it offline (dcgmi diag -r 4, a memory test); a repair that did not hold is not repeated.{}", list(worn), back.empty() ? "" : fmt::format(" {} came back without a cure: repair before return.", list(back))));
    std::vector<std::string> again = back;
    again.insert(again.end(), worn.begin(), worn.end());
    const std::string what = fmt::format("{} {} before{} and is in the job again: repair before return, and no return without a field diagnostic (dcgmi diag -r 4).", list(again), was, before);
    if (again.size() == all.size()) {
      replace("repair", fmt::format("{} {} before{} and fails in the job again: repair before return.", list(again), was, before), what);
      return say("taken", fmt::format("{} {} before{} and fails again: another eviction is the same answer", list(again), was, before));
    }
    next(v, "plan", what);
    say("ruled_out", fmt::format("{} {} before{}, not the others: the eviction stands, with a repair of what came back", list(again), was, before));
  }

  void code() {
    const auto sure = answered(Measure::rollback, true, true);
    auto maybe = answered(Measure::rollback, true, false);
    // An exception at another place is another failure.
    std::erase_if(maybe, [&](const PastFailure* f) { return same_root(*f, root, true) != Same::yes && std::any_of(f->roots.begin(), f->roots.end(), [](const FailureRoot& r) { return r.subject.kind == "code"; }); });
    if (sure.empty() && maybe.empty()) return say("ruled_out", "no attempt since was answered by a rollback: it stands");
    if (sure.empty() && !ledger.progress_known) return say("not_enough_evidence", fmt::format("a rollback came after {}, and neither what that failed of nor how far it got is known", attempts_of(maybe)));
    const std::string where = root.subject.kind == "code" ? root.subject.id : "the program";
    stop(fmt::format("The code was rolled back before (after {}) and it fails in the program again{}: stop and fix {}.", attempts_of(sure.empty() ? maybe : sure), sure.empty() ? "" : ", at the same place", where),
         fmt::format("Do not start it again before {} is fixed and that step was run on a small job: the version that was gone back to has the same fault.", where));
  }

  void repairs() {
    const auto before = answered(Measure::repair, true, true);
    if (before.empty()) return say("ruled_out", "no attempt since was answered by that repair: it stands");
    stop(fmt::format("The same was to be repaired before (after {}) and fails again: stop until it is proven to work.", attempts_of(before)), fmt::format("Do not start the job before {} has passed a test of its own.", root.subject.id.empty() ? "it" : root.subject.id));
  }
};

}  // namespace

FailureRoot root_of(const Verdict& verdict, const std::vector<Finding>& findings) {
  FailureRoot out;
  out.symptom = verdict.symptom;
  out.verdict = true;
  if (verdict.targets.empty()) {
    out.subject = {"job", "job"};
    return out;
  }
  const Target& t = verdict.targets.front();
  out.subject = t.subject;
  for (const Finding& f : findings)
    if (!t.because.empty() && f.id == t.because.front()) out.event_class = f.event_class;
  return out;
}

std::vector<Tried> answer_of(const std::string& action, const std::vector<Subject>& targets) {
  Tried t;
  if (action == "isolate" || action == "repair") {
    t.measure = action == "isolate" ? Measure::evict : Measure::repair;
    for (const Subject& s : targets)
      if (const std::string m = machine_of(s); !m.empty() && !has(t.hosts, m)) t.hosts.push_back(m);
    std::sort(t.hosts.begin(), t.hosts.end());
  } else if (action == "checks") t.measure = Measure::checks;
  else if (action == "reattempt") t.measure = Measure::reattempt;
  else if (action == "rollback") t.measure = Measure::rollback;
  else if (action == "replay") t.measure = Measure::replay;
  else if (action == "offline") t.measure = Measure::stop;
  else return {};
  return {t};
}

void consider_history(const Case& incident, Verdict& v) {
  const auto& failures = incident.history.failures;
  if (failures.empty()) return;
  Judge j{incident, v, root_of(v, incident.findings), ledger_of(incident.history)};
  if (failures.size() > kMostTold) j.say("ruled_out", fmt::format("{} earlier attempts; the last {}:", failures.size(), kMostTold));
  for (std::size_t i = failures.size() - std::min(failures.size(), kMostTold); i < failures.size(); ++i) j.say("ruled_out", told(failures[i]));
  if (!j.ledger.why.empty()) j.say("ruled_out", j.ledger.why);
  if (v.action == "isolate") j.machines();
  else if (v.action == "rollback") j.code();
  else if (v.action == "repair") j.repairs();
  else if (v.action == "checks") j.climb(Measure::checks);
  else if (v.action == "reattempt") j.climb(Measure::reattempt);
  else j.say("ruled_out", "the answer to this is no retry: no ledger to look at");
}

}  // namespace culprit::decide
