// The steps of the job out of the communication calls of its ranks, where no log reports them:
// NCCL_DEBUG_SUBSYS=COLL lines, Inspector, flight recorder (GREYHOUND §4.2 by way of
// call_period.hpp). In a synchronous job one rank's calls tell the iterations of all.
#pragma once

#include <string>
#include <vector>

#include "analyze/pace/call_period.hpp"
#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// The calls of one process in the order in which it made them; times in UTC, or on a clock of its
// own.
struct CallLog {
  MemberId member = 0;
  std::string name;  // "rank 3", "gpu-a:615", "" when nothing tells whose they are
  std::vector<Call> calls;
};

// histories: of any groups. The process with most timed calls; no calls when none has any.
CallLog longest_call_log(const Facts& facts, std::span<const HistoryRow> histories);

// The times from call to call, those that hold no ordinary iteration as missing; iterations without
// numbers. Empty when the calls do not recur, or when the clock is too coarse to tell a tenth of an
// iteration. `period` says why.
JobSteps steps_of_calls(const Facts& facts, const CallLog& log, const CallPeriod& period);

// What the answer rests on, in a sentence.
Text period_words(const CallLog& log, const CallPeriod& period);

}  // namespace culprit::analyze
