// The analyses of what machines and programs report, each by its name. One that has knobs declares
// them, and itself with them, in a header of its own.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"
#include "model/finding.hpp"
#include "model/terms.hpp"

namespace culprit::analyze {

#define CULPRIT_DECLARED(name) \
  std::vector<Finding> name(const Facts& facts, const std::vector<Signal>& signals);
CULPRIT_SIGNAL_ANALYSES(CULPRIT_DECLARED)
#undef CULPRIT_DECLARED

}  // namespace culprit::analyze
