// Which of the numbers on a line counts the steps. Of a line in nobody's format, "E0 B120 L=3.21
// t=412ms", that is learnt from a few lines of the same shape: the number that grows from each to
// the next, by its name if one of rules/tables/step_parts.json stands before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// A whole number of a line that may count something: no part of a date, of a time or of a fraction,
// no percentage, nothing with a unit.
struct LineCount {
  std::int64_t value = 0;
  std::int64_t of = 0;    // "120/5000", "120 of 5000"; 0: not said
  std::size_t grade = 0;  // of its name: 1 is the best, 0 none
  bool operator==(const LineCount&) const = default;
};

struct CountedLine {
  std::string shape;  // the line with all whole numbers alike, and all others, but those of ranks
  std::vector<LineCount> counts;
};
CountedLine counted_line(std::string_view text);

// The one of a member: reading.keep<StepCounter>().
class StepCounter final : public Kept {
 public:
  void finish(Reading&) override { shapes_.clear(); }

  // The rows of which the step is known now: this one, and with it those of the lines before that
  // taught it. Empty as long as no number of such lines counts.
  std::vector<ProgressRow> count(const CountedLine& line, ProgressRow row);
  // Whether it has found one in this member.
  bool found() const { return found_; }

 private:
  struct Shape {
    std::vector<std::vector<LineCount>> lines;  // until one counts
    std::vector<ProgressRow> rows;
    std::vector<LineCount> last;
    std::size_t chosen = 0;
    bool decided = false, given_up = false;
    std::int64_t base = 0;  // steps of the epochs before
  };
  static bool choose(Shape& shape);
  static std::int64_t step(Shape& shape, const std::vector<LineCount>& counts);

  std::unordered_map<std::string, Shape> shapes_;
  bool found_ = false;
};

}  // namespace culprit::ingest
