#include "batch/batch.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "batch/fingerprint.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "interrupt.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "model/terms.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

constexpr std::size_t kMostBatchRows = 20;  // of a list on the terminal; the index has all

constexpr auto kBatchOptions = joined(
    {{"out,o", "DIR", "where the reports go; the same folder again reads only what has changed"},
     {"list", "FILE",
      "a file with the path of a bundle on each line; - is standard input (may be repeated)"},
     {"jobs,j", "N", "bundles that are read at the same time (default: the machine's processors)"},
     {"memory", "N",
      "most memory for all of them together, such as 2G (default: three quarters of what is free)"},
     {"timeout", "SECONDS", "give up a bundle after this time (default: never)"},
     {"checksum", nullptr, "compare the bytes of bundles, not the times of their last change"},
     {"again", nullptr, "read every bundle again"},
     {"prune", nullptr, "forget the bundles of DIR that are not named any more"},
     {"keep-db", nullptr, "keep the database of each bundle, too"},
     {"fleet", "FILE", "the fleet database that remembers the incidents (default: DIR/fleet.db)"},
     {"format", "FORMAT", "text or json, of the summary that is printed"},
     {"json", nullptr, "the same as --format json"},
     {"fail-on", "LEVEL",
      "exit with 1 when a bundle has something at least this severe, or could not be diagnosed"},
     {"strict", nullptr, "exit with 4 when a bundle, or something of one, could not be read"}},
    kRulesOption, kTimezoneOption, kLimitOptions);

// How far the batch is, on a terminal only.
class BatchProgress {
 public:
  explicit BatchProgress(bool on) : on_(on), begin_(Clock::now()) {}
  ~BatchProgress() {
    if (shown_) complain("\r\x1b[K");
  }
  void operator()(const batch::Progress& p) {
    if (!on_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    const std::size_t all = p.bundles - p.unchanged;
    if (seconds - last_ < 0.2 && p.finished < all) return;
    last_ = seconds;
    std::string line = fmt::format("{} of {} bundles", p.finished, all);
    if (p.unchanged > 0) line += fmt::format(", {} unchanged", p.unchanged);
    if (p.failed > 0) line += fmt::format(", {} failed", p.failed);
    // Bundles differ in size, so bytes tell more than their number.
    const double done =
        p.bytes > 0 ? static_cast<double>(p.bytes_finished) / static_cast<double>(p.bytes) : 0;
    if (done > 0.02 && p.finished < all) line += ", " + left(seconds / done - seconds);
    complain("\r\x1b[K" + line);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string left(double seconds) {
    const auto s = static_cast<long>(seconds + 0.5);
    if (s < 90) return fmt::format("{} s left", s);
    return s < 5400 ? fmt::format("{} min left", (s + 30) / 60)
                    : fmt::format("{:.1f} h left", seconds / 3600);
  }

  bool on_, shown_ = false;
  double last_ = -1;
  Clock::time_point begin_;
};

// What besides the bundle decides on the answer.
std::string batch_setup(const Arguments& arguments, const rules::RulePack& pack) {
  std::string all = batch::digest_of_file("/proc/self/exe") + "\n" + pack.digest() + "\n";
  for (const char* option : {"timezone", "max-members", "max-member-bytes", "max-total-bytes",
                             "max-expansion", "max-depth", "keep-db"})
    all +=
        fmt::format("{}={}{}\n", option, arguments.has(option) ? "+" : "", arguments.get(option));
  return batch::digest(all);
}

// The machines among what a verdict names; without one, what it names.
std::string names_acted_on(const nlohmann::ordered_json& targets) {
  std::vector<std::string> names;
  for (const auto& t : targets)
    if (t["kind"] == "host") names.push_back(t["id"].get<std::string>());
  if (names.empty())
    for (const auto& t : targets)
      names.push_back(t["kind"].get<std::string>() + " " + t["id"].get<std::string>());
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < 2; ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 2 ? fmt::format("{} and {} more", out, names.size() - 2) : out;
}

std::string with_reasons(const nlohmann::ordered_json& d, const char* title,
                         bool (*belongs)(const nlohmann::ordered_json& row)) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& row : d["entries"]) {
    if (!belongs(row) || ++shown > kMostBatchRows) continue;
    out += fmt::format("  {}: {}\n", report::visible(row["name"].get<std::string>()),
                       report::visible(row.value("reason", "")));
  }
  if (out.empty()) return "";
  if (shown > kMostBatchRows) out += fmt::format("  and {} more\n", shown - kMostBatchRows);
  return fmt::format("\n{}\n", title) + out;
}

