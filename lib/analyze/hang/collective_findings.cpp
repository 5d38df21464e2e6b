#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/collectives.hpp"
#include "analyze/hang/work_requests.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

Text title_of(StopKind kind) {
  switch (kind) {
    case StopKind::host_stopped: return say(Phrase::rank_stopped_before);
    case StopKind::device_stopped: return say(Phrase::rank_gpu_stopped);
    case StopKind::network: return say(Phrase::no_progress);
    case StopKind::mismatch: return say(Phrase::call_differently);
    case StopKind::left_early: return say(Phrase::rank_left_early);
    default: return say(Phrase::rank_without_dump);
  }
}

// Why no rank is named.
Finding none_named(const Finding& base, const CollectiveReport& report) {
  Finding f = base;
  f.id = "collectives/none";
  f.subject = {SubjectKind::job, "job"};
  f.scope = Scope::job_wide;
  f.symptom = Symptom::none;
  f.severity = Severity::info;
  f.role = Role::advice;
  f.title = say(report.moving         ? Phrase::collectives_moving
                : report.pending == 0 ? Phrase::nothing_unfinished
                                      : Phrase::no_rank_stands_out);
  f.outcome =
      report.moving || report.pending == 0 ? Outcome::ruled_out : Outcome::not_enough_evidence;
  f.confidence = confidence::kCollectivesOpen;
  f.why = report.moving
              ? report.moving_why
              : say(report.pending == 0 ? Phrase::no_unfinished_operation : Phrase::nobody_behind);
  return f;
}

// Who a leaf names, and how sure that is.
Finding subject_of(const Finding& base, const Leaf& leaf, const Facts& facts,
                   const Topology& topology) {
  Finding f = base;
  f.event_class = fmt::format("stopped/{}", name(leaf.kind));
  std::ranges::replace(f.event_class, ' ', '_');
  f.confidence = leaf.confidence;
  f.why = leaf.why;
  f.ranks = leaf.ranks;
  f.hosts = topology.hosts_of(leaf.ranks);
  if (f.hosts.size() == 1) f.host = f.hosts.front();
  if (leaf.requests && leaf.ranks.size() == 1) {
    f.subject = {SubjectKind::rank, std::to_string(number_of(leaf.ranks[0]))};
    f.scope = Scope::shared;
  } else if (leaf.kind == StopKind::network ||
             (leaf.kind == StopKind::mismatch && leaf.ranks.size() > 1)) {
    f.subject = {SubjectKind::group, group_name(facts, leaf.group)};
    f.scope = leaf.kind == StopKind::mismatch ? Scope::user_code : Scope::shared;
  } else {
    f.subject = {SubjectKind::rank, std::to_string(number_of(leaf.ranks[0]))};
    f.scope = leaf.kind == StopKind::mismatch || leaf.kind == StopKind::left_early
                  ? Scope::user_code
                  : Scope::host_local;
  }
  if (leaf.kind == StopKind::mismatch) f.symptom = Symptom::collective_mismatch;
  f.title = title_of(leaf.kind);
  return f;
}

Finding joins_last(const Finding& base, const SlowRank& s, const Facts& facts,
                   const Topology& topology) {
  Finding f = base;
  f.id = fmt::format("collectives/slow/rank/{}/{}", s.rank, group_name(facts, s.group));
  f.event_class = "slow_rank";
  f.symptom = Symptom::mfu_decline;
  f.severity = Severity::warning;
  f.role = Role::advice;
  f.subject = {SubjectKind::rank, std::to_string(number_of(s.rank))};
  f.ranks = {s.rank};
  f.hosts = topology.hosts_of(f.ranks);
  if (!f.hosts.empty()) f.host = f.hosts.front();
  f.title = say(Phrase::joins_last);
  f.confidence = confidence::kCollectivesOpen;
  f.why = say(Phrase::late_to_operation, s.inside_ms, group_name(facts, s.group), s.others_ms);
  for (const RecorderRow& d : facts.recorders)
    if (const MemberRow* m = facts.member(d.place.member);
        f.evidence.size() < 2 && m != nullptr && (d.rank == s.rank || m->rank == s.rank))
      f.evidence.push_back(evidence_of(facts, cited(facts, d)));
  f.figures = {{"inside_ms", fmt::format("{:.3f}", s.inside_ms)},
               {"late_ms", fmt::format("{:.3f}", s.late_ms)},
               {"operations", std::to_string(s.operations)},
               {"others_ms", fmt::format("{:.3f}", s.others_ms)}};
  return f;
}

