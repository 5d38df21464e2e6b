// Shards into one database: their facts in the order in which one machine would have read them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"
#include "store/database.hpp"
#include "store/shard.hpp"

namespace culprit::store {

struct ShardHead {
  std::string path;
  std::uint32_t number = 0, count = 0;      // 3/12
  std::map<std::string, std::string> meta;  // all rows; `get` of what is not there is ""
  std::string get(const std::string& key) const;
};

// Errors name the reason: no database, of another layout, cut (as a copy that broke off), not a
// shard, not read to its end.
Result<ShardHead> read_shard_head(const std::string& path);
// The listing of a shard. Errors: one that cannot be.
Result<std::vector<ListedUnit>> listed_units(const ShardHead& head);

// What comes next: a place on the tape of a shard, both from 0.
struct MergeStep {
  std::uint32_t shard = 0;
  std::uint64_t place = 0;
  const ListedUnit* unit = nullptr;  // nullptr: what is told of folders
};

struct Merged {
  std::vector<std::uint64_t> bytes;  // of the members of each source, decompressed
  // A shard that turned out to be damaged, and how: what was written is of no use.
  std::optional<std::pair<std::uint32_t, Error>> damaged;
};

// Writes the facts of the shards, each read once from its begin to its end; at most kOpenShards are
// open at a time. paths: of shard i; "" of one that is missing, whose units become members that
// were not read, with a problem that `missing` words. Errors: of `into`. REQUIRES
// into.begin_ingest().
inline constexpr std::size_t kOpenShards = 64;
Result<Merged> merge_shards(std::span<const std::string> paths, std::span<const MergeStep> steps,
                            const std::function<std::string(std::uint32_t shard)>& missing,
                            Database& into);

}  // namespace culprit::store
