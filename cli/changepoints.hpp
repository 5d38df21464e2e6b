// The answer of `changepoints`, whatever the series were read from.
#pragma once

#include <string>
#include <vector>

#include "analyze/fail_slow.hpp"
#include "analyze/run_length.hpp"
#include "command.hpp"

namespace culprit::cli {

struct NamedSeries {
  std::string name;
  std::vector<double> values;
  std::vector<double> number = {};       // iteration numbers, or empty
  std::vector<double> clock = {};        // ms, or empty
  bool as_time = true;                   // read as iteration times, too
  std::vector<std::string> notes = {};
};

struct ChangepointParams {
  analyze::RunLengthParams kernel;       // on standardised values
  analyze::FailSlowParams fail_slow;
};

// multivariate: the series are the dimensions of one, called `name`. Equal series are looked at once. Prints text or JSON by
// --format.
Result<ChangepointParams> changepoint_params(const Arguments& arguments);
void print_changepoints(const Arguments& arguments, const std::vector<NamedSeries>& series, bool multivariate, const std::string& name, const ChangepointParams& params);

}  // namespace culprit::cli
