#include "read.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bundle/bundle.hpp"
#include "bundle/own_files.hpp"
#include "ingest/logs/manifest.hpp"
#include "line/zone.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/shell.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose {

bool loses_input(const ProblemRow& problem) {
  return problem.code != "bundle.path_unsafe" && problem.code != "bundle.path_too_long" &&
         problem.code != "bundle.no_archive";
}

Result<store::Database> open_new(std::span<const std::string> sources, const std::string& path) {
  for (const std::string& bundle : sources) {
    CULPRIT_CHECK(bundle::check_readable(bundle));
    switch (bundle::own_file(bundle)) {
      case bundle::OwnFile::none: break;
      case bundle::OwnFile::database:
        return usage_error("this is a database that culprit made, not a bundle")
            .at({bundle, 0})
            .hint("culprit report -d " + shell_quoted(bundle));
      case bundle::OwnFile::fleet:
        return usage_error("this is a fleet database that culprit made, not a bundle")
            .at({bundle, 0})
            .hint("culprit fleet -d " + shell_quoted(bundle));
      case bundle::OwnFile::report: {
        const auto beside = std::filesystem::path(bundle).parent_path() / "incident.db";
        std::error_code error;
        return usage_error("this is a report that culprit wrote, not a bundle")
            .at({bundle, 0})
            .hint("culprit report -d " +
                  (std::filesystem::exists(beside, error)
                       ? shell_quoted(beside.string())
                       : "incident.db, of the database that it was made from"));
      }
    }
  }
  return store::Database::open(path, store::Access::create);
}

namespace {

constexpr std::size_t kMostManifestBytes = 16u << 20;

// What the user says of the bundle on the command line; kept with the facts, so that a later look
// at them knows it, too.
Result<> keep_word_of_user(const ReadRequest& request, store::Database& db) {
  if (const std::string& path = request.manifest; !path.empty()) {
    std::ifstream file(path, std::ios::binary);
    std::string document;
    char buffer[1 << 16];
    while (file && document.size() <= kMostManifestBytes) {
      file.read(buffer, sizeof buffer);
      document.append(buffer, static_cast<std::size_t>(file.gcount()));
    }
    if (!file.eof())
      return fail(document.size() > kMostManifestBytes ? "the manifest is too large"
                                                       : "the manifest cannot be read")
          .at({path, 0});
    std::vector<std::string> notes;
    CULPRIT_TRY(manifest, ingest::parse_manifest(document, path, notes));
    CULPRIT_CHECK(db.set_meta("manifest_path", path));
    CULPRIT_CHECK(db.set_meta("manifest", manifest.document));
  }
  if (const std::string& zone = request.timezone; !zone.empty()) {
    if (!line::Zone::named(zone))
      return usage_error("this system knows no time zone '" + zone + "'")
          .hint("UTC, an offset such as +08:00, or a name such as Asia/Singapore");
    CULPRIT_CHECK(db.set_meta("timezone", zone));
  }
  return {};
}

}  // namespace

Result<std::string> whole_paths(const std::vector<std::string>& sources) {
  std::string out;
  for (const std::string& path : sources) {
    std::error_code error;
    const auto whole =
        path == "-" ? std::filesystem::path("-") : std::filesystem::weakly_canonical(path, error);
    if (error == std::errc::not_enough_memory)  // the path as it is would be another bundle's
      return fail("out of memory").at({path, 0}).hint("give it more memory");
    out += (error ? path : whole.string()) + "\n";
  }
  return out;
}

Result<> begin_reading(const ReadRequest& request, const std::string& paths,
                       const rules::RulePack& pack, store::Database& db) {
  CULPRIT_CHECK(db.begin_ingest());
  CULPRIT_CHECK(db.set_meta("tool", request.tool));
  CULPRIT_CHECK(db.set_meta("sources", paths));
  CULPRIT_CHECK(keep_word_of_user(request, db));
  return db.set_meta("rules", pack.digest());
}