Finding takes_longer(const Finding& base, const SlowRequests& s, const Facts& facts,
                     const Topology& topology) {
  Finding f = base;
  const std::string group = group_name(facts, s.group);
  f.id = fmt::format("collectives/slow_requests/rank/{}/{}", s.rank, group);
  f.event_class = "slow_requests";
  f.symptom = Symptom::mfu_decline;
  f.severity = Severity::warning;
  f.role = Role::advice;
  f.scope = Scope::shared;
  f.subject = {SubjectKind::rank, std::to_string(number_of(s.rank))};
  f.ranks = {s.rank};
  if (s.peer != kNoRank && s.peer != s.rank) f.ranks.push_back(s.peer);
  sort_rows(f.ranks);
  f.hosts = topology.hosts_of(f.ranks);
  if (f.hosts.size() == 1) f.host = f.hosts.front();
  f.title = say(Phrase::slow_requests);
  f.confidence = confidence::kCollectivesOpen;
  f.why = say(Phrase::requests_take, group, s.factor(), s.ms_per_mb,
              s.peer == kNoRank ? std::string() : topology.where(s.peer));
  f.evidence = {evidence_of(facts, cited(facts, *s.row))};
  f.figures = {{"factor", fmt::format("{:.3f}", s.factor())},
               {"ms_per_mb", fmt::format("{:.4g}", s.ms_per_mb)},
               {"others_ms_per_mb", fmt::format("{:.4g}", s.others_ms_per_mb)}};
  sort_rows(f.figures);
  return f;
}

}  // namespace

std::vector<Finding> collective_findings(const CollectiveReport& report,
                                         const std::vector<SlowRank>& slow, const Facts& facts,
                                         const Topology& topology) {
  std::vector<Finding> out;
  const auto late = slow_requests(facts, Communicators(facts));
  if (report.source == CollectiveSource::none && late.empty()) return out;
  const auto group_name = [&](GroupId id) { return analyze::group_name(facts, id); };
  Finding base{.analysis = Analysis::collectives,
               .symptom = Symptom::job_hang,
               .severity = Severity::distributed,
               .role = Role::root,
               .figures = {{"source", std::string(name(report.source))},
                           {"ranks_seen", std::to_string(report.seen.size())},
                           {"pending", std::to_string(report.pending)}}};
  if (report.leaves.empty() && report.source != CollectiveSource::none)
    out.push_back(none_named(base, report));
  std::set<std::string> ids;
  for (const Leaf& leaf : report.leaves) {
    Finding f = subject_of(base, leaf, facts, topology);
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
    sort_rows(f.figures);
    const auto show = [&](const Citation& c) {
      const bool told = std::ranges::any_of(f.evidence, [&](const Evidence& e) {
        return e.member == c.place.member && e.offset == c.place.offset;
      });
      if (c.place.member != 0 && !told && f.evidence.size() < 8)
        f.evidence.push_back(evidence_of(facts, c));
    };
    for (const Citation& c : leaf.places) show(c);
    if (&leaf == &report.leaves.front())
      for (const Wait& w : report.chain) show(w.place);
    out.push_back(std::move(f));
  }
  for (const SlowRequests& s : late) {
    Finding f = takes_longer(base, s, facts, topology);
    while (!ids.insert(f.id).second) f.id += "+";
    out.push_back(std::move(f));
  }
  for (const SlowRank& s : slow) out.push_back(joins_last(base, s, facts, topology));
  return out;
}

}  // namespace culprit::analyze
