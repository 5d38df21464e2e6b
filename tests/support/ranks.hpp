// Ranks as tests write them: Ranks({0, 1, 4}).
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "model/rank.hpp"

namespace culprit {

struct Ranks : std::vector<Rank> {
  Ranks() = default;
  Ranks(std::vector<Rank> ranks) : std::vector<Rank>(std::move(ranks)) {}
  Ranks(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t n : numbers) push_back(Rank(n));
  }
};

}  // namespace culprit
