// Who belongs to which parallel group, which host, which switch. Ranks alone know nothing of this: it comes from the
// process groups of a flight recorder (which win, being what ran), the manifest, or the training's own arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts.hpp"

namespace culprit::analyze {

// Sizes of the parallel dimensions and the order in which ranks run through them, fastest first, as Megatron writes
// it: "tp-cp-ep-dp-pp" (input-formats, section 10). Dense groups take ep as 1; experts take cp as 1 and have their own
// tensor size.
struct Layout {
  std::int64_t tp = 1, pp = 1, dp = 1, cp = 1, ep = 1, etp = 1;
  std::string order = "tp-cp-ep-dp-pp";
  std::int64_t world() const { return tp * pp * dp * cp; }
};

struct ParallelGroup {
  std::string dimension;              // tp pp dp cp ep ..., or the description of a process group that is none of them
  std::string id;                     // "pp/3"; stable
  std::vector<std::int64_t> ranks;    // sorted
};

// The groups of every dimension of size 2 and more. Empty when the order is not a permutation of known axes.
std::vector<ParallelGroup> parallel_groups(const Layout& layout);

struct Switch {
  std::string kind, name;             // switch, block, pod, rail
  std::int64_t level = 0;             // 0: hosts hang on it
  std::vector<std::string> hosts;     // sorted; of all levels below too
};

struct Topology {
  std::string source;                 // what the groups come from: recorder, manifest, megatron arguments; "" = not known
  std::optional<Layout> layout;       // when it is known or the groups agree with one
  std::vector<ParallelGroup> groups;  // by dimension, then by first rank
  std::map<std::int64_t, std::string> host_of;   // rank -> host
  std::vector<Switch> switches;
  std::vector<std::string> notes;     // contradictions between sources

  std::string where(std::int64_t rank) const;    // "rank 5 (node-07)", or "rank 5"
};

Topology make_topology(const Facts& facts);

// "TENSOR_MODEL_PARALLEL_GROUP" -> "tp", "mesh_dp_shard" -> "dp", "default_pg" -> "world"; the lower-case name itself
// when it is none of the known ones.
std::string dimension_of(std::string_view description);

}  // namespace culprit::analyze
