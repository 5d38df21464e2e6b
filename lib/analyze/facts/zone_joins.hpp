// Moments that a job and its machines both record, each on its own clock.
#pragma once

#include <optional>
#include <string>

#include "analyze/facts/facts.hpp"
#include "line/zone.hpp"

namespace culprit::analyze {

inline constexpr Nanoseconds kFarthestZone = 14 * kHour;

// Whether clocks of some country are so far from UTC: whole hours, and the half and quarter hours
// that exist (India, Newfoundland, Nepal...). Half an hour is a time-out more often than a zone.
bool is_zone(Nanoseconds offset);

// A date and time of day of which the text says no zone.
bool without_zone(const Timestamp& t);

// As printed; a time without a year in the year that is nearest to `other`.
Nanoseconds printed(const Timestamp& t, Nanoseconds other);

Nanoseconds rounded(Nanoseconds value, Nanoseconds step);

// As the manifest's `timezones` names sources: kernel scheduler system ... training.
std::string kind_of_source(const MemberRow& m);

// What the daemons of the machine itself write, never a container.
bool of_machine(const MemberRow& m);

// How far the printed clock of the job is ahead of that of its machines (`machines`: those that
// print a zone, or those that print none), by processes whose failure a machine's log tells with
// their number and whose end the job's launcher tells. None where there is no such process, or
// two of them show different shifts.
std::optional<Nanoseconds> shift_by_processes(const Facts& facts, Clock machines);

// Taken for `zone`, the job's first failed communication or bad end is within two minutes after
// something that a machine, whose log has a zone, tells of itself, or that is within two minutes
// after the last step.
bool failure_echoes(const Facts& facts, const line::Zone& zone);

}  // namespace culprit::analyze
