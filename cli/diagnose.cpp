#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/history.hpp"
#include "diagnose/identity.hpp"
#include "diagnose/novelty.hpp"
#include "diagnose/read.hpp"
#include "diagnose/several.hpp"
#include "diagnosed.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"
#include "pack.hpp"
#include "incident.hpp"
#include "ledger.hpp"
#include "shard.hpp"
#include "terminal.hpp"
#include "model/phrases.hpp"
#include "report/report.hpp"
#include "report/phrases.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

// What `culprit show` is given to print the raw lines of a finding; "" when no database is kept.
std::string shown_from(const Arguments& arguments, const std::string& database) {
  if (database.empty()) return {};
  std::string out = place_of(arguments, database);
  for (const std::string& path : arguments.positional())
    if (path != "-") out += " --bundle " + shell_quoted(path);
  return out;
}

std::string rendered(const Arguments& arguments, std::string document, const std::string& format,
                     const std::string& database) {
  const report::Format& chosen = *report::find_format(format);
  // JSON is for programs: the same bytes wherever the bundle lies.
  if (chosen.name != "json")
    document = report::with_place(std::move(document), place_of(arguments, database));
  return chosen.render(
      document,
      {use_color(arguments), arguments.has("explain"), arguments.has("verbose"), terminal_width(),
       database.empty() ? "-d incident.db" : place_of(arguments, database),
       shown_from(arguments, database), arguments.get("report-url")});
}

Result<> check_report_format(const Arguments& arguments) {
  if (arguments.has("report-url") && !report::is_report_url(arguments.get("report-url")))
    return usage_error(fmt::format("--report-url takes an address that begins with http:// or "
                                   "https://, not '{}'",
                                   arguments.get("report-url")))
        .hint("https://reports.example/{job} is where report.html of the job stands");
  std::vector<std::string_view> names;
  for (const report::Format* f : report::formats()) names.push_back(f->name);
  return check_format(arguments, names);
}

std::string chosen_format(const Arguments& arguments) {
  return arguments.has("json") ? "json" : arguments.get("format", "text");
}

// Written beside and renamed: a report is there whole or not at all.
Result<> write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path part = path.string() + ".part";
  std::error_code error, ignored;
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();  // some file systems tell only now that there is no room
    if (!file) error = std::error_code(errno, std::generic_category());
  }
  if (!error) std::filesystem::rename(part, path, error);
  if (!error) return {};
  std::filesystem::remove(part, ignored);
  return fail("cannot write this file: " + error.message())
      .at({path.string(), 0})
      .hint("is the disk full, the folder writable?");
}

Result<Severity> gate_level(const Arguments& arguments) {
  const std::string level = arguments.get("fail-on", "critical");
  if (const auto asked = severity_named(level)) return *asked;
  return usage_error(
      fmt::format("--fail-on takes info, warning, distributed or critical, not '{}'", level));
}

Result<Exit> finish(const Arguments& arguments, Action action, std::span<const Finding> findings,
                    bool incomplete) {
  bool tripped = false;
  if (arguments.has("fail-on")) {
    CULPRIT_TRY(level, gate_level(arguments));
    tripped = diagnose::fails(action, findings, level);
  }
  if (incomplete && arguments.has("strict")) return Exit::incomplete;
  return tripped ? Exit::gate : Exit::finished;
}

