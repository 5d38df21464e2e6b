// Lines that a run which worked does not have. They are leads: they never accuse anybody.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "model/finding.hpp"
#include "model/text.hpp"
#include "resolve.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct Novelty {
  std::vector<Finding> leads;  // of analysis leads, not_enough_evidence; the most telling first
  std::vector<Text> notes;     // what was not compared, and why
};

// good: the database of the run that worked. Both bundles are read again, within the limits.
// Errors: no database, a damaged one, a bundle that cannot be opened.
Result<Novelty> new_lines(const store::Database& db, const Resolved& incident,
                          const std::string& good, const rules::RulePack& pack,
                          const bundle::Limits& limits);

}  // namespace culprit::diagnose
