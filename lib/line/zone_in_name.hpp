// The zone that people write into the name of a file: "syslog_utc/", "gpu_export_MESZ.csv".
#pragma once

#include <optional>
#include <string_view>

#include "line/zone.hpp"

namespace culprit::line {

// None where the path names no zone, or two. A zone behind a number is that of a moment in the
// name, "bundle-20260311-1200-utc". Abbreviations that are words in small letters ("est", "west")
// count in capitals only.
std::optional<Zone> zone_in_name(std::string_view path);

}  // namespace culprit::line
