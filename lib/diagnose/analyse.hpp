// Facts -> findings: the third pass, every analysis in its order.
#pragma once

#include <vector>

#include "model/finding.hpp"
#include "model/picture.hpp"
#include "resolve.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// What the analyses leave for pictures, beside their findings.
struct Pictures {
  StepChart steps;
  std::vector<TimePart> time;
  WaitPicture waits;
  StackIcicle stacks;
  std::vector<MetricPanel> metrics;
  Settings settings;
};

// Findings are stored, too. Errors: a database that cannot be read or written.
Result<std::vector<Finding>> analyse(store::Database& db, const Resolved& incident,
                                     const rules::RulePack& pack, Pictures* pictures = nullptr);

}  // namespace culprit::diagnose
