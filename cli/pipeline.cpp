#include "pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyze/attribution.hpp"
#include "analyze/classify.hpp"
#include "analyze/clock.hpp"
#include "analyze/collectives.hpp"
#include "analyze/drift.hpp"
#include "analyze/hang.hpp"
#include "analyze/identity.hpp"
#include "analyze/job_life.hpp"
#include "analyze/leads.hpp"
#include "analyze/process_tree.hpp"
#include "analyze/rank_map.hpp"
#include "analyze/root_diag.hpp"
#include "analyze/silence.hpp"
#include "analyze/slow.hpp"
#include "analyze/slow_what_if.hpp"
#include "analyze/stacks.hpp"
#include "analyze/standstill.hpp"
#include "analyze/topology.hpp"
#include "bundle/bundle.hpp"
#include "bundle/own_files.hpp"
#include "decide/decide.hpp"
#include "ingest/manifest.hpp"
#include "model/shell.hpp"
#include "interrupt.hpp"
#include "isolation_cost.hpp"
#include "line/zone.hpp"
#include "pace.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

constexpr char kLeftOut[] = "left out, because culprit wrote them: databases, with the reports beside them: ";
constexpr char kPartial[] = "reading its bundle was cut off; `culprit ingest`, with the same bundle, reads the rest";
constexpr std::string_view kArchiveEndings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".zip"};

constexpr std::size_t kMostManifestBytes = 16u << 20;

// How far the reading is, on a terminal only.
class Progress {
 public:
  explicit Progress(bool on) : on_(on), begin_(std::chrono::steady_clock::now()) {}
  void operator()(std::uint64_t bytes, const std::string& path) {
    if (!on_) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (seconds - last_ < 0.2) return;
    last_ = seconds;
    const std::string name = report::visible(path);
    complain(fmt::format("\r\x1b[K{:.1f} GB, {:.0f} MB/s  {}", static_cast<double>(bytes) / 1e9, static_cast<double>(bytes) / 1e6 / seconds, name.size() > 60 ? "…" + name.substr(name.size() - 58) : name));
    shown_ = true;
  }
  ~Progress() {
    if (shown_) complain("\r\x1b[K");
  }

 private:
  bool on_;
  bool shown_ = false;
  double last_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// Some problems are told of files that were read to their end.
bool loses_input(const ProblemRow& problem) { return problem.code != "bundle.path_unsafe" && problem.code != "bundle.path_too_long" && problem.code != "bundle.no_archive"; }

Result<analyze::Facts> load_facts(const store::Database& db) {
  CULPRIT_CHECK(db.check());
  analyze::Facts facts;
  facts.members = db.members();
  // Names are derived: made from what was read, not from what an earlier pass made of it.
  for (MemberRow& m : facts.members) {
    m.path = m.stored_path;
    m.host.reset();
    m.rank.reset();
    m.local_rank.reset();
    m.attempt.reset();
    m.attribution.clear();
    m.duplicate_of = 0;
  }
  facts.events = db.events();
  facts.tracebacks = db.tracebacks();
  facts.exits = db.exits();
  facts.progress = db.progress();
  facts.identities = db.identities();
  facts.configs = db.configs();
  facts.clocks = db.clocks();
  facts.stacks.frames = db.frames();
  facts.stacks.stacks = db.stack_frames();
  const auto index = [](const store::Database::WithStack& row) { return row.stack_id ? static_cast<std::int32_t>(*row.stack_id - 1) : -1; };
  for (auto& sample : db.samples()) { const std::int32_t stack = index(sample); facts.samples.push_back({std::move(sample.row), stack, {}}); }
  for (auto& launch : db.launches()) { const std::int32_t stack = index(launch); facts.collectives.push_back({std::move(launch.row), stack}); }
  facts.processes = db.processes();
  facts.groups = db.groups();
  facts.frontiers = db.frontiers();
  facts.recorders = db.recorders();
  facts.networks = db.networks();
  facts.series = db.series();
  CULPRIT_CHECK(db.read_to_the_end());
  if (db.partial()) facts.notes.push_back(std::string("the database is partial: ") + kPartial);
  if (const auto own = db.meta("own_databases"); own && !own->empty()) facts.notes.push_back(kLeftOut + *own);
  for (const store::StoredManifest& stored : db.manifests()) {
    std::vector<std::string> notes;
    CULPRIT_TRY(manifest, ingest::parse_manifest(stored.document, stored.path, notes));
    if (!facts.manifest) {
      facts.manifest = std::move(manifest);
      for (const std::string& note : notes) facts.notes.push_back(fmt::format("{}: {}", stored.path, note));
    } else if (manifest.job != facts.manifest->job && !manifest.job.empty() && !facts.manifest->job.empty()) {
      facts.notes.push_back(fmt::format("{} is of another job ({}) than the first job.json ({}), which counts: if these are two incidents, diagnose each by itself", stored.path, manifest.job, facts.manifest->job));
    }
  }
  if (const auto zone = db.meta("timezone")) {
    if (!facts.manifest) facts.manifest.emplace();
    facts.manifest->timezone = *zone;
  }
  return facts;
}

}  // namespace

