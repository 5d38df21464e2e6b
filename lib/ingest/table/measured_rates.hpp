// Tables of measured rates are none of numbers over time.
#pragma once

#include "ingest/engine/document.hpp"

namespace culprit::ingest {

bool measured_rates(const Head& head);

}  // namespace culprit::ingest
