// The incident that a command works on: a bundle that is read for it, or the database of an earlier
// call.
#pragma once

#include <functional>
#include <string>

#include "arguments.hpp"
#include "diagnose/read.hpp"
#include "diagnose/resolve.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

// Options that say how a bundle is read.
inline constexpr OptionSpec kRulesOption[] = {
    {"rules", "DIR", "your own rules, besides ours; the same id replaces ours (may be repeated)"}};
inline constexpr OptionSpec kManifestOption[] = {
    {"manifest", "FILE",
     "the manifest (job.json), where none can be put into the bundle; it counts before the "
     "bundle's own"}};
inline constexpr OptionSpec kTimezoneOption[] = {
    {"timezone", "ZONE", "zone of times that print none: UTC, +08:00, Asia/Singapore"}};
inline constexpr OptionSpec kThreadsOption[] = {
    {"threads", "N",
     "threads that scan (default: the machine's); the answer does not depend on it"}};
inline constexpr OptionSpec kLimitOptions[] = {
    {"max-members", "N", "most files of a bundle (default 1M)"},
    {"max-member-bytes", "N", "most bytes of one file, decompressed (default 1T)"},
    {"max-total-bytes", "N", "most bytes of a bundle, decompressed (default 4T)"},
    {"max-expansion", "N", "most times a compressed file may grow (default 1000)"},
    {"max-depth", "N", "most archives within archives (default 6)"}};
inline constexpr auto kReadOptions =
    joined(kRulesOption, kManifestOption, kTimezoneOption, kThreadsOption, kLimitOptions);

// The options of a command that reads bundles: its own, then those.
template <std::size_t n>
constexpr auto with_read_options(const OptionSpec (&own)[n]) {
  return joined(own, kRulesOption, kManifestOption, kTimezoneOption, kThreadsOption, kLimitOptions);
}

inline constexpr OptionSpec kHistoryOption{
    "history", "FILE",
    "the database of an earlier incident of this job, or a fleet database: an answer that did "
    "not help is not given again (may be repeated)"};

// What these options say; all but --rules, --manifest and --timezone.
Result<ingest::Options> read_options(const Arguments& arguments);

// The database to read the bundles into; none is made for bundles that cannot be opened.
Result<store::Database> open_new(const Arguments& arguments, const std::string& path);
// The path of the database that an option names; of a folder, which `diagnose -o` wrote, the one in
// it.
std::string database_path(const Arguments& arguments, const char* option = "db");
// The database that -d names; a remark when members are missing in it, or when it cannot be
// written.
Result<store::Database> open_database(const Arguments& arguments, store::Access access);
// What the options say of reading these bundles, with progress on a terminal; SIGINT and SIGTERM
// stop it.
Result<> with_read_request(const Arguments& arguments, const std::vector<std::string>& sources,
                           const std::function<Result<>(const diagnose::ReadRequest&)>& use);
// Bundle(s) -> facts, in the database; without any, the files of --outcomes alone. A remark for
// what could not be read; SIGINT and SIGTERM stop it.
Result<diagnose::ReadOutcome> read_bundles(const Arguments& arguments, const rules::RulePack& pack,
                                           store::Database& db);
// The same of other bundles than those on the command line.
Result<diagnose::ReadOutcome> read_sources(const Arguments& arguments,
                                           const std::vector<std::string>& sources,
                                           const rules::RulePack& pack, store::Database& db);

// What a command of one analysis works on: the facts of the database that -d names, or of the
// bundles on the command line (then -d is where to keep them).
struct Incident {
  store::Database db;
  diagnose::Resolved resolved;
  bool incomplete = false;
};
Result<Incident> open_incident(const Arguments& arguments, const rules::RulePack& pack);
// A JSON answer with the program, bundle and job that it is of behind its schema; and with
// "complete": false when it rests on a part of the bundle.
std::string identified(std::string json, const Incident& incident);
// Of an answer that no bundle stands behind: the program.
std::string identified(std::string json);
// True when an incident is meant, not a bare table: -d is given, or a word is a folder or an
// archive.
bool names_incident(const Arguments& arguments);

}  // namespace culprit::cli
