#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/collectives.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"

namespace culprit::analyze {

std::vector<Finding> collective_findings(const CollectiveReport& report,
                                         const std::vector<SlowRank>& slow, const Facts& facts,
                                         const Topology& topology) {
  std::vector<Finding> out;
  if (report.source == CollectiveSource::none) return out;
  const auto group_name = [&](GroupId id) { return analyze::group_name(facts, id); };
  Finding base;
  base.analysis = Analysis::collectives;
  base.symptom = Symptom::job_hang;
  base.severity = Severity::distributed;
  base.role = Role::root;
  base.figures = {{"source", std::string(name(report.source))},
                  {"ranks_seen", std::to_string(report.seen.size())},
                  {"pending", std::to_string(report.pending)}};
  if (report.leaves.empty()) {
    Finding f = base;
    f.id = "collectives/none";
    f.subject = {SubjectKind::job, "job"};
    f.scope = Scope::job_wide;
    f.symptom = Symptom::none;
    f.severity = Severity::info;
    f.role = Role::advice;
    f.title = report.moving         ? "collectives were moving"
              : report.pending == 0 ? "nothing unfinished"
                                    : "nobody stands out";
    f.outcome =
        report.moving || report.pending == 0 ? Outcome::ruled_out : Outcome::not_enough_evidence;
    f.confidence = confidence::kCollectivesOpen;
    f.why = report.moving         ? report.moving_why
            : report.pending == 0 ? "no rank has an unfinished operation"
                                  : "operations are unfinished, and no rank is behind all others";
    out.push_back(std::move(f));
  }
  std::set<std::string> ids;
  for (const Leaf& leaf : report.leaves) {
    Finding f = base;
    f.event_class = fmt::format("stopped/{}", name(leaf.kind));
    std::replace(f.event_class.begin(), f.event_class.end(), ' ', '_');
    f.confidence = leaf.confidence;
    f.why = leaf.why;
    f.ranks = leaf.ranks;
    f.hosts = topology.hosts_of(leaf.ranks);
    if (f.hosts.size() == 1) f.host = f.hosts.front();
    if (leaf.kind == StopKind::network ||
        (leaf.kind == StopKind::mismatch && leaf.ranks.size() > 1)) {
      f.subject = {SubjectKind::group, group_name(leaf.group)};
      f.scope = leaf.kind == StopKind::mismatch ? Scope::user_code : Scope::shared;
    } else {
      f.subject = {SubjectKind::rank, std::to_string(leaf.ranks[0])};
      f.scope = leaf.kind == StopKind::mismatch || leaf.kind == StopKind::left_early
                    ? Scope::user_code
                    : Scope::host_local;
    }
    if (leaf.kind == StopKind::mismatch) f.symptom = Symptom::collective_mismatch;
    f.title = leaf.kind == StopKind::host_stopped
                  ? "rank whose host process stopped before a collective"
              : leaf.kind == StopKind::device_stopped ? "rank whose GPU stopped inside a collective"
              : leaf.kind == StopKind::network        ? "collective without progress"
              : leaf.kind == StopKind::mismatch       ? "ranks that call different collectives"
              : leaf.kind == StopKind::left_early     ? "rank that left early"
                                                      : "rank without a dump that others wait for";
    f.id = fmt::format("collectives/{}/{}", f.event_class.substr(8),
                       f.subject.kind == SubjectKind::rank
                           ? "rank/" + f.subject.id
                           : fmt::format("{}/{}", f.subject.id, leaf.sequence));
    while (!ids.insert(f.id).second) f.id += "+";
    f.figures.push_back({"group", group_name(leaf.group)});
    f.figures.emplace_back("kind", name(leaf.kind));
    f.figures.push_back({"operation", leaf.operation});
    f.figures.push_back({"ranks", to_ranges(leaf.ranks)});
    f.figures.push_back({"sequence", std::to_string(leaf.sequence)});
    f.figures.push_back({"tie", leaf.tie ? "1" : "0"});
    f.figures.push_back({"waiting", std::to_string(leaf.waiting)});
    std::sort(f.figures.begin(), f.figures.end());
    const auto show = [&](const Place& p) {
      const bool told = std::any_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
        return e.member == p.member && e.offset == p.offset;
      });
      if (p.member != 0 && !told && f.evidence.size() < 8) f.evidence.push_back(facts.evidence(p));
    };
    for (const Place& p : leaf.places) show(p);
    if (&leaf == &report.leaves.front())
      for (const Wait& w : report.chain) show(w.place);
    out.push_back(std::move(f));
  }
  for (const SlowRank& s : slow) {
    Finding f = base;
    f.id = fmt::format("collectives/slow/rank/{}/{}", s.rank, group_name(s.group));
    f.event_class = "slow_rank";
    f.symptom = Symptom::mfu_decline;
    f.severity = Severity::warning;
    f.role = Role::advice;
    f.subject = {SubjectKind::rank, std::to_string(s.rank)};
    f.ranks = {s.rank};
    f.hosts = topology.hosts_of(f.ranks);
    if (!f.hosts.empty()) f.host = f.hosts.front();
    f.title = "rank that joins collectives last";
    f.confidence = confidence::kCollectivesOpen;
    f.why = fmt::format(
        "it spends {:.2f} ms in an operation of {}, its peers {:.2f} ms on average: they wait for "
        "it",
        s.inside_ms, group_name(s.group), s.others_ms);
    for (const RecorderRow& d : facts.recorders)
      if (const MemberRow* m = facts.member(d.place.member);
          f.evidence.size() < 2 && m != nullptr && (d.rank == s.rank || m->rank == s.rank))
        f.evidence.push_back(facts.evidence(d.place));
    f.figures = {{"inside_ms", fmt::format("{:.3f}", s.inside_ms)},
                 {"late_ms", fmt::format("{:.3f}", s.late_ms)},
                 {"operations", std::to_string(s.operations)},
                 {"others_ms", fmt::format("{:.3f}", s.others_ms)}};
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
