// One incident read by several machines: each reads a shard, and a merge makes one database of
// them. There is no coordinator: all compute the same division from the same listing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/read.hpp"
#include "model/result.hpp"
#include "model/unit.hpp"
#include "rules/pack.hpp"

namespace culprit::diagnose {

// "3/12". where: the bundle is a part that lies on this machine alone, and its members stand under
// this label; "" when all machines see one bundle.
struct ShardRequest {
  std::uint32_t number = 1, count = 1;
  std::string where;
};

struct ShardOutcome {
  bool incomplete = false;                     // some input could not be read
  bool already = false;                        // it was there, of the same bundle: nothing was read
  std::uint64_t units = 0, bytes = 0;          // of this shard, on disk
  std::uint64_t all_units = 0, all_bytes = 0;  // of the bundle
  std::vector<Unit>
      large;  // of this shard: each is large, and more than an even share of the bundle
};

// Reads a shard into `path`, which is there whole or not at all. Errors: a bundle that changes
// meanwhile, that is standard input, or in which `path` lies; a file at `path` that is no shard;
// and as read_bundles().
Result<ShardOutcome> read_shard(const ReadRequest& request, const ShardRequest& shard,
                                const rules::RulePack& pack, const std::string& path);

struct MergeRequest {
  std::vector<std::string> shards;  // databases
  bool partial = false;             // without those that are missing or cannot be read
  std::string tool;                 // name and version: shards of another are refused
  std::function<void(std::string_view)> remark = [](std::string_view) {};
};

struct MergeOutcome {
  std::vector<std::uint32_t> missing;  // numbers of shards
  bool incomplete = false;             // some input could not be read
};

// Shards -> `path`: the bytes that `culprit ingest` on one machine writes, and as ready. Errors
// name every shard that is lost, cut, of another bundle, version or rules, or there twice and
// different.
Result<MergeOutcome> merge(const MergeRequest& request, const std::string& path);

}  // namespace culprit::diagnose
