#include "plan/holders.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace culprit::plan {

namespace {

std::int64_t size_of(const Shape& shape, std::string_view dimension) {
  for (const Dimension& d : shape.dimensions)
    if (d.name == dimension) return d.size;
  return 1;
}

std::int64_t coordinate_of(const Shape& shape, Rank rank, std::string_view dimension) {
  for (std::size_t d = 0; d < shape.dimensions.size(); ++d)
    if (shape.dimensions[d].name == dimension) return shape.coordinate(rank, d);
  return 0;
}

// Experts take no part in context parallelism: their replicas are what the groups of ep leave of cp
// and dp together.
Shape expert_shape(const Shape& dense, std::int64_t ep) {
  const Dimension expert{"ep", ep};
  const bool named =
      std::ranges::any_of(dense.dimensions, [](const Dimension& d) { return d.name == "ep"; });
  Shape out;
  for (const Dimension& d : dense.dimensions) {
    if (d.name == "cp") continue;
    if (d.name == "dp") {
      if (!named) out.dimensions.push_back(expert);
      out.dimensions.push_back({"dp", d.size * size_of(dense, "cp") / ep});
    } else {
      out.dimensions.push_back(d.name == "ep" ? expert : d);
    }
  }
  return out;
}

Error uneven(const char* what, std::int64_t many, const char* over, std::int64_t parts) {
  return usage_error(
             fmt::format("{} {} cannot be divided evenly over {} {}", many, what, parts, over))
      .hint("give the sizes that the job was started with");
}

}  // namespace

Result<Holders> Holders::make(Shape dense, const ModelSizes& sizes) {
  Holders out;
  out.pp_ = size_of(dense, "pp");
  out.replicas_ = size_of(dense, "dp") * size_of(dense, "cp");
  out.sizes_ = sizes;
  if (out.replicas_ % sizes.ep != 0)
    return uneven("replicas (dp x cp)", out.replicas_, "expert groups (ep)", sizes.ep);
  if (sizes.layers % (out.pp_ * sizes.virtual_stages) != 0)
    return uneven("layers", sizes.layers, "pipeline stages and their chunks",
                  out.pp_ * sizes.virtual_stages);
  if (sizes.experts % sizes.ep != 0)
    return uneven("experts", sizes.experts, "ranks of an expert group (ep)", sizes.ep);
  out.expert_ = expert_shape(dense, sizes.ep);
  out.dense_ = std::move(dense);
  return out;
}

Holders::Cell Holders::cell(Rank rank) const {
  const std::int64_t cp = coordinate_of(dense_, rank, "cp"), dp = coordinate_of(dense_, rank, "dp");
  return {coordinate_of(dense_, rank, "tp"), coordinate_of(dense_, rank, "pp"),
          cp + size_of(dense_, "cp") * dp, coordinate_of(expert_, rank, "ep")};
}

std::vector<Span> Holders::layers_of(std::int64_t stage) const {
  std::vector<Span> out;
  const std::int64_t each = sizes_.layers / (pp_ * sizes_.virtual_stages);
  for (std::int64_t chunk = 0; each > 0 && chunk < sizes_.virtual_stages; ++chunk) {
    const std::int64_t first = (chunk * pp_ + stage) * each;
    if (!out.empty() && out.back().second + 1 == first)
      out.back().second = first + each - 1;
    else
      out.push_back({first, first + each - 1});
  }
  return out;
}

Held Holders::held_by(Rank rank) const {
  const Cell own = cell(rank);
  Held out;
  out.rank = rank;
  out.layers = layers_of(own.pp);
  if (sizes_.ep > 1) out.ep = own.ep;
  if (sizes_.experts > 0) {
    const std::int64_t each = sizes_.experts / sizes_.ep;
    out.experts = Span{own.ep * each, (own.ep + 1) * each - 1};
  }
  if (sizes_.sharded) {
    out.shard = own.replica;
    out.shards = replicas_;
  }
  for (std::int64_t r = 0; r < dense_.ranks(); ++r) {
    const Rank other{r};
    if (other == rank) continue;
    const Cell at = cell(other);
    if (at.tp != own.tp || at.pp != own.pp) continue;
    out.weights.push_back(other);
    if (!sizes_.sharded) out.optimizer.push_back(other);
    if (at.ep == own.ep) out.expert_weights.push_back(other);
  }
  if (sizes_.ep == 1) out.expert_weights.clear();
  return out;
}

Result<std::vector<Rank>> Holders::holders_of(const HolderQuestion& question) const {
  const auto within = [](const char* what, std::int64_t at, std::int64_t count,
                         const char* option) -> Result<> {
    if (count == 0)
      return usage_error(fmt::format("how many {}s there are is not given", what)).hint(option);
    if (at < 0 || at >= count)
      return usage_error(fmt::format("there is no {} {}: they are 0 to {}", what, at, count - 1))
          .hint("all are counted from 0");
    return {};
  };
  if (question.layer) CULPRIT_CHECK(within("layer", *question.layer, sizes_.layers, "--layers N"));
  if (question.expert)
    CULPRIT_CHECK(within("expert", *question.expert, sizes_.experts, "--experts N"));
  if (question.shard) CULPRIT_CHECK(within("shard", *question.shard, shards(), "--dp N"));
  std::vector<Rank> out;
  for (std::int64_t r = 0; r < dense_.ranks(); ++r) {
    const Cell at = cell(Rank(r));
    const std::vector<Span> layers = question.layer ? layers_of(at.pp) : std::vector<Span>{};
    const bool layer = !question.layer || std::ranges::any_of(layers, [&](const Span& span) {
      return span.first <= *question.layer && *question.layer <= span.second;
    });
    const bool expert =
        !question.expert || *question.expert / (sizes_.experts / sizes_.ep) == at.ep;
    const bool shard = !question.shard || !sizes_.sharded || *question.shard == at.replica;
    if (layer && expert && shard) out.push_back(Rank(r));
  }
  return out;
}

}  // namespace culprit::plan
