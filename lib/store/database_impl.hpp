// What a Database holds: its connection, its writer, and what its readers keep between questions.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "store/connection.hpp"
#include "store/database.hpp"
#include "store/writer.hpp"

namespace culprit::store {

// The first and last rowid of each stretch of a member's steps, as of so many steps in all: asked
// for each of thousands of logs, and found for all of them at once.
struct StepReader {
  std::map<MemberId, std::vector<std::pair<std::int64_t, std::int64_t>>> stretches_of;
  std::int64_t known = -1;
  StepTable last;  // several analyses ask for the steps of the one log of them
};

// Samples of series, whose chunks may have their columns in common with those of another.
struct SampleReader {
  Statement points_of;  // prepared once: thousands of series are asked for
  Statement axis_of;
  SeriesId axis_series = 0;     // whose chunks it reads
  std::uint32_t axis_next = 0;  // after so many
  SeriesPoints axis_points;     // the last of them
};

struct Database::Impl : Connection {
  std::unique_ptr<Writer> writer;  // its statements hold the connection, as do those of readers
  StepReader steps;
  SampleReader samples;
};

}  // namespace culprit::store
