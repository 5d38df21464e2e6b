// The completed training steps that one log reports, column by column: a long job has tens of
// millions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/series.hpp"

namespace culprit {

struct StepTable {
  MemberId member = 0;
  std::string framework;      // megatron deepspeed nemo torchtitan huggingface generic jsonl
  Clock clock = Clock::none;  // of `times`
  // Equally long, in the order of the file.
  std::vector<std::int64_t> iteration;  // kNoValue = not printed
  std::vector<std::int64_t> times;      // nanoseconds on `clock`; kNoValue = not printed
  std::vector<double> iteration_ms;     // NaN = not printed
  std::vector<double> loss;             // NaN = not printed or not a number, see not_a_number
  std::vector<double> grad_norm;
  std::vector<std::uint8_t> not_a_number;  // bit 0: the loss, bit 1: the norm
  std::vector<std::int64_t> lines, offsets;
  std::size_t size() const { return iteration.size(); }
};

}  // namespace culprit
