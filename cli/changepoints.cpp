#include "changepoints.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "analyze/pace/slow_what_if.hpp"
#include "command.hpp"
#include "ingest/table/call_table.hpp"
#include "ingest/table/table_times.hpp"
#include "diagnose/pace.hpp"
#include "model/contains.hpp"
#include "pack.hpp"
#include "schema/schema.hpp"
#include "table_file.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using ingest::BareTable;
using ingest::TableColumn;
using Use = TableColumn::Use;

std::string stem(const std::string& path) {
  if (path == "-") return "stdin";
  const std::string base = path.substr(path.rfind('/') + 1);
  const std::size_t dot = base.rfind('.');
  return dot == std::string::npos || dot == 0 ? base : base.substr(0, dot);
}

// Columns of a training log that are no times. Not read as such unless the user names them.
bool no_time(const std::string& name) {
  std::string low;
  for (const char c : name) low.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  constexpr std::array<std::string_view, 20> kWords{
      "loss",  "norm",  "learning",  "throughput", "flop",  "token", "mem",
      "util",  "temp",  "accuracy",  "scale",      "byte",  "zeros", "sample",
      "power", "clock", "bandwidth", "count",      "error", "per_s"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains(low, word); }) ||
         low == "lr";
}

// When the rows were, in ms; nothing when that is not known.
std::vector<double> clock_of(const TableColumn* column) {
  if (column == nullptr) return {};
  const ingest::TableTimes read = ingest::table_times(*column);
  if (read.since_start) return {};
  std::vector<double> out;
  for (const Nanoseconds t : read.times) {
    if (t == kNoValue) return {};
    out.push_back(static_cast<double>(t) / 1e6);
  }
  return out;
}

Result<const TableColumn*> named(const BareTable& table, const std::string& name,
                                 const std::string& path) {
  if (const TableColumn* found = table.find(name)) return found;
  std::vector<std::string> names;
  for (const TableColumn& c : table.columns) names.push_back(c.name);
  const std::string near = schema::nearest(name, names);
  std::string some;
  for (std::size_t i = 0; i < names.size() && i < 12; ++i) some += (i ? ", " : "") + names[i];
  return usage_error(fmt::format("there is no column '{}'", name))
      .at({path, table.header ? 1u : 0u})
      .hint(near.empty() ? fmt::format("columns: {}{}", some, names.size() > 12 ? ", ..." : "")
                         : fmt::format("did you mean '{}'?", near));
}

template <class T>
std::vector<T> picked(const std::vector<T>& all, const std::vector<std::size_t>& rows) {
  std::vector<T> out;
  for (const std::size_t r : rows)
    if (r < all.size()) out.push_back(all[r]);
  return out;
}

// What the columns of a table are for.
struct ChosenColumns {
  std::vector<const TableColumn*> series;
  const TableColumn* iteration = nullptr;  // null: none
  const TableColumn* by = nullptr;         // parts the table; null: one part
  bool asked = false;                      // the user named the series
};

Result<ChosenColumns> choose_columns(const Arguments& arguments, const BareTable& table,
                                     const std::string& path) {
  ChosenColumns out;
  out.asked = arguments.has("column");
  for (const std::string& name : arguments.all("column")) {
    CULPRIT_TRY(column, named(table, name, path));
    out.series.push_back(column);
  }
  out.iteration = table.first(Use::iteration);
  if (out.iteration == nullptr) out.iteration = table.first(Use::index);
  if (arguments.has("iteration-column")) {
    CULPRIT_TRY(column, named(table, arguments.get("iteration-column"), path));
    out.iteration = column;
  }
  if (arguments.has("by")) {
    CULPRIT_TRY(column, named(table, arguments.get("by"), path));
    out.by = column;
  }
  if (!out.asked)
    for (const TableColumn& c : table.columns)
      if (c.use == Use::series && &c != out.iteration && &c != out.by) out.series.push_back(&c);
  if (out.series.empty())
    return fail("no column of it is a series of numbers")
        .at({path, 0})
        .hint(
            "--column NAME says which one to read; a log is read with -d FILE, the database that "
            "keeps what it says");
  return out;
}

using RowGroup = std::pair<std::string, std::vector<std::size_t>>;  // its name and its rows

