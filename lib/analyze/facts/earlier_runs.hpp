// Output of earlier runs of a job that lies beside that of the run in question.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// From the first to the last dated line of a file, UTC.
struct OutputSpan {
  MemberId member = 0;
  Nanoseconds first = 0, last = 0;
};

// "ray/driver_20250917.log" -> "ray/driver_#.log"
std::string name_without_numbers(std::string_view path);

// Earlier is output that ends before the run's known start, or before the next file of the same
// name but for its numbers begins ("driver_0917.log", "driver_0918.log"). Where no start is known,
// the last of such files gives it. Undated rows of earlier output get the time of its last dated
// line, uncertain up to the next start. Fills Facts::earlier_output.
void find_earlier_runs(Facts& facts, std::span<const OutputSpan> output);

}  // namespace culprit::analyze
