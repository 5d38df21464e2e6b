// Did the job still move when its dumps were made? Time-outs in logs answer that; without them the
// age of what is unfinished does: the moment a dump was made (its own newest stamp, the moment in
// its name, the time of its file) against the moment its oldest unfinished operation was launched.
//
// File times are believed within bounds only: a copy made without keeping them is days younger than
// what it shows.
#pragma once

#include <optional>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"
#include "analyze/hang/stacks.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct StandstillParams {
  Nanoseconds unknown_timeout =
      600 * kSecond;                   // what PyTorch waits for NCCL when nobody says otherwise
  Nanoseconds joined = 60 * kSecond;   // an operation that all have joined takes milliseconds
  Nanoseconds device = 180 * kSecond;  // a GPU works off what it was given in seconds
  Nanoseconds believable =
      6 * 3600 * kSecond;  // a file this much younger than its last entry is a copy
  // Two looks of somebody who looks all the time, between which nothing was launched or done: a
  // checkpoint or an evaluation takes a minute or two.
  Nanoseconds unchanged = 180 * kSecond;
  double share = 0.75;      // of the dumps that must agree
  std::int64_t steps = 20;  // without a step for as long as so many took, and as long as a time-out
  // Steps completed this long after the last operation that the dumps know was launched: the job
  // moved. Less for a job of short steps: so many of them, and what clocks of machines may differ.
  Nanoseconds went_on = 120 * kSecond, least_went_on = 30 * kSecond;
  std::int64_t went_on_steps = 3;
};

struct Standstill {
  bool proven =
      false;  // something is unfinished for longer than its time-out, or steps ended long before
  Text why;
  // Between the last launch that the dumps know of and the moment they were made: for nearly all at
  // least this long. Nothing where no dump tells when it was made.
  std::optional<Nanoseconds> quiet;
  Text quiet_why;
  // What is known of collectives was written by somebody who looks all the time, not because
  // anything had failed: alone it proves nothing.
  bool periodic = false;
};

Standstill standstill(const Facts& facts, const StandstillParams& params = {});

// Why the job did not stand still when the dumps were made, by its logs: it completed steps after
// them, or ended with success. "" = they do not say so. Asked where no rank reported a time-out.
Text went_on(const Facts& facts, const StandstillParams& params = {});

// That the job stood still, from whatever says so besides its stacks: time-outs in logs, else the
// age of the dumps.
HangWord hang_known(const Facts& facts, const std::vector<Signal>& signals);

}  // namespace culprit::analyze
