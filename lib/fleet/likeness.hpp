// Which earlier incidents are like this one.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/card.hpp"

namespace culprit::fleet {

struct Likeness {
  const CardRow* card = nullptr;
  double share = 0;  // 0 to 1
};

// All cards of the file but its own, the likest first; of equal ones the latest, then by id. The
// weighted Jaccard index of their traits: the weight of what both have over the weight of what
// either has, a trait that n of N cards have weighing ln(1 + N / n) (inverse document frequency,
// Sparck Jones 1972; weighted Jaccard as in Ioffe 2010).
std::vector<Likeness> likest(const Cards& cards, std::uint64_t id,
                             std::span<const std::uint64_t> traits);

}  // namespace culprit::fleet
