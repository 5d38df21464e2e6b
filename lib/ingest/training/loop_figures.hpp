// The numbers on step lines of home-made training loops, of any punctuation:
// "step 20 | loss 1.98 | fwd+bwd 3.2s | allreduce 0.65s", "iter=20 data_time=0.1 mem=43.1GB".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/training/line_figures.hpp"

namespace culprit::ingest {

// Whether the words say that something is evaluated, not trained: "val", "test_loss".
bool says_evaluation(std::string_view text);

// Adds what is a time, an amount of memory or a rate: by the unit behind the number, or by its name
// where it has none. Losses and step numbers are progress, and left out.
void add_loop_figures(std::string_view text, LineFigures& figures);

// Those that are times of parts of a step, with or without a unit.
struct PartFigure {
  std::string name;
  std::string_view unit;
  double value = 0;
};
std::vector<PartFigure> part_figures(std::string_view text);
// A number without a unit has the one that the others of the line have, or `unit`.
void add_part_figures(const std::vector<PartFigure>& parts, std::string_view unit,
                      LineFigures& figures);

// How long the step took, ms, where the line tells of two of its parts or more: their total, if one
// is printed and fits, else their sum.
std::optional<double> step_of_parts(std::string_view text);

}  // namespace culprit::ingest
