// What made the steps long? Simulate them with every operation at the usual time of its kind, then
// put back the measured times of one worker, one pipeline stage, one kind of operation, or the way
// micro-batches differ: whatever brings the slowdown back explains it (the idea of ByteDance's
// public straggler analysis; culprit-algorithms(7), "What-if").
//
// The simulated step is that of synchronous training: each data-parallel replica loads data, runs
// its pipeline one-forward-one-backward, then the workers of a stage synchronise gradients
// together, and the step ends when the last stage has. Measured waiting is left out on purpose, it
// comes out of the simulation: a collective or a receive lasts as long as for the member that waits
// least.
//
// The simple form, with one stage and one `forward` a step that holds all of a worker's own work,
// needs no more than the parts of an iteration that many trainers print.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/text.hpp"

namespace culprit::analyze {

enum class OperationKind {
  data,
  forward,
  backward,
  send,
  sync
};  // send: to or from the neighbour stage
const char* name(OperationKind kind);

// Where a worker stands. Ranks of one tensor-parallel group work in step: give one of them, or the
// slowest.
struct WorkerPlace {
  Rank rank{};
  std::int64_t stage = 0;    // of the pipeline, from 0
  std::int64_t replica = 0;  // data-parallel index
};

// A measured duration. data and sync: micro 0, one a step and worker (several are summed); send:
// one a micro-batch.
struct OperationTime {
  std::int64_t step = 0;
  Rank rank{};
  OperationKind kind = OperationKind::forward;
  std::int64_t micro = 0;  // micro-batch
  double ms = 0;
};

struct WhatIfParams {
  double slowdown = 1.10;  // below, there is nothing to explain (the public analysis: 1.1;
                           // GREYHOUND section 4.2: 10 %)
  double half = 0.5;       // what explains this share of the slowdown is the answer
  double few = 0.03;  // "few workers": this share of them, at least one (the public analysis: 3 %)
  double stage_longer =
      1.05;  // a stage is too long if even its fastest worker is so much above the usual
  std::size_t least_steps = 3;
};

enum class WhatIfAnswer {
  not_enough,
  no_slowdown,
  few_workers,
  stage_too_long,
  uneven_data,
  one_kind,
  nobody
};
const char* name(
    WhatIfAnswer answer);  // "few workers", "last stage too long" is decided by WhatIf::last_stage

struct Share {
  std::int64_t id = 0;  // rank, stage, or number of a kind
  double explains = 0;  // of the slowdown; above 1 when something else hides it
};

struct WhatIf {
  WhatIfAnswer answer = WhatIfAnswer::not_enough;
  double slowdown = 1;                   // simulated with the measured times over the ideal
  double measured_ms = 0, ideal_ms = 0;  // a step, simulated
  std::vector<Share> workers;            // the greatest share first, at most 20
  std::vector<Share> stages;             // by stage
  std::vector<Share> kinds;  // by kind; forward and backward are told together, as forward
  std::vector<Rank> few;     // the workers put back together
  double few_explain = 0;
  double data_explain = 0;  // micro-batches that differ
  std::int64_t stage = -1;  // stage_too_long: which
  bool last_stage = false;
  OperationKind kind = OperationKind::sync;  // one_kind: which
  Text why;
};

// Operations of ranks without a place, and numbers that are no durations, are left out and told in
// `why`.
WhatIf what_if(std::span<const OperationTime> operations, std::span<const WorkerPlace> places,
               const WhatIfParams& params = {});

}  // namespace culprit::analyze
