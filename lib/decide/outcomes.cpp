// Moves the verdict on by outcomes of checks that were run since.
#include "decide/walk.hpp"

#include <algorithm>

#include "decide/ledger.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

constexpr std::size_t kMostTargets = 64;

// Findings of the outcomes, by what they say, and what they clear.
struct Checked {
  std::vector<const Finding*> failed, one_of, contradictions;
  std::set<Host> passed;
  bool any() const {
    return !failed.empty() || !one_of.empty() || !contradictions.empty() || !passed.empty();
  }
};

Checked checked_in(const Case& incident) {
  Checked out;
  for (const Finding& f : incident.findings) {
    const auto* facts = std::get_if<OutcomeFacts>(&f.facts);
    if (facts == nullptr) continue;
    switch (facts->word) {
      case CheckWord::failed: out.failed.push_back(&f); break;
      case CheckWord::one_of: out.one_of.push_back(&f); break;
      case CheckWord::contradiction: out.contradictions.push_back(&f); break;
      case CheckWord::passed: out.passed.insert(f.hosts.begin(), f.hosts.end());
    }
  }
  return out;
}

// The machine that a target is of, or is on; "": of none, or of many.
Host machine_of_target(const Case& incident, const Subject& subject) {
  std::int64_t rank = 0;
  if (subject.kind != SubjectKind::rank || !parse_whole(subject.id, rank))
    return machine_of(subject);
  const auto place = std::ranges::find(incident.places, Rank(rank), &std::pair<Rank, Host>::first);
  return place == incident.places.end() ? Host() : place->second;
}

struct Suspects {
  bool reported = false;       // one that is cleared had reported a fault of its own
  std::vector<Target> left;    // that no outcome clears
  std::vector<Host> machines;  // of these, as far as they are machines; sorted
  std::vector<Host> cleared;   // sorted
};

// What accuses it is its own word, and no conclusion from what others did.
bool reported_itself(const Case& incident, const Target& target) {
  return std::ranges::any_of(incident.findings, [&](const Finding& f) {
    return f.analysis == Analysis::classify && f.role == Role::root && f.host &&
           contains(target.because, f.id);
  });
}

Suspects suspects_of(const Walk& w, const Checked& checked) {
  Suspects out;
  std::set<Host> left, cleared;
  for (const Target& t : w.verdict.targets) {
    const Host host = machine_of_target(w.incident, t.subject);
    if (!host.empty() && checked.passed.count(host) > 0) {
      cleared.insert(host);
      out.reported = out.reported || reported_itself(w.incident, t);
      continue;
    }
    out.left.push_back(t);
    if (!host.empty()) left.insert(host);
  }
  out.machines.assign(left.begin(), left.end());
  out.cleared.assign(cleared.begin(), cleared.end());
  return out;
}

// The answer is another one from here on: what was to be done of the old one is not done.
void answer_instead(Verdict& v, Action action, Precision precision, Sureness sureness,
                    const Text& because, bool old_holds) {
  act(v, action, precision);
  v.sureness = sureness;
  v.counted.reset();
  v.summary =
      old_holds && !v.summary.empty() ? say(Phrase::two_sentences, because, v.summary) : because;
  std::erase_if(v.next, [](const NextStep& n) { return n.kind == NextKind::command; });
  v.steps.push_back({StepId::history, StepOutcome::taken, because});
}

void take_out(Walk& w, const std::vector<std::pair<Host, const Finding*>>& who, double confidence,
              const Suspects& suspects, const Text& because) {
  Verdict& v = w.verdict;
  // Another machine that was to go, and that nobody checked, still goes.
  const bool more = v.action == Action::isolate;
  answer_instead(v, Action::isolate, Precision::exact, Sureness::likely, because,
                 suspects.cleared.empty());
  v.targets.clear();
  for (const auto& [host, finding] : who) {
    v.targets.push_back({{SubjectKind::host, host}, confidence, {finding->id}});
    drain(w, host, "failed a check");
  }
  const auto taken = [&](const Host& host) {
    return std::ranges::any_of(who, [&](const auto& one) { return one.first == host; });
  };
  for (const Target& t : suspects.left)
    if (more && !taken(machine_of_target(w.incident, t.subject))) v.targets.push_back(t);
  if (more)
    for (const Host& host : suspects.machines)
      if (!taken(host)) drain(w, host, "suspected");
}

void check_these(Walk& w, const std::vector<Host>& hosts, const std::vector<std::string>& because,
                 const Text& text) {
  Verdict& v = w.verdict;
  answer_instead(v, Action::checks, Precision::candidates, Sureness::possible, text, false);
  v.targets.clear();
  const double share = std::min(confidence::kOneOfTwoEnds, 1 / static_cast<double>(hosts.size()));
  for (std::size_t i = 0; i < hosts.size() && i < kMostTargets; ++i)
    v.targets.push_back({{SubjectKind::host, hosts[i]}, share, because});
  check(v, hosts);
}

