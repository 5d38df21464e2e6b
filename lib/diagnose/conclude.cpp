#include "conclude.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/job_life.hpp"
#include "analyze/facts/job_pods.hpp"
#include "analyze/facts/rank_map.hpp"
#include "analyze/facts/step_lines.hpp"
#include "analyze/pace/pipeline_bubble.hpp"
#include "decide/candidate.hpp"
#include "decide/decide.hpp"
#include "decide/storage_servers.hpp"
#include "holdings.hpp"
#include "identity.hpp"
#include "isolation_cost.hpp"
#include "last_lines.hpp"
#include "model/contains.hpp"
#include "line/trimmed.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "read.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "several.hpp"

namespace culprit::diagnose {

namespace {

std::vector<decide::ExitFact> exits_of(const analyze::Facts& facts) {
  std::vector<decide::ExitFact> out;
  const analyze::StepLines steps(facts);
  for (const ExitRow& x : facts.exits) {
    // The end of an earlier run, or of a tool, that the log of this one holds.
    if (steps.follow(x.place.member, x.place.line, x.time_ns)) continue;
    if (facts.earlier_output.count(x.place.member) > 0 ||
        analyze::goes_on_elsewhere(facts, x.place.member) ||
        (facts.start_is_known && facts.job_start && x.time_ns &&
         *x.time_ns + kMinute < *facts.job_start))
      continue;  // how an earlier run ended
    const Evidence evidence = facts.evidence(x.place);
    out.push_back({x.source, x.code, evidence, x.time_ns, x.host, x.rank, x.blamed});
  }
  return out;
}

// Their numbers, by the hosts whose output tells them; no host where nothing does.
std::map<std::optional<Host>, std::set<std::int64_t>> processes_of_job(
    const analyze::Facts& facts) {
  static const re2::RE2 kSignalled(R"(Sending process (\d+) closing signal)");
  std::map<std::optional<Host>, std::set<std::int64_t>> out;
  const auto note = [&](const std::optional<Host>& host, const Place& place, std::int64_t pid) {
    const MemberRow* m = facts.member(place.member);
    const std::optional<Host>& named = host || m == nullptr ? host : m->host;
    out[named ? std::optional(analyze::short_host(*named)) : std::nullopt].insert(pid);
  };
  for (const IdentityRow& i : facts.identities)
    if (i.pid && analyze::tells_of_job(i)) note(i.host, i.place, *i.pid);
  for (const ExitRow& x : facts.exits)
    if (x.pid) note(x.host, x.place, *x.pid);
  for (const analyze::StackSample& s : facts.samples)  // somebody dumped what hangs
    if (s.row.pid) note(s.row.host, s.row.place, *s.row.pid);
  for (const EventRow& e : facts.events)
    if (std::int64_t pid = 0;
        e.traits.has(Trait::launcher_stop) && re2::RE2::PartialMatch(e.message, kSignalled, &pid))
      note(e.host, e.place, pid);
  return out;
}

bool mixed_clocks(const analyze::Facts& facts) {
  bool utc = false, local = false;
  for (const EventRow& e : facts.events) {
    utc = utc || e.time.clock == Clock::utc;
    local = local || e.time.clock == Clock::local || e.time.clock == Clock::local_no_year;
  }
  return utc && local;
}

// The mean of the span; 0: not known.
Nanoseconds step_time_of(const ProgressSpan& p) {
  if (!p.first.time_ns || !p.last.time_ns || !p.first.iteration || !p.last.iteration ||
      *p.last.iteration <= *p.first.iteration || *p.last.time_ns <= *p.first.time_ns)
    return 0;
  return (*p.last.time_ns - *p.first.time_ns) / (*p.last.iteration - *p.first.iteration);
}

// A bar may be an upload's: good enough for the pace, no proof that the job went on.
void see_progress(const analyze::Facts& facts, decide::Case& incident) {
  for (const ProgressSpan& p : facts.progress) {
    if (p.framework == "tqdm") continue;
    for (const auto& time : {p.first.time_ns, p.last.time_ns})
      if (time) incident.first_progress = std::min(incident.first_progress.value_or(*time), *time);
    if (p.last.time_ns && (!incident.last_progress || *p.last.time_ns > *incident.last_progress)) {
      incident.last_progress = p.last.time_ns;
      incident.last_step = facts.evidence(p.last.place, {});
      incident.newest_first = p.rows > 1 && p.first.place.line > p.last.place.line;
      incident.step_time = step_time_of(p);
      incident.step_line_interval =
          p.first.time_ns && p.rows > 1
              ? (*p.last.time_ns - *p.first.time_ns) / static_cast<Nanoseconds>(p.rows - 1)
              : 0;
    }
    if (!p.last.time_ns && !incident.last_progress)  // its place says what stands behind it
      incident.last_step = facts.evidence(p.last.place, {});
    if (p.first_nan && p.first_nan->iteration &&
        *p.first_nan->iteration <= incident.first_nan.value_or(*p.first_nan->iteration)) {
      incident.first_nan = p.first_nan->iteration;
      incident.last_finite = p.last_good ? p.last_good->iteration : std::nullopt;
    }
    if (p.last.iteration && *p.last.iteration >= incident.last_iteration.value_or(0)) {
      const bool same = incident.last_iteration == p.last.iteration;
      incident.ended_not_a_number = p.last.loss_nan || (same && incident.ended_not_a_number);
      incident.last_iteration = p.last.iteration;
      if (p.last.total) incident.planned_iterations = p.last.total;
    }
  }
}

decide::Case case_of(const Resolved& resolved) {
  const auto& [facts, topology] = resolved;
  decide::Case incident{.exits = exits_of(facts), .hosts = hosts_in_question(facts)};
  for (const HostRow& h : facts.hosts) incident.hosts_with_output += h.has_log;
  incident.job_hosts = analyze::hosts_of_job(facts);
  auto placed = analyze::pods_beside_nodes(facts);
  incident.pods = std::move(placed.pods);
  incident.nodes_of_pods = std::move(placed.nodes);
  incident.storage_servers = analyze::storage_servers(facts);
  incident.completed = analyze::job_completed(facts);
  incident.recorded_failed = analyze::recorded_failed(facts);
  if (const EventRow* e = analyze::closing_line(facts); e != nullptr) {
    incident.closing = facts.evidence(e->place, e->message);
    incident.closing_time = e->time_ns;
    incident.closing_of_launcher = e->traits.has(Trait::launcher_completed);
  }
  incident.scheduler = scheduler_of(facts);
  incident.command_manager = has_command_manager(facts);
  incident.uses_gpus = analyze::uses_gpus(facts);
  incident.ranks =
      std::max<std::size_t>(facts.ranks.size(), static_cast<std::size_t>(facts.world_size));
  incident.has_rank_map =
      std::ranges::any_of(facts.ranks, [](const RankRow& r) { return r.host.has_value(); });
  // What hosts hang on, and pods: a spine would have all of them below it, a rack shares no cable.
  for (const analyze::Switch& s : topology.switches)
    if ((s.level == 0 && s.kind != "rack" && s.kind != "rail") || s.kind == "pod")
      incident.switches.emplace_back(s.name, s.hosts);
  incident.holds = holdings_of(facts, topology);
  incident.hosts_heard = hosts_heard(facts);
  incident.machines = machines_of(facts, incident.holds);
  incident.job_gpus = gpus_of_job(facts);
  incident.all_hosts = incident.job_hosts;
  if (incident.all_hosts.empty())
    for (const HostRow& h : facts.hosts) incident.all_hosts.push_back(h.host);
  sort_rows(incident.all_hosts);
  for (const RankRow& r : facts.ranks)
    if (r.host) incident.places.emplace_back(r.rank, *r.host);
  for (const RankRow& r : facts.ranks)
    if (r.local_rank) incident.local_ranks.emplace(r.rank, *r.local_rank);
  sort_rows(incident.places);
  for (const IdentityRow& i : facts.identities)
    if (i.source == "pod" && i.host)
      incident.kubernetes_nodes.emplace(analyze::short_host(*i.host), *i.host);
  incident.processes = processes_of_job(facts);
  incident.pod_nodes = analyze::nodes_of_pods(facts);
  incident.has_stacks = !facts.samples.empty();
  incident.has_recorder = !facts.recorders.empty();
  incident.mixed_clocks = !facts.zone_known && mixed_clocks(facts);
  incident.zone_guessed = !facts.zone_known;
  incident.job_start = facts.job_start;
  incident.job_end = facts.job_end;
  incident.any_training_output =
      !facts.progress.empty() || !facts.tracebacks.empty() || !facts.exits.empty() ||
      std::ranges::any_of(facts.identities, analyze::tells_of_job) ||
      std::ranges::any_of(facts.events, [](const EventRow& e) {
        return e.role == Role::cascade && e.severity >= Severity::distributed &&
               !analyze::said_by_unit(e);
      });
  for (const EventRow& e : facts.events)
    if (const auto& last = e.last_time_ns ? e.last_time_ns : e.time_ns; last)
      incident.last_word = std::max(incident.last_word.value_or(*last), *last);
  see_progress(facts, incident);
  std::erase_if(incident.exits, [&](const decide::ExitFact& x) {
    return x.time && decide::outlived(incident, x.evidence, *x.time);
  });
  if (topology.layout) {
    incident.tp = topology.layout->tp;
    incident.pp = topology.layout->pp;
    incident.dp = topology.layout->dp;
  }
  if (facts.manifest) incident.gpus_per_host = facts.manifest->gpus_per_node;
  incident.bubble = analyze::pipeline_bubble(facts);
  return incident;
}

// What of the input the verdict does not rest on, and what was assumed.
std::vector<Text> notes_of(const store::Database& db, const Resolved& resolved) {
  const auto& [facts, topology] = resolved;
  std::vector<Text> out = facts.notes;
  if (const Text several = several_incidents(db, resolved); !several.empty())
    out.insert(out.begin(), say(Phrase::several_incidents_as_one, several));
  out.insert(out.end(), topology.notes.begin(), topology.notes.end());
  if (!facts.zone_known) out.push_back(say(Phrase::utc_assumed));
  std::vector<std::string> unread;
  for (const MemberRow& m : facts.members)
    if (m.format == "metrics") unread.push_back(m.path);
  sort_rows(unread);
  if (!unread.empty())
    out.push_back(say(Phrase::metrics_not_looked_into, unread.size(), list(unread, 3)));
  std::vector<std::string> others;
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && facts.foreign(m)) others.push_back(m.path);
  if (!others.empty()) out.push_back(say(Phrase::of_another_job, list(others, 3), others.size()));
  for (const RejectRow& reject : db.rows<RejectRow>())
    if (reject.reason == "manifest.not_json")
      out.push_back(say(Phrase::manifest_not_used, reject.excerpt));
  return out;
}

// No rule found anything: what the log said last is all there is.
bool nothing_known(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings,
                              [](const Finding& f) { return f.fired(Analysis::classify); });
}

}  // namespace

