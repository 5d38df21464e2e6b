// The incident that a plan takes its numbers from: the database of -d, or a bundle that is read for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts.hpp"
#include "analyze/topology.hpp"
#include "arguments.hpp"
#include "model/finding.hpp"
#include "model/result.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

struct PlanIncident {
  store::Database db;
  analyze::Facts facts;
  std::string path;                  // for people and errors
  std::optional<rules::RulePack> pack;   // of a bundle, whose lines it has read
};

bool names_plan_incident(const Arguments& arguments);
// Errors: those of opening and reading.
Result<PlanIncident> open_plan_incident(const Arguments& arguments);

// A stretch of iterations that took longer, as the verdict tells it.
struct SlowSpell {
  std::int64_t first = 0, last = 0;  // iterations, both included
  double healthy_ms = 0, level_ms = 0;
  double mean_ms = 0;                // what makes the cost of the verdict; level_ms is a median
  bool over = false;
  Subject subject;                   // the job when nobody stands out
  std::vector<std::int64_t> ranks;   // of the subject, sorted; empty when nothing ties it to ranks
};

struct SlowSpells {
  std::vector<SlowSpell> spells;     // in the order of time
  std::string why;                   // when there is none
};

// Errors (usage): the database holds no findings yet.
Result<SlowSpells> slow_spells(PlanIncident& incident, const analyze::Topology& topology);

}  // namespace culprit::cli