// Beside the leads that the incident has by itself, and after them.
Result<> add_new_lines(const Arguments& arguments, const diagnose::Resolved& incident,
                       const rules::RulePack& pack, store::Database& db,
                       std::vector<Finding>& findings) {
  CULPRIT_TRY(options, read_options(arguments));
  CULPRIT_TRY(novelty,
              diagnose::new_lines(db, incident, arguments.get("baseline"), pack, options.limits));
  for (const std::string& note : report::words(novelty.notes)) remark(arguments, note);
  // A line that another finding quotes is told already.
  std::set<std::pair<std::string, std::uint64_t>> told;
  std::vector<Finding> leads;
  for (const Finding& f : findings) {
    if (f.analysis == Analysis::leads) leads.push_back(f);
    for (const Evidence& e : f.evidence) told.emplace(e.path, e.line);
  }
  std::erase_if(novelty.leads, [&](const Finding& f) {
    return f.evidence.empty() ||
           told.count({f.evidence.front().path, f.evidence.front().line}) != 0;
  });
  leads.insert(leads.end(), novelty.leads.begin(), novelty.leads.end());
  CULPRIT_CHECK(db.save_findings(Analysis::leads, leads, report::words));
  findings.insert(findings.end(), novelty.leads.begin(), novelty.leads.end());
  return {};
}

// Each file of --outcomes tells of some; a line of it that does not is named.
Result<> check_outcomes(const Arguments& arguments, const store::Database& db) {
  for (const std::string& path : arguments.all("outcomes")) {
    const std::string name = "outcomes/" + std::filesystem::path(path).filename().string();
    std::set<MemberId> members;
    for (const MemberRow& m : db.members())
      if (m.stored_path == name) members.insert(m.id);
    if (std::ranges::none_of(db.rows<OutcomeRow>(), [&](const OutcomeRow& row) {
          return members.count(row.place.member) > 0;
        }))
      return fail("no outcome of a check stands in this file")
          .at({path, 1})
          .hint("a table with the columns task (or group), hosts and outcome (pass or fail)");
    for (const RejectRow& row : db.rows<RejectRow>())
      if (members.count(row.place.member) > 0)
        remark(arguments, fmt::format("{}:{}: no outcome, so the line is left out: {}", path,
                                      row.place.line, report::visible(row.excerpt)));
  }
  return {};
}

// Bundles into a new database; or, of --outcomes alone, what the database lacks of them.
Result<std::pair<store::Database, diagnose::ReadOutcome>> read_for(const Arguments& arguments,
                                                                   const rules::RulePack& pack,
                                                                   const std::string& path) {
  const bool outcomes_alone = arguments.positional().empty();
  CULPRIT_TRY(db, outcomes_alone ? open_database(arguments, store::Access::write)
                                 : open_new(arguments, path));
  if (outcomes_alone && db.read_only())
    return fail("this database cannot be written, so no outcomes can be added to it")
        .at({path, 0})
        .hint("diagnose the bundle with --outcomes");
  CULPRIT_TRY(read, read_bundles(arguments, pack, db));
  CULPRIT_CHECK(check_outcomes(arguments, db));
  return std::pair(std::move(db), std::move(read));
}

Result<Exit> run_diagnose(const Arguments& arguments) {
  if (arguments.positional().empty() && !(arguments.has("db") && arguments.has("outcomes")))
    return usage_error(
               "diagnose needs a bundle: a folder, an archive, a file, or - for standard input")
        .hint("culprit diagnose job.tar.gz");
  CULPRIT_CHECK(check_report_format(arguments));
  CULPRIT_CHECK(gate_level(arguments));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(history, diagnose::load_history(arguments.all("history")));
  std::filesystem::path folder;
  std::string path = arguments.get("db");
  if (arguments.has("out")) {
    folder = arguments.get("out");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      return fail("cannot make this folder: " + error.message())
          .at({folder.string(), 0})
          .hint("name a folder that you may write to with -o");
    if (path.empty()) path = (folder / "incident.db").string();
  }
  CULPRIT_TRY(bundle, read_for(arguments, pack, path));
  auto& [db, read] = bundle;
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  if (const Text several = diagnose::several_incidents(db, incident); !several.empty())
    remark(arguments, report::words(say(Phrase::several_incidents_as_one, several)));
  diagnose::Pictures pictures;
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, pack, &pictures));
  if (arguments.has("baseline"))
    CULPRIT_CHECK(add_new_lines(arguments, incident, pack, db, findings));
  CULPRIT_TRY(conclusion,
              diagnose::conclude(db, incident, std::move(findings), history, std::move(pictures)));
  CULPRIT_TRY(exit,
              finish(arguments, conclusion.verdict.action, conclusion.findings, read.incomplete));
  incident = {};  // the document has all that is printed
  std::vector<Finding>().swap(conclusion.findings);
  std::string& document = conclusion.document;
  if (!folder.empty()) {
    const std::string placed = report::with_place(document, place_of(arguments, path));
    for (const report::Format* f : report::formats())
      if (!f->file.empty())
        CULPRIT_CHECK(write_file(folder / f->file,
                                 f->render(f->name == "json" ? document : placed,
                                           {false, true, true, 120, place_of(arguments, path),
                                            shown_from(arguments, path)})));
  }
  print(rendered(arguments, std::move(document), chosen_format(arguments), path));
  if (!folder.empty())
    remark(arguments, fmt::format("database and reports are in {}", folder.string()));
  return exit;
}

