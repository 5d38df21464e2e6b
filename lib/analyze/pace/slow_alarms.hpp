// What the hardware of one machine reports while a job is slow: storms of errors that are repaired,
// and alarms at no known time. Inside of this room only.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// Whether the lines of a finding came as a storm between two moments, hardly at other times, and on
// no other machine whose log of that kind there is.
bool storm_within(const Facts& facts, const Finding& f, Nanoseconds from, Nanoseconds to);

// What holds a machine's own parts down (heat, power, fans) as a look at its sensors shows: of one
// machine of the job, where others were looked at alike. Empty where several machines say so.
std::vector<const Finding*> alarms_without_moment(const Facts& facts,
                                                  std::span<const Finding> classified,
                                                  const std::function<bool(const Host&)>& of_job);

// A fault of the machine itself for which its parts run slower: heat, power.
bool holds_part_down(const Finding& f);

}  // namespace culprit::analyze
