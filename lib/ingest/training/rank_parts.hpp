// Whose times a line of a training log tells, where the line itself says so.
#pragma once

#include <string_view>

namespace culprit::ingest {

// "rank 3 node-02 data_time 0.046 ...", "ranks 16-23 (node-14): ...".
bool tells_of_rank(std::string_view text);

}  // namespace culprit::ingest
