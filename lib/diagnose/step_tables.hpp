// Steps of a job of which no log tells, or not how long they took.
#pragma once

#include "analyze/pace/job_steps.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// By the period of communication calls; empty where none are timed.
analyze::JobSteps steps_from_calls(const store::Database& db, const analyze::Facts& facts);

// What counts the rows of a table: the number of a step, or the moment, which then stands for one.
enum class CountedBy { step, moment };

// Tables that tell how long steps took, where no log does: of each step the longest. Where they
// tell of its parts only, a step takes as long as those of the rank that has most to do.
analyze::JobSteps steps_from_tables(const store::Database& db, const analyze::Facts& facts,
                                    CountedBy counted);

// Times for the steps of a log that prints none; where the two tell of no common step, all that the
// tables know.
void take_times(analyze::JobSteps told, analyze::JobSteps& steps);

}  // namespace culprit::diagnose
