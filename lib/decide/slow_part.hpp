// A job that became slow on all ranks alike: what else happened to that which the part of the step
// that grew depends on. Inside of this room only.
#pragma once

#include <span>

#include "decide/walk.hpp"

namespace culprit::decide {

// The reason that a drained machine bears.
inline constexpr std::string_view kSlowsJob = "slows its job";

// " Steps take 1.50 times as long since iteration 200.", of a slow stretch.
Text steps_longer(const Finding& slow);

// Whether a metric of storage or network was worse for just this stretch.
bool measured_around(const Walk& w, const Finding& slow);

// `f`: the slow stretch, of which no rank and no machine is the outlier. Nothing where no part of
// the step is known to have grown, or no fault of that kind came with it.
std::optional<Answer> slow_for_all(Walk& w, const Finding& f, Text lasted, Text price);

// A sentence of the bubble of its pipeline, where that is much and not as it was before; else
// empty.
Text bubble_of(const Walk& w);

// What follows is asked about a job that did not fail.

// What makes the steps of all ranks longer by itself: the program, a setting of all, the scheduler.
// `slow`: the stretches, the dearest first; nothing where one names a machine.
std::optional<Answer> slow_for_known_reason(Walk& w, std::span<const Finding* const> slow);

// One machine alone on which programs beside the job take what it needs.
std::optional<Answer> slow_by_neighbour(Walk& w);

// What tests measured of machines, ports and switches. slow_tests.cpp
std::optional<Answer> slow_in_tests(Walk& w);

}  // namespace culprit::decide
