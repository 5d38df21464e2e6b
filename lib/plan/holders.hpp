// Who holds which part of the model: layers, experts and optimizer shards by rank, and the reverse.
// Placement as Megatron-LM does it: pipeline stages take layers in turn, expert groups lie inside
// of the data- and context-parallel ones, and a distributed optimizer (ZeRO stage 1, Rajbhandari et
// al. section 5.1) divides the state of one tensor and pipeline position over all its replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plan/backup.hpp"

namespace culprit::plan {

struct ModelSizes {
  std::int64_t ep = 1;              // size of the expert-parallel groups
  std::int64_t layers = 0;          // 0: not given
  std::int64_t virtual_stages = 1;  // chunks of layers a pipeline stage has (interleaved schedule)
  std::int64_t experts = 0;         // of a layer; 0: not given
  bool sharded = true;              // the optimizer's state
};

// Both ends included.
using Span = std::pair<std::int64_t, std::int64_t>;

struct Held {
  Rank rank{};
  std::vector<Span> layers;            // one a chunk; empty: their number is not given
  std::optional<std::int64_t> ep;      // its coordinate; with ep > 1
  std::optional<Span> experts;         // of each of its layers
  std::int64_t shard = 0, shards = 1;  // of the optimizer's state
  // Sorted, without itself: who has the same weights, the same experts, the same optimizer state.
  std::vector<Rank> weights, expert_weights, optimizer;
};

// All that are given must hold.
struct HolderQuestion {
  std::optional<std::int64_t> layer, expert, shard;
};

class Holders {
 public:
  // Errors (usage): sizes that do not divide: layers by stages, experts by ep, replicas by ep.
  static Result<Holders> make(Shape dense, const ModelSizes& sizes);

  // Requires a rank of the shape.
  Held held_by(Rank rank) const;
  // Sorted. Errors (usage): a layer, expert or shard that there is none of, or whose number was not
  // given.
  Result<std::vector<Rank>> holders_of(const HolderQuestion& question) const;
  std::int64_t shards() const { return sizes_.sharded ? replicas_ : 1; }

 private:
  struct Cell {  // where a rank stands
    std::int64_t tp = 0, pp = 0, replica = 0, ep = 0;
  };
  Cell cell(Rank rank) const;
  std::vector<Span> layers_of(std::int64_t stage) const;

  Shape dense_, expert_;
  ModelSizes sizes_;
  std::int64_t pp_ = 1, replicas_ = 1;
};

}  // namespace culprit::plan
