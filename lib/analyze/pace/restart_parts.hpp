// How long each part of a start took: allocation, container, rendezvous, NCCL, checkpoint, first
// step (FT-HSDP section 3, figure 2). Only what lines bound or print; parts may overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/pace/job_steps.hpp"
#include "model/rows.hpp"

namespace culprit::analyze {

// timed: between two lines that print times; printed: a line prints the duration. Else there is no
// duration: no_time: the lines print no times; no_end: it began, and nothing says that it ended.
enum class PartState : std::uint8_t { not_seen, no_time, no_end, printed, timed };
std::string_view name(PartState state);

struct StartPart {
  std::string name, label;
  PartState state = PartState::not_seen;
  // Of a timed part in which several work (ranks, pods): that in which any of them was in it. Of
  // printed ones: the longest of any.
  std::optional<Nanoseconds> took;
  std::optional<Nanoseconds> start, end;  // UTC; of the first to begin, of the last to end
  std::size_t lines = 0;
  std::optional<Evidence> first, last;  // the lines of start and end; of printed ones: first
};

struct Start {
  std::int64_t attempt = 0;                       // counted from 0
  std::optional<std::int64_t> iteration;          // of its first step
  std::optional<Nanoseconds> since, until, took;  // last step before it, first step of it, between
  std::vector<StartPart> parts;                   // all that the table has, in its order
};

// In the order of time; a start that reached no step is the last. The first one is left out when
// nothing but its first step is seen.
std::vector<Start> restart_parts(const Facts& facts, const JobSteps& steps,
                                 std::span<const StartMarkRow> marks,
                                 std::span<const CheckpointRow> checkpoints);

}  // namespace culprit::analyze
