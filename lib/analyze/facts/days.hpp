// The days of files that print times of day and no date, from the files beside them that do.
#pragma once

#include <map>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// The clock that a file was put on, and the midnight (on that clock) that its times count from.
struct FirstDay {
  Clock clock = Clock::local;
  Nanoseconds midnight = 0;
};

// Gives the rows of such files whole dates: the last time of a file falls on the day that brings it
// nearest to the end of the job's steps, or else to the last date that anything prints; what stands
// before a midnight falls on the days before. Zones are not looked at: any two of them are at most
// half a day apart but for a few islands. Nothing changes in a file that prints a date too, in one
// whose times count from a start (they begin at 00:00), in a machine's own log, which may be of any
// day, and where nothing prints a date.
// REQUIRES: resolve_identity(), before any clock is resolved. Adds a note.
std::map<MemberId, FirstDay> date_times_of_day(Facts& facts);

}  // namespace culprit::analyze