Result<store::Database> open_new(const Arguments& arguments, const std::string& path) {
  for (const std::string& bundle : arguments.positional()) {
    CULPRIT_CHECK(bundle::check_readable(bundle));
    switch (bundle::own_file(bundle)) {
      case bundle::OwnFile::none: break;
      case bundle::OwnFile::database: return usage_error("this is a database that culprit made, not a bundle").at({bundle, 0}).hint("culprit report -d " + shell_quoted(bundle));
      case bundle::OwnFile::report: {
        const auto beside = std::filesystem::path(bundle).parent_path() / "incident.db";
        std::error_code error;
        return usage_error("this is a report that culprit wrote, not a bundle").at({bundle, 0}).hint("culprit report -d " + (std::filesystem::exists(beside, error) ? shell_quoted(beside.string()) : "incident.db, of the database that it was made from"));
      }
    }
  }
  return store::Database::open(path, store::Access::create);
}

Result<store::Database> open_database(const Arguments& arguments, store::Access access) {
  CULPRIT_TRY(db, store::Database::open(arguments.get("db"), access));
  if (db.partial()) remark(arguments, std::string("this database is partial: ") + kPartial);
  if (access == store::Access::write && db.read_only()) remark(arguments, "this database cannot be written: the answer is not kept in it");
  return db;
}

namespace {

// What the user says of the bundle on the command line; kept with the facts, so that a later look at them knows it, too.
Result<> keep_word_of_user(const Arguments& arguments, store::Database& db) {
  if (const std::string path = arguments.get("manifest"); !path.empty()) {
    std::ifstream file(path, std::ios::binary);
    std::string document;
    char buffer[1 << 16];
    while (file && document.size() <= kMostManifestBytes) {
      file.read(buffer, sizeof buffer);
      document.append(buffer, static_cast<std::size_t>(file.gcount()));
    }
    if (!file.eof()) return fail(document.size() > kMostManifestBytes ? "the manifest is too large" : "the manifest cannot be read").at({path, 0});
    std::vector<std::string> notes;
    CULPRIT_TRY(manifest, ingest::parse_manifest(document, path, notes));
    CULPRIT_CHECK(db.set_meta("manifest_path", path));
    CULPRIT_CHECK(db.set_meta("manifest", manifest.document));
  }
  if (const std::string zone = arguments.get("timezone"); !zone.empty()) {
    if (!line::Zone::named(zone)) return usage_error("this system knows no time zone '" + zone + "'").hint("UTC, an offset such as +08:00, or a name such as Asia/Singapore");
    CULPRIT_CHECK(db.set_meta("timezone", zone));
  }
  return {};
}

}  // namespace

