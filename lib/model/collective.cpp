#include "model/collective.hpp"

#include <algorithm>
#include <cmath>

namespace culprit {

std::uint8_t size_class(std::int64_t bytes) {
  if (bytes <= 0) return 0;
  return static_cast<std::uint8_t>(
      std::min(255.0, 1 + std::round(4 * std::log2(static_cast<double>(bytes)))));
}

double size_of_class(std::uint8_t size_class) {
  return size_class == 0 ? 0 : std::exp2((size_class - 1) / 4.0);
}

}  // namespace culprit
