#include "model/picture.hpp"

namespace culprit {

std::string_view name(RankState state) {
  constexpr std::string_view kNames[] = {"failed",  "stopped", "silent", "slow",  "error",
                                         "waiting", "ended",   "quiet",  "unseen"};
  static_assert(std::size(kNames) == kRankStates);
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace culprit
