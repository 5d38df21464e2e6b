// What the loss and the gradient norm say (ByteRobust section 4.1): a value five times the usual
// one, NaN or Inf, and the last state before it that is worth going back to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/text.hpp"

namespace culprit::analyze {

// In the order of training. A value that was not printed is absent; NaN and Inf are values.
struct LossRecord {
  std::int64_t iteration = 0;
  std::optional<double> loss, grad_norm;
};

struct LossParams {
  double spike = 5.0;       // ByteRobust section 4.1
  std::size_t window = 50;  // values of the running median
  std::size_t least = 10;   // before so many values nothing is usual
};

struct Spike {
  std::string metric;                // "loss", "grad_norm"
  std::int64_t first = 0, last = 0;  // iterations
  double peak = 0;
  double usual = 0;  // running median before it
  std::size_t rows = 0;
};

struct LossSignals {
  std::vector<Spike> spikes;              // by first iteration, loss before grad_norm
  std::optional<std::int64_t> first_bad;  // iteration with the first NaN or Inf
  std::string bad_metric, bad_value;      // "loss", "nan"
  std::size_t bad_rows = 0;
  bool recovered = false;                 // finite values came after it
  std::optional<std::int64_t> last_good;  // the last iteration before it with finite values
  std::optional<std::int64_t>
      checkpoint;  // the last one that was not written after the first bad iteration
  std::vector<Text> notes;
};

// `checkpoints`: iterations at which one was saved, in any order.
LossSignals loss_signals(std::span<const LossRecord> rows,
                         std::span<const std::int64_t> checkpoints = {},
                         const LossParams& params = {});

}  // namespace culprit::analyze
