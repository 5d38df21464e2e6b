#include "decide/decide.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "decide/compare.hpp"
#include "decide/history.hpp"
#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

void tell_chain(Walk& w) {
  std::vector<const Finding*> told;
  if (w.best() != nullptr && w.verdict.action != Action::none)
    for (const Finding* f :
         w.best()->findings)  // a fault that shows in three ways on one machine is one link
      if (told.size() < 4 && std::ranges::none_of(told, [&](const Finding* other) {
            return f->host && other->host == f->host;
          }))
        told.push_back(f);
  std::vector<const Finding*> effects;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && (f.role == Role::cascade || f.role == Role::teardown))
      effects.push_back(&f);
  sort_by(effects, [](const Finding* a) {
    return std::tuple(!a->start.has_value(), a->start.value_or(0), a->role == Role::teardown);
  });
  // One line a kind: the same clean-up on eight GPUs is told once. What is over before the cause is
  // another story.
  std::optional<Nanoseconds> from;
  if (!told.empty()) from = told.front()->start;
  std::set<std::string> kinds;
  for (const Finding* f : effects) {
    if (from && f->end && *f->end + f->uncertainty + 5 * kSecond < *from) continue;
    if (told.size() < 10 && kinds.insert(f->event_class).second) told.push_back(f);
  }
  if (told.size() < 2) return;
  for (const Finding* f : told) {
    Text who = f->subject.kind == SubjectKind::job
                   ? (f->ranks.size() > 1    ? say(Phrase::ranks_counted, f->ranks.size())
                      : f->ranks.size() == 1 ? say(Phrase::rank_named, f->ranks[0])
                      : f->hosts.size() > 1  ? say(Phrase::hosts_counted, f->hosts.size())
                      : f->hosts.size() == 1 ? Text(f->hosts[0])
                                             : say(Phrase::the_job))
               : f->subject.kind == SubjectKind::code && f->ranks.size() == 1
                   ? say(Phrase::rank_named, f->ranks[0])
               : f->subject.kind == SubjectKind::code && f->ranks.size() > 1
                   ? say(Phrase::ranks_counted, f->ranks.size())
                   : Text(f->subject.id);
    w.verdict.chain.push_back({f->start, std::move(who), f->title, f->id});
  }
}

// What was sorted out, with the reason, and machines among it that want a check all the same.
void tell_excluded(Walk& w) {
  constexpr std::size_t kMostAlike = 64;  // of one class and reason; further ones are counted
  std::set<std::string> remarked;
  std::map<std::pair<std::string, Phrase>, std::size_t> alike;
  for (const auto& [finding, reason, why, also] : w.first.excluded) {
    const Phrase phrase = why.empty() ? Phrase::verbatim : why.clauses().front().phrase;
    if (++alike[{finding->event_class, phrase}] <= kMostAlike)
      w.verdict.steps.push_back(
          {StepId::excluded, StepOutcome::ruled_out,
           say(Phrase::excluded_candidate, finding->event_class, finding->subject.id, why)});
    // Of a fault that many machines share they are counted with it.
    const bool counted =
        reason == Exclusion::after_failure && finding->event_class == w.shared_class;
    if (kind_of(*finding) == CauseKind::machine && finding->host && w.verdict.next.size() < 8 &&
        reason != Exclusion::led_to && !counted && remarked.insert(*finding->host).second)
      next(w.verdict, NextKind::plan,
           say(reason == Exclusion::unplaced ? Phrase::also_showed_unplaced : Phrase::also_showed,
               *finding->host, finding->event_class, why));
  }
  for (const auto& [kind, n] : alike)
    if (n > kMostAlike)
      w.verdict.steps.push_back({StepId::excluded, StepOutcome::ruled_out,
                                 say(Phrase::excluded_alike, kind.first, n - kMostAlike)});
}

// An isolation that is less sure than that is a suspicion: the machine is checked, and stays in
// service until it fails.
void weigh_isolation(Verdict& v) {
  if (v.action != Action::isolate || v.targets.empty()) return;
  double most = 0;
  for (const Target& t : v.targets) most = std::max(most, t.confidence);
  if (most >= confidence::kLeastToIsolate) return;
  act(v, Action::checks, Precision::candidates);
  std::erase_if(v.next, [](const NextStep& n) { return n.kind == NextKind::command; });
  std::vector<Host> hosts;
  for (const Target& t : v.targets)
    if (t.subject.kind == SubjectKind::host) hosts.push_back(decide::machine_of(t.subject));
  if (!hosts.empty()) check(v, hosts);
}

