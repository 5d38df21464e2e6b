// A shard: the part of an incident that one of several machines has read (schemas/shard.sql). It is
// an incident.db of its members, and knows besides in which order their facts came, so that a merge
// writes the bytes that one machine would have written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/result.hpp"
#include "model/sink.hpp"
#include "model/unit.hpp"
#include "store/database.hpp"

namespace culprit::store {

inline constexpr std::uint32_t kMostShards = 1 << 16;

struct ListedUnit {
  Unit unit;                            // its path with the label of its bundle
  std::uint32_t source = 0, shard = 0;  // from 0
};

// Removes a database that a dead process left at `path`. Errors: somebody is writing it.
Result<> make_way(const std::string& path);

// Makes a database one of a shard: before begin_ingest().
Result<> lay_out_shard(Database& db, std::span<const ListedUnit> units);

// The sink of a shard. Forwards to that of the database, and writes down in which order.
class ShardSink final : public MemberSink {
 public:
  // of_folders: what is told of folders themselves is kept. All shards of one bundle see the same;
  // the first keeps it.
  ShardSink(Database& db, bool of_folders);
  ~ShardSink() override;

  void begin_place(std::uint64_t place) override;
#define CULPRIT_PUT(Row, name) void put(const Row& row) override;
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest& manifest, const Place& place) override;
  GroupId group(const GroupRow& row) override;
  SeriesId series(const SeriesRow& row) override;
  std::optional<std::string> finished(const std::string&) override { return std::nullopt; }
  MemberId begin_member(const MemberRow& row) override;
  void end_member(const MemberRow& row) override;
  void problem(const std::string& path, const std::string& code,
               const std::string& reason) override;

  // How many problems were told of folders.
  std::uint64_t folder_problems() const;
  // After the last fact: writes what is left; the digest of everything.
  std::string finish();

 private:
  friend Result<> lay_out_shard(Database& db, std::span<const ListedUnit> units);
  static sqlite3* handle_of(const Database& db);
  struct Tape;
  std::unique_ptr<Tape> tape_;
};

}  // namespace culprit::store