std::string batch_text(const std::string& document, const batch::Outcomes& outcomes,
                       const std::string& folder) {
  const auto d = parse_json<nlohmann::ordered_json>(document);
  const std::size_t bundles = d["entries"].size();
  std::string out = fmt::format("{} bundle{}", bundles, bundles == 1 ? "" : "s");
  if (outcomes.unchanged > 0) out += fmt::format(", {} of them unchanged", outcomes.unchanged);
  out += "\n";
  for (const auto& [action, count] : d["actions"].items())
    out += fmt::format("  {:>5}  {}\n", count.get<std::int64_t>(), action);
  if (d["not_diagnosed"] != 0)
    out += fmt::format("  {:>5}  not diagnosed\n", d["not_diagnosed"].get<std::int64_t>());

  std::string rows;
  std::size_t shown = 0, more = 0;
  for (const auto& row : d["entries"]) {
    const std::string action = row.value("action", "");
    if (action != name(Action::isolate) && action != name(Action::offline) &&
        action != name(Action::repair))
      continue;
    if (++shown > kMostBatchRows) {
      ++more;
      continue;
    }
    rows += fmt::format(
        "  {:<9} {:<28} {:>4.2f}  {}\n", action, report::visible(names_acted_on(row["targets"])),
        row["confidence"].get<double>(), report::visible(row["name"].get<std::string>()));
  }
  if (!rows.empty())
    out += "\nMACHINES AND SERVICES TO ACT ON\n" + rows +
           (more > 0 ? fmt::format("  and {} more\n", more) : "");
  if (const auto& again = d["repeated_hosts"]; !again.empty()) {
    out += "\nNAMED BY SEVERAL INCIDENTS\n";
    for (std::size_t i = 0; i < again.size() && i < kMostBatchRows; ++i)
      out += fmt::format("  {:<28} {} incidents\n",
                         report::visible(again[i]["host"].get<std::string>()),
                         again[i]["count"].get<std::int64_t>());
    if (again.size() > kMostBatchRows)
      out += fmt::format("  and {} more\n", again.size() - kMostBatchRows);
  }
  out += with_reasons(d, "NOT DIAGNOSED",
                      [](const nlohmann::ordered_json& row) { return row["status"] != "done"; });
  out += with_reasons(d, "INCOMPLETE BUNDLES", [](const nlohmann::ordered_json& row) {
    return row["status"] == "done" && row["complete"] == false;
  });
  if (const auto& left = d["left_out"]; !left.empty())
    out += fmt::format("\n{} file{} beside the bundles {} not read: {}{}\n", left.size(),
                       left.size() == 1 ? "" : "s", left.size() == 1 ? "was" : "were",
                       report::visible(left[0].get<std::string>()), left.size() > 1 ? " ..." : "");
  return out + fmt::format("\n{}/index.html has all of them; culprit fleet -d {} the statistics\n",
                           folder, shell_quoted(folder + "/fleet.db"));
}