Result<Exit> run_ingest(const Arguments& arguments) {
  if (arguments.positional().empty())
    return usage_error("ingest needs a bundle").hint("culprit ingest job.tar.gz -d incident.db");
  if (!arguments.has("db"))
    return usage_error("ingest needs a database to write to")
        .hint("culprit ingest job.tar.gz -d incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  if (arguments.has("shard") || arguments.has("where")) return ingest_shard(arguments, pack);
  CULPRIT_TRY(db, open_new(arguments, arguments.get("db")));
  CULPRIT_TRY(read, read_bundles(arguments, pack, db));
  CULPRIT_CHECK(diagnose::resolve(db, true));
  CULPRIT_CHECK(db.set_meta("state", "done"));
  print_ledger(arguments, db);
  return read.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

Result<Exit> run_classify(const Arguments& arguments) {
  if (!arguments.has("db"))
    return usage_error("classify needs a database").hint("culprit classify -d incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(history, diagnose::load_history(arguments.all("history")));
  CULPRIT_TRY(db, open_database(arguments, store::Access::write));
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  diagnose::Pictures pictures;
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, pack, &pictures));
  CULPRIT_TRY(conclusion,
              diagnose::conclude(db, incident, std::move(findings), history, std::move(pictures)));
  auto d = parse_json<nlohmann::ordered_json>(conclusion.document);
  if (chosen_format(arguments) == "json") {
    nlohmann::ordered_json answer{{"schema", "culprit.classify/1"}};
    answer["complete"] = !db.partial();
    answer["findings"] = std::move(d["findings"]);
    print(report::identified(json_text(answer) + "\n", diagnose::identity_of(db, incident.facts)));
  } else {
    std::string out;
    if (db.partial()) out = "INCOMPLETE  " + report::words(say(Phrase::database_partial)) + "\n";
    for (const Finding& f : db.findings())
      out += fmt::format(
          "{:<19} {:<11} {:<12} {}\n                    {} {} ({} line{}){}\n", name(f.outcome),
          name(f.severity), name(f.role), report::visible(f.id), name(f.subject.kind),
          report::visible(f.subject.id), f.count, f.count == 1 ? "" : "s",
          f.fired() ? "" : "\n                    " + report::visible(report::words(f.why)));
    print(out.empty() ? "no findings\n" : out);
  }
  return db.partial() && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

Result<Exit> run_report(const Arguments& arguments) {
  if (!arguments.has("db"))
    return usage_error("report needs a database").hint("culprit report -d incident.db --format md");
  CULPRIT_CHECK(check_report_format(arguments));
  CULPRIT_TRY(db, open_database(arguments, store::Access::read));
  const auto document = db.verdict();
  if (!document)
    return usage_error("this database has no verdict yet")
        .at({arguments.get("db"), 0})
        .hint("culprit classify -d " + shell_quoted(database_path(arguments)));
  print(rendered(arguments, *document, chosen_format(arguments), database_path(arguments)));
  return finish(arguments, db.verdict_action().value_or(Action::investigate), db.findings(),
                db.partial());
}

constexpr OptionSpec kOutput[] = {
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
};

constexpr OptionSpec kUrlOption{
    "report-url", "URL",
    "where the folders of -o are published, for the link of slack and jira; {job} and {digest} are "
    "replaced"};

constexpr auto kDiagnoseOptions = with_read_options({
    {"out,o", "DIR", "keep the database and all reports there"},
    {"db,d", "FILE", "keep the database there"},
    {"format", "FORMAT", report::kFormatNames},
    {"json", nullptr, "the same as --format json"},
    {"explain", nullptr, "show every kind of cause, and why it was left or believed"},
    kUrlOption,
    kHistoryOption,
    {"outcomes", "FILE",
     "a table of checks that were run since, their hosts and how they came out; with -d alone they "
     "are added to that database (may be repeated)"},
    {"baseline", "FILE",
     "the database of a run that worked: lines that it does not have are leads of an open answer"},
    {"fail-on", "LEVEL",
     "exit with 1 when something at least this severe was found (info, warning, distributed, "
     "critical)"},
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
});
constexpr auto kIngestOptions = with_read_options({
    {"db,d", "FILE", "the database; made when missing, continued when an earlier run was cut off"},
    {"shard", "K/N", "read the K-th of N parts of the bundle; `culprit merge` joins them"},
    {"where", "LABEL",
     "with --shard: the bundle is this host's part alone; its files stand under LABEL/"},
    kOutput[0],
    kOutput[1],
    {"strict", nullptr, "exit with 4 when something of the bundle could not be read"},
});
constexpr OptionSpec kClassifyOptions[] = {
    {"db,d", "FILE", "the database that `ingest` made"},
    kHistoryOption,
    kOutput[0],
    kOutput[1],
    kRulesOption[0],
};
constexpr OptionSpec kReportOptions[] = {
    {"db,d", "FILE", "the database that `diagnose` or `classify` left"},
    {"format", "FORMAT", report::kFormatNames},
    {"json", nullptr, "the same as --format json"},
    {"explain", nullptr, "show every kind of cause, and why it was left or believed"},
    kUrlOption,
    {"fail-on", "LEVEL", "exit with 1 when something at least this severe was found"},
};

}  // namespace

constinit const Command kDiagnose{
    "diagnose",
    "who did it, how one can check that, what to do next",
    "diagnose BUNDLE... [options]",
    "  culprit diagnose job.tar.gz\n"
    "  culprit diagnose logs/ -o report/ --explain\n"
    "  culprit diagnose node-*.tar.gz --format json\n"
    "  tar c logs | culprit diagnose -\n\n"
    "  BUNDLE is a folder, .tar, .tar.gz, .tar.zst, .tar.xz, .zip, one file, or - (standard "
    "input).\n"
    "  Several bundles of one call are one incident. Nothing is unpacked to disk.\n",
    kDiagnoseOptions,
    run_diagnose};
constinit const Command kIngest{"ingest",
                                "a bundle into a database, with a ledger of every line",
                                "ingest BUNDLE... -d FILE [options]",
                                "  culprit ingest job.tar.gz -d incident.db\n\n  Can be stopped at "
                                "any time; the same command goes on where it was.\n",
                                kIngestOptions,
                                run_ingest};
constinit const Command kClassify{"classify",
                                  "facts of a database into findings",
                                  "classify -d FILE [options]",
                                  "  culprit classify -d incident.db\n",
                                  kClassifyOptions,
                                  run_classify};
constinit const Command kReport{"report",
                                "the verdict of a database again, in any format",
                                "report -d FILE [options]",
                                "  culprit report -d incident.db --format md\n",
                                kReportOptions,
                                run_report};

}  // namespace culprit::cli
