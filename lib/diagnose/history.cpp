#include "history.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "analyze/pace/attempts.hpp"
#include "decide/history.hpp"
#include "ingest/logs/manifest.hpp"
#include "line/timestamp.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "store/fleet.hpp"

namespace culprit::diagnose {

namespace {

using nlohmann::json;

std::optional<Nanoseconds> time_of(const json& value) {
  Timestamp stamp;
  if (!value.is_string() || line::parse_iso(value.get_ref<const std::string&>(), stamp) == 0 ||
      stamp.clock != Clock::utc)
    return std::nullopt;
  return stamp.ns;
}

std::string text_of(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// The document is our own, but the file is the user's: anything may be missing or of another type.
Result<PastFailure> failure_of(const std::string& document, const std::string& path) {
  const auto broken = [&] {
    return usage_error("the verdict of this database cannot be read")
        .at({path, 0})
        .hint("culprit classify -d " + path);
  };
  const json d = parse_json(document);
  if (!d.is_object() || !d.contains("verdict") || !d.contains("incident") ||
      !d["verdict"].is_object() || !d["incident"].is_object())
    return broken();
  const json& verdict = d["verdict"];
  const json& incident = d["incident"];
  Verdict v{.action = term_named<Action>(text_of(verdict, "action")).value_or(Action::investigate),
            .symptom = term_named<Symptom>(text_of(incident, "symptom")).value_or(Symptom::none)};
  std::vector<Subject> subjects;
  if (const auto it = verdict.find("targets"); it != verdict.end() && it->is_array())
    for (const json& t : *it) {
      if (!t.is_object()) return broken();
      const auto kind = term_named<SubjectKind>(text_of(t, "kind"));
      if (!kind) return broken();
      Target target{{*kind, text_of(t, "id")}, 0, {}};
      if (const auto b = t.find("because");
          b != t.end() && b->is_array() && !b->empty() && b->front().is_string())
        target.because.push_back(b->front().get<std::string>());
      subjects.push_back(target.subject);
      v.targets.push_back(std::move(target));
    }
  std::vector<Finding> findings;
  if (const auto it = d.find("findings"); it != d.end() && it->is_array())
    for (const json& f : *it) {
      if (!f.is_object()) return broken();
      findings.push_back(Finding{.id = text_of(f, "id"), .event_class = text_of(f, "class")});
    }
  PastFailure out;
  out.name = "the incident of " + std::filesystem::path(path).filename().string();
  if (incident.contains("start")) out.start = time_of(incident["start"]);
  if (incident.contains("end")) out.end = time_of(incident["end"]);
  out.ended_well = v.action == Action::none;
  if (!out.ended_well) out.roots.push_back(decide::root_of(v, findings));
  out.answers = decide::answer_of(v.action, subjects);
  for (Tried& t : out.answers) t.advised = true;
  if (const auto b = d.find("bundle");
      b != d.end() && b->is_object() && b->contains("hosts") && (*b)["hosts"].is_array())
    for (const json& host : (*b)["hosts"])
      if (host.is_string()) out.hosts.push_back(Host(host.get<std::string>()));
  sort_rows(out.hosts);
  return out;
}

std::optional<std::int64_t> furthest_of(const store::Database& db) {
  std::optional<std::int64_t> out;
  const auto see = [&](const std::optional<ProgressRow>& row) {
    if (row && row->iteration && !row->loss_nan && !row->grad_norm_nan)
      out = std::max(out.value_or(*row->iteration), *row->iteration);
  };
  for (const ProgressSpan& span : db.progress()) {
    if (span.framework == "tqdm") continue;  // a bar may be any loop's
    see(span.first);
    see(span.last);
    see(span.last_good);
  }
  return out;
}

}  // namespace

namespace {

// What a fleet remembers of its jobs. Incidents without a job or a time cannot be told to be
// earlier ones of this job.
Result<> add_fleet(const std::string& path, std::vector<PastIncident>& out) {
  CULPRIT_TRY(record, store::read_fleet(path));
  for (const FleetIncident& i : record.incidents) {
    if (i.job.empty() || !i.start) continue;
    Verdict v{.action = term_named<Action>(i.action).value_or(Action::investigate),
              .symptom = term_named<Symptom>(i.symptom).value_or(Symptom::none)};
    std::vector<Subject> subjects;
    for (const FleetTarget& t : i.targets)
      if (const auto kind = term_named<SubjectKind>(t.kind)) {
        subjects.push_back({*kind, t.id});
        v.targets.push_back({subjects.back(), t.confidence, {"ground"}});
      }
    Finding ground{.id = "ground", .event_class = i.event_class};
    PastIncident past{.path = path, .job = i.job, .sources = i.source + "\n", .from_fleet = true};
    past.failure.name = "the incident " + i.name;
    past.failure.start = i.start;
    past.failure.end = i.end;
    past.failure.ended_well = v.action == Action::none;
    if (!past.failure.ended_well) past.failure.roots.push_back(decide::root_of(v, {ground}));
    past.failure.answers = decide::answer_of(v.action, subjects);
    for (Tried& t : past.failure.answers) t.advised = true;
    past.failure.hosts = hosts_of(i.hosts);
    out.push_back(std::move(past));
  }
  return {};
}

}  // namespace

Result<std::vector<PastIncident>> load_history(std::span<const std::string> databases) {
  std::vector<PastIncident> out;
  std::set<std::string> seen;
  for (const std::string& path : databases) {
    std::error_code error;
    const auto whole = std::filesystem::weakly_canonical(path, error).string();
    if (!seen.insert(error ? path : whole).second)
      return usage_error("--history names this database twice")
          .at({path, 0})
          .hint("each incident counts once");
    if (store::is_fleet_database(path)) {
      CULPRIT_CHECK(add_fleet(path, out));
      continue;
    }
    CULPRIT_TRY(db, store::Database::open(path, store::Access::read));
    const auto document = db.verdict();
    if (!document)
      return usage_error("this database has no verdict yet")
          .at({path, 0})
          .hint("culprit classify -d " + path);
    PastIncident past{.path = path, .sources = db.meta("sources").value_or("")};
    std::vector<std::string> notes;  // they stand in that incident's own report
    if (const auto stored = db.manifests(); !stored.empty())
      if (const auto manifest =
              ingest::parse_manifest(stored.front().document, stored.front().path, notes))
        past.job = manifest->job;
    CULPRIT_TRY(failure, failure_of(*document, path));
    past.failure = std::move(failure);
    past.failure.furthest = furthest_of(db);
    out.push_back(std::move(past));
  }
  return out;
}

std::vector<PastIncident> relevant_history(std::span<const PastIncident> past,
                                           const store::Database& db, const analyze::Facts& facts,
                                           std::optional<Nanoseconds> start) {
  const std::string job = facts.manifest ? facts.manifest->job : "";
  const std::string sources = db.meta("sources").value_or("");
  std::vector<PastIncident> out;
  for (const PastIncident& p : past) {
    const bool earlier = start && p.failure.start && *p.failure.start < *start;
    if (!p.from_fleet || (!job.empty() && p.job == job && p.sources != sources && earlier))
      out.push_back(p);
  }
  return out;
}

Result<> check_history(std::span<const PastIncident> past, const store::Database& db,
                       const analyze::Facts& facts, std::optional<Nanoseconds> start) {
  const std::string job = facts.manifest ? facts.manifest->job : "";
  const std::string sources = db.meta("sources").value_or("");
  for (const PastIncident& p : past) {
    if (!job.empty() && !p.job.empty() && job != p.job)
      return usage_error(fmt::format("this is an incident of job {}, not of job {}", p.job, job))
          .at({p.path, 0})
          .hint("--history takes earlier incidents of the same job");
    if (!sources.empty() && sources == p.sources)
      return usage_error("this is the incident itself, not an earlier one")
          .at({p.path, 0})
          .hint("--history takes earlier incidents of the same job");
    if (start && p.failure.start && *p.failure.start >= *start)
      return usage_error(fmt::format("this incident began at {}, not before this one ({})",
                                     iso_utc(*p.failure.start), iso_utc(*start)))
          .at({p.path, 0})
          .hint("--history takes earlier incidents of the same job");
  }
  return {};
}

AttemptHistory history_of(const store::Database& db, const analyze::Facts& facts,
                          std::span<const PastIncident> past) {
  std::vector<StepTable> tables;
  for (const MemberId member : analyze::step_logs(facts)) tables.push_back(db.steps(member));
  const auto attempts = analyze::attempts(facts, analyze::job_steps(facts, tables));
  std::vector<PastFailure> earlier;
  for (const PastIncident& p : past) earlier.push_back(p.failure);
  AttemptHistory out = analyze::history_of(attempts, earlier);
  if (attempts.empty() && !past.empty()) out.furthest = furthest_of(db);
  if (out.hosts.empty() && !past.empty()) {
    for (const HostRow& h : facts.hosts) out.hosts.push_back(h.host);
    sort_rows(out.hosts);
  }
  return out;
}

}  // namespace culprit::diagnose
