#include "analyze/pace/slow_groups.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/collectives.hpp"
#include "analyze/metrics/crowd.hpp"
#include "analyze/facts/topology.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

std::vector<GroupTime> group_times(const Facts& facts, GroupId group,
                                   std::span<const HistoryRow> histories,
                                   const SlowGroupParams& params) {
  std::vector<GroupTime> out;
  const GroupRow* row = facts.group(group);
  if (row == nullptr || histories.size() < 2) return out;
  struct GroupRun {
    double least = 0;
    std::uint32_t signature = 0;
    bool same = true;
  };
  std::map<std::int64_t, GroupRun> runs;  // by sequence
  for (const HistoryRow& h : histories)
    for (const HistoryEntry& e : h.entries) {
      if (e.state != 2 || e.p2p != 0) continue;
      const double ms = e.duration_ms >= 0 ? static_cast<double>(e.duration_ms)
                        : e.created_ns > 0 && e.completed_ns > e.created_ns
                            ? static_cast<double>(e.completed_ns - e.created_ns) / 1e6
                            : -1;
      if (ms <= 0) continue;
      const auto [it, fresh] = runs.emplace(e.sequence, GroupRun{ms, e.signature, true});
      if (fresh) continue;
      it->second.least = std::min(it->second.least, ms);
      it->second.same = it->second.same && it->second.signature == e.signature;
    }
  std::map<std::uint32_t, std::vector<double>> by_kind;
  for (const auto& [sequence, run] : runs)
    if (run.same) by_kind[run.signature].push_back(run.least);
  const std::string dimension = row->description.empty() ? "group" : dimension_of(row->description);
  for (auto& [signature, times] : by_kind) {
    if (times.size() < params.least) continue;
    GroupTime g;
    g.name = group_name(facts, group);
    // The signature is a hash of operation, sizes and types: equal ones move as much.
    g.kind = fmt::format("{} of {} {:08x}", dimension,
                         row->size > 0 ? row->size : static_cast<std::int64_t>(row->ranks.size()),
                         signature);
    g.volume = 1;
    g.time = median_in_place(times);
    out.push_back(std::move(g));
  }
  return out;
}

std::vector<Finding> slow_group_findings(const Facts& facts, std::span<const GroupTime> times,
                                         const SlowGroupParams& params) {
  std::vector<Finding> out;
  const GroupComparison compared = compare_groups(times, params.compare);
  std::set<std::string> fair;                // kinds with enough groups
  std::map<std::string, std::size_t> kinds;  // of each group
  std::map<std::string, std::size_t> alike;  // groups it was compared with
  for (const GroupCluster& c : compared.clusters) {
    if (c.groups.size() < params.least_groups || c.against != GroupCluster::Against::median)
      continue;
    fair.insert(c.kind);
    for (const std::string& name : c.groups)
      ++kinds[name], alike[name] = std::max(alike[name], c.groups.size());
  }
  std::map<std::string, std::vector<const SlowGroup*>> slow;
  for (const SlowGroup& s : compared.slow)
    if (fair.count(s.kind) > 0 && s.against == GroupCluster::Against::median)
      slow[s.name].push_back(&s);
  for (const auto& [group, list] : slow) {
    if (static_cast<double>(list.size()) < params.mostly * static_cast<double>(kinds[group]))
      continue;
    std::vector<double> factors;
    for (const SlowGroup* s : list) factors.push_back(s->factor);
    const double factor = median_in_place(factors);
    Finding f;
    f.analysis = Analysis::slow_group;
    f.event_class = "slow_group/volume";
    f.id = "slow_group/" + group;
    f.subject = {SubjectKind::group, group};
    f.scope = Scope::job_wide;
    f.symptom = Symptom::mfu_decline;
    f.confidence = confidence::kSlowGroup;
    f.title = say(Phrase::its_collectives_take, factor);
    f.why = say(Phrase::median_of_kinds, list.size(), alike[group], 100 * params.compare.factor);
    f.figures = {{"factor", fmt::format("{:.3f}", factor)},
                 {"groups", std::to_string(alike[group])},
                 {"kinds", std::to_string(list.size())},
                 {"time_ms", fmt::format("{:.4g}", list.front()->time)}};
    f.count = list.size();
    for (std::size_t i = 0; i < facts.groups.size(); ++i) {
      const auto id = group_at(i);
      if (group_name(facts, id) != group) continue;
      f.ranks = facts.groups[i].ranks;
      for (const FrontierRow& row : facts.frontiers)
        if (row.group == id && f.evidence.size() < 2)
          f.evidence.push_back(facts.evidence(row.place));
    }
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
