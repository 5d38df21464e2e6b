// How far apart the members of each parallel group are in a network of three layers, and which
// hosts change places so that each replica lies within one zone: then gradients alone cross zones,
// which bear the latency and the oversubscription best (FT-HSDP section 2.1).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"
#include "plan/backup.hpp"

namespace culprit::plan {

// Below one ToR switch; the zone of an aggregation switch (a pod); the data center of a core.
// "" = not known: a rack then holds nobody together, and all hosts are in one data center.
struct HostPlace {
  std::string rack, zone, center;
};

// The narrowest of these that holds all members of a group.
enum class Reach : std::uint8_t { host, rack, zone, center, beyond };
inline constexpr std::size_t kReaches = 5;
// Latency against that within a rack, FT-HSDP section 2.1.
inline constexpr std::array<double, kReaches> kReachLatency{0, 1, 7, 15, 30};

struct DimensionReach {
  std::string dimension;  // tp cp dp pp, and "replica": all ranks of one place in dp
  std::array<std::int64_t, kReaches> groups{};
};

struct ZonePlan {
  // By number of a host in the shape: the host that takes its ranks. A permutation.
  std::vector<std::int32_t> order;
  std::vector<DimensionReach> before, after;  // dimensions of size 2 and more
  std::int64_t replicas = 1, crossing_before = 0, crossing_after = 0;  // zones
  std::size_t moved = 0;                                               // hosts
};

// places: of each host of the shape, by its number. Replicas that share a host stay together. Those
// in one zone stay where they are; the others go, the largest first, to the zone that holds most of
// their hosts and has room; what fits into no zone takes what is left. Errors (usage): a host
// without a zone, fewer places than hosts.
Result<ZonePlan> plan_zones(const Shape& shape, std::span<const HostPlace> places);

}  // namespace culprit::plan
