#include "batch/work.hpp"

#include <algorithm>
#include <map>

#include "analyze/faults/drift.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/resolve.hpp"
#include "fleet/incident.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "report/report.hpp"
#include "rules/drift.hpp"

namespace culprit::batch {

namespace {

namespace fs = std::filesystem;

// What machines may have in common when they fail.
constexpr std::string_view kShared[] = {
    "driver_version", "cuda_version", "kernel_version", "os_release", "nccl_version", "gpu.product",
    "gpu.vbios",      "gpu.serial",   "nic.firmware",   "nic.type",   "bios_version"};
constexpr Severity kLevels[] = {Severity::critical, Severity::distributed, Severity::warning,
                                Severity::info};

struct Diagnosis {
  diagnose::Conclusion conclusion;
  FleetIncident incident;
  std::uint64_t problems = 0;
  ProblemRow first_loss;  // the first problem by which input was lost; "" when none was
};

std::map<std::string, std::string> components_of(const analyze::Facts& facts,
                                                 const rules::RulePack& pack) {
  std::map<std::string, const rules::Rule*> by_id;
  for (const rules::Rule& rule : pack.rules()) by_id.emplace(rule.id, &rule);
  std::map<std::string, std::string> out;
  for (const EventRow& e : facts.events) {
    const auto rule = by_id.find(e.rule);
    if (rule == by_id.end() || out.count(e.event_class) > 0) continue;
    out[e.event_class] = rules::meaning_of(*rule->second, e.code).component;
  }
  return out;
}

std::vector<FleetAttribute> attributes_of(const diagnose::Resolved& incident) {
  std::vector<FleetAttribute> out;
  for (const analyze::Switch& s : incident.topology.switches)
    for (const std::string& host : s.hosts)
      if (s.level == 0) out.push_back({host, "", "switch", s.name});
  const auto settings = analyze::compare_settings(incident.facts, rules::DriftRules::built_in());
  for (const analyze::DriftItem& item : settings.items) {
    if (!contains(kShared, item.name)) continue;
    for (const analyze::DriftValue& value : item.values)
      for (const std::string& host : value.hosts) out.push_back({host, "", item.name, value.value});
  }
  const auto key = [](const FleetAttribute& a) { return std::tie(a.host, a.name, a.value); };
  sort_by(out, [&](const auto& a) { return key(a); });
  out.erase(std::unique(out.begin(), out.end(),
                        [&](const auto& a, const auto& b) { return key(a) == key(b); }),
            out.end());
  return out;
}

Result<Diagnosis> diagnosed(const Bundle& bundle, const Work& work, const std::string& database) {
  diagnose::ReadRequest request = work.request;
  request.sources = {bundle.path};
  CULPRIT_TRY(db, diagnose::open_new(request.sources, database));
  CULPRIT_CHECK(diagnose::read_bundles(request, *work.pack, db));
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  diagnose::Pictures pictures;
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, *work.pack, &pictures));
  CULPRIT_TRY(conclusion,
              diagnose::conclude(db, incident, std::move(findings), {}, std::move(pictures)));
  const auto components = components_of(incident.facts, *work.pack);
  const auto component = [&](const std::string& event_class) {
    const auto it = components.find(event_class);
    return it == components.end() ? std::string() : it->second;
  };
  const auto& manifest = incident.facts.manifest;
  // Without the manifest's word the job's start is the first line that may be its own, and that may
  // be the boot of a machine.
  const bool known = incident.facts.start_is_known;
  const auto job_start = known ? incident.facts.job_start : std::nullopt;
  const auto document = parse_json(conclusion.document);
  auto row = fleet::incident_of(document, component, job_start);
  if (!row) return internal_error("the report of this bundle cannot be read back");
  const auto problems = db.problems();
  const auto loss = std::ranges::find_if(problems, diagnose::loses_input);
  Diagnosis out{std::move(conclusion), std::move(*row), problems.size(),
                loss == problems.end() ? ProblemRow{} : *loss};
  if (manifest) {
    out.incident.job = manifest->job;
    out.incident.job_id = manifest->job_id;
  }
  if (!known)
    std::erase_if(out.incident.time, [](const FleetTime& t) { return t.part == "start-up"; });
  out.incident.attributes = attributes_of(incident);
  return out;
}

}  // namespace

Result<Entry> diagnose_bundle(const Bundle& bundle, const Work& work, const fs::path& folder) {
  Entry entry{.name = bundle.name, .source = bundle.source};
  const fs::path database = folder / "incident.db";
  std::error_code ignored;
  // Of an earlier state of the bundle, or of a run that was stopped in the middle of it.
  for (const char* ending : {"", "-wal", "-shm", "-journal"})
    fs::remove(database.string() + ending, ignored);
  auto diagnosis = diagnosed(bundle, work, work.keep_database ? database.string() : "");
  if (!diagnosis) {
    const Error& error = diagnosis.error();
    entry.status = error.kind == ErrorKind::internal ? "crashed" : "unreadable";
    entry.reason = error.what;
    if (error.where) entry.where = error.where->file;
    entry.help = error.help;
    entry.gate = "critical";
    return entry;
  }
  const std::string place =
      work.keep_database ? "-d " + shell_quoted(database.string()) : shell_quoted(bundle.path);
  const std::string& document = diagnosis->conclusion.document;
  const std::string placed = report::with_place(document, place);
  for (const char* name : {"json", "html"}) {
    const report::Format* format = report::find_format(name);
    const bool json = format->name == "json";
    CULPRIT_CHECK(
        write_file(folder / format->file,
                   format->render(json ? document : placed, {false, true, true, 120, place})));
  }
  entry.status = "done";
  entry.gate = "none";
  for (const Severity level : kLevels)
    if (diagnose::fails(diagnosis->conclusion.verdict.action, diagnosis->conclusion.findings,
                        level)) {
      entry.gate = name(level);
      break;
    }
  entry.problems = diagnosis->problems;
  entry.reason = diagnosis->first_loss.reason;
  entry.where = diagnosis->first_loss.path;
  entry.incident = std::move(diagnosis->incident);
  entry.incident->name = bundle.name;
  entry.incident->source = bundle.source;
  entry.incident->report = "bundles/" + bundle.name + "/report.html";
  return entry;
}

}  // namespace culprit::batch
