// The answer of `changepoints`, whatever the series were read from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/pace/fail_slow.hpp"
#include "analyze/pace/run_length.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "ingest/table/bare_table.hpp"

namespace culprit::cli {

// How a series of iteration times came out of a log of calls.
struct CallReading {
  std::size_t calls = 0, period = 0;  // period: calls in an iteration
  std::string method;                 // anchor match-rate acf none
  std::string anchor;                 // the call that begins an iteration, or ""
  double median_ms = 0, confidence = 0;
  bool ambiguous = false;  // iterations, or micro-batches
};

struct NamedSeries {
  std::string name;
  std::vector<double> values;
  std::vector<double> number = {};      // iteration numbers, or empty
  std::vector<double> clock = {};       // ms, or empty
  std::vector<std::uint32_t> job = {};  // IterationTimes::job, or empty
  bool as_time = true;                  // read as iteration times, too
  std::vector<std::string> notes = {};
  std::optional<CallReading> from_calls = {};
  std::string unit = {};  // of the values, where the user said so
};

// --unit: its name and how many nanoseconds it has; "" and 0 when it was not given.
struct SeriesUnit {
  std::string name;
  double ns = 0;
};
Result<SeriesUnit> series_unit(const Arguments& arguments);

struct ChangepointParams {
  analyze::RunLengthParams kernel;  // on standardised values
  analyze::FailSlowParams fail_slow;
};

// A series of iteration times for each rank of a call log (changepoints_calls.cpp).
Result<std::vector<NamedSeries>> series_of_calls(const Arguments& arguments,
                                                 const ingest::BareTable& table,
                                                 const std::string& path);

// multivariate: the series are the dimensions of one, called `name`. Equal series are looked at
// once. Prints text or JSON by
// --format.
Result<ChangepointParams> changepoint_params(const Arguments& arguments);
void print_changepoints(const Arguments& arguments, const std::vector<NamedSeries>& series,
                        bool multivariate, const std::string& name, const ChangepointParams& params,
                        const Incident* incident = nullptr);

}  // namespace culprit::cli
