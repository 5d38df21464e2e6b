// Sets of ranks as people and tools write them: 0-3,6,9-11.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/rank.hpp"

namespace culprit {

// Sorted, unique ranks to "0-3,6". "" for none.
std::string to_ranges(const std::vector<Rank>& ranks);
std::string to_ranges(const std::vector<std::int64_t>& numbers);
// The inverse; also takes "[0, 1, 2]" and "[0-3,6]". Empty for anything else, and for more than
// `most` ranks.
std::vector<Rank> from_ranges(std::string_view text, std::size_t most = 1u << 20);

}  // namespace culprit
