// Bundles into a database: the first pass.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/ingest.hpp"
#include "model/result.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct ReadRequest {
  std::vector<std::string> sources;   // folders, archives, files, "-"
  std::vector<std::string> outcomes;  // files of outcomes of checks, read besides the sources
  std::string manifest;     // a file that counts before the bundle's own manifest; "" = none
  std::string timezone;     // of times that print none; "" = not said
  std::string tool;         // name and version, kept in the database
  ingest::Options options;  // sink_failed is set by read_bundles
  std::function<void(std::string_view)> remark = [](std::string_view) {};
};

struct ReadOutcome {
  ingest::Summary summary;
  bool incomplete = false;  // some input could not be read
};

// The database to read the bundles into. Errors: bundles that cannot be opened, or that culprit
// wrote (usage).
Result<store::Database> open_new(std::span<const std::string> sources, const std::string& path);

// Bundles -> facts, in the database. Errors: other rules or another bundle than the database was
// made with (usage), a manifest or zone that cannot be used, an interruption, a full disk.
Result<ReadOutcome> read_bundles(const ReadRequest& request, const rules::RulePack& pack,
                                 store::Database& db);

// The outcomes alone, into a database that was read before.
Result<ReadOutcome> read_outcomes(const ReadRequest& request, const rules::RulePack& pack,
                                  store::Database& db);

// The first rows of a database that is read into: what it is made of and how. read_shard() and
// merge() begin alike.
Result<std::string> whole_paths(const std::vector<std::string>& sources);  // a line each
Result<> begin_reading(const ReadRequest& request, const std::string& paths,
                       const rules::RulePack& pack, store::Database& db);
// Runs `read` with the sink's failures looked at; an interruption is an error.
Result<ingest::Summary> read_members(
    const ReadRequest& request, store::Database& db,
    const std::function<Result<ingest::Summary>(const ingest::Options& options)>& read);

// Whether a problem means that input was lost; some are about files that were read to their end.
bool loses_input(const ProblemRow& problem);

}  // namespace culprit::diagnose