// The rows that belong together, in the order in which their groups come.
std::vector<RowGroup> rows_by(const TableColumn* by, std::size_t rows) {
  std::vector<RowGroup> groups;
  std::map<std::string, std::size_t> at;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::string group = by != nullptr ? std::string(by->cells[r]) : std::string();
    const auto [it, fresh] = at.emplace(group, groups.size());
    if (fresh) groups.emplace_back(group, std::vector<std::size_t>{});
    groups[it->second].second.push_back(r);
  }
  if (groups.empty() && by == nullptr) groups.emplace_back();
  return groups;
}

// Which iterations the values are of, where the numbers can be that.
void number_series(const TableColumn& iteration, const std::vector<std::size_t>& rows,
                   NamedSeries& s) {
  s.number = picked(iteration.values, rows);
  std::size_t back = 0;
  for (std::size_t i = 1; i < s.number.size(); ++i) back += !(s.number[i] > s.number[i - 1]);
  // Several ranks in one table look like a restart at every row.
  if (back * 10 <= s.number.size()) return;
  s.number.clear();
  s.notes.push_back(fmt::format(
      "the numbers in '{}' repeat or go back too often to be iterations of one series and "
      "are not used; --by COLUMN parts the table, by rank for instance",
      iteration.name));
}

// Values that cannot be iteration times are not read as such. `by_name`: its name may say so, too.
void judge_as_time(const TableColumn& column, bool by_name, NamedSeries& s) {
  std::size_t numbers = 0;
  std::size_t positive = 0;
  for (const double v : s.values)
    numbers += std::isfinite(v), positive += std::isfinite(v) && v > 0;
  if (by_name && no_time(column.name)) {
    s.as_time = false;
    s.notes.push_back("not read as iteration times, by its name; --column reads it so");
  } else if (positive * 10 < numbers * 9) {
    s.as_time = false;
    s.notes.push_back(fmt::format("not read as iteration times: {} of {} values are 0 or less",
                                  numbers - positive, numbers));
  }
}

}  // namespace

Result<SeriesUnit> series_unit(const Arguments& arguments) {
  if (!arguments.has("unit")) return SeriesUnit{};
  const std::string given = arguments.get("unit");
  for (const auto& [name, ns] :
       {std::pair{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}})
    if (given == name) return SeriesUnit{name, ns};
  return usage_error(fmt::format("--unit takes ns, us, ms, s or min, not '{}'", given))
      .hint("it is the unit of the iteration times, or of the times of a log of calls");
}

namespace {

Result<std::vector<NamedSeries>> series_of(const Arguments& arguments, const BareTable& table,
                                           const std::string& path) {
  CULPRIT_TRY(columns, choose_columns(arguments, table, path));
  const bool single = columns.series.size() == 1;
  const auto clock = clock_of(table.first(Use::time));
  CULPRIT_TRY(unit, series_unit(arguments));
  std::vector<NamedSeries> out;
  for (const auto& [group, rows] : rows_by(columns.by, table.rows))
    for (const TableColumn* column : columns.series) {
      NamedSeries s;
      s.name = column->name;
      if (!table.name.empty() && single && !columns.asked)
        s.name = table.name;
      else if (!table.header && single &&
               column->name.starts_with(table.columns.size() == 1 ? "value" : "column "))
        s.name = stem(path);
      if (columns.by != nullptr) s.name += fmt::format(" of {} {}", columns.by->name, group);
      s.values = picked(column->values, rows);
      if (columns.iteration != nullptr) number_series(*columns.iteration, rows, s);
      s.clock = picked(clock, rows);
      judge_as_time(*column, !columns.asked && !single, s);
      if (s.as_time) s.unit = unit.name;
      out.push_back(std::move(s));
    }
  return out;
}

// The steps of the job, as its logs report them.
Result<Exit> of_incident(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  for (const char* option : {"method", "unit"})
    if (arguments.has(option))
      return usage_error(fmt::format("--{} goes with a table", option))
          .hint("of a job's own logs, units and calls are known: culprit changepoints calls.csv");
  CULPRIT_TRY(params, changepoint_params(arguments));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_incident(arguments, pack));
  const diagnose::Pace pace =
      diagnose::pace_of(incident.db, incident.resolved.facts, params.fail_slow);
  const analyze::JobSteps& steps = pace.steps;
  NamedSeries series{.name = "iteration time (ms)", .job = pace.jobs};
  if (steps.size() == 0)
    series.notes.push_back(
        "none of the files reports steps with their times: looked for step lines of Megatron, "
        "DeepSpeed, NeMo, torchtitan, Hugging Face and others, metrics of steps (JSON lines, CSV, "
        "TensorBoard, wandb), and communication calls with their times (NCCL_DEBUG_SUBSYS=COLL, "
        "Inspector, flight recorder)");
  series.values = steps.ms;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    series.number.push_back(steps.iteration[i] == kNoValue
                                ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(steps.iteration[i]));
    series.clock.push_back(steps.time[i] == kNoValue ? std::numeric_limits<double>::quiet_NaN()
                                                     : static_cast<double>(steps.time[i]) / 1e6);
  }
  const auto unknown = [](const std::vector<double>& column) {
    return std::ranges::any_of(column, [](double v) { return std::isnan(v); });
  };
  if (unknown(series.number)) series.number.clear();
  if (unknown(series.clock)) series.clock.clear();
  if (incident.db.partial())
    series.notes.push_back("the database is partial: reading its bundle was cut off");
  for (const std::string& path : steps.sources)
    series.notes.push_back("steps are those of " + path);
  if (!steps.from_calls.empty()) series.notes.push_back(report::words(steps.from_calls));
  if (steps.from_times)
    series.notes.push_back("no step times are printed: they are the distances of the lines' times");
  for (const Finding& f :
       analyze::what_if_findings(incident.resolved.facts, incident.resolved.topology, steps,
                                 pace.report, pace.iterations, pace.series))
    if (f.fired())
      series.notes.push_back(fmt::format("from iteration {}: {}", f.id.substr(f.id.rfind('/') + 1),
                                         report::words(f.title)));
  print_changepoints(arguments, {series}, false, series.name, params, &incident);
  return incident.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

