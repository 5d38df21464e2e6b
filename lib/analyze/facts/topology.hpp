// Who belongs to which parallel group, which host, which switch. Ranks alone know nothing of this:
// it comes from the process groups of a flight recorder (which win, being what ran), the manifest,
// or the training's own arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// Sizes of the parallel dimensions and the order in which ranks run through them, fastest first, as
// Megatron writes it: "tp-cp-ep-dp-pp". Dense groups take ep as 1;
// experts take cp as 1 and have their own tensor size.
struct Layout {
  std::int64_t tp = 1, pp = 1, dp = 1, cp = 1, ep = 1, etp = 1;
  std::string order = "tp-cp-ep-dp-pp";
  std::int64_t world() const { return tp * pp * dp * cp; }
};

struct ParallelGroup {
  std::string
      dimension;   // tp cp dp pp etp ep edp mp (tp x pp: one replica) ..., or the description of a
                   // process group that is none of them; never the whole world
  std::string id;  // "pp/3"; stable
  std::vector<Rank> ranks;  // sorted
};

// The groups of every dimension of size 2 and more; etp, ep and edp when ep > 1, mp when tp and pp
// are. Empty when the order is not a permutation of known axes.
std::vector<ParallelGroup> parallel_groups(const Layout& layout);

struct Switch {
  std::string kind, name;  // switch, block, pod, rail, rack
  std::int64_t level = 0;  // 0: hosts hang on it; pods of the manifest are 1
  std::vector<Host>
      hosts;  // sorted; of all levels below too; those that this incident knows, when it knows any
};

struct Topology {
  std::string source;  // what the groups come from: recorder, manifest, "megatron arguments"
                       // (gpt-neox, nemo, torchtitan arguments); "" = not known
  std::optional<Layout> layout;       // when it is known or the groups agree with one
  std::vector<ParallelGroup> groups;  // by dimension, then by first rank
  std::map<Rank, Host> host_of;       // rank -> host
  // When nothing ties ranks to hosts: by the order of a host file or node list. A guess, for
  // reading only, never to accuse a host with: torchrun's c10d rendezvous counts nodes as they
  // join, in any order.
  std::map<Rank, Host> guessed_host_of;
  std::string guess_source;  // "hostfile order", "nodelist order", "manifest order"; "" = no guess
  std::vector<Switch> switches;
  std::vector<Text> notes;  // contradictions between sources

  std::vector<Host> hosts_of(const std::vector<Rank>& ranks) const;  // sorted, each once
  std::string where(
      Rank rank) const;  // "rank 5 (node-07)", "rank 5 (node-07 by hostfile order)", or "rank 5"
};

Topology make_topology(const Facts& facts);

// "TENSOR_MODEL_PARALLEL_GROUP" -> "tp", "mesh_dp_shard" -> "dp", "default_pg" -> "world"; several
// dimensions together as "dp-cp", "tp-cp", "tp-dp", "tp-dp-cp", "etp-ep", "etp-ep-pp"; the
// lower-case name itself when it is none of these.
std::string dimension_of(std::string_view description);

}  // namespace culprit::analyze
