#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "batch/entry.hpp"
#include "cards.hpp"
#include "command.hpp"
#include "fleet/document.hpp"
#include "fleet/import.hpp"
#include "fleet_options.hpp"
#include "incident.hpp"
#include "line/timestamp.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "pack.hpp"
#include "report/fleet.hpp"
#include "store/fleet.hpp"
#include "table_file.hpp"

namespace culprit::cli {

namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kFleetFormatOption{"format", "FORMAT", "text, json, csv, html or openmetrics"};
constexpr OptionSpec kFleetReportOptions[] = {
    {"db,d", "FILE", "the fleet database that `batch` or `fleet import` made"},
    {"cards", "FILE", "cards, with their outcomes; their incidents count, too"},
    {"out,o", "DIR", "write the report in every format there"},
    kFleetFormatOption,
    {"json", nullptr, "the same as --format json"},
    kFleetOptions[0],
    kFleetOptions[1],
    kFleetOptions[2],
    kFleetOptions[3],
    kFleetOptions[4],
    {"top", "N", "most rows of lists of machines (default 50)"},
};

constexpr OptionSpec kFleetImportOptions[] = {
    {"db,d", "FILE", "the fleet database; made when missing"},
    {"system", "NAME", "who recorded the events (default: the name of the file)"},
    {"column", "FIELD=COLUMN",
     "which column is host, device, time, start, end, duration, kind, level, class or description "
     "(may be repeated)"},
    {"unit", "UNIT",
     "of times that are numbers: s, ms, us, ns, minutes, hours or days (default: by their size)"},
    {"epoch", "TIME", "the time from which such numbers count (default: 1970-01-01)"},
    {"hosts", "N", "machines that the system watched"},
    {"gpus-per-host", "N", "GPUs of each"},
    {"from", "TIME", "since when it watched"},
    {"to", "TIME", "until when"},
    {"dry-run", nullptr, "say what would be imported, and leave the database as it is"},
};

std::optional<Nanoseconds> parse_moment(std::string_view text) {
  Timestamp stamp;
  const std::size_t used = line::parse_iso(text, stamp);
  if (used != 0 && used == text.size() &&
      (stamp.clock == Clock::utc || stamp.clock == Clock::local))
    return stamp.ns;
  // A date alone is its midnight.
  if (text.size() == 10) {
    const std::string whole = std::string(text) + "T00:00:00Z";
    if (line::parse_iso(whole, stamp) == whole.size()) return stamp.ns;
  }
  return std::nullopt;
}

Result<std::optional<std::int64_t>> count_option(const Arguments& arguments, const char* name,
                                                 std::uint64_t most) {
  if (!arguments.has(name)) return std::optional<std::int64_t>();
  CULPRIT_TRY(value, arguments.number(name, 0));
  if (value < 1 || value > most)
    return usage_error(fmt::format("--{} takes a number from 1 to {}", name, most));
  return std::optional(static_cast<std::int64_t>(value));
}

Result<Exit> run_fleet(const Arguments& arguments) {
  if (!arguments.has("db") && !arguments.has("cards"))
    return usage_error("fleet needs a fleet database")
        .hint("culprit fleet -d reports/fleet.db; `culprit batch` makes one");
  if (!arguments.positional().empty())
    return usage_error("fleet takes no " + arguments.positional()[0])
        .hint("the database is named with -d");
  std::vector<std::string_view> names;
  for (const report::FleetFormat* f : report::fleet_formats()) names.push_back(f->name);
  CULPRIT_CHECK(check_format(arguments, names));
  fleet::DocumentParams params;
  CULPRIT_TRY(failures, fleet_params(arguments));
  params.failures = failures;
  CULPRIT_TRY(top, arguments.number("top", params.machines));
  params.machines = std::max<std::size_t>(1, std::min<std::size_t>(top, 100'000));
  FleetRecord record;
  if (arguments.has("db")) {
    CULPRIT_TRY(stored, store::read_fleet(arguments.get("db")));
    record = std::move(stored);
  }
  fleet::Cards cards;
  if (arguments.has("cards")) {
    CULPRIT_TRY(read, read_cards(arguments.get("cards")));
    cards = std::move(read);
    params.cards = &cards;
    // Of an incident that the database has, it knows more than the card.
    std::set<std::string> known;
    for (const FleetIncident& i : record.incidents) known.insert(i.id);
    for (FleetIncident& i : fleet::incidents_of(cards))
      if (known.count(i.id) == 0) record.incidents.push_back(std::move(i));
    sort_rows(record.incidents, [](const auto& a, const auto& b) { return a.id < b.id; });
  }
  const std::string text = fleet::document(record, params);
  const auto document = parse_json(text);
  // Its keys stay in the order in which the statistics are told.
  const auto rendered = [&](const report::FleetFormat& f) {
    return f.name == "json" ? identified(text) : f.render(document);
  };
  if (arguments.has("out")) {
    const fs::path folder = arguments.get("out");
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return fail("cannot make this folder: " + error.message())
          .at({folder.string(), 0})
          .hint("name a folder that you may write to with -o");
    for (const report::FleetFormat* f : report::fleet_formats())
      CULPRIT_CHECK(batch::write_file(folder / f->file, rendered(*f)));
    remark(arguments, "reports are in " + folder.string());
  }
  print(rendered(*report::find_fleet_format(
      arguments.has("json") ? "json" : arguments.get("format", "text"))));
  return Exit::finished;
}

Result<double> unit_of(const std::string& name) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 0},        {"ns", 1e-9},    {"us", 1e-6},    {"ms", 1e-3},   {"s", 1},
      {"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}};
  for (const auto& [word, seconds] : kUnits)
    if (word == name) return seconds;
  return usage_error(
      fmt::format("--unit takes s, ms, us, ns, minutes, hours or days, not '{}'", name));
}

Result<fleet::ImportParams> import_params(const Arguments& arguments, const std::string& path) {
  fleet::ImportParams params;
  params.file = fs::path(path).filename().string();
  params.system = arguments.get("system", path == "-" ? "import" : fs::path(path).stem().string());
  for (const std::string& one : arguments.all("column")) {
    const std::size_t at = one.find('=');
    if (at == std::string::npos)
      return usage_error(fmt::format("--column takes FIELD=COLUMN, not '{}'", one))
          .hint("--column host=node_id");
    params.columns[one.substr(0, at)] = one.substr(at + 1);
  }
  CULPRIT_TRY(unit, unit_of(arguments.get("unit")));
  CULPRIT_TRY(epoch, time_option(arguments, "epoch"));
  params.unit_s = unit;
  params.epoch = epoch;
  return params;
}

Result<fleet::Imported> import_one(const Arguments& arguments, const std::string& path) {
  CULPRIT_TRY(table, read_table_file(arguments, path));
  fleet::ImportTable rows;
  rows.rows = table.rows;
  for (const ingest::TableColumn& c : table.columns) {
    rows.columns.push_back(c.name);
    rows.cells.push_back(c.cells);
    rows.cells.back().resize(table.rows);
  }
  CULPRIT_TRY(params, import_params(arguments, path));
  CULPRIT_TRY(imported, fleet::import_events(rows, params, parse_moment));
  // Lines that gave no row at all. Other rejects are about a cell, and its row was judged above.
  for (const ingest::TableReject& r : table.rejects) {
    if (r.code != "table.bad_json" && r.code != "table.not_a_row") continue;
    imported.rejects.emplace_back(r.line, r.code);
    ++imported.rows;
  }
  return imported;
}

std::string told_import(const std::string& path, const fleet::Imported& i) {
  std::size_t open = 0, failures = 0;
  for (const FleetEvent& e : i.events) {
    failures += e.kind == "failure" ? 1 : 0;
    open += e.kind == "failure" && !e.end ? 1 : 0;
  }
  std::string out = fmt::format(
      "{}: {} rows = {} used + {} rejected; {} failures ({} without an end), {} repairs and "
      "reboots\n",
      path, i.rows, i.used, i.rejects.size(), failures, open, i.events.size() - failures);
  std::string columns;
  for (const auto& [field, column] : i.columns)
    columns += fmt::format("{}{} = {}", columns.empty() ? "" : ", ", field, column);
  return out + "  columns: " + columns + "\n";
}

Result<Exit> run_import(const Arguments& arguments) {
  if (arguments.positional().empty())
    return usage_error("fleet import needs a table of events: CSV, JSON or JSON lines")
        .hint("culprit fleet import faults.csv -d fleet.db");
  if (!arguments.has("db") && !arguments.has("dry-run"))
    return usage_error("fleet import needs a fleet database")
        .hint("culprit fleet import faults.csv -d fleet.db");
  FleetRecord record;
  std::error_code error;
  if (const std::string path = arguments.get("db"); !path.empty() && fs::exists(path, error)) {
    CULPRIT_TRY(before, store::read_fleet(path));
    record = std::move(before);
  }
  CULPRIT_TRY(hosts, count_option(arguments, "hosts", 1'000'000'000));
  CULPRIT_TRY(gpus, count_option(arguments, "gpus-per-host", 1024));
  CULPRIT_TRY(from, time_option(arguments, "from"));
  CULPRIT_TRY(to, time_option(arguments, "to"));
  for (const std::string& path : arguments.positional()) {
    CULPRIT_TRY(imported, import_one(arguments, path));
    print(told_import(path, imported));
    for (std::size_t i = 0; i < imported.rejects.size() && i < 5; ++i)
      remark(arguments, fmt::format("{}, row {}: {}", path, imported.rejects[i].first,
                                    imported.rejects[i].second));
    if (imported.rejects.size() > 5)
      remark(arguments,
             fmt::format("{}: {} rows could not be used", path, imported.rejects.size()));
    CULPRIT_TRY(params, import_params(arguments, path));
    FleetRecord more;
    more.events = std::move(imported.events);
    if (hosts || gpus || from || to) more.scopes.push_back({params.system, from, to, hosts, gpus});
    store::merge_fleet(record, std::move(more));
  }
  if (!arguments.has("dry-run")) CULPRIT_CHECK(store::write_fleet(arguments.get("db"), record));
  return Exit::finished;
}

}  // namespace

Result<std::optional<Nanoseconds>> time_option(const Arguments& arguments, const char* name) {
  if (!arguments.has(name)) return std::optional<Nanoseconds>();
  const auto time = parse_moment(arguments.get(name));
  if (!time)
    return usage_error(fmt::format("--{} takes a time, not '{}'", name, arguments.get(name)))
        .hint("2026-11-01, or 2026-11-01T06:00:00Z");
  return std::optional(*time);
}

Result<fleet::FailureParams> fleet_params(const Arguments& arguments) {
  fleet::FailureParams params;
  CULPRIT_TRY(from, time_option(arguments, "from"));
  CULPRIT_TRY(to, time_option(arguments, "to"));
  CULPRIT_TRY(hosts, count_option(arguments, "hosts", 1'000'000'000));
  CULPRIT_TRY(gpus, count_option(arguments, "gpus-per-host", 1024));
  CULPRIT_TRY(hours, arguments.number("episode-hours", 24));
  if (from && to && *to <= *from) return usage_error("--to is not after --from");
  if (hours > 100'000) return usage_error("--episode-hours takes hours, 100000 at most");
  params.from = from;
  params.to = to;
  params.hosts = hosts;
  params.gpus_per_host = gpus;
  params.episode_gap = static_cast<Nanoseconds>(hours) * 3600 * kSecond;
  return params;
}

extern constinit const Command kFleetImport{
    "fleet import",
    "events of other systems into a fleet database",
    "fleet import FILE... -d FILE [options]",
    "  culprit fleet import faults.csv -d fleet.db --hosts 400\n"
    "  culprit fleet import trace.json -d fleet.db --unit days --epoch 2026-01-01\n\n"
    "  A table with a machine and a time in each row: CSV, TSV, JSON, JSON lines. Beginnings and "
    "ends\n"
    "  of faults may be rows of their own. The same file again changes nothing.\n",
    kFleetImportOptions,
    run_import};
namespace {
constexpr const Command* kFleetSubcommands[] = {&kFleetImport};
}
extern constinit const Command kFleet{
    "fleet",
    "what many incidents say of the machines together",
    "fleet [-d FILE] [--cards FILE] [options]",
    "  culprit fleet -d reports/fleet.db\n"
    "  culprit fleet -d fleet.db --hosts 512 --from 2026-10-01 --format html > fleet.html\n"
    "  culprit fleet --cards cards.jsonl    # with how often each kind of verdict was right\n\n"
    "  Rates with their intervals, causes beside published ones, machines that fail more often "
    "than\n"
    "  chance explains, batches of failures, repair times.\n",
    kFleetReportOptions,
    run_fleet,
    kFleetSubcommands};

}  // namespace culprit::cli