Result<ReadOutcome> read_bundles(const Arguments& arguments, const rules::RulePack& pack, store::Database& db) {
  ingest::Options options;
  CULPRIT_TRY(threads, arguments.number("threads", std::max(1u, std::thread::hardware_concurrency())));
  if (threads < 1 || threads > 1024) return usage_error("--threads takes a number from 1 to 1024");
  options.threads = static_cast<int>(threads);
  CULPRIT_TRY(members, arguments.number("max-members", options.limits.members));
  CULPRIT_TRY(member_bytes, arguments.number("max-member-bytes", options.limits.member_bytes));
  CULPRIT_TRY(total_bytes, arguments.number("max-total-bytes", options.limits.total_bytes));
  CULPRIT_TRY(expansion, arguments.number("max-expansion", options.limits.expansion));
  CULPRIT_TRY(depth, arguments.number("max-depth", static_cast<std::uint64_t>(options.limits.depth)));
  options.limits.members = members;
  options.limits.member_bytes = member_bytes;
  options.limits.total_bytes = total_bytes;
  options.limits.expansion = std::max<std::uint64_t>(1, expansion);
  options.limits.depth = static_cast<int>(std::min<std::uint64_t>(depth, 64));
  Progress progress(isatty(STDERR_FILENO) == 1 && !arguments.has("quiet"));
  options.progress = [&progress](std::uint64_t bytes, const std::string& path) { progress(bytes, path); };

  if (const auto before = db.meta("rules"); before && *before != pack.digest())
    return usage_error("this database was read with other rules").hint("read the bundle into a new database: its events are what the rules made of the lines");
  // A database holds one incident: another bundle's facts among them would accuse the wrong machine.
  std::string sources;
  for (const std::string& path : arguments.positional()) {
    std::error_code error;
    const auto whole = path == "-" ? std::filesystem::path("-") : std::filesystem::weakly_canonical(path, error);
    sources += (error ? path : whole.string()) + "\n";
  }
  if (auto before = db.meta("sources"); before && *before != sources) {
    while (before->ends_with('\n')) before->pop_back();
    for (std::size_t at; (at = before->find('\n')) != std::string::npos;) before->replace(at, 1, ", ");
    return usage_error("this database holds another bundle: " + *before).hint("one database, one incident: name a new file with -d or a new folder with -o");
  }
  CULPRIT_CHECK(db.begin_ingest());
  CULPRIT_CHECK(db.set_meta("tool", std::string("culprit ") + CULPRIT_VERSION));
  CULPRIT_CHECK(db.set_meta("sources", sources));
  CULPRIT_CHECK(keep_word_of_user(arguments, db));
  CULPRIT_CHECK(db.set_meta("rules", pack.digest()));
  const auto ingest = [&]() -> Result<ingest::Summary> {
    const NotedSignals signals;
    options.interrupted = &signals.came();
    options.sink_failed = &db.failed();
    auto read = ingest::ingest(ingest::label_sources(arguments.positional()), pack, db.sink(), options);
    CULPRIT_CHECK(db.health());
    if (noted_signal() == 0) return read;
    const std::string place = db.path();
    if (place.empty()) return fail("interrupted, so there is no answer").hint("with -d or -o what was read is kept, and the same command goes on from there");
    return fail("interrupted, so there is no answer").at({place, 0}).hint("the files that were read to their end are kept: the same command goes on from there");
  };
  CULPRIT_TRY(summary, ingest());
  const std::string own = fmt::format("{}", fmt::join(summary.own_databases, ", "));
  if (!own.empty()) remark(arguments, kLeftOut + own);
  CULPRIT_CHECK(db.set_meta("own_databases", own));
  CULPRIT_CHECK(db.finish_ingest());
  const auto problems = db.problems();
  ReadOutcome outcome{summary, std::any_of(problems.begin(), problems.end(), loses_input)};
  for (const ProblemRow& problem : problems)
    if (arguments.has("verbose")) remark(arguments, fmt::format("{}: {} ({})", problem.path, problem.reason, problem.code));
  return outcome;
}

Result<analyze::Facts> resolve(store::Database& db, bool keep) {
  CULPRIT_TRY(facts, load_facts(db));
  analyze::resolve_identity(facts);
  analyze::resolve_clocks(facts);
  analyze::put_in_order(facts);
  // Whoever asks for the last one means the time, not the order of the files in an archive.
  const auto moment = [&](const ExitRow& x) { return std::tuple(x.time_ns.has_value(), x.time_ns.value_or(0), facts.order(x.place.member), x.place.line, x.place.offset); };
  std::stable_sort(facts.exits.begin(), facts.exits.end(), [&](const ExitRow& a, const ExitRow& b) { return moment(a) < moment(b); });
  analyze::attribute_dumps(facts);
  analyze::assign_roles(facts);
  analyze::guess_trainers(facts);
  if (keep) CULPRIT_CHECK(db.save_resolution({facts.members, facts.events, facts.tracebacks, facts.exits, facts.processes, facts.member_clocks, facts.hosts, facts.ranks}));
  return facts;
}

