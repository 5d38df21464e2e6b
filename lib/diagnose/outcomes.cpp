#include "outcomes.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/hostlist.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "plan/check_outcomes.hpp"

namespace culprit::diagnose {

namespace {

using Positions = std::vector<std::size_t>;
constexpr std::size_t kMostCited = 8;
constexpr std::size_t kMostCells = 200'000;  // hosts over all rows: more are no rounds of checks

struct Given {
  std::vector<Host> hosts;  // sorted
  std::vector<plan::CheckOutcome> outcomes;
  std::vector<const OutcomeRow*> rows;  // of the same index
};

Given given_of(const analyze::Facts& facts) {
  Given out;
  std::vector<std::vector<Host>> members;
  std::set<Host> names, known;
  for (const HostRow& row : facts.hosts) known.insert(analyze::short_host(row.host));
  std::size_t cells = 0;
  for (const OutcomeRow& row : facts.outcomes) {
    if (!facts.counts(facts.member(row.place.member))) continue;
    std::vector<Host> hosts;
    for (const std::string& name : expand_hostlist(row.hosts).hosts)
      hosts.push_back(analyze::short_host(name));
    // A machine that nothing else names is none of the incident, and a test of it tells nothing.
    if (!std::ranges::all_of(hosts, [&](const Host& host) { return known.count(host) > 0; }))
      continue;
    if ((cells += hosts.size()) > kMostCells) break;
    names.insert(hosts.begin(), hosts.end());
    out.rows.push_back(&row);
    members.push_back(std::move(hosts));
  }
  out.hosts.assign(names.begin(), names.end());
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    plan::CheckOutcome one{out.rows[i]->task, {}, out.rows[i]->passed};
    for (const Host& host : members[i])
      one.hosts.push_back(
          static_cast<std::size_t>(std::ranges::lower_bound(out.hosts, host) - out.hosts.begin()));
    sort_unique(one.hosts);
    out.outcomes.push_back(std::move(one));
  }
  return out;
}

class Findings {
 public:
  Findings(const analyze::Facts& facts, const Given& given) : facts_(facts), given_(given) {}

  std::vector<Finding> made() && {
    const plan::CheckSolution s = plan::solve_checks(given_.outcomes, given_.hosts.size());
    for (const std::size_t host : s.failed) failed(host);
    if (!s.candidates.empty()) one_of(s);
    for (const plan::CheckContradiction& c : s.contradictions) contradiction(c);
    // Who was in a failed group alone, whatever explains that, passed nothing.
    Positions clear = s.passed;
    std::erase_if(clear, [&](std::size_t host) {
      return std::ranges::none_of(
          given_.outcomes, [&](const plan::CheckOutcome& o) { return o.passed && has(o, host); });
    });
    if (!clear.empty()) passed(clear);
    return std::move(out_);
  }

 private:
  std::vector<Host> named(const Positions& hosts) const {
    std::vector<Host> out;
    for (const std::size_t h : hosts) out.push_back(given_.hosts[h]);
    return out;
  }

  // With the rows that `wanted` takes as evidence, and their tasks.
  Finding& add(CheckWord word, std::string id, Subject subject, const Positions& hosts,
               const auto& wanted) {
    Finding& f = out_.emplace_back();
    f.id = "outcomes/" + std::move(id);
    f.analysis = Analysis::outcomes;
    f.outcome = word == CheckWord::passed ? Outcome::ruled_out : Outcome::fired;
    f.subject = std::move(subject);
    f.event_class = "check_" + std::string(enum_name(word));
    f.hosts = named(hosts);
    std::set<std::string> tasks;
    for (std::size_t i = 0; i < given_.rows.size(); ++i) {
      if (!wanted(given_.outcomes[i])) continue;
      ++f.count;
      tasks.insert(given_.rows[i]->task);
      if (f.evidence.size() < kMostCited) f.evidence.push_back(cited(*given_.rows[i]));
    }
    std::string text;
    for (const std::string& task : tasks) text += (text.empty() ? "" : ", ") + task;
    f.facts = OutcomeFacts{word, text.substr(0, 400)};
    return f;
  }
  Evidence cited(const OutcomeRow& row) const {
    Evidence out = facts_.evidence(row.place);
    out.reading = fmt::format("{} of {}: {}", row.task, row.hosts.substr(0, 200),
                              row.passed ? "passed" : "failed");
    return out;
  }
  static const std::string& tasks_of(const Finding& f) {
    return std::get<OutcomeFacts>(f.facts).tasks;
  }
  static bool has(const plan::CheckOutcome& o, std::size_t host) {
    return std::ranges::binary_search(o.hosts, host);
  }

  void failed(std::size_t host) {
    const Host& name = given_.hosts[host];
    const auto alone = [&](const plan::CheckOutcome& o) {
      return !o.passed && o.hosts == Positions{host};
    };
    const bool any = std::ranges::any_of(given_.outcomes, alone);
    Finding& f = add(
        CheckWord::failed, "failed/" + name, {SubjectKind::host, name}, {host},
        [&](const plan::CheckOutcome& o) { return any ? alone(o) : !o.passed && has(o, host); });
    f.host = name;
    f.severity = Severity::critical;
    f.role = Role::root;
    f.cause = CauseKind::machine;
    f.confidence = confidence::kCheckFailed;
    f.title = say(Phrase::check_failed);
    f.why = say(any ? Phrase::check_failed_why : Phrase::check_failed_left, tasks_of(f), name);
  }

  void one_of(const plan::CheckSolution& s) {
    const Positions& hosts = s.in_all.empty() ? s.candidates : s.in_all;
    Finding& f = add(CheckWord::one_of, "one-of", {SubjectKind::job, "job"}, hosts,
                     [&](const plan::CheckOutcome& o) {
                       return !o.passed && std::ranges::any_of(hosts, [&](std::size_t host) {
                         return has(o, host);
                       });
                     });
    f.severity = Severity::warning;
    f.confidence = confidence::kInAllThatFailed;
    f.title = say(Phrase::check_one_of);
    f.why = say(Phrase::check_one_of_why, tasks_of(f), list(f.hosts));
  }

  void contradiction(const plan::CheckContradiction& c) {
    std::string id = "contradiction/" + c.task + "/" + fold_hostlist(named(c.hosts));
    Finding& f = add(
        CheckWord::contradiction, std::move(id), {SubjectKind::job, "job"}, c.hosts,
        [&](const plan::CheckOutcome& o) {
          return o.task == c.task &&
                 (o.hosts == c.hosts ||
                  (c.kind == plan::CheckContradiction::Kind::between && o.passed &&
                   std::ranges::any_of(c.hosts, [&](std::size_t host) { return has(o, host); })));
        });
    f.severity = Severity::warning;
    f.title = say(Phrase::check_contradiction);
    f.why = say(
        c.kind == plan::CheckContradiction::Kind::both ? Phrase::check_both : Phrase::check_between,
        c.task, list(f.hosts));
  }

  void passed(const Positions& hosts) {
    Finding& f = add(CheckWord::passed, "passed", {SubjectKind::job, "job"}, hosts,
                     [](const plan::CheckOutcome& o) { return o.passed; });
    f.title = say(Phrase::check_passed);
    f.why = say(Phrase::check_passed_why, list(f.hosts), tasks_of(f));
  }

  const analyze::Facts& facts_;
  const Given& given_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> outcomes_of(const analyze::Facts& facts) {
  const Given given = given_of(facts);
  if (given.rows.empty()) return {};
  return Findings(facts, given).made();
}

}  // namespace culprit::diagnose
