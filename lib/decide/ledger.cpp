#include "decide/ledger.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "decide/walk.hpp"

namespace culprit::decide {

std::string machine_of(const Subject& s) {
  if (s.kind == SubjectKind::host) return s.id;
  if (s.kind == SubjectKind::gpu || s.kind == SubjectKind::nic)
    return s.id.substr(0, s.id.find('/'));
  return {};
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

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
    const std::string machine = machine_of(now.subject);
    if (r.subject == now.subject || (!machine.empty() && machine_of(r.subject) == machine))
      return Same::yes;
    told = told || r.verdict;
  }
  return told ? Same::no : Same::unknown;
}

namespace {
constexpr double kProgress = 0.05;  // of what the job had done before: less is no progress
}

Ledger ledger_of(const AttemptHistory& h) {
  Ledger out;
  std::optional<std::int64_t> best;
  const auto further = [&](const std::optional<std::int64_t>& furthest, std::size_t index,
                           const std::string& who) {
    if (!furthest) return;
    // A run that dies of the same a few steps later was not helped.
    if (best && static_cast<double>(*furthest - *best) > kProgress * static_cast<double>(*best)) {
      out.from = index;
      out.why = fmt::format(
          "{} got to iteration {}, beyond {}: what was tried before that helped, and counts no "
          "more",
          who, *furthest, *best);
    }
    best = std::max(best.value_or(*furthest), *furthest);
  };
  for (std::size_t i = 0; i < h.failures.size(); ++i)
    further(h.failures[i].furthest, i, h.failures[i].name);
  out.progress_known = best && h.furthest;
  further(h.furthest, h.failures.size(), "this run");
  return out;
}

std::string told(const Tried& t) {
  std::string out;
  if (t.advised)
    return fmt::format("the advice to {}{}",
                       t.measure == Measure::checks        ? "run checks"
                       : t.measure == Measure::rollback    ? "roll back"
                       : t.measure == Measure::investigate ? "collect more"
                                                           : std::string(name(t.measure)),
                       t.hosts.empty() ? "" : " " + list(t.hosts));
  switch (t.measure) {
    case Measure::evict:
      out = t.hosts.empty() ? "an eviction"
                            : list(t.hosts) + (t.inferred ? " left the job" : " evicted");
      break;
    case Measure::reboot: out = t.hosts.empty() ? "a reboot" : list(t.hosts) + " rebooted"; break;
    case Measure::repair: out = t.hosts.empty() ? "a repair" : list(t.hosts) + " repaired"; break;
    case Measure::investigate: out = "more was collected"; break;
    case Measure::mitigate:
      out = t.hosts.empty() ? "the slow worker was relieved" : list(t.hosts) + " relieved";
      break;
    case Measure::checks:
      out = !t.passed ? "checks" : *t.passed ? "checks, all passed" : "checks, not all passed";
      break;
    case Measure::reattempt: out = "started again"; break;
    case Measure::rollback:
      out = t.inferred ? "another version of the code" : "a rollback";
      if (!t.to.empty()) out += t.inferred ? ", " + t.to : " to " + t.to;
      break;
    case Measure::replay: out = "a replay"; break;
    case Measure::stop: out = "stopped"; break;
    case Measure::other: out = "something else was done"; break;
  }
  return out;
}

std::string told(const PastFailure& f) {
  std::vector<std::string> words;
  for (const Tried& t : f.answers) words.push_back(told(t));
  return fmt::format("{}{}{}{}", f.name,
                     f.furthest ? fmt::format(", to iteration {}", *f.furthest) : "",
                     f.requested    ? ", ended by the scheduler"
                     : f.ended_well ? ", ended well"
                                    : "",
                     words.empty() ? "" : "; then " + list(words));
}

bool alike(const FailureRoot& then, const FailureRoot& now) {
  if (!then.event_class.empty() || !now.event_class.empty())
    return then.event_class == now.event_class;
  return then.verdict && then.symptom == now.symptom &&
         now.symptom.value_or(Symptom::none) != Symptom::none;
}

std::string attempts_of(const std::vector<const PastFailure*>& failures) {
  std::vector<std::string> names;
  for (const PastFailure* f : failures)
    if (!has(names, f->name)) names.push_back(f->name);
  return list(names, 3);
}

}  // namespace culprit::decide
