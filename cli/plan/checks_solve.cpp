#include "checks_solve.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "incident.hpp"
#include "ingest/table/bare_table.hpp"
#include "ingest/table/outcomes.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "plan/check_outcomes.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;
using Kind = plan::CheckContradiction::Kind;

constexpr std::size_t kMostOutcomes = 1u << 20;

struct NamedOutcome {
  std::string task;
  std::vector<std::string> hosts;
  bool passed = false;
};

// What the plan printed: checks without an outcome were not run.
Result<std::vector<NamedOutcome>> outcomes_of_plan(const nlohmann::json& document,
                                                   const std::string& path) {
  const auto broken = [&](const std::string& what) {
    return usage_error(what).at({path, 0}).hint(
        "it is what `culprit plan checks --json` prints, with \"passed\": true or false");
  };
  if (!document.is_object() || !document.contains("checks") || !document["checks"].is_array())
    return broken("it has no list of checks");
  std::vector<NamedOutcome> out;
  for (const auto& check : document["checks"]) {
    if (!check.is_object() || !check.contains("task") || !check["task"].is_string() ||
        !check.contains("items") || !check["items"].is_array())
      return broken("a check has no task or no items");
    for (const auto& item : check["items"]) {
      if (!item.is_object() || !item.contains("hosts") || !item["hosts"].is_array() ||
          !item.contains("passed") || !(item["passed"].is_boolean() || item["passed"].is_null()))
        return broken(fmt::format("an item of '{}' has no hosts, or `passed` is no truth value",
                                  check["task"].get<std::string>()));
      if (item["passed"].is_null()) continue;
      NamedOutcome one{check["task"].get<std::string>(), {}, item["passed"].get<bool>()};
      for (const auto& host : item["hosts"]) {
        if (!host.is_string() || host.get_ref<const std::string&>().empty())
          return broken("a host is no name");
        one.hosts.push_back(host.get<std::string>());
      }
      if (one.hosts.empty()) return broken("an item names no host");
      out.push_back(std::move(one));
    }
  }
  return out;
}

Result<std::vector<NamedOutcome>> outcomes_of_table(std::string bytes, const std::string& path) {
  CULPRIT_TRY(table, ingest::read_bare_table(std::move(bytes), path));
  const auto* task = table.named({"task", "test", "check", "name"});
  const auto* hosts = table.named({"hosts", "host", "node", "nodes", "nodelist", "members"});
  const auto* outcome = table.named({"outcome", "passed", "result", "status", "pass"});
  if (hosts == nullptr || outcome == nullptr)
    return fail("the table does not say which hosts passed")
        .at({path, 1})
        .hint("columns: task, hosts (a name or a list such as n[1-2]) and outcome (pass or fail)");
  std::vector<NamedOutcome> out;
  for (std::size_t r = 0; r < table.rows; ++r) {
    const auto complaint = [&](const std::string& what, const char* hint) {
      return fail(what).at({path, r + (table.header ? 2 : 1)}).hint(hint);
    };
    const auto passed = ingest::passed_by_word(outcome->cells[r]);
    if (!passed)
      return complaint(fmt::format("'{}' is no outcome", outcome->cells[r]),
                       "pass or fail; a check that was not run is left out");
    Hostlist list = expand_hostlist(hosts->cells[r]);
    if (list.capped)
      return complaint(
          fmt::format("'{}' names more than {} hosts", hosts->cells[r], list.hosts.size()),
          "divide the row, or leave out what nobody tested");
    if (list.hosts.empty())
      return complaint(fmt::format("'{}' names no hosts", hosts->cells[r]),
                       "a name, or a list such as n[1-2]; quoted when it has commas");
    out.push_back(
        {task == nullptr ? "test" : std::string(task->cells[r]), std::move(list.hosts), *passed});
  }
  return out;
}

struct Solved {
  std::vector<std::string> hosts;  // by name
  plan::CheckSolution answer;
  std::size_t outcomes = 0;
};

Solved solved(const std::vector<NamedOutcome>& outcomes) {
  Solved out;
  std::set<std::string> names;
  for (const NamedOutcome& o : outcomes) names.insert(o.hosts.begin(), o.hosts.end());
  out.hosts.assign(names.begin(), names.end());
  std::vector<plan::CheckOutcome> given;
  for (const NamedOutcome& o : outcomes) {
    plan::CheckOutcome one{o.task, {}, o.passed};
    for (const std::string& host : o.hosts)
      one.hosts.push_back(
          static_cast<std::size_t>(std::ranges::lower_bound(out.hosts, host) - out.hosts.begin()));
    sort_unique(one.hosts);
    given.push_back(std::move(one));
  }
  out.outcomes = given.size();
  out.answer = plan::solve_checks(given, out.hosts.size());
  return out;
}

