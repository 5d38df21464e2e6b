#include "plan/check_outcomes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/standby.hpp"

namespace culprit::plan {

namespace {

using Members = std::vector<std::size_t>;

struct OutcomeCount {
  std::size_t passed = 0, failed = 0;
};

std::vector<WidespreadFailure> widespread_failures(std::span<const CheckOutcome> outcomes,
                                                   const WidespreadParams& params) {
  std::map<std::string, std::map<std::size_t, bool>> alone;  // whether a machine failed the task
  for (const CheckOutcome& o : outcomes)
    if (o.hosts.size() == 1) {
      bool& failed = alone[o.task][o.hosts[0]];
      failed = failed || !o.passed;
    }
  std::vector<WidespreadFailure> out;
  for (const auto& [task, machines] : alone) {
    const auto failed = static_cast<std::size_t>(
        std::ranges::count_if(machines, [](const auto& one) { return one.second; }));
    if (failed < params.least || machines.size() < params.of_tested) continue;
    const Binomial usual = binomial(static_cast<std::int64_t>(machines.size()), params.usual);
    if (1 - usual.cumulative(static_cast<std::int64_t>(failed) - 1) < params.chance)
      out.push_back({task, failed, machines.size()});
  }
  return out;
}

}  // namespace

CheckSolution solve_checks(std::span<const CheckOutcome> outcomes, std::size_t hosts,
                           const WidespreadParams& params) {
  CheckSolution out;
  out.widespread = widespread_failures(outcomes, params);
  std::map<std::pair<std::string, Members>, OutcomeCount> tests;
  std::map<std::string, std::set<std::size_t>> cleared;  // by task
  std::set<std::size_t> tested;
  for (const CheckOutcome& o : outcomes) {
    OutcomeCount& tally = tests[{o.task, o.hosts}];
    ++(o.passed ? tally.passed : tally.failed);
    tested.insert(o.hosts.begin(), o.hosts.end());
    if (o.passed) cleared[o.task].insert(o.hosts.begin(), o.hosts.end());
  }
  std::set<std::size_t> failed;
  std::vector<SuspectSet> groups;
  for (const auto& [test, tally] : tests) {
    const auto& [task, members] = test;
    if (tally.failed == 0 || members.empty()) continue;
    // What came out both ways shows now and then: a pass of the same hosts clears none of them.
    if (tally.passed > 0)
      out.contradictions.push_back({CheckContradiction::Kind::both, task, members});
    if (members.size() == 1) {
      failed.insert(members[0]);
      continue;
    }
    SuspectSet group{task, members, {}};
    if (tally.passed > 0)
      group.within = members;
    else
      for (const std::size_t host : members)
        if (cleared[task].count(host) == 0) group.within.push_back(host);
    if (group.within.size() == 1) failed.insert(group.within[0]);
    if (group.within.empty()) {
      out.contradictions.push_back({CheckContradiction::Kind::between, task, members});
      group.within = members;
    }
    groups.push_back(std::move(group));
  }
  std::set<std::size_t> candidates;
  for (SuspectSet& group : groups) {
    const bool explained = std::ranges::any_of(
        group.within, [&](std::size_t host) { return failed.count(host) != 0; });
    if (explained) continue;
    candidates.insert(group.within.begin(), group.within.end());
    out.open.push_back(std::move(group));
  }
  out.failed.assign(failed.begin(), failed.end());
  out.candidates.assign(candidates.begin(), candidates.end());
  for (const std::size_t host : candidates)
    if (std::ranges::all_of(out.open, [&](const SuspectSet& group) {
          return std::ranges::binary_search(group.within, host);
        }))
      out.in_all.push_back(host);
  for (std::size_t host = 0; host < hosts; ++host) {
    if (tested.count(host) == 0)
      out.untested.push_back(host);
    else if (failed.count(host) == 0 && candidates.count(host) == 0)
      out.passed.push_back(host);
  }
  return out;
}

}  // namespace culprit::plan