Result<ingest::Summary> read_members(
    const ReadRequest& request, store::Database& db,
    const std::function<Result<ingest::Summary>(const ingest::Options& options)>& read) {
  ingest::Options options = request.options;
  options.sink_failed = &db.failed();
  auto summary = read(options);
  CULPRIT_CHECK(db.health());
  if (options.interrupted == nullptr || !*options.interrupted) return summary;
  Error error = fail("interrupted, so there is no answer");
  if (db.path().empty())
    return std::move(error).hint(
        "with -d or -o what was read is kept, and the same command goes on from there");
  if (db.meta("shard")) return std::move(error).hint("the same command starts this shard anew");
  return std::move(error)
      .at({db.path(), 0})
      .hint("the files that were read to their end are kept: the same command goes on from there");
}

namespace {

// The bundles, and files of outcomes beside them.
std::vector<ingest::Source> with_outcomes(const ReadRequest& request) {
  std::vector<ingest::Source> out = ingest::label_sources(request.sources);
  for (const std::string& path : request.outcomes) out.push_back({path, "outcomes"});
  return out;
}

Result<ReadOutcome> read_into(const ReadRequest& request, const std::string& paths,
                              const std::vector<ingest::Source>& sources,
                              const rules::RulePack& pack, store::Database& db) {
  CULPRIT_CHECK(begin_reading(request, paths, pack, db));
  CULPRIT_TRY(summary, read_members(request, db, [&](const ingest::Options& options) {
                return ingest::ingest(sources, pack, db.sink(), options);
              }));
  const std::string own = fmt::format("{}", fmt::join(summary.own_databases, ", "));
  if (!own.empty()) request.remark(report::words(say(Phrase::own_files_left_out, own)));
  if (!own.empty() || !db.meta("own_databases")) CULPRIT_CHECK(db.set_meta("own_databases", own));
  CULPRIT_CHECK(db.finish_ingest());
  const auto problems = db.problems();
  return ReadOutcome{summary, std::ranges::any_of(problems, loses_input)};
}

}  // namespace

Result<ReadOutcome> read_bundles(const ReadRequest& request, const rules::RulePack& pack,
                                 store::Database& db) {
  if (const auto before = db.meta("rules"); before && *before != pack.digest())
    return usage_error("this database was read with other rules")
        .hint(
            "read the bundle into a new database: its events are what the rules made of the lines");
  if (const auto shard = db.meta("shard"))
    return usage_error("this database is shard " + *shard + " of an incident")
        .at({db.path(), 0})
        .hint("name a new file with -d; `culprit merge` makes one incident of all shards");
  if (const auto missing = db.meta("shards_missing"))
    return usage_error("this database was merged without shards " + *missing)
        .at({db.path(), 0})
        .hint("read these shards and merge again, or name a new file with -d");
  // A database holds one incident: another bundle's facts among them would accuse the wrong
  // machine.
  std::vector<std::string> all = request.sources;
  all.insert(all.end(), request.outcomes.begin(), request.outcomes.end());
  CULPRIT_TRY(sources, whole_paths(all));
  if (auto before = db.meta("sources"); before && *before != sources) {
    while (before->ends_with('\n')) before->pop_back();
    for (std::size_t at; (at = before->find('\n')) != std::string::npos;)
      before->replace(at, 1, ", ");
    return usage_error("this database holds another bundle: " + *before)
        .hint("one database, one incident: name a new file with -d or a new folder with -o");
  }
  return read_into(request, sources, with_outcomes(request), pack, db);
}

Result<ReadOutcome> read_outcomes(const ReadRequest& request, const rules::RulePack& pack,
                                  store::Database& db) {
  if (const auto before = db.meta("rules"); before && *before != pack.digest())
    return usage_error("this database was read with other rules")
        .at({db.path(), 0})
        .hint("diagnose the bundle again, with --outcomes");
  CULPRIT_TRY(added, whole_paths(request.outcomes));
  std::string sources = db.meta("sources").value_or("");
  for (std::size_t at = 0; at < added.size();) {  // a file that was read before is one source
    const std::string line = added.substr(at, added.find('\n', at) + 1 - at);
    if (!contains("\n" + sources, "\n" + line)) sources += line;
    at += line.size();
  }
  return read_into(request, sources, with_outcomes(request), pack, db);
}

}  // namespace culprit::diagnose