Result<Incident> open_incident(const Arguments& arguments, const rules::RulePack& pack) {
  const bool bundle = !arguments.positional().empty();
  CULPRIT_TRY(db, bundle ? open_new(arguments, arguments.get("db")) : open_database(arguments, store::Access::write));
  bool incomplete = db.partial();
  if (bundle) {
    CULPRIT_TRY(read, read_bundles(arguments, pack, db));
    incomplete = read.incomplete;
  }
  CULPRIT_TRY(facts, resolve(db, true));
  return Incident{std::move(db), std::move(facts), incomplete};
}

std::string mark_incomplete(std::string json, bool incomplete) {
  const std::size_t schema = json.find("\n  \"schema\": ");
  if (incomplete && schema != std::string::npos) json.insert(json.find('\n', schema + 1), "\n  \"complete\": false,");
  return json;
}

bool names_incident(const Arguments& arguments) {
  if (arguments.has("db")) return true;
  return std::any_of(arguments.positional().begin(), arguments.positional().end(), [](const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return true;
    return std::any_of(std::begin(kArchiveEndings), std::end(kArchiveEndings), [&](std::string_view ending) { return path.ends_with(ending); });
  });
}

std::vector<analyze::SlowRank> slow_ranks_of(const store::Database& db, const analyze::Facts& facts) {
  std::vector<analyze::SlowRank> out;
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    const GroupRow& g = facts.groups[i];
    if (std::max<std::size_t>(g.ranks.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, g.size))) < 3) continue;
    auto histories = db.histories(static_cast<GroupId>(i) + 1);
    std::erase_if(histories, [&](const HistoryRow& h) { return !facts.counts(facts.member(h.member)); });
    for (HistoryRow& h : histories)
      if (!h.rank) h.rank = facts.member(h.member)->rank;
    std::sort(histories.begin(), histories.end(), [&](const HistoryRow& a, const HistoryRow& b) { return std::tuple(a.rank, facts.order(a.member)) < std::tuple(b.rank, facts.order(b.member)); });
    for (const auto& slow : analyze::slow_ranks(static_cast<GroupId>(i) + 1, histories)) out.push_back(slow);
  }
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return std::tie(a.rank, facts.groups[static_cast<std::size_t>(a.group) - 1]) < std::tie(b.rank, facts.groups[static_cast<std::size_t>(b.group) - 1]);
  });
  return out;
}

analyze::CollectiveReport collectives_of(const analyze::Facts& facts, const analyze::Topology& topology, const std::vector<analyze::Signal>& signals) {
  analyze::CollectiveReport out = analyze::wait_for(facts, topology);
  if (out.moving) return out;
  out.moving_why = analyze::went_on(facts, out, analyze::hang_reported(signals));
  if ((out.moving = !out.moving_why.empty())) out.leaves.clear(), out.chain.clear();
  return out;
}

namespace {

// Only of what a log says of steps: calls alone tell no part of the time.
std::vector<TimePart> time_parts(const analyze::Facts& facts, const Pace& pace) {
  if (pace.steps.size() == 0 || !pace.steps.from_calls.empty()) return {};
  const analyze::Efficiency known = analyze::efficiency(job_times(facts, pace.steps));
  if (!known.enough) return {};
  const analyze::TimeParts& p = known.parts;
  std::vector<TimePart> out = {{"training", p.productive}, {"slow", p.slow}, {"recomputation", p.recomputation}, {"detection", p.detection},
                               {"localisation", p.localisation}, {"restart", p.restart}, {"between steps", p.between_steps},
                               {"start-up", p.start_up}, {"after the last step", p.after}, {"unexplained", p.unexplained}};
  std::erase_if(out, [](const TimePart& part) { return part.time <= 0; });
  return out;
}

}  // namespace

