// One time line. A source's own clock becomes UTC only through evidence: a boot time
// (boot_times.hpp), a zone (zones.hpp), a year from the moment of collection or from full dates
// near by. What cannot be mapped keeps its order within its file and gets no UTC time.
#pragma once

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// What hosts' clocks are believed to differ by at most when nothing better is known: NTP-kept
// machines differ by milliseconds, unkept ones by seconds. Order of events on two hosts closer than
// this is not evidence.
inline constexpr Nanoseconds kHostSkew = 1 * kSecond;
// Of a machine that complains of its own clock.
inline constexpr Nanoseconds kWrongClock = 3600 * kSecond;

// Seconds that the kernel had run when it printed the line; nullopt for a line without that clock.
std::optional<Nanoseconds> boot_time_of(const EventRow& event);

// From a to b, for events of one machine: two lines of one boot clock have an exact distance even
// when neither has a date. nullopt when nothing ties the two.
std::optional<Nanoseconds> exact_distance(const Facts& facts, const EventRow& a, const EventRow& b);

// REQUIRES resolve_identity. Fills time_ns and uncertainty of all rows, boot times of hosts,
// job_start and job_end.
void resolve_clocks(Facts& facts);

}  // namespace culprit::analyze
