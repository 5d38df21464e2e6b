// What the hosts run, for a table in a report: what differs first, then versions.
#pragma once

#include "analyze/faults/drift.hpp"
#include "model/picture.hpp"

namespace culprit::analyze {

Settings settings_picture(const DriftReport& report, std::size_t most = 60);

}  // namespace culprit::analyze