Result<std::vector<Finding>> analyse(store::Database& db, const analyze::Facts& facts, const rules::RulePack& pack, Pictures* pictures) {
  const auto signals = analyze::collect_signals(facts, pack);
  std::vector<Finding> all;
  const auto keep = [&](const char* analysis, std::vector<Finding> findings) -> Result<> {
    // No claim without a place in the bundle that a person can look at.
    for (Finding& f : findings)
      if (f.outcome == Outcome::fired && f.evidence.empty()) {
        f.outcome = Outcome::not_enough_evidence;
        f.why += " No line of the bundle can be shown for it.";
      }
    CULPRIT_CHECK(db.save_findings(analysis, findings));
    std::move(findings.begin(), findings.end(), std::back_inserter(all));
    return {};
  };
  CULPRIT_CHECK(keep("classify", analyze::classify(facts, signals)));
  CULPRIT_CHECK(keep("leads", analyze::leads(facts)));
  CULPRIT_CHECK(keep("root_diag", analyze::root_diag(facts, signals)));
  CULPRIT_CHECK(keep("silence", analyze::silence(facts, signals)));
  // Who waits for whom: by counters, by stacks, and one answer from both.
  const analyze::Topology topology = analyze::make_topology(facts);
  const analyze::CollectiveReport collectives = collectives_of(facts, topology, signals);
  CULPRIT_CHECK(keep("collectives", analyze::collective_findings(collectives, slow_ranks_of(db, facts), facts, topology)));
  const analyze::StackReport stacks = analyze::aggregate_stacks(facts, topology, analyze::hang_known(facts, signals));
  CULPRIT_CHECK(keep("stacks", analyze::stack_findings(stacks, facts, topology)));
  CULPRIT_CHECK(keep("hang", analyze::hang(facts, topology, signals, collectives, stacks, all)));
  CULPRIT_CHECK(keep("drift", analyze::drift_findings(analyze::compare_settings(facts, rules::DriftRules::built_in()), facts)));
  // Was it slow, since when, and because of whom.
  const Pace pace = pace_of(db, facts);
  if (pictures != nullptr) *pictures = {chart_of(pace), time_parts(facts, pace)};
  const analyze::IncidentMetrics metrics = metrics_of(db, facts);
  const analyze::OutlierReport outliers = outliers_of(db, facts, metrics, fitting(pace));
  if (!outliers.searched.empty()) CULPRIT_CHECK(keep("outliers", analyze::outlier_findings(outliers)));
  CULPRIT_CHECK(keep("stall", stalls_of(db, facts, metrics)));
  CULPRIT_CHECK(keep("slow_group", slow_groups_of(db, facts)));
  CULPRIT_CHECK(keep("what_if", analyze::what_if_findings(facts, topology, pace.steps, pace.report, pace.iterations, pace.series)));
  // A pace that was counted from calls is no news before there is enough of it.
  if (pace.steps.size() > 0 && (pace.steps.from_calls.empty() || pace.report.enough)) CULPRIT_CHECK(keep("slow", analyze::slow_findings(facts, pace.steps, pace.report, pace.parts, outliers, all)));
  return all;
}

