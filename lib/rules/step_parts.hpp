// What the name of a part of a training step says ("grad_sync_ms", "forward-compute-time",
// "data_time"), and the words of lines that tell of a step: rules/tables/step_parts.json.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/terms.hpp"

namespace culprit::rules {

enum class StepPart { none, communication, data, checkpoint, generation, compute, host };
constexpr std::size_t kStepParts = 7;

// "data"; "" of none.
const char* name(StepPart part);
// "loading of data", as a report says it; "" of none.
const std::string& label(StepPart part);
// What makes it short again where it grew; "" of a part that grows when a machine is slow.
const std::string& relief(StepPart part);
// Whether a step has little of it, whatever is trained.
bool overhead(StepPart part);
// The part that name() gives this name; none: of nothing.
StepPart part_named(std::string_view name);
// Whether faults of that kind make the part longer on all ranks.
bool made_longer_by(StepPart part, Symptom symptom);

struct PartName {
  StepPart part = StepPart::none;  // what time is spent on, as far as a word says
  bool waits = false;              // a rank is held up by others in it
  bool works = false;              // it may hold others up; neither: it holds parts of both
  bool whole = false;              // it has a word of the whole step

  // Whether it is of a part of a step at all.
  bool of_step() const { return waits || part != StepPart::none; }
};
PartName part_name(std::string_view name);
// "compute_ms" of "compute_ms_p50", and whether the statistic stands for the time: a median does,
// a maximum does not. Without one the name is all.
struct TimeStatistic {
  std::string_view time;
  bool any = false, middle = false;
};
TimeStatistic statistic_of(std::string_view name);
// An amount that a rank is given to work on: "tokens_in", "max_len".
bool tells_load(std::string_view name);
// Work at whose end the ranks wait for each other, if nothing else tells of that: "bwd_ms".
bool synchronises(std::string_view name);
// Whether the name is that of the step itself: "total", "iter_time".
bool whole_of_step(std::string_view name);

// What a loss is called on a line, in lower case, and what to search for to find such lines (at
// least five characters each).
std::span<const std::string> loss_names();
std::span<const std::string> loss_line_words();
// Whether one of the words is of work that is no training step: "[val] batch 3/40", "packet loss".
bool tells_of_other_work(std::string_view text);
// What the number of a step is called, the better names first.
std::span<const std::string> counter_names();

}  // namespace culprit::rules
