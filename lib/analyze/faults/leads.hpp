// Leads: lines that speak of an error in words that no rule knows, ranked by three patterns (L4,
// FSE 2025, "Diagnosing Large-scale LLM Training Failures via Automated Log Analysis"): spatial,
// only one host or rank prints it; temporal, it begins where the life of the job ends; and the
// strength of its words. They prove nothing: outcome not_enough_evidence.
#pragma once

#include <vector>

#include "analyze/faults/by_signals.hpp"

namespace culprit::analyze {

struct LeadParams {
  std::size_t most = 5;            // L4 counts a failing node found when it is among the first five
  std::uint64_t last_lines = 200;  // of a member: where the life of a process ends
  std::uint64_t excerpt_lines = 40;       // a member of so many is an excerpt that somebody chose
  Nanoseconds last_time = 600 * kSecond;  // before the end of the job, for a machine's own log
  std::size_t members_of_noise =
      3;  // a line that stands in the early part of so many members is habit, no event
};

std::vector<Finding> leads(const Facts& facts, const LeadParams& params = {});

}  // namespace culprit::analyze
