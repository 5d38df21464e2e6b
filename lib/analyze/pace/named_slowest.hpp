// Which rank the program itself names as its slowest, again and again, while it is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/rank.hpp"

namespace culprit::analyze {

struct NamedAt {
  std::int64_t iteration = 0;
  Rank rank{};
};

struct NamedSlowest {
  Rank rank{};
  std::size_t times = 0, of = 0;  // within the interval
};

// The rank that most of the names within [first, last] are of, five of them at least and seven in
// ten, and which was not named so before: one of many ranks is the slowest in every step.
std::optional<NamedSlowest> named_slowest(std::span<const NamedAt> names, std::int64_t first,
                                          std::int64_t last);

}  // namespace culprit::analyze
