// Excesses that come back with a period: evaluation, checkpoints, logging. They are how the job is
// made, no fault.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace culprit::analyze {

struct Excess {
  std::size_t start = 0, length = 0;
  double extra = 0;  // ms
};

struct Recurrence {
  std::size_t period = 0;
  std::vector<std::size_t> members;  // of the excesses given, ascending
};

// `at` is strictly ascending starts within `size` iterations. A period explains the excesses that
// stand on its grid (or one iteration beside it, 1 % of the period for those longer than 15, when
// that makes a fourth more); it counts when at least `least` do, over three quarters of the grid's
// places between the first and the last, and when chance would not do it: random excesses as dense
// as these would fill a grid's places to less than half of that. The period with the most members
// comes first; what it explains is taken away, and so on, four times at most.
std::vector<Recurrence> find_recurrences(std::span<const Excess> at, std::size_t size,
                                         std::size_t least = 3);

}  // namespace culprit::analyze