// What was not read may name another cause. A suspicion that is no longer sure enough is checked.
void weigh_incompleteness(Verdict& v) {
  for (Target& t : v.targets) t.confidence *= confidence::kIncompleteBundle;
  weigh_isolation(v);
}

}  // namespace

namespace {

// The order in which findings come says nothing: where two are as good, the one that sorts first is
// taken.
bool stands_before(const Finding& a, const Finding& b) {
  const auto key = [](const Finding& f) {
    return std::tuple(-static_cast<int>(f.severity), -static_cast<int>(f.role),
                      !f.start.has_value(), f.start.value_or(0));
  };
  return a.analysis == b.analysis && a.analysis == Analysis::classify
             ? std::pair(key(a), a.id) < std::pair(key(b), b.id)
             : (a.analysis == Analysis::classify) > (b.analysis == Analysis::classify);
}

Verdict decide_sorted(const Case& incident, const DecideParams& params);

}  // namespace

Verdict decide(const Case& given, const DecideParams& params) {
  Case incident = given;
  return decide_in_place(incident, params);
}

Verdict decide_in_place(Case& incident, const DecideParams& params) {
  std::vector<std::size_t> order(incident.findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  sort_rows(order, [&](std::size_t a, std::size_t b) {
    return stands_before(incident.findings[a], incident.findings[b]);
  });
  std::vector<Finding> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(std::move(incident.findings[i]));
  incident.findings.swap(sorted);
  Verdict verdict = decide_sorted(incident, params);
  for (std::size_t i = 0; i < order.size(); ++i) sorted[order[i]] = std::move(incident.findings[i]);
  incident.findings.swap(sorted);
  return verdict;
}

namespace {

// What was asked, in the order of kinds: which hypothesis is believed, which stand behind it, and
// why the others do not.
std::vector<Step> walked(const Proposals& proposals, const Hypothesis& best) {
  std::vector<Step> out = proposals.others;
  std::set<StepId> told;
  for (const Hypothesis& h : proposals.standing)
    if (told.insert(h.kind).second)
      out.push_back(&h == &best ? Step{h.kind, StepOutcome::taken, h.why}
                                : Step{h.kind, StepOutcome::ruled_out,
                                       say(Phrase::less_likely, h.why, best.score - h.score)});
  sort_by(out, &Step::step);
  return out;
}

Verdict decide_sorted(const Case& incident, const DecideParams& params) {
  const FirstFailure first = first_failure(incident, params);
  Walk w{incident, params, first, {}, {}};
  const rules::CauseTable& table = rules::CauseTable::built_in();
  const rules::Effects seen = effects_of(w);
  Proposals proposals = propose(incident, params, first, table);
  std::vector<Hypothesis>& all = proposals.standing;
  compare(incident, first, seen, table, all);
  std::vector<Candidate> differential = differential_of(w, all, table);
  Hypothesis& best = all.front();
  w.candidate = best.cause;
  w.shared_class = best.shared_class;
  w.verdict = std::move(best.verdict);
  for (const NextStep& remark : proposals.remarks) next(w.verdict, remark.kind, remark.text);
  w.verdict.steps = walked(proposals, best);
  w.verdict.sureness = sureness_of(differential);
  consider_changes(w);
  if (const auto* counted = table.counted(name(w.verdict.sureness)))
    w.verdict.counted = Counted{counted->right, counted->of};
  w.verdict.differential = std::move(differential);
  consider_history(incident, w.verdict);
  consider_outcomes(w);
  tell_records(w);
  weigh_isolation(w.verdict);
  if (incident.incomplete) weigh_incompleteness(w.verdict);
  ask_for_missing(w);
  w.verdict.summary += w.verdict.request;
  tell_excluded(w);
  w.verdict.end = incident.job_end;
  if (!w.verdict.start) w.verdict.start = w.first.first_consequence;
  // The machine's word may be later than the job's last one.
  if (w.verdict.start && w.verdict.end && *w.verdict.end < *w.verdict.start)
    w.verdict.end = w.verdict.start;
  tell_chain(w);
  return w.verdict;
}

}  // namespace

}  // namespace culprit::decide
