#include "incident.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "command.hpp"
#include "diagnose/identity.hpp"
#include "interrupt.hpp"
#include "model/phrases.hpp"
#include "report/phrases.hpp"
#include "report/terminal.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

constexpr std::string_view kArchiveEndings[] = {
    ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".zip"};

// Bytes on disk of what the user named; 0 where nobody can know: standard input, a pipe.
std::uint64_t size_of(const std::vector<std::string>& sources) {
  namespace fs = std::filesystem;
  std::uint64_t total = 0;
  std::error_code error;
  for (const std::string& source : sources) {
    if (fs::is_regular_file(source, error)) {
      total += fs::file_size(source, error);
    } else if (source != "-" && fs::is_directory(source, error)) {
      constexpr auto kSkip = fs::directory_options::skip_permission_denied;
      auto it = fs::recursive_directory_iterator(source, kSkip, error);
      for (; !error && it != fs::end(it); it.increment(error))
        if (std::error_code gone; it->is_regular_file(gone) && !it->is_symlink(gone))
          if (const auto bytes = it->file_size(gone); !gone) total += bytes;
    } else {
      return 0;
    }
    if (error) return 0;
  }
  return total;
}

// How far the reading is, on a terminal only.
class ReadProgress {
 public:
  ReadProgress(bool on, const std::vector<std::string>& sources)
      : on_(on), sources_(sources), begin_(std::chrono::steady_clock::now()) {}
  void operator()(std::uint64_t bytes, std::uint64_t taken, const std::string& path) {
    if (!on_) return;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (seconds - last_ < 0.2) return;
    last_ = seconds;
    // Asked when reading turns out to take a while: a folder may hold a hundred thousand files.
    if (!total_) total_ = size_of(sources_);
    const std::string share =
        *total_ == 0 ? ""
                     : fmt::format("{} %, ", std::min<std::uint64_t>(99, taken * 100 / *total_));
    const std::string name = report::visible(path);
    complain(fmt::format("\r\x1b[K{}{:.1f} GB, {:.0f} MB/s  {}", share,
                         static_cast<double>(bytes) / 1e9,
                         static_cast<double>(bytes) / 1e6 / seconds,
                         name.size() > 60 ? "…" + name.substr(name.size() - 58) : name));
    shown_ = true;
  }
  ~ReadProgress() {
    if (shown_) complain("\r\x1b[K");
  }

