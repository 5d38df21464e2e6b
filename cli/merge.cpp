// merge: the shards of an incident into the database that one machine would have made.
#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/shard.hpp"
#include "ledger.hpp"
#include "pack.hpp"
#include "store/database.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

Result<Exit> run_merge(const Arguments& arguments) {
  if (arguments.positional().empty())
    return usage_error("merge needs the databases of all shards")
        .hint("culprit merge shard-*.db -d incident.db");
  if (!arguments.has("db"))
    return usage_error("merge needs a database to write to")
        .hint("culprit merge shard-*.db -d incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  diagnose::MergeRequest request{.shards = arguments.positional(),
                                 .partial = arguments.has("partial"),
                                 .tool = std::string(kProgram),
                                 .remark = [&](std::string_view text) { remark(arguments, text); }};
  CULPRIT_TRY(outcome, diagnose::merge(request, arguments.get("db")));
  CULPRIT_TRY(db, store::Database::open(arguments.get("db"), store::Access::read));
  print_ledger(arguments, db);
  if (!outcome.missing.empty())
    remark(arguments,
           fmt::format("merged without shard{} {}: read {} again and merge all",
                       outcome.missing.size() == 1 ? "" : "s", fmt::join(outcome.missing, ", "),
                       outcome.missing.size() == 1 ? "it" : "them"));
  return outcome.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr OptionSpec kMergeOptions[] = {
    {"db,d", "FILE", "the database to write, whole or not at all"},
    {"partial", nullptr,
     "merge without shards that are missing or damaged: their files stand in the ledger as unread"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
};

}  // namespace

constinit const Command kMerge{
    "merge",
    "shards that several machines read into one incident",
    "merge SHARD.db... -d FILE [options]",
    "  culprit ingest /shared/job-41207 --shard 1/12 -d shard-1.db\n"
    "  culprit merge shard-*.db -d incident.db\n\n"
    "  Writes the bytes that `culprit ingest` on one machine writes. Joins facts, never verdicts:\n"
    "  `culprit classify -d incident.db` decides.\n",
    kMergeOptions,
    run_merge};

}  // namespace culprit::cli