Result<std::string> conclude(store::Database& db, const analyze::Facts& facts, std::vector<Finding> findings, std::span<const PastIncident> history, Pictures pictures) {
  decide::Case incident;
  incident.findings = std::move(findings);
  for (const ExitRow& x : facts.exits) {
    const MemberRow* m = facts.member(x.place.member);
    incident.exits.push_back({x.source, x.code, {x.place.member, m == nullptr ? "" : m->path, x.place.line, x.place.offset, x.place.length, ""}, x.time_ns, x.host, x.rank, x.blamed});
  }
  incident.hosts = facts.hosts.size();
  for (const HostRow& h : facts.hosts) incident.hosts_with_output += h.has_log;
  incident.job_hosts = analyze::hosts_of_job(facts);
  incident.completed = analyze::job_completed(facts);
  incident.uses_gpus = analyze::uses_gpus(facts);
  incident.ranks = std::max<std::size_t>(facts.ranks.size(), static_cast<std::size_t>(facts.world_size));
  for (const RankRow& r : facts.ranks) incident.has_rank_map = incident.has_rank_map || r.host.has_value();
  // What hosts hang on, and pods: a spine would have all of them below it, a rack shares no cable.
  const analyze::Topology topology = analyze::make_topology(facts);
  for (const analyze::Switch& s : topology.switches)
    if ((s.level == 0 && s.kind != "rack" && s.kind != "rail") || s.kind == "pod") incident.switches.emplace_back(s.name, s.hosts);
  incident.has_stacks = !facts.samples.empty();
  incident.has_recorder = !facts.recorders.empty();
  incident.job_start = facts.job_start;
  incident.job_end = facts.job_end;
  incident.any_training_output = !facts.progress.empty() || !facts.tracebacks.empty() || !facts.exits.empty() ||
                                 std::any_of(facts.identities.begin(), facts.identities.end(), analyze::tells_of_job);
  for (const ProgressSpan& p : facts.progress) {
    if (p.framework == "tqdm") continue;   // a bar may be an upload's: good enough for the pace, no proof that the job went on
    if (p.last.time_ns && (!incident.last_progress || *p.last.time_ns > *incident.last_progress)) incident.last_progress = p.last.time_ns;
    if (p.last.iteration && *p.last.iteration >= incident.last_iteration.value_or(0)) {
      incident.last_iteration = p.last.iteration;
      if (p.last.total) incident.planned_iterations = p.last.total;
    }
  }
  const auto problems = db.problems();

  if (topology.layout) {
    incident.tp = topology.layout->tp;
    incident.pp = topology.layout->pp;
    incident.dp = topology.layout->dp;
  }
  if (facts.manifest) incident.gpus_per_host = facts.manifest->gpus_per_node;
  if (!history.empty()) CULPRIT_CHECK(check_history(history, db, facts, decide::decide(incident).start));
  incident.history = history_of(db, facts, history);

  report::Incident out;
  out.verdict = decide::decide(incident);
  if (const std::string cost = isolation_cost(out.verdict, facts, topology); !cost.empty()) out.verdict.next.push_back({"plan", cost});
  out.findings = std::move(incident.findings);
  out.map = analyze::rank_map(facts, topology, out.findings, out.verdict);
  out.steps = std::move(pictures.steps);
  out.time = std::move(pictures.time);
  out.members = facts.members;
  out.problems = problems;
  out.hosts = facts.hosts;
  out.ranks = facts.ranks;
  out.notes = facts.notes;
  out.notes.insert(out.notes.end(), topology.notes.begin(), topology.notes.end());
  if (!facts.zone_known) out.notes.push_back("UTC is assumed for times without a zone; set \"timezone\" in job.json, or --timezone");
  std::map<std::string, std::size_t> unread;
  for (const MemberRow& m : out.members)
    if (m.format == "metrics") ++unread[m.format];
  for (const auto& [format, n] : unread) out.notes.push_back(fmt::format("{} {} file{} recognised and not looked into: this verdict does not rest on them", n, format, n == 1 ? " was" : "s were"));
  std::vector<std::string> others;
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && facts.foreign(m)) others.push_back(m.path);
  if (!others.empty()) out.notes.push_back(fmt::format("{}{} of another job than the manifest's and {} not looked at", fmt::join(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, others.size())), ", "),
                                                       others.size() > 3 ? fmt::format(" and {} more are", others.size() - 3) : others.size() == 1 ? " is" : " are", others.size() == 1 ? "was" : "were"));
  for (const RejectRow& reject : db.rejects())
    if (reject.reason == "manifest.not_json") out.notes.push_back("job.json was not used: " + reject.excerpt);
  out.world_size = facts.world_size;
  out.complete = std::none_of(problems.begin(), problems.end(), loses_input) && !db.partial();
  std::string document = report::to_json(out);
  CULPRIT_CHECK(db.save_verdict(out.verdict.action, out.verdict.summary, document));
  if (!db.partial()) CULPRIT_CHECK(db.set_meta("state", "done"));
  return document;
}

bool use_color(const Arguments& arguments) {
  const std::string when = arguments.get("color", "auto");
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace culprit::cli