Result<Exit> batch_exit(const Arguments& arguments, const batch::Outcomes& outcomes,
                        const batch::Inputs& inputs) {
  bool incomplete = false, tripped = false;
  const auto level =
      arguments.has("fail-on") ? severity_named(arguments.get("fail-on")) : std::nullopt;
  for (const batch::Entry& e : outcomes.entries) {
    const bool asked = std::ranges::any_of(
        inputs.bundles, [&](const batch::Bundle& b) { return b.name == e.name; });
    if (!asked) continue;
    incomplete = incomplete || !e.done() || !e.incident->complete;
    const auto gate = severity_named(e.gate);
    tripped = tripped || (level && gate && *gate >= *level);
  }
  if (incomplete && arguments.has("strict")) return Exit::incomplete;
  return tripped ? Exit::gate : Exit::finished;
}

Result<Exit> run_batch(const Arguments& arguments) {
  if (arguments.positional().empty() && !arguments.has("list"))
    return usage_error("batch needs bundles: a folder of them, their names, or a list")
        .hint("culprit batch incidents/ -o reports");
  if (!arguments.has("out"))
    return usage_error("batch needs a folder for the reports")
        .hint("culprit batch incidents/ -o reports");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  if (arguments.has("fail-on") && !severity_named(arguments.get("fail-on")))
    return usage_error(
        fmt::format("--fail-on takes info, warning, distributed or critical, not '{}'",
                    arguments.get("fail-on")));
  const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
  CULPRIT_TRY(jobs, arguments.number("jobs", processors));
  CULPRIT_TRY(memory, arguments.number("memory", 0));
  CULPRIT_TRY(timeout, arguments.number("timeout", 0));
  if (jobs < 1 || jobs > 1024) return usage_error("--jobs takes a number from 1 to 1024");
  CULPRIT_TRY(pack, load_pack(arguments));

  batch::Options options{.out = arguments.get("out"),
                         .fleet = arguments.get("fleet"),
                         .jobs = jobs,
                         .memory = memory,
                         .timeout_s = static_cast<double>(timeout),
                         .contents = arguments.has("checksum"),
                         .again = arguments.has("again"),
                         .prune = arguments.has("prune"),
                         .setup = batch_setup(arguments, pack)};
  batch::Work work{.pack = &pack, .keep_database = arguments.has("keep-db")};
  work.request.timezone = arguments.get("timezone");
  options.tool = work.request.tool = std::string(kProgram);
  CULPRIT_TRY(read, read_options(arguments));
  work.request.options = std::move(read);
  work.request.options.threads = static_cast<int>(std::max<std::size_t>(1, processors / jobs));

  CULPRIT_TRY(inputs, batch::find_bundles(arguments.positional(), arguments.all("list"),
                                          options.out.string(), batch::names_taken(options.out)));
  const NotedSignals signals;
  options.interrupted = &signals.came();
  BatchProgress progress(isatty(STDERR_FILENO) == 1 && !arguments.has("quiet"));
  CULPRIT_TRY(outcomes,
              batch::run(inputs, work, options, [&](const batch::Progress& p) { progress(p); }));
  if (outcomes.interrupted)
    return fail(fmt::format("interrupted: {} of {} bundles are diagnosed",
                            outcomes.unchanged + outcomes.read, inputs.bundles.size()))
        .at({options.out.string(), 0})
        .hint("the same command goes on from there");
  print(wants_json(arguments) ? outcomes.summary
                              : batch_text(outcomes.summary, outcomes, options.out.string()));
  return batch_exit(arguments, outcomes, inputs);
}

}  // namespace

constinit const Command kBatch{
    "batch",
    "many bundles: a report each, an index, a summary",
    "batch DIR|BUNDLE... -o DIR [options]",
    "  culprit batch incidents/ -o reports\n"
    "  culprit batch week-47/*.tar.gz -o reports --jobs 4\n"
    "  find /data -name 'job-*' | culprit batch --list - -o reports\n\n"
    "  Each bundle is an incident of its own. Of one folder, every folder and archive in it is a\n"
    "  bundle. Can be stopped at any time; the same command goes on, and reads no bundle twice.\n",
    kBatchOptions,
    run_batch};

}  // namespace culprit::cli
