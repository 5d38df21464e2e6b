// One time line. A source's own clock becomes UTC only through evidence: a boot time from a dmesg -T twin, from lines
// that carry both clocks, or from the manifest; a zone from the manifest or from the same failure recorded on two
// clocks; a year from full dates near by. What cannot be mapped keeps its order within its file and gets no UTC time.
#pragma once

#include "analyze/facts.hpp"

namespace culprit::analyze {

// What hosts' clocks are believed to differ by at most when nothing better is known: NTP-kept machines differ by
// milliseconds, unkept ones by seconds. Order of events on two hosts closer than this is not evidence.
inline constexpr Nanoseconds kHostSkew = 1 * kSecond;

// REQUIRES resolve_identity. Fills time_ns and uncertainty of all rows, boot times of hosts, job_start and job_end.
void resolve_clocks(Facts& facts);

}  // namespace culprit::analyze
