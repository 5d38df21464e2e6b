// What a batch keeps of one bundle beside its reports: bundles/NAME/entry.json. It is written last,
// so a bundle that has one is finished; the whole of a batch is made again from these files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/fleet.hpp"
#include "model/result.hpp"

namespace culprit::batch {

struct Entry {
  std::string name, source;
  std::string fingerprint;          // of the bundle when it was read
  std::string setup;                // digest of program, rules and options
  std::string status;               // done; unreadable, crashed, timeout, memory: see reason
  std::string reason, where, help;  // of a bundle without a verdict, or not read whole
  std::string gate;                 // the most severe --fail-on level that trips; none
  std::uint64_t problems = 0;       // things of the bundle that could not be read
  std::optional<FleetIncident> incident;

  bool done() const { return status == "done" && incident.has_value(); }
};

std::string to_json(const Entry& entry);
std::optional<Entry> entry_from_json(const std::string& text);

// The entries of a results folder, by name; what is broken there is left out, and so is made again.
std::vector<Entry> read_entries(const std::filesystem::path& folder);

// Written beside and renamed: a file is there whole or not at all.
Result<> write_file(const std::filesystem::path& path, const std::string& text);
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most);

}  // namespace culprit::batch
