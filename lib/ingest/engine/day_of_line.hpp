// The dates of lines that print the time of day alone, from dated lines of the same file.
#pragma once

#include <optional>

#include "model/time.hpp"

namespace culprit::ingest {

class DayOfLine {
 public:
  // A line of the file, or its name, that tells the date; the first that is seen counts.
  void begin(const Timestamp& dated) {
    if (!midnight_) see(dated);
  }

  // In the order of the lines. Half a day back is the next day; half a day on is a line of the day
  // before that came late.
  void place(Timestamp& time) {
    constexpr Nanoseconds kHalf = 12 * kHour;
    if (time.clock != Clock::local_no_date) return see(time);
    if (!midnight_) return;
    if (time.ns + kHalf < time_of_day_) *midnight_ += kDay;
    const bool late = time.ns > time_of_day_ + kHalf;
    if (!late) time_of_day_ = time.ns;
    time = {clock_, *midnight_ - (late ? kDay : 0) + time.ns, time.precision};
  }

 private:
  void see(const Timestamp& dated) {
    if (dated.clock != Clock::local && dated.clock != Clock::local_no_year) return;
    time_of_day_ = (dated.ns % kDay + kDay) % kDay;
    midnight_ = dated.ns - time_of_day_;
    clock_ = dated.clock;
  }

  std::optional<Nanoseconds> midnight_;  // nullopt: no date is known
  Nanoseconds time_of_day_ = 0;          // of the last line
  Clock clock_ = Clock::local;
};

}  // namespace culprit::ingest
