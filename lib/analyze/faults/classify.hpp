// Signals become findings: who, what, when, how sure; and what rules a suspicion out (Aegis
// section 4.1.1 and appendix A; tolerance windows after ByteRobust section 4.1).
#pragma once

#include <vector>

#include "analyze/faults/by_signals.hpp"

namespace culprit::analyze {

struct ClassifyParams {
  // ByteRobust section 4.1: network alerts count from two within five minutes, else they are a
  // transient.
  int network_alerts = 2;
  Nanoseconds network_window = 300 * kSecond;
  // A shared service that had not answered for so long when the job ended was down then.
  Nanoseconds down_at_the_end = 30 * kSecond;
  // Links of this many hosts that fail together are not flaps of single cables.
  std::size_t many_links = 4;
};

// One finding per class and subject, ordered by severity, time and subject. Pure.
std::vector<Finding> classify(const Facts& facts, const std::vector<Signal>& signals,
                              const ClassifyParams& params);

}  // namespace culprit::analyze
