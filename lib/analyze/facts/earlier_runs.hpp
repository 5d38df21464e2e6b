// Output of earlier runs of a job that lies beside that of the run in question.
#pragma once

#include <span>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// From the first to the last dated line of a file, UTC.
struct OutputSpan {
  MemberId member = 0;
  Nanoseconds first = 0, last = 0;
  bool ended = false;  // its last lines are dated: nothing of it is known to be later
};

// Files of the job's own output. Earlier is one that ends before the run's known start; where none
// is known, one that ends in a failure, before the next file of the same name but for its numbers
// begins ("driver_0917.log", "driver_0918.log") and with no other output in between: logs that are
// rotated go on, ranks and machines overlap. Undated rows of earlier output get the time of its
// last dated line, uncertain up to the next start. Fills Facts::earlier_output, and moves the start
// of the job to the last run's. Spans must be those of mended clocks.
void find_earlier_runs(Facts& facts, std::span<const OutputSpan> output);

}  // namespace culprit::analyze
