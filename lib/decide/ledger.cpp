#include "decide/ledger.hpp"

#include <algorithm>

#include "decide/walk.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

Host machine_of(const Subject& s) {
  if (s.kind == SubjectKind::host) return Host(s.id);
  if (s.kind == SubjectKind::gpu || s.kind == SubjectKind::nic)
    return Host(s.id.substr(0, s.id.find('/')));
  return {};
}

bool has(const std::vector<Host>& hosts, const Host& host) { return contains(hosts, host); }

namespace {

bool agree(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; }
bool agree(std::optional<Symptom> a, std::optional<Symptom> b) {
  const auto unknown = [](std::optional<Symptom> s) { return !s || *s == Symptom::none; };
  return unknown(a) || unknown(b) || a == b;
}

}  // namespace

Same same_root(const PastFailure& f, const FailureRoot& now, bool culprit) {
  bool told = false;
  for (const FailureRoot& r : f.roots) {
    if (!agree(r.event_class, now.event_class) || !agree(r.symptom, now.symptom)) {
      told = told || r.verdict;
      continue;
    }
    if (!culprit) {
      if (r.verdict) return Same::yes;
      continue;
    }
    const Host machine = machine_of(now.subject);
    if (r.subject == now.subject || (!machine.empty() && machine_of(r.subject) == machine))
      return Same::yes;
    told = told || r.verdict;
  }
  return told ? Same::no : Same::unknown;
}

namespace {
constexpr double kProgress = 0.05;  // of what the job had done before: less is no progress
constexpr double kFewSteps = 50;    // nor are as many, of a job that had hardly begun
}  // namespace

Ledger ledger_of(const AttemptHistory& h) {
  Ledger out;
  std::optional<std::int64_t> best;
  const auto further = [&](const std::optional<std::int64_t>& furthest, std::size_t index,
                           const Text& who) {
    if (!furthest) return;
    // A run that dies of the same a few steps later was not helped.
    if (best && static_cast<double>(*furthest - *best) >
                    std::max(kFewSteps, kProgress * static_cast<double>(*best))) {
      out.from = index;
      out.why = say(Phrase::attempt_got_further, who, *furthest, *best);
    }
    best = std::max(best.value_or(*furthest), *furthest);
  };
  for (std::size_t i = 0; i < h.failures.size(); ++i)
    further(h.failures[i].furthest, i, h.failures[i].name);
  out.progress_known = best && h.furthest;
  further(h.furthest, h.failures.size(), say(Phrase::this_run));
  return out;
}

Text described(const Tried& t) {
  Text out;
  if (t.advised)
    return say(Phrase::advice_to,
               t.measure == Measure::checks        ? say(Phrase::to_run_checks)
               : t.measure == Measure::rollback    ? say(Phrase::to_roll_back)
               : t.measure == Measure::investigate ? say(Phrase::to_collect_more)
                                                   : Text(std::string(name(t.measure))),
               t.hosts.empty() ? Text() : say(Phrase::after_space, list(t.hosts)));
  switch (t.measure) {
    case Measure::evict:
      out = t.hosts.empty() ? say(Phrase::an_eviction)
                            : list(t.hosts) + (t.inferred ? say(Phrase::left_the_job)
                                                          : say(Phrase::was_evicted));
      break;
    case Measure::reboot:
      out = t.hosts.empty() ? say(Phrase::a_reboot) : list(t.hosts) + say(Phrase::was_rebooted);
      break;
    case Measure::repair:
      out = t.hosts.empty() ? say(Phrase::a_repair) : list(t.hosts) + say(Phrase::was_repaired);
      break;
    case Measure::investigate: out = say(Phrase::more_was_collected); break;
    case Measure::mitigate:
      out = t.hosts.empty() ? say(Phrase::slow_worker_relieved)
                            : list(t.hosts) + say(Phrase::was_relieved);
      break;
    case Measure::checks:
      out = !t.passed   ? say(Phrase::checks_done)
            : *t.passed ? say(Phrase::checks_all_passed)
                        : say(Phrase::checks_not_all_passed);
      break;
    case Measure::reattempt: out = say(Phrase::started_again); break;
    case Measure::rollback:
      out = t.inferred ? say(Phrase::another_version) : say(Phrase::a_rollback);
      if (!t.to.empty()) out += say(t.inferred ? Phrase::after_comma : Phrase::to_version, t.to);
      break;
    case Measure::replay: out = say(Phrase::a_replay); break;
    case Measure::stop: out = say(Phrase::stopped); break;
    case Measure::other: out = say(Phrase::something_else); break;
  }
  return out;
}

Text described(const PastFailure& f) {
  std::vector<Text> words;
  for (const Tried& t : f.answers) words.push_back(described(t));
  return say(Phrase::past_failure, f.name,
             f.furthest ? say(Phrase::to_iteration, *f.furthest) : Text(),
             f.requested    ? say(Phrase::run_ended_by_scheduler)
             : f.ended_well ? say(Phrase::run_ended_well)
                            : Text(),
             words.empty() ? Text() : say(Phrase::then_tried, list(words)));
}

bool alike(const FailureRoot& then, const FailureRoot& now) {
  if (!then.event_class.empty() || !now.event_class.empty())
    return then.event_class == now.event_class;
  return then.verdict && then.symptom == now.symptom &&
         now.symptom.value_or(Symptom::none) != Symptom::none;
}

Text attempts_of(const std::vector<const PastFailure*>& failures) {
  std::vector<std::string> names;
  for (const PastFailure* f : failures)
    if (!contains(names, f->name)) names.push_back(f->name);
  return names.empty() ? Text() : list(names, 3);
}

}  // namespace culprit::decide
