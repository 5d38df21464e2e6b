// The incident that a plan takes its numbers from: the database of -d, or a bundle that is read for
// it.
#pragma once

#include <optional>
#include <string>

#include "arguments.hpp"
#include "diagnose/resolve.hpp"
#include "diagnose/slow_spells.hpp"
#include "model/result.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

struct PlanIncident {
  store::Database db;
  diagnose::Resolved resolved;
  std::string path;                     // for people and errors
  std::optional<rules::RulePack> pack;  // of a bundle, whose lines it has read
};

bool names_plan_incident(const Arguments& arguments);
// Errors: those of opening and reading.
Result<PlanIncident> open_plan_incident(const Arguments& arguments);

// Errors (usage): the database holds no findings yet.
Result<diagnose::SlowSpells> slow_spells(PlanIncident& incident);
// For people: "because of rank 2: steps took 1.47 times as long, since iteration 201".
std::string because_of(const diagnose::SlowSpell& spell);

}  // namespace culprit::cli
