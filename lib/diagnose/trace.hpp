// An incident as a trace: what export trace prints.
#pragma once

#include <string>

#include "analyze/facts/facts.hpp"
#include "model/trace.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// What one viewer opens without trouble. Beyond these, ranks that behave alike share a track, lines
// of one class a slice, steps in a row a slice, and the rest is counted in Trace::about; hosts and
// ranks that the verdict or a finding names keep tracks of their own.
struct TraceLimits {
  std::size_t hosts = 2000;      // processes
  std::size_t ranks = 4000;      // tracks of single ranks
  std::size_t named = 200;       // hosts, and ranks, with tracks of their own beyond those
  std::size_t events = 30'000;   // instants
  std::size_t findings = 5'000;  // slices
  std::size_t steps = 30'000;    // slices
  std::size_t calls = 30'000;    // slices
  std::size_t series = 200;      // curves
  std::size_t points = 500;      // of a curve
};

// document: the verdict (schemas/diagnosis-v1.json). What has no time in UTC, and what is not of
// this job, is not in a trace. The same incident gives the same trace.
Trace trace_of(const store::Database& db, const analyze::Facts& facts, const std::string& document,
               const TraceLimits& limits = {});

}  // namespace culprit::diagnose
