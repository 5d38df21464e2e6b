// What a bundle consists of for those who read it together, and who reads what of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "model/result.hpp"
#include "model/unit.hpp"

namespace culprit::bundle {

struct Listing {
  std::vector<Unit> units;     // in the order of walk()
  std::uint64_t entries = 0;   // against Limits::members: units and folders
  std::uint64_t problems = 0;  // of folders
  bool cut = false;            // the limit was hit: units are missing
  std::string told;            // what walk() tells of the folders themselves, as text
};

// Looks at names and sizes, opens no unit. Errors as walk().
Result<Listing> list_units(const std::string& path, const Limits& limits);

// Which of `shards` reads each unit, counted from 0: the largest first, to the one that has the
// least so far; of equal ones the first by path, to the first shard. (LPT: Graham, Bounds on
// Multiprocessing Timing Anomalies, 1969: at most 4/3 of the shortest time possible.)
// Who lists the same units gets the same answer, whatever the order of the list. shards >= 1.
std::vector<std::uint32_t> divide(std::span<const Unit> units, std::uint32_t shards);

}  // namespace culprit::bundle