Result<Exit> run_changepoints(const Arguments& arguments) {
  if (names_incident(arguments)) return of_incident(arguments);
  if (arguments.positional().size() != 1)
    return usage_error(
               fmt::format("changepoints takes one table, not {}", arguments.positional().size()))
        .hint("culprit changepoints iterations.csv; `-` reads standard input");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(params, changepoint_params(arguments));
  const std::string path = arguments.positional()[0];
  CULPRIT_TRY(table, read_table_file(arguments, path));
  const bool calls =
      !arguments.has("column") &&
      (arguments.has("anchor") || arguments.has("method") || ingest::is_call_table(table));
  CULPRIT_TRY(series,
              calls ? series_of_calls(arguments, table, path) : series_of(arguments, table, path));
  const bool multivariate = table.multivariate && !arguments.has("column");
  print_changepoints(arguments, series, multivariate, table.name.empty() ? stem(path) : table.name,
                     params);
  return table.rejected > 0 && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr auto kChangepointsOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"column", "NAME", "only this column, read as iteration times; may be repeated"},
    {"iteration-column", "NAME", "the iteration numbers; by default found by name"},
    {"by", "NAME", "one series for each value of this column, such as rank"},
    {"anchor", "CALL",
     "of a call log: the operation that comes once an iteration, such as all_reduce@dp"},
    {"method", "NAME", "of a call log: anchor (default), match, or acf, as GREYHOUND publishes it"},
    {"unit", "UNIT", "of the numbers, or of a call log's times: ns, us, ms, s or min"},
    {"min-change", "SHARE", "smallest slow-down, 10% by default"},
    {"min-regime", "N", "fewest iterations of a slow interval, 15 by default"},
    {"lambda", "N", "kernel: samples between changes, 100 by default"},
    {"threshold", "P", "kernel: probability of a change, 0.9 by default"},
    {"strict", nullptr, "exit with 4 when a line or cell could not be read"},
});

}  // namespace

constinit const Command kChangepoints{
    "changepoints",
    "since when is it slow: change points and slow intervals of iteration times",
    "changepoints [BUNDLE...|TABLE] [-d FILE] [options]",
    "  culprit changepoints -d incident.db\n"
    "  culprit changepoints iterations.csv\n"
    "  culprit changepoints metrics.jsonl --column iter_ms --format json\n"
    "  culprit changepoints all-ranks.csv --by rank\n"
    "  culprit changepoints calls.csv\n\n"
    "  A table is CSV, TSV, JSON or JSON lines. One with the columns time and operation (rank, "
    "communicator,\n"
    "  elements) is a log of communication calls: iterations are derived from them. Pauses that "
    "recur "
    "and the\n"
    "  warm-up are set aside and reported.\n",
    kChangepointsOptions,
    run_changepoints};

}  // namespace culprit::cli
