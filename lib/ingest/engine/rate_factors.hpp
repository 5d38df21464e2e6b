// Of many measurements of a rate, of which some are far below the others: what the slow ones have
// in common and no other has. A pair test, a bisection, a loop over all ports of all machines are
// one question (Aegis section 5.2, NetDiag; group tests of algorithm 1).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace culprit::ingest {

// What took part in a measurement.
struct RatePart {
  enum class Kind { host, device, network_switch, rail, group, stage };
  Kind kind{};
  std::string host;  // of a host or a device
  std::string name;  // of a device, a switch, a rail, a group or a stage of a pipeline
  auto operator<=>(const RatePart&) const = default;
};

struct RateRow {
  std::vector<RatePart> parts;
  std::string condition;  // only rows of one condition are like each other: a size, an operation
  double rate = 0;        // in whatever unit, the same in all rows of a condition
};

struct SlowFactor {
  std::vector<RatePart> parts;      // one; several where no measurement tells them apart
  bool between = false;             // both of two machines, each of which is usual with others
  std::size_t slow = 0, usual = 0;  // rows
  double share = 0;                 // of a usual rate that the slow rows have in the middle
  double rate = 0, usual_rate = 0;  // both of the slowest row and its condition
  std::size_t slowest = 0;          // index of that row
};

// Nothing where no rate is far below the others, where there is no gap between both, and where
// nothing tells the slow rows from the others.
std::optional<SlowFactor> slow_factor(const std::vector<RateRow>& rows);

}  // namespace culprit::ingest
