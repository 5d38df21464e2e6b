// The rank of a flight-recorder dump stands in its name alone.
#pragma once

#include <optional>
#include <string_view>

#include "model/rank.hpp"

namespace culprit::ingest {

// The global rank in a file's name: the number at the end, or the one after "rank".
std::optional<Rank> rank_in_name(std::string_view path);

}  // namespace culprit::ingest
