// How often a job fails, by the failures of machines: of a fleet, or of so many a day and 1,000
// machines.
#pragma once

#include <optional>

#include "arguments.hpp"
#include "input.hpp"

namespace culprit::cli {

inline constexpr OptionSpec kMachineFailures[] = {
    {"from", "FILE",
     "a fleet database: the failures of its machines give the time between failures"},
    {"interruptions", "N", "the same by interruptions a day and 1,000 machines, such as 2.3"},
    {"machines", "N", "machines of the job, with either of these (default: those of the fleet)"}};

// Seconds between failures of the job; nothing when neither option is given. Machines fail one by
// one: of so many the job waits for the first. Errors: a fleet without failures, --machines alone.
Result<std::optional<double>> mtbf_of_machines(const PlanInput& input);

}  // namespace culprit::cli