 private:
  bool on_;
  const std::vector<std::string>& sources_;
  std::optional<std::uint64_t> total_;
  bool shown_ = false;
  double last_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

Result<ingest::Options> read_options(const Arguments& arguments) {
  ingest::Options options;
  CULPRIT_TRY(threads,
              arguments.number("threads", std::max(1u, std::thread::hardware_concurrency())));
  if (threads < 1 || threads > 1024) return usage_error("--threads takes a number from 1 to 1024");
  options.threads = static_cast<int>(threads);
  CULPRIT_TRY(members, arguments.number("max-members", options.limits.members));
  CULPRIT_TRY(member_bytes, arguments.number("max-member-bytes", options.limits.member_bytes));
  CULPRIT_TRY(total_bytes, arguments.number("max-total-bytes", options.limits.total_bytes));
  CULPRIT_TRY(expansion, arguments.number("max-expansion", options.limits.expansion));
  CULPRIT_TRY(depth,
              arguments.number("max-depth", static_cast<std::uint64_t>(options.limits.depth)));
  options.limits.members = members;
  options.limits.member_bytes = member_bytes;
  options.limits.total_bytes = total_bytes;
  options.limits.expansion = std::max<std::uint64_t>(1, expansion);
  options.limits.depth = static_cast<int>(std::min<std::uint64_t>(depth, 64));
  return options;
}

Result<store::Database> open_new(const Arguments& arguments, const std::string& path) {
  return diagnose::open_new(arguments.positional(), path);
}

std::string database_path(const Arguments& arguments, const char* option) {
  std::string path = arguments.get(option);
  std::error_code error;
  if (const auto inside = std::filesystem::path(path) / "incident.db";
      std::filesystem::is_directory(path, error) && std::filesystem::exists(inside, error))
    return inside.string();
  return path;
}

Result<store::Database> open_database(const Arguments& arguments, store::Access access) {
  CULPRIT_TRY(db, store::Database::open(database_path(arguments), access));
  if (db.partial()) remark(arguments, report::words(say(Phrase::database_partial)));
  if (access == store::Access::write && db.read_only())
    remark(arguments, "this database cannot be written: the answer is not kept in it");
  return db;
}

Result<diagnose::ReadOutcome> read_bundles(const Arguments& arguments, const rules::RulePack& pack,
                                           store::Database& db) {
  return read_sources(arguments, arguments.positional(), pack, db);
}

Result<> with_read_request(const Arguments& arguments, const std::vector<std::string>& sources,
                           const std::function<Result<>(const diagnose::ReadRequest&)>& use) {
  diagnose::ReadRequest request{.sources = sources,
                                .outcomes = arguments.all("outcomes"),
                                .manifest = arguments.get("manifest"),
                                .timezone = arguments.get("timezone"),
                                .tool = std::string(kProgram)};
  CULPRIT_TRY(options, read_options(arguments));
  request.options = std::move(options);
  request.remark = [&](std::string_view text) { remark(arguments, text); };
  ReadProgress progress(isatty(STDERR_FILENO) == 1 && !arguments.has("quiet"), request.sources);
  request.options.progress = [&progress](std::uint64_t bytes, std::uint64_t taken,
                                         const std::string& path) { progress(bytes, taken, path); };
  const NotedSignals signals;
  request.options.interrupted = &signals.came();
  return use(request);
}

Result<diagnose::ReadOutcome> read_sources(const Arguments& arguments,
                                           const std::vector<std::string>& sources,
                                           const rules::RulePack& pack, store::Database& db) {
  diagnose::ReadOutcome outcome;
  CULPRIT_CHECK(
      with_read_request(arguments, sources, [&](const diagnose::ReadRequest& request) -> Result<> {
        CULPRIT_TRY(read, sources.empty() ? diagnose::read_outcomes(request, pack, db)
                                          : diagnose::read_bundles(request, pack, db));
        outcome = std::move(read);
        return {};
      }));
  if (arguments.has("verbose"))
    for (const ProblemRow& problem : db.problems())
      remark(arguments, fmt::format("{}: {} ({})", problem.path, problem.reason, problem.code));
  return outcome;
}

Result<Incident> open_incident(const Arguments& arguments, const rules::RulePack& pack) {
  const bool bundle = !arguments.positional().empty();
  CULPRIT_TRY(db, bundle ? open_new(arguments, arguments.get("db"))
                         : open_database(arguments, store::Access::write));
  bool incomplete = db.partial();
  if (bundle) {
    CULPRIT_TRY(read, read_bundles(arguments, pack, db));
    incomplete = read.incomplete;
  }
  CULPRIT_TRY(resolved, diagnose::resolve(db, true));
  return Incident{std::move(db), std::move(resolved), incomplete};
}

std::string identified(std::string json, const Incident& incident) {
  const std::size_t schema = json.find("\n  \"schema\": ");
  if (incident.incomplete && schema != std::string::npos)
    json.insert(json.find('\n', schema + 1), "\n  \"complete\": false,");
  return report::identified(std::move(json),
                            diagnose::identity_of(incident.db, incident.resolved.facts));
}

std::string identified(std::string json) {
  return report::identified(std::move(json), {std::string(kProgram), {}, {}, {}, {}});
}

bool names_incident(const Arguments& arguments) {
  if (arguments.has("db")) return true;
  return std::ranges::any_of(arguments.positional(), [](const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return true;
    return std::ranges::any_of(kArchiveEndings,
                               [&](std::string_view ending) { return path.ends_with(ending); });
  });
}

}  // namespace culprit::cli
