// What readers of progress lines share: numbers as printed, the loss and the gradient norm.
#pragma once

#include <optional>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// A number in any of the spellings: 4,381 · 3.2e+4 · nan · INF. `odd` tells that it was printed and
// is not finite.
std::optional<double> printed_number(std::string_view text, bool& odd);

// "loss=2.31", "train_loss: 0.4", "| grad norm 1.2": what home-made loops print, and people add to
// the lines of frameworks. False: no loss.
bool read_loss(std::string_view text, ProgressRow& row);

// Whether the line is torchtitan's: "step: 700  loss:  0.7052  grad_norm: ...".
bool of_torchtitan(std::string_view text);

ProgressRow progress_row(const TextLine& line, const char* framework);
void put_progress(const ProgressRow& row, Reading& reading);

}  // namespace culprit::ingest
