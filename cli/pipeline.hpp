// The passes of a diagnosis, in order. `diagnose` runs all, `ingest` and `classify` some; `report` none.
#pragma once

#include <string>
#include <vector>

#include "analyze/collectives.hpp"
#include "analyze/facts.hpp"
#include "analyze/signal.hpp"
#include "analyze/topology.hpp"
#include "arguments.hpp"
#include "command.hpp"
#include "history.hpp"
#include "ingest/ingest.hpp"
#include "model/picture.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

// Options that say how a bundle is read.
inline constexpr OptionSpec kReadOptions[] = {
    {"rules", "DIR", "your own rules, besides ours; the same id replaces ours (may be repeated)"},
    {"manifest", "FILE", "the manifest (job.json), where none can be put into the bundle; it counts before the bundle's own"},
    {"timezone", "ZONE", "zone of times that print none: UTC, +08:00, Asia/Singapore"},
    {"threads", "N", "threads that scan (default: the machine's); the answer does not depend on it"},
    {"max-members", "N", "most files of a bundle (default 2M)"},
    {"max-member-bytes", "N", "most bytes of one file, decompressed (default 1T)"},
    {"max-total-bytes", "N", "most bytes of a bundle, decompressed (default 4T)"},
    {"max-expansion", "N", "most times a compressed file may grow (default 1000)"},
    {"max-depth", "N", "most archives within archives (default 6)"},
};

struct ReadOutcome {
  ingest::Summary summary;
  bool incomplete = false;
};

// The database to read the bundles into; none is made for bundles that cannot be opened.
Result<store::Database> open_new(const Arguments& arguments, const std::string& path);
// The database that -d names; a remark when members are missing in it, or when it cannot be written.
Result<store::Database> open_database(const Arguments& arguments, store::Access access);
// Bundle(s) -> facts, in the database. A remark for what could not be read.
Result<ReadOutcome> read_bundles(const Arguments& arguments, const rules::RulePack& pack, store::Database& db);
// Facts, with names and times made from them; stored beside the facts when `keep`.
Result<analyze::Facts> resolve(store::Database& db, bool keep);
// What the analyses leave for pictures, beside their findings.
struct Pictures {
  StepChart steps;
  std::vector<TimePart> time;
};
// Facts -> findings, stored.
Result<std::vector<Finding>> analyse(store::Database& db, const analyze::Facts& facts, const rules::RulePack& pack, Pictures* pictures = nullptr);
// What a command of one analysis works on: the facts of the database that -d names, or of the bundles on the command line
// (then -d is where to keep them).
struct Incident {
  store::Database db;
  analyze::Facts facts;
  bool incomplete = false;
};
Result<Incident> open_incident(const Arguments& arguments, const rules::RulePack& pack);
// A JSON answer that rests on a part of the bundle: "complete": false stands behind its schema.
std::string mark_incomplete(std::string json, bool incomplete);
// True when an incident is meant, not a bare table: -d is given, or a word is a folder or an archive.
bool names_incident(const Arguments& arguments);

// Who waits for whom by counters; nobody, where the logs say that the job went on.
analyze::CollectiveReport collectives_of(const analyze::Facts& facts, const analyze::Topology& topology, const std::vector<analyze::Signal>& signals);
// Ranks that join the collectives of their group last, from the histories of all groups of three and more.
std::vector<analyze::SlowRank> slow_ranks_of(const store::Database& db, const analyze::Facts& facts);
// Findings -> verdict, stored as the document all reports are made from. history: earlier incidents of the same job; one of
// another job, or of this incident itself, is an error.
Result<std::string> conclude(store::Database& db, const analyze::Facts& facts, std::vector<Finding> findings, std::span<const PastIncident> history = {}, Pictures pictures = {});

// Colour as --color, NO_COLOR and the terminal say; the terminal's width.
bool use_color(const Arguments& arguments);
std::size_t terminal_width();

}  // namespace culprit::cli
