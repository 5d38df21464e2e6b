// What the keys and columns mean in the metrics that trainers write themselves. There is no
// standard: the words here are those of Megatron-LM, NeMo, torchtitan, DeepSpeed, Lightning, wandb
// and TensorBoard, and the obvious spellings of home-made loops.
#pragma once

#include <string_view>

#include "model/time.hpp"

namespace culprit::ingest {

enum class KeyRole : unsigned char {
  value,  // a number to keep
  step,
  time,  // where on the axes the record stands
  rank,
  local_rank,
  host,
  gpu,
  nic,
  port,     // of a network card
  device,   // a GPU or a network card: its name tells which
  run,      // tells the series of one run from those of another
  element,  // of storage or network, where the cell is a name: a switch, a target
  metric,   // long tables: the name of what stands in `amount`
  amount,
  operation,  // a log of collective calls: AllReduce ...
  bytes,
  group,  // the communicator of the call
};

struct KeyMeaning {
  KeyRole role = KeyRole::value;
  int grade = 0;  // of several keys of one role in a record the highest counts: global_step is
                  // surer than _step
};
KeyMeaning meaning_of(std::string_view key);

enum class Figure : unsigned char { none, loss, grad_norm, iteration_time };

struct FigureMeaning {
  Figure figure = Figure::none;
  int grade = 0;
  double to_ms = 0;  // of an iteration time; 0: the name does not tell the unit
};
// Of training, not of validation: "train/loss" is the loss, "eval/loss" is not.
FigureMeaning figure_of(std::string_view key);

// Whether the name of a device is a GPU's: "3", "gpu3", "GPU-7f…", "cuda:3".
bool of_gpu(std::string_view device);

// A moment, as a number that counts from the epoch in s, ms, us or ns (told by its size: years 2001
// to 2100) or as ISO text. False for anything else: a duration, a date without a time.
bool moment(std::string_view text, Timestamp& time);

// A word that programs print in place of digits: NaN, Infinity, -inf.
bool odd_number(std::string_view word, double& value);

}  // namespace culprit::ingest
