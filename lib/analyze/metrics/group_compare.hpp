// Which process group is slower than others that move as much: GREYHOUND §4.3, cross-group
// comparison.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/text.hpp"

namespace culprit::analyze {

struct GroupTime {
  std::string name;   // dp/3
  std::string kind;   // operation and kind of group; only equal kinds are compared. "" is one, too
  double volume = 0;  // bytes of one run
  double time = 0;    // of one run, any unit: the median of its runs, best
  std::optional<double> past;  // its own time when it was well, same unit
};

struct GroupCompareParams {
  double factor = 1.10;            // GREYHOUND §4.3: exceeds the median by over 10 %
  double volume_tolerance = 0.01;  // "identical data transfer volume"; padding and headers differ
};

// Groups of equal volume, a comparable cluster.
struct GroupCluster {
  enum class Against {
    median,   // three or more
    faster,   // two: their median holds the slow one, and 10 % would become 22 %
    past,     // half or more slow, or alone: each against its own past
    nothing,  // cannot be judged
  };
  std::string kind;
  double volume = 0;                // median
  std::vector<std::string> groups;  // sorted
  Against against = Against::nothing;
  double reference = 0;  // what they were held against; 0 with past and nothing
  Text why;              // when it could not be judged
};

struct SlowGroup {
  std::string name, kind;
  double time = 0, reference = 0, factor = 0;
  GroupCluster::Against against = GroupCluster::Against::median;
};

struct GroupComparison {
  std::vector<SlowGroup> slow;         // slowest first
  std::vector<GroupCluster> clusters;  // by kind, volume
  std::vector<std::string>
      unusable;  // names of groups whose time or volume is no positive number; sorted
};

// A group's slowness accuses the group: all its members wait for its slowest link or member. Order
// does not matter.
GroupComparison compare_groups(std::span<const GroupTime> groups,
                               const GroupCompareParams& params = {});

}  // namespace culprit::analyze