Result<Conclusion> conclude(store::Database& db, const Resolved& resolved,
                            std::vector<Finding> findings, std::span<const PastIncident> history,
                            Pictures pictures) {
  const auto& [facts, topology] = resolved;
  decide::Case incident = case_of(resolved);
  incident.findings = std::move(findings);
  decide::faults_of_servers(incident);
  std::vector<PastIncident> earlier;
  if (!history.empty()) {
    const auto start = decide::decide_in_place(incident).start;
    earlier = relevant_history(history, db, facts, start);
    CULPRIT_CHECK(check_history(earlier, db, facts, start));
  }
  incident.history = history_of(db, facts, earlier);
  std::vector<ProblemRow> problems = db.problems();
  incident.incomplete = std::ranges::any_of(problems, loses_input) || db.partial();

  report::Incident out{.identity = identity_of(db, facts),
                       .verdict = decide::decide_in_place(incident)};
  if (const std::string cost = isolation_cost(out.verdict, facts, topology); !cost.empty())
    out.verdict.next.push_back({NextKind::plan, cost});
  std::vector<Finding> lines;
  if (auto last =
          last_lines_for(out.verdict, incident.findings, facts, [&] { return db.last_lines(); })) {
    if (out.verdict.targets.empty() && pictures.steps.rows == 0 && !incident.last_iteration &&
        nothing_known(incident.findings))
      out.verdict.summary +=
          say(Phrase::last_line_says, line::trimmed(last->evidence.back().excerpt));
    lines.push_back(std::move(*last));
  }
  CULPRIT_CHECK(db.save_findings(Analysis::last_lines, lines, report::words));
  out.findings = std::move(incident.findings);
  std::ranges::move(lines, std::back_inserter(out.findings));
  out.map = analyze::rank_map(facts, topology, out.findings, out.verdict);
  out.steps = std::move(pictures.steps);
  out.time = std::move(pictures.time);
  out.waits = std::move(pictures.waits);
  out.stacks = std::move(pictures.stacks);
  out.metrics = std::move(pictures.metrics);
  out.settings = std::move(pictures.settings);
  out.members = facts.members;
  out.problems = std::move(problems);
  for (const HostRow& h : facts.hosts) out.hosts.push_back(h.host);
  out.ranks = facts.ranks.size();
  out.notes = notes_of(db, resolved);
  out.world_size = facts.world_size;
  out.complete = !incident.incomplete;
  incident = {};  // the document grows with the bundle, too
  std::string document = report::to_json(out);
  CULPRIT_CHECK(db.save_verdict(out.verdict.action, report::words(out.verdict.summary), document));
  if (!db.partial()) CULPRIT_CHECK(db.set_meta("state", "done"));
  return Conclusion{std::move(out.verdict), std::move(out.findings), std::move(document)};
}

bool fails(Action action, std::span<const Finding> findings, Severity level) {
  if (action == Action::none) return false;
  const auto severe = [&](const Finding& f) { return f.fired() && f.severity >= level; };
  return std::ranges::any_of(findings, severe) || action != Action::mitigate;
}

}  // namespace culprit::diagnose
