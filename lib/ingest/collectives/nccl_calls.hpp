// Ties the pointer of a communicator, which call lines print, to its commId.
#pragma once

#include <cstdint>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// An Init line was read: `pointer` of the line's process is communicator `id` (normal_hash), in
// which it is `rank`.
void tie_communicator(std::string_view pointer, std::string_view id, std::int64_t rank,
                      std::int64_t nranks, const TextLine& line, Reading& reading);

}  // namespace culprit::ingest
