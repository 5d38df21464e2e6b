// What commands that count failures of a fleet are told about it.
#pragma once

#include "arguments.hpp"
#include "fleet/failures.hpp"

namespace culprit::cli {

inline constexpr OptionSpec kFleetOptions[] = {
    {"from", "TIME",
     "count from then on: 2026-11-01 or 2026-11-01T06:00:00Z (default: the first record)"},
    {"to", "TIME", "count until then (default: the last record)"},
    {"hosts", "N", "machines of the fleet (default: those that are named)"},
    {"gpus-per-host", "N", "GPUs of each machine (default: as the jobs say)"},
    {"episode-hours", "N",
     "events of one class on one machine so close after each other are one failure (default 24)"},
};

Result<fleet::FailureParams> fleet_params(const Arguments& arguments);
// A date or a time, UTC where no zone is told; nothing when the option is not given.
Result<std::optional<Nanoseconds>> time_option(const Arguments& arguments, const char* name);

}  // namespace culprit::cli
