// Where recognisers of training-log lines put the numbers they find: series of the member, keyed by
// the step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/training/step_rows.hpp"

namespace culprit::ingest {

// The one of a member: reading.keep<LineFigures>().
class LineFigures final : public Kept {
 public:
  // A line of figures begins. Without a step they belong to the last one that the log told of.
  void begin(const TextLine& line, std::optional<std::int64_t> step);
  // Whose the figures are, if the line says so.
  void rank(Rank rank) { row_.owner.rank = rank; }
  void host(const Host& host) { row_.owner.host = host; }
  void local_rank(LocalRank rank) { row_.owner.local_rank = rank; }
  void add(std::string_view name, std::string_view unit, std::string_view labels, double value);
  // A number as printed, with what follows it for a unit: 412.3 · 59.65GB · 0.00%
  // · 76.79GiB(96.97%). False if it is none.
  bool add_text(std::string_view name, std::string_view text);
  // "name: number" between bars; what is of another shape is passed over. A unit in brackets at the
  // end of the name is the unit too.
  void add_fields(std::string_view text);
  // False: nothing was found, or there are too many series.
  bool end(const TextLine& line, Reading& reading);

 private:
  struct Name {
    std::string name, unit, labels;
    std::size_t next;  // the name that came after this one last time
  };
  StepRows rows_{""};        // progress is told by progress.cpp
  std::vector<Name> names_;  // by slot
  std::size_t at_ = 0;
  StepRow row_;
  std::int64_t last_step_ = kNoValue;
  bool step_told_ = false;  // by the line itself
};

}  // namespace culprit::ingest