std::vector<std::string> names(const Solved& s, const std::vector<std::size_t>& hosts) {
  std::vector<std::string> out;
  for (const std::size_t h : hosts) out.push_back(s.hosts[h]);
  return out;
}

std::string folded(const Solved& s, const std::vector<std::size_t>& hosts) {
  return report::visible(fold_hostlist(names(s, hosts)));
}

const char* why(Kind kind) {
  return kind == Kind::both ? "passed and failed: the fault comes and goes"
                            : "failed together, and each passed with others: the link between "
                              "them, or a fault that comes and goes";
}

std::string text_of(const Solved& s) {
  const plan::CheckSolution& a = s.answer;
  std::string out;
  if (!a.failed.empty())
    out += fmt::format("{} failed: take {} out of the job\n", folded(s, a.failed),
                       a.failed.size() == 1 ? "it" : "them");
  if (a.in_all.size() == 1)
    out +=
        fmt::format("{} is in every failed test of several that is left: the first to take out\n",
                    folded(s, a.in_all));
  if (!a.candidates.empty())
    out += fmt::format("at fault is one of {}: test each with a machine that passed\n",
                       folded(s, a.candidates));
  for (const plan::WidespreadFailure& w : a.widespread)
    out += report::paragraph(
        "  ",
        fmt::format("{}: {} of {} hosts failed, and 2 % are usual: look at what was updated last, "
                    "and roll it back before hosts are taken out",
                    report::visible(w.task), w.failed, w.tested),
        78, 4);
  if (out.empty()) out = fmt::format("nothing failed in {} outcomes\n", s.outcomes);
  for (const plan::SuspectSet& open : a.open)
    out += report::paragraph(
        "  ",
        fmt::format("{}: {} failed; of them {} did not pass it with "
                    "others",
                    report::visible(open.task), folded(s, open.hosts), folded(s, open.within)),
        78, 4);
  for (const plan::CheckContradiction& c : a.contradictions)
    out += report::paragraph("  ",
                             fmt::format("contradiction: {}: {} {}", report::visible(c.task),
                                         folded(s, c.hosts), why(c.kind)),
                             78, 4);
  if (!a.passed.empty()) out += fmt::format("  passed: {}\n", folded(s, a.passed));
  return out;
}

std::string json_of(const Solved& s) {
  const plan::CheckSolution& a = s.answer;
  ordered_json out{{"schema", "culprit.plan-checks-solution/1"},
                   {"outcomes", s.outcomes},
                   {"failed", names(s, a.failed)},
                   {"candidates", names(s, a.candidates)},
                   {"in_all", names(s, a.in_all)},
                   {"open", ordered_json::array()},
                   {"contradictions", ordered_json::array()},
                   {"widespread", ordered_json::array()},
                   {"passed", names(s, a.passed)}};
  for (const plan::SuspectSet& open : a.open)
    out["open"].push_back(
        {{"task", open.task}, {"hosts", names(s, open.hosts)}, {"within", names(s, open.within)}});
  for (const plan::WidespreadFailure& w : a.widespread)
    out["widespread"].push_back({{"task", w.task}, {"failed", w.failed}, {"tested", w.tested}});
  for (const plan::CheckContradiction& c : a.contradictions)
    out["contradictions"].push_back({{"task", c.task},
                                     {"hosts", names(s, c.hosts)},
                                     {"kind", c.kind == Kind::both ? "both" : "between"}});
  return json_text(out) + "\n";
}

}  // namespace

Result<Exit> solve_plan_checks(const Arguments&, const PlanInput& input, const std::string& path) {
  CULPRIT_TRY(bytes, read_plan_file(path));
  std::vector<NamedOutcome> outcomes;
  if (contains(bytes, "culprit.plan-checks/1")) {
    CULPRIT_TRY(document, parse_plan_json(bytes, path, "the list of `culprit plan checks --json`"));
    CULPRIT_TRY(read, outcomes_of_plan(document, path));
    outcomes = std::move(read);
  } else {
    CULPRIT_TRY(read, outcomes_of_table(std::move(bytes), path));
    outcomes = std::move(read);
  }
  if (outcomes.empty())
    return usage_error("no check has an outcome")
        .at({path, 0})
        .hint("write \"passed\": true or false beside each check that was run");
  if (outcomes.size() > kMostOutcomes)
    return usage_error(fmt::format("{} outcomes are more than {}", outcomes.size(), kMostOutcomes))
        .at({path, 0})
        .hint("leave out machines that passed everything");
  const Solved answer = solved(outcomes);
  print(input.wants_json() ? identified(json_of(answer)) : text_of(answer));
  return Exit::finished;
}

}  // namespace culprit::cli
