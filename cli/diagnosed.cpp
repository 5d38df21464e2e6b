#include "diagnosed.hpp"

#include <filesystem>

#include "batch/entry.hpp"
#include "bundle/own_files.hpp"
#include "command.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/run.hpp"
#include "incident.hpp"
#include "model/phrases.hpp"
#include "model/shell.hpp"
#include "pack.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

// The database that these words name; "" when they are bundles.
std::string named_database(const Arguments& arguments, const std::vector<std::string>& sources) {
  if (sources.empty()) return database_path(arguments);
  if (sources.size() != 1 || sources[0] == "-") return {};
  if (bundle::own_file(sources[0]) == bundle::OwnFile::database) return sources[0];
  std::error_code error;
  const auto inside = std::filesystem::path(sources[0]) / "incident.db";
  if (std::filesystem::is_directory(sources[0], error) &&
      bundle::own_file(inside.string()) == bundle::OwnFile::database)
    return inside.string();
  return {};
}

struct Stored {
  store::Database db;
  std::string document;
};

Result<Stored> stored(const Arguments& arguments, const std::string& path) {
  CULPRIT_TRY(db, store::Database::open(path, store::Access::read));
  auto document = db.verdict();
  if (!document)
    return usage_error("this database has no verdict yet")
        .at({path, 0})
        .hint("culprit classify -d " + shell_quoted(path));
  if (db.partial()) remark(arguments, report::words(say(Phrase::database_partial)));
  return Stored{std::move(db), std::move(*document)};
}

}  // namespace

Result<Diagnosed> open_with_verdict(const Arguments& arguments, const std::string& path) {
  CULPRIT_TRY(found, stored(arguments, path));
  CULPRIT_TRY(resolved, diagnose::resolve(found.db, false));
  std::vector<std::string> bundles = diagnose::readable_sources(found.db);
  const bool partial = found.db.partial();
  return Diagnosed{std::move(found.db),       std::move(resolved),
                   std::move(found.document), path,
                   std::move(bundles),        partial};
}

Result<Diagnosed> open_diagnosed(const Arguments& arguments,
                                 const std::vector<std::string>& sources,
                                 const rules::RulePack& pack) {
  if (sources.empty() && !arguments.has("db"))
    return usage_error("an incident is needed: a database, or a bundle");
  if (const std::string path = named_database(arguments, sources); !path.empty())
    return open_with_verdict(arguments, path);
  CULPRIT_TRY(db, diagnose::open_new(sources, ""));
  CULPRIT_TRY(read, read_sources(arguments, sources, pack, db));
  CULPRIT_TRY(resolved, diagnose::resolve(db, true));
  diagnose::Pictures pictures;
  CULPRIT_TRY(findings, diagnose::analyse(db, resolved, pack, &pictures));
  CULPRIT_TRY(conclusion,
              diagnose::conclude(db, resolved, std::move(findings), {}, std::move(pictures)));
  return Diagnosed{std::move(db), std::move(resolved), std::move(conclusion.document), "",
                   sources,       read.incomplete};
}

Result<std::string> diagnosis_of(const Arguments& arguments,
                                 const std::vector<std::string>& sources) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 31;
  if (sources.size() == 1 && bundle::own_file(sources[0]) == bundle::OwnFile::report)
    return batch::read_file(sources[0], kMostBytes);
  if (const std::string path = named_database(arguments, sources); !path.empty()) {
    CULPRIT_TRY(found, stored(arguments, path));
    return std::move(found.document);
  }
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_diagnosed(arguments, sources, pack));
  return std::move(incident.document);
}

std::string place_of(const Arguments& arguments, const std::string& database) {
  const auto word = [](const std::string& path) {
    return shell_quoted(path.starts_with('-') ? "./" + path : path);
  };
  if (!database.empty()) return "-d " + word(database);
  std::string out;
  for (const std::string& path : arguments.positional()) {
    if (path == "-") return {};
    out += (out.empty() ? "" : " ") + word(path);
  }
  return out;
}

}  // namespace culprit::cli
