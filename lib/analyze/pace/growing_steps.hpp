// Steps that take longer and longer from the start of the process on, and are short again where it
// was started again: the program keeps what it ought to drop (a history that is summed anew, a list
// that is gathered from all ranks, memory until hosts swap). No machine ages so.
#pragma once

#include <cstddef>
#include <optional>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct GrowingSteps {
  std::size_t starts = 0;  // from which the steps grew; more than one: they fell back between
  std::size_t first = 0, last = 0;  // rows: of the longest growth
  double begin_ms = 0, end_ms = 0;  // a step at its begin and at its end
  double cost_ms = 0;               // of all of them, above the begin
};

// Nothing where the steps leap, fall in between, or grow by less than a quarter.
std::optional<GrowingSteps> growing_steps(const JobSteps& steps);

// As a slow stretch of the whole job.
Finding growing_finding(const Facts& facts, const JobSteps& steps, const GrowingSteps& growing);

}  // namespace culprit::analyze
