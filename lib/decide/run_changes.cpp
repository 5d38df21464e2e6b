// Asks of each change whether it may explain what the verdict is about.
#include "decide/walk.hpp"

#include <algorithm>
#include <map>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"

namespace culprit::decide {

namespace {

constexpr std::size_t kMostChangesTold = 3;

// The words of rules/tables/changes.json.
using Effects = std::vector<std::string_view>;

// The slow stretch that lasts, the dearest.
const Finding* lasting_slowness(const Walk& w) {
  for (const Finding* f : slow_stretches(w))
    if (!slow_of(*f).over && !slow_of(*f).transient) return f;
  return nullptr;
}

// What is so from the first step on, or from where the job began again: what came over a run in its
// middle no setting brought.
bool since_a_start(const Walk& w, const SlowFacts& slow) {
  constexpr std::int64_t kNear = 20;
  if (slow.from_start || slow.against_peers || slow.first <= kNear) return true;
  const AttemptHistory& h = w.incident.history;
  const auto near = [&](const std::optional<std::int64_t>& step) {
    return step && std::abs(*step - slow.first) <= kNear;
  };
  return near(h.first) ||
         std::ranges::any_of(h.failures, [&](const PastFailure& p) { return near(p.furthest); });
}

// "ranks 1,4,7": of one machine they would be its.
bool of_many_machines(const Subject& subject) {
  return subject.kind == SubjectKind::group && subject.id.starts_with("ranks ");
}

Effects effects_asked(const Walk& w) {
  const Verdict& v = w.verdict;
  if (v.symptom == Symptom::nan_value) return {"numerics"};
  if (v.symptom == Symptom::cpu_oom) return {"memory"};
  // What a run lacks before its first step it was not given. The steps of a log are those of the
  // run before.
  const auto& progress = w.incident.last_progress;
  const bool began = progress ? !w.incident.job_end || *progress + kHour > *w.incident.job_end
                              : w.incident.last_iteration.value_or(0) > 0;
  if (w.best(CauseKind::environment) != nullptr && !began) return {"start"};
  // A limit of processors that slows the job shows as their overload.
  if (v.symptom != Symptom::mfu_decline && v.symptom != Symptom::cpu_overload) return {};
  const bool saves = std::ranges::any_of(w.incident.findings,
                                         [](const Finding& f) { return f.fired(Analysis::saves); });
  const Finding* slow = lasting_slowness(w);
  if (slow == nullptr) return saves ? Effects{"checkpoint"} : Effects{};
  const std::string& grown = slow_of(*slow).grown;
  // Ranks of many machines have more to do than others: by what they are given.
  if (of_many_machines(slow->subject)) return {"data", "unequal load"};
  // Who has most to do computes longest, and timers of all ranks show the longest. Work grows apart
  // as a model learns.
  const bool computes = grown == rules::name(rules::StepPart::compute);
  if (grown == kUnequalLoad || (computes && !since_a_start(w, slow_of(*slow))))
    return {"unequal load"};
  // A model learns whom to send its tokens to, and takes a while to send them all to one.
  if (!since_a_start(w, slow_of(*slow))) return {"routing"};
  if (computes) return {grown, "unequal load"};
  // Its part grew for all, or nothing tells the parts apart. In what they send each other stages of
  // a pipeline wait for the one that has most to do.
  if (grown == rules::name(rules::StepPart::communication)) return {grown, "unequal load"};
  if (!grown.empty()) return {grown};
  return {"communication", "data", "checkpoint", "compute", "host", "unequal load"};
}

bool explains(const Finding& change, const Effects& effects) {
  return std::ranges::any_of(
      std::get<ChangeFacts>(change.facts).explains,
      [&](const std::string& one) { return std::ranges::find(effects, one) != effects.end(); });
}

// A machine, a part of one, or what several share: the change is beside it.
bool accuses(const Verdict& v) {
  return std::ranges::any_of(v.targets, [&](const Target& t) {
    // On whichever machine memory runs out first, something filled it.
    if (of_many_machines(t.subject) ||
        (v.symptom == Symptom::cpu_oom && t.subject.kind == SubjectKind::host))
      return false;
    return t.subject.kind != SubjectKind::job && t.subject.kind != SubjectKind::config &&
           t.subject.kind != SubjectKind::rank && t.subject.kind != SubjectKind::code &&
           !(t.subject.kind == SubjectKind::storage && t.subject.id == "checkpoints");
  });
}

// What is open, or only eased, is answered by what brought it.
bool may_turn(const Verdict& v) {
  return v.action == Action::investigate || v.action == Action::checks ||
         v.action == Action::mitigate || v.action == Action::repair ||
         v.action == Action::reattempt;
}

// How many times as much a step has to do by these changes. Of several names of the batch the one
// that grew most counts, and longer sequences come on top. Of a smaller batch of one pass a step
// makes more.
double more_work(const std::vector<const Finding*>& changes) {
  std::map<std::string_view, double> most;  // by what changes.json calls the setting
  for (const Finding* f : changes) {
    const ChangeFacts& c = std::get<ChangeFacts>(f->facts);
    const bool of_pass = contains(c.name, "micro") || contains(c.name, "per_device");
    if (c.work > 0 && !(of_pass && c.work < 1)) most[c.label] = std::max(most[c.label], c.work);
  }
  double out = 1;
  for (const auto& [label, times] : most) out *= times;
  return out;
}

// Steps that take longer by what they have more to do are as quick as planned. Attention grows with
// the square of the length, and what a step does once does not grow.
bool as_planned(const SlowFacts& slow, double work) {
  constexpr double kLeast = 1.15, kBelow = 0.7, kAbove = 1.35;
  return slow.rhythm == SlowRhythm::none && slow.from_start && !slow.against_peers &&
         work >= kLeast && slow.factor >= kBelow * work && slow.factor <= kAbove * work;
}

// It is known what makes the steps longer, whatever they have to do.
bool known_reason(const Verdict& v) {
  return std::ranges::any_of(v.targets,
                             [](const Target& t) { return t.subject.kind == SubjectKind::config; });
}

// Where the whole run is slower than the one before, and nobody is accused of it; else null.
const Finding* slower_than_before(const Walk& w) {
  const Finding* slow = lasting_slowness(w);
  return slow != nullptr && w.verdict.symptom == Symptom::mfu_decline && !accuses(w.verdict) &&
                 since_a_start(w, slow_of(*slow))
             ? slow
             : nullptr;
}

// Few changes of which nothing is known, where nothing else tells why.
std::vector<const Finding*> unknown_changes(const std::vector<const Finding*>& all) {
  std::vector<const Finding*> out;
  std::ranges::copy_if(all, std::back_inserter(out),
                       [](const Finding* f) { return !std::get<ChangeFacts>(f->facts).known; });
  return out.size() <= kMostChangesTold ? out : std::vector<const Finding*>();
}

// To take the changes back. That they are the reason is a suspicion, and what shows what happened
// stays beside them.
void turn(Verdict& v, const std::vector<const Finding*>& changes) {
  std::vector<std::string> shown;
  for (const Target& t : v.targets)
    for (const std::string& id : t.because)
      if (shown.size() < 4 && std::ranges::find(shown, id) == shown.end()) shown.push_back(id);
  act(v, Action::rollback, Precision::candidates);
  v.sureness = std::min(v.sureness, Sureness::likely);
  v.targets.clear();
  for (std::size_t i = 0; i < changes.size() && i < kMostChangesTold; ++i) {
    std::vector<std::string> because = {changes[i]->id};
    if (i == 0) because.insert(because.end(), shown.begin(), shown.end());
    target(v, changes[i]->subject, confidence::kSettingChanged, std::move(because));
  }
}

// The job does what it was asked for.
void say_planned(Verdict& v, const Finding& slow, const std::vector<const Finding*>& changes) {
  Text told;
  std::vector<std::string> because{slow.id};
  for (const Finding* f : changes)
    if (std::get<ChangeFacts>(f->facts).work > 0 && because.size() <= kMostChangesTold) {
      told += (because.size() == 1 ? Text() : Text(std::string("; "))) + f->why;
      because.push_back(f->id);
    }
  act(v, Action::none, Precision::candidates, Symptom::none);
  v.sureness = std::min(v.sureness, Sureness::likely);
  v.targets.clear();
  v.next.clear();
  target(v, {SubjectKind::job, "job"}, confidence::kSettingChanged, std::move(because));
  v.summary = say(Phrase::slow_as_asked, slow_of(slow).factor, told);
  next(v, NextKind::plan, say(Phrase::compare_work_a_second));
}

}  // namespace

void consider_changes(Walk& w) {
  std::vector<const Finding*> changes, all;
  const Effects effects = effects_asked(w);
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::changes) all.push_back(&f);
  Verdict& v = w.verdict;
  const Finding* slow = slower_than_before(w);
  if (slow != nullptr && !known_reason(v) && as_planned(slow_of(*slow), more_work(all)))
    return say_planned(v, *slow, all);
  std::ranges::copy_if(all, std::back_inserter(changes),
                       [&](const Finding* f) { return explains(*f, effects); });
  if (changes.empty() && slow != nullptr && v.action == Action::investigate)
    changes = unknown_changes(all);
  if (changes.empty()) return;
  if (accuses(v)) {
    for (std::size_t i = 0; i < changes.size() && i < kMostChangesTold; ++i)
      next(v, NextKind::plan, say(Phrase::also_changed, changes[i]->why));
    return;
  }
  if (v.action != Action::rollback && !may_turn(v)) return;
  Text told;
  for (std::size_t i = 0; i < changes.size() && i < kMostChangesTold; ++i)
    told += (i == 0 ? Text() : Text(std::string("; "))) + changes[i]->why;
  v.summary += say(Phrase::changed_since_run_before, told);
  if (v.action != Action::rollback) turn(v, changes);
  next(v, NextKind::plan, say(Phrase::take_change_back, changes.front()->subject.id));
}

}  // namespace culprit::decide
