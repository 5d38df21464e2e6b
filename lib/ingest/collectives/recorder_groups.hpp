// The process groups of a flight recorder's dump: those of its configuration, those that only
// entries name, and what their status counts.
#pragma once

#include <array>
#include <unordered_map>

#include "ingest/collectives/recorder_values.hpp"

namespace culprit::ingest {

struct RecorderGroup {
  GroupRow row;
  GroupId id = GroupId::none;
  bool configured = false;
  std::string local;  // key of pg_status, as an entry tells it
  std::size_t status = std::string::npos;
  std::vector<std::uint32_t> entries;  // in order of launch
};

struct RecorderStatus {
  std::string id;
  std::int64_t enqueued = kUnknownSequence, started = kUnknownSequence,
               completed = kUnknownSequence;
  std::uint32_t node = 0;
  std::int64_t group = -1;  // index; -1 = nothing names it
};

class RecorderGroups {
 public:
  // Keeps references to both. path: of the dump.
  RecorderGroups(RecorderValues& values, const std::string& path) : values_(values), path_(path) {}

  void read_config(const Value& config);
  // The group that an entry names, by index.
  std::uint32_t of(const Value& process_group, const Value& pg_id);
  // After all entries. Gives what the report of status without a group says; "": all have one.
  std::string read_status(const Value& status);

  std::vector<RecorderGroup> all;
  std::vector<RecorderStatus> status;

 private:
  std::uint32_t add(const std::string& key, std::string name, std::string_view description);
  void name_by_entries();
  void name_by_numbers();
  std::string name_the_last();
  void join(std::size_t status_at, std::size_t group) {
    status[status_at].group = static_cast<std::int64_t>(group);
    all[group].status = status_at;
  }

  RecorderValues& values_;
  const std::string& path_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::array<std::pair<std::string_view, std::uint32_t>, 8> recent_{};
  std::size_t next_recent_ = 0;
};

}  // namespace culprit::ingest