// More than half of the machines do not fail at once for reasons of their own: what was rolled out
// to all of them last does (Aegis section 5.3, the delivery check).
bool most_failed(const Case& incident, std::size_t failed) {
  constexpr std::size_t kFewest = 4;
  return failed >= kFewest && 2 * failed > incident.all_hosts.size();
}

void what_they_share(Walk& w, const std::vector<Host>& hosts, const Finding& first) {
  Verdict& v = w.verdict;
  answer_instead(v, Action::repair, Precision::candidates, Sureness::possible,
                 say(Phrase::outcomes_most_failed, hosts.size(), w.incident.all_hosts.size()),
                 false);
  v.targets = {{{SubjectKind::config, "last_rollout"}, confidence::kSharedUnnamed, {first.id}}};
  next(v, NextKind::plan, say(Phrase::take_rollout_back, list(hosts)));
}

// One of these is at fault. A machine that was to go for a better reason still goes.
void group_failed(Walk& w, const std::vector<Host>& hosts, const Checked& checked,
                  const Suspects& suspects) {
  const Text one_of = say(Phrase::outcomes_one_of, list(hosts));
  if (w.verdict.action != Action::isolate || (suspects.left.empty() && !suspects.reported))
    return check_these(w, hosts, {checked.one_of.front()->id}, one_of);
  w.verdict.steps.push_back({StepId::history, StepOutcome::not_enough_evidence, one_of});
  w.verdict.summary = say(Phrase::two_sentences, w.verdict.summary, one_of);
  check(w.verdict, hosts);
}

// Nothing failed: whoever passed is no suspect, and the others remain.
void all_passed(Walk& w, const Checked& checked, const Suspects& suspects) {
  Verdict& v = w.verdict;
  if (suspects.cleared.empty()) {
    v.steps.push_back(
        {StepId::history, StepOutcome::ruled_out, say(Phrase::outcomes_tell_nothing)});
    return;
  }
  if (suspects.reported) return;
  std::vector<std::string> because;
  for (const Target& t : v.targets)
    because.insert(because.end(), t.because.begin(), t.because.end());
  if (!suspects.machines.empty()) {
    const Text remain = say(Phrase::outcomes_remain, list(suspects.machines));
    if (v.action != Action::isolate) return check_these(w, suspects.machines, because, remain);
    answer_instead(v, Action::isolate, v.precision, v.sureness, remain, false);
    v.targets = suspects.left;
    for (const Host& host : suspects.machines) drain(w, host, "suspected");
    return;
  }
  std::vector<Host> others;
  for (const Host& host : w.incident.all_hosts)
    if (checked.passed.count(host) == 0) others.push_back(host);
  if (!others.empty()) return check_these(w, others, because, say(Phrase::outcomes_all_passed));
  answer_instead(v, Action::reattempt, Precision::exact, Sureness::possible,
                 say(Phrase::outcomes_nobody), false);
  v.targets = suspects.left;
}

// Named where people read first.
void contradict(Verdict& v, const Text& what) {
  const Text named = say(Phrase::outcomes_contradict, what);
  v.steps.push_back({StepId::history, StepOutcome::not_enough_evidence, named});
  v.summary = say(Phrase::two_sentences, v.summary, named);
}

}  // namespace

void consider_outcomes(Walk& w) {
  const Checked checked = checked_in(w.incident);
  if (!checked.any()) return;
  const Suspects suspects = suspects_of(w, checked);
  std::set<Host> one_of;
  for (const Finding* f : checked.one_of) one_of.insert(f->hosts.begin(), f->hosts.end());
  if (!checked.failed.empty()) {
    std::vector<std::pair<Host, const Finding*>> who;
    std::vector<Host> hosts;
    for (const Finding* f : checked.failed) {
      who.emplace_back(f->host.value_or(Host()), f);
      hosts.push_back(who.back().first);
    }
    if (most_failed(w.incident, hosts.size()))
      what_they_share(w, hosts, *checked.failed.front());
    else
      take_out(w, who, confidence::kCheckFailed, suspects,
               say(Phrase::outcomes_failed, list(hosts)));
  } else if (one_of.size() == 1) {
    take_out(w, {{*one_of.begin(), checked.one_of.front()}}, confidence::kInAllThatFailed, suspects,
             say(Phrase::outcomes_in_all, *one_of.begin()));
  } else if (!one_of.empty()) {
    group_failed(w, {one_of.begin(), one_of.end()}, checked, suspects);
  } else {
    all_passed(w, checked, suspects);
  }
  if (!suspects.cleared.empty()) {
    const Text cleared = say(suspects.reported ? Phrase::outcomes_stand : Phrase::outcomes_cleared,
                             list(suspects.cleared));
    w.verdict.steps.push_back({StepId::history, StepOutcome::ruled_out, cleared});
    if (suspects.reported) contradict(w.verdict, cleared);
  }
  for (const Finding* f : checked.contradictions) contradict(w.verdict, f->why);
}

}  // namespace culprit::decide
