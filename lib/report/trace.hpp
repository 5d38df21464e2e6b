// A trace as Chrome and Perfetto open it.
#pragma once

#include <string>

#include "model/trace.hpp"

namespace culprit::report {

// JSON in the Trace Event Format ("Trace Event Format", Google, 2016; JSON Object Format): an event
// a line, metadata first, then by time. Timestamps are microseconds since the earliest moment of
// the trace, which otherData names: absolute ones would not fit into a double to the nanosecond.
// Texts go through visible().
std::string to_trace_json(const Trace& trace);

}  // namespace culprit::report
