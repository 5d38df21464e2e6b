// Ledgers of hypotheses, and their order.
#include "decide/compare.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"

namespace culprit::decide {

namespace {

using rules::Effect;
using rules::Sign;

constexpr int kMostOfEvidence = 13;  // decibans: twenty to one, what one source may carry alone
constexpr std::size_t kMostCompared = 12;  // that a report lists

// What it costs to leave an effect unexplained.
constexpr std::pair<Effect, int> kUnexplained[] = {
    {Effect::ended, 8}, {Effect::broke, 4},         {Effect::stood, 8},
    {Effect::slow, 0},  {Effect::wrong_numbers, 6}, {Effect::finished, 12}};

int decibans(double probability) {
  const double p = std::clamp(probability, 0.01, 0.99);
  return std::clamp(static_cast<int>(std::lround(10 * std::log10(p / (1 - p)))), -kMostOfEvidence,
                    kMostOfEvidence);
}

bool has_effect(const rules::Effects& effects, Effect effect) {
  return effects.test(static_cast<std::size_t>(effect));
}

// Two sources of different origin among what speaks for it.
bool second_source(const Case& incident, const Cause& c) {
  std::set<Origin> origins;
  for (const Finding* f : c.findings) origins.insert(f->origin);
  if (origins.size() > 1) return true;
  return std::ranges::any_of(incident.findings, [&](const Finding& f) {
    return f.fired() && f.host && c.hosts.size() < 3 &&
           (f.analysis == Analysis::hang || f.analysis == Analysis::root_diag) &&
           contains(c.hosts, *f.host);
  });
}

// Whether others wait for the machine that has the odd setting, or lost it first.
void add_signs_of_setting(const Case& incident, const Hypothesis& h, std::vector<Sign>& out) {
  const auto has_it = [&](const Host& host) {
    return std::ranges::any_of(h.verdict.targets, [&](const Target& t) {
      return t.subject.kind == SubjectKind::host && t.subject.id == host;
    });
  };
  bool waited_for = false, first_to_break = false;
  for (const Finding& f : incident.findings) {
    waited_for = waited_for || (f.fired(Analysis::hang) && f.host && has_it(*f.host));
    first_to_break =
        first_to_break || (f.analysis == Analysis::root_diag && f.outcome != Outcome::ruled_out &&
                           f.hosts.size() == 1 && has_it(f.hosts.front()));
  }
  if (waited_for) out.push_back(Sign::waited_for);
  if (first_to_break) out.push_back(Sign::first_to_break);
}

// Ranks wait for their data, and what they read from had failed when they stopped.
bool feeds_the_wait(const Case& incident, const Cause& c) {
  const Nanoseconds noticed = 2 * kMinute;
  return std::ranges::any_of(incident.findings, [&](const Finding& f) {
    return f.fired(Analysis::hang) &&
           (hang_of(f).wait == WaitKind::data || hang_of(f).state == "D") && c.start &&
           (!f.start || *c.start - c.uncertainty <= *f.start + noticed) &&
           std::ranges::any_of(c.findings, [](const Finding* one) {
             return rules::made_longer_by(rules::StepPart::data, one->symptom);
           });
  });
}

// The signs that a hypothesis shows.
std::vector<Sign> signs_of(const Case& incident, const FirstFailure& first, const Hypothesis& h) {
  std::vector<Sign> out;
  if (h.kind == StepId::root_diag) out.push_back(Sign::first_to_break);
  if (h.kind == StepId::stopped_rank || h.kind == StepId::stuck_group) {
    for (const Finding& f : incident.findings)
      if (f.fired(Analysis::hang) && hang_of(f).waiting > 0) {
        out.push_back(Sign::waited_for);
        break;
      }
  }
  if (h.kind == StepId::config_check) add_signs_of_setting(incident, h, out);
  if (h.cause == nullptr) return out;
  const Cause& c = *h.cause;
  if (!c.start)
    out.push_back(Sign::undated);
  else if (first.noticed && *c.start <= *first.noticed + c.uncertainty)
    out.push_back(Sign::dated_before);
  if (c.confidence < confidence::kLeastToIsolate) out.push_back(Sign::weak);
  if (c.hosts.empty()) out.push_back(Sign::nameless);  // weighs where a row names it
  if (h.kind == StepId::shared_cause && feeds_the_wait(incident, c))
    out.push_back(Sign::feeds_the_wait);
  if (second_source(incident, c)) out.push_back(Sign::second_source);
  std::set<Rank> ranks;
  for (const Finding* f : c.findings) ranks.insert(f->ranks.begin(), f->ranks.end());
  if (incident.ranks > 1 && 5 * ranks.size() >= 3 * incident.ranks)
    out.push_back(Sign::all_ranks);
  else if (incident.ranks > 1 && ranks.size() == 1)
    out.push_back(Sign::one_rank);
  return out;
}

void weigh(const Case& incident, const FirstFailure& first, const rules::Effects& seen,
           const rules::CauseTable& table, Hypothesis& h) {
  const rules::CauseRow& row = table.row(h.kind);
  const auto add = [&](int weight, Text reason) {
    if (weight == 0) return;
    h.score += weight;
    h.ledger.push_back({weight, std::move(reason)});
  };
  add(row.prior, say(Phrase::weight_of_kind, row.name));
  double confidence = 0;
  for (const Target& t : h.verdict.targets) confidence = std::max(confidence, t.confidence);
  if (h.cause != nullptr) confidence = std::max(confidence, h.cause->confidence);
  if (confidence > 0) add(decibans(confidence), say(Phrase::weight_of_evidence, h.why));
  for (const Sign sign : signs_of(incident, first, h))
    add(row.weights[static_cast<std::size_t>(sign)],
        say(Phrase::weight_of_sign, rules::name(sign), row.words[static_cast<std::size_t>(sign)]));
  for (const auto& [effect, cost] : kUnexplained)
    if (has_effect(seen, effect) && !has_effect(row.explains, effect))
      add(-cost, say(Phrase::weight_of_unexplained, rules::name(effect)));
  sort_by(h.ledger, [](const Weight& w) { return -std::abs(w.decibans); });
}

// What would tell this kind from another.
Text tells_of(const rules::CauseRow& row, const Text& whom) {
  const std::size_t place = row.tells.find("{}");
  if (place == std::string::npos) return Text(row.tells);
  return Text(row.tells.substr(0, place)) + whom + Text(row.tells.substr(place + 2));
}

Text whom(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  for (const Target& t : targets)
    if (names.size() < 3) names.push_back(t.subject.id);
  return names.empty() ? say(Phrase::the_job) : list(names);
}

// The heaviest reason against it, or that the first one has more for it.
Text against_of(const Hypothesis& h, const std::string& first_name) {
  for (const Weight& weight : h.ledger)
    if (weight.decibans <= -4) return weight.reason;
  return say(Phrase::less_for_it, first_name);
}

Candidate of_excluded(const Excluded& e, CauseKind kind, const rules::CauseTable& table) {
  const Finding& f = *e.finding;
  Candidate out;
  const rules::CauseRow& row = table.unproven(kind);
  out.kind = row.kind;
  out.action = row.unproven_action;
  out.targets = {{f.subject, f.confidence, {f.id}}};
  out.what = say(Phrase::title_on_place, f.title, f.subject.id);
  out.name = row.name;
  out.weights = {{row.prior, say(Phrase::weight_of_kind, row.name)},
                 {decibans(f.confidence), say(Phrase::weight_of_evidence, f.title)},
                 {-cost_of(e.reason) - row.prior, e.why}};
  for (const Against& more : e.also) out.weights.push_back({-cost_of(more.reason), more.why});
  for (const Weight& weight : out.weights) out.score += weight.decibans;
  out.against = e.why;
  out.tells = tells_of(row, f.subject.id);
  return out;
}

bool same_answer(const Candidate& a, const Candidate& b) {
  if (a.action != b.action) return false;
  std::set<Subject> one, other;
  for (const Target& t : a.targets) one.insert(t.subject);
  for (const Target& t : b.targets) other.insert(t.subject);
  return one == other;
}

}  // namespace

rules::Effects effects_of(const Walk& w) {
  rules::Effects out;
  const auto set = [&](Effect effect, bool seen) {
    out.set(static_cast<std::size_t>(effect), seen);
  };
  const auto fired = [&](Analysis analysis) {
    return std::ranges::any_of(
        w.incident.findings, [&](const Finding& f) { return f.analysis == analysis && f.fired(); });
  };
  const bool failed = !failure(w).empty();
  set(Effect::finished, ended_well(w) && !failed);
  set(Effect::ended,
      std::ranges::any_of(w.incident.exits, [](const ExitFact& x) { return x.code != 0; }));
  set(Effect::broke, after_effects(w));
  set(Effect::stood,
      timed_out(w) || fired(Analysis::hang) ||
          stood_until(w, w.first.noticed ? w.first.noticed : w.incident.job_end).has_value());
  set(Effect::slow, fired(Analysis::slow));
  set(Effect::word, std::ranges::any_of(w.incident.findings, scheduler_word));
  set(Effect::wrong_numbers, std::ranges::any_of(w.first.causes, [](const Cause& c) {
        return c.kind == CauseKind::numerics;
      }));
  return out;
}

void compare(const Case& incident, const FirstFailure& first, const rules::Effects& seen,
             const rules::CauseTable& table, std::vector<Hypothesis>& all) {
  for (Hypothesis& h : all) weigh(incident, first, seen, table, h);
  sort_rows(all, [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
}

std::vector<Candidate> differential_of(const Walk& w, const std::vector<Hypothesis>& all,
                                       const rules::CauseTable& table) {
  std::vector<Candidate> out;
  for (const Hypothesis& h : all) {
    if (out.size() == kMostCompared) break;
    Candidate c;
    c.kind = h.kind;
    c.name = table.row(h.kind).name;
    c.action = h.verdict.action;
    c.targets = h.verdict.targets;
    c.score = h.score;
    c.what = h.why;
    c.weights = h.ledger;
    if (&h != &all.front()) {
      c.against = against_of(h, table.row(all.front().kind).name);
      c.tells = tells_of(table.row(h.kind), whom(h.verdict.targets));
    }
    if (std::ranges::none_of(out, [&](const Candidate& other) { return same_answer(other, c); }))
      out.push_back(std::move(c));
  }
  std::vector<Candidate> excluded;
  std::set<std::pair<std::string, Subject>> told;
  for (const Excluded& e : w.first.excluded) {
    const auto kind = kind_of(*e.finding);
    if (!kind || e.finding->severity < Severity::distributed || e.reason == Exclusion::led_to ||
        !told.emplace(e.finding->event_class, e.finding->subject).second)
      continue;
    if (excluded.size() < 256) excluded.push_back(of_excluded(e, *kind, table));
  }
  sort_rows(excluded, [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  for (Candidate& c : excluded)
    if (out.size() < kMostCompared) out.push_back(std::move(c));
  if (out.size() > 1)
    std::stable_sort(out.begin() + 1, out.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return out;
}

Sureness sureness_of(const std::vector<Candidate>& differential) {
  // Decibans that the first is ahead: 30, 6 and 2 to one.
  constexpr int kCertain = 15, kLikely = 8, kPossible = 3;
  if (differential.empty()) return Sureness::open;
  const Candidate& first = differential.front();
  if (first.action == Action::investigate || first.action == Action::checks) return Sureness::open;
  const auto next = std::find_if(differential.begin() + 1, differential.end(),
                                 [&](const Candidate& c) { return !same_answer(first, c); });
  const int margin = first.score - (next == differential.end() ? 0 : next->score);
  return margin >= kCertain    ? Sureness::certain
         : margin >= kLikely   ? Sureness::likely
         : margin >= kPossible ? Sureness::possible
                               : Sureness::open;
}

}  // namespace culprit::decide
