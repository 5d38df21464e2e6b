// Counts the names within a slow interval and outside of it.
#include "analyze/pace/named_slowest.hpp"

#include <algorithm>
#include <map>

namespace culprit::analyze {

std::optional<NamedSlowest> named_slowest(std::span<const NamedAt> names, std::int64_t first,
                                          std::int64_t last) {
  constexpr std::size_t kFewest = 5;
  constexpr double kMost = 0.7, kUsual = 0.4;  // shares of the names: within, and at most outside
  std::map<Rank, std::size_t> within, without;
  std::size_t in = 0, out = 0;
  for (const NamedAt& one : names) {
    const bool inside = one.iteration >= first && one.iteration <= last;
    ++(inside ? within : without)[one.rank];
    ++(inside ? in : out);
  }
  const auto most =
      std::ranges::max_element(within, {}, [](const auto& entry) { return entry.second; });
  if (most == within.end() || most->second < kFewest ||
      static_cast<double>(most->second) < kMost * static_cast<double>(in))
    return std::nullopt;
  const auto before = without.find(most->first);
  if (before != without.end() && out >= kFewest &&
      static_cast<double>(before->second) > kUsual * static_cast<double>(out))
    return std::nullopt;
  return NamedSlowest{most->first, most->second, in};
}

}  // namespace culprit::analyze
