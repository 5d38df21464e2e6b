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
  // before that came late. What does not begin near the dated line counts from the start of the
  // run, or the date is that of something else.
  void place(Timestamp& time) {
    constexpr Nanoseconds kHalf = 12 * kHour, kNear = 30 * kMinute, kBefore = 5 * kMinute;
    if (time.clock != Clock::local_no_date) return see(time);
    if (!midnight_ || elsewhere_) return;
    if (!met_) {
      const Nanoseconds on = (time.ns - time_of_day_ + kDay) % kDay;
      elsewhere_ = on > kNear && on < kDay - kBefore;
      if (elsewhere_) return;
      met_ = true;
    }
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
  bool met_ = false, elsewhere_ = false;
};

}  // namespace culprit::ingest
