// The life of the job as its own records tell it, made once, and where anything else lies in it.
// All slacks are in StoryParams; nothing else compares a time with the job's life.
#pragma once

#include <optional>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/step_lines.hpp"

namespace culprit::analyze {

// Of something that was seen from `start` to `end`, against the life of the job. unknown: no time,
// clocks that may be of other zones, or a life without ends.
enum class Relation : std::uint8_t { unknown, other_run, before_start, during, lived_with, after };

struct StoryParams {
  // Start-up may show its fault before the first output; a scheduler's start is exact to seconds.
  Nanoseconds before_first_output = 600 * kSecond;
  // The scheduler's end comes after the epilog has begun; kernels log late by their buffers.
  Nanoseconds after_known_end = 30 * kSecond;
  // A machine that goes down is missed after SlurmdTimeout (300 s by default) and its retries.
  Nanoseconds polling = 6 * kMinute;
  // Zones differ by whole quarters of an hour, clocks of one zone by less than this.
  Nanoseconds zone_grid = 15 * kMinute, zone_slack = 2 * kMinute, least_zone = 20 * kMinute;
};

class Story {
 public:
  explicit Story(const Facts& facts, const StoryParams& params = {});

  // Times that a machine's own log, or the scheduler, gives.
  Relation relate(const std::optional<Nanoseconds>& start, const std::optional<Nanoseconds>& end,
                  Nanoseconds uncertainty) const;
  // The same of a line in the job's own log, by the steps that follow it there.
  Relation relate(const Place& place, std::uint64_t last_line,
                  const std::optional<Nanoseconds>& time) const;
  // What a file of a machine's or a service's lines says at that time is of another story.
  bool outside(const Place& place, const std::optional<Nanoseconds>& time) const;
  // Ended, by the word of the scheduler, the manifest or its own closing line; UTC.
  const std::optional<Nanoseconds>& known_end() const { return known_end_; }

 private:
  const Facts& facts_;
  StoryParams params_;
  StepLines steps_;
  std::optional<Nanoseconds> known_end_;
};

// Drops from the facts what processes printed of their ends and collectives before the job, behind
// its end, or in the middle of a log whose steps go on. After resolve_clocks().
void drop_other_stories(Facts& facts);

}  // namespace culprit::analyze
