#include "from_incident.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "diagnose/analyse.hpp"
#include "incident.hpp"
#include "pack.hpp"

namespace culprit::cli {

bool names_plan_incident(const Arguments& arguments) {
  return arguments.has("db") || !arguments.positional().empty();
}

Result<PlanIncident> open_plan_incident(const Arguments& arguments) {
  if (arguments.positional().empty()) {
    CULPRIT_TRY(db, open_database(arguments, store::Access::read));
    CULPRIT_TRY(resolved, diagnose::resolve(db, false));
    return PlanIncident{std::move(db), std::move(resolved), database_path(arguments), std::nullopt};
  }
  for (const std::string& path : arguments.positional()) {
    std::error_code error;
    if (path != "-" && !std::filesystem::exists(path, error))
      return fail("there is no such bundle")
          .at({path, 0})
          .hint("a plan takes a folder or archive of logs, or -d incident.db; numbers are options");
  }
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  return PlanIncident{std::move(incident.db), std::move(incident.resolved),
                      arguments.positional().front(), std::move(pack)};
}

Result<diagnose::SlowSpells> slow_spells(PlanIncident& incident) {
  std::vector<Finding> findings;
  if (!incident.pack) {
    findings = incident.db.findings();
    if (findings.empty())
      return usage_error("this database holds no findings yet")
          .at({incident.path, 0})
          .hint("culprit classify -d " + incident.path);
  } else {
    CULPRIT_TRY(made, diagnose::analyse(incident.db, incident.resolved, *incident.pack));
    findings = std::move(made);
  }
  return diagnose::slow_spells(findings, incident.resolved);
}

std::string because_of(const diagnose::SlowSpell& s) {
  return fmt::format("because of {} {}: steps took {:.2f} times as long, {} iteration {}{}",
                     name(s.subject.kind), s.subject.id, s.level_ms / s.healthy_ms,
                     s.over ? "from" : "since", s.first,
                     s.over ? fmt::format(" to {}; it is over", s.last) : "");
}

}  // namespace culprit::cli
