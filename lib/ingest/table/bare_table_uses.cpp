// Which columns of a bare table are series, and which say when or whose the numbers are.
#include <algorithm>
#include <array>
#include <cmath>

#include "ingest/table/bare_table_parts.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using ColumnUse = TableColumn::Use;

template <std::size_t N>
bool among(const std::string& name, const std::array<std::string_view, N>& names) {
  return contains(names, name);
}

constexpr std::array<std::string_view, 10> kIterations{
    "iteration", "iter",  "it",         "iterations", "iters",
    "step",      "steps", "globalstep", "trainstep",  "consumediterations"};
constexpr std::array<std::string_view, 9> kIndices{"index", "idx", "i",        "n",  "row",
                                                   "no",    "id",  "unnamed0", "seq"};
constexpr std::array<std::string_view, 14> kLabels{
    "rank", "host",      "hostname",   "node", "nodename", "gpu",   "worker",
    "pid",  "localrank", "globalrank", "uuid", "job",      "jobid", "attempt"};

// How the numbers of a column run.
struct Run {
  std::size_t numbers = 0, rises = 0, falls = 0, same_step = 0;
  bool whole = true;
  double least = 0;
};

Run run_of(const TableColumn& column) {
  Run out;
  double last = 0;
  double step = 0;
  for (const double v : column.values) {
    if (std::isnan(v)) continue;
    out.whole = out.whole && std::floor(v) == v && std::abs(v) < 9e15;
    if (out.numbers > 0) {
      if (v > last) ++out.rises;
      if (v < last) ++out.falls;
      if (out.numbers == 1) step = v - last;
      if (v - last == step && step > 0) ++out.same_step;
    }
    out.least = out.numbers == 0 ? v : std::min(out.least, v);
    last = v;
    ++out.numbers;
  }
  return out;
}

bool written_time(std::string_view cell) {
  Timestamp stamp;
  return line::parse_iso(cell, stamp) > 0 || line::parse_calendar(cell, stamp) > 0;
}

}  // namespace

void find_uses(BareTable& table) {
  if (table.multivariate) return;
  std::size_t series = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    TableColumn& column = table.columns[c];
    const std::string name = folded_name(column.name);
    const std::size_t filled = table.rows - column.missing;
    column.use = ColumnUse::series;
    if (filled > 0 && column.texts * 2 > filled) {
      const auto shown =
          std::ranges::find_if(column.cells, [](std::string_view cell) { return !cell.empty(); });
      column.use =
          shown != column.cells.end() && written_time(*shown) ? ColumnUse::time : ColumnUse::label;
    } else if (among(name, kLabels)) {
      column.use = ColumnUse::label;
    } else if (table.columns.size() > 1) {
      const Run run = run_of(column);
      // A restart sets iterations back; one row in twenty is more than any job does. Many ranks in
      // one file repeat them.
      const bool runs = run.numbers >= 2 && run.falls * 20 <= run.numbers && run.rises > 0;
      const bool counts = run.whole && run.numbers >= 3 && run.same_step + 1 == run.numbers;
      if (among(name, kIterations) && run.whole && run.least >= 0)
        column.use = ColumnUse::iteration;
      else if (among(name, kIndices) && run.whole && runs)
        column.use = ColumnUse::index;
      else if ((name == "t" || line::names_moment(column.name)) && (runs || run.least > 1e8))
        column.use = ColumnUse::time;
      else if (c == 0 && counts)
        column.use = ColumnUse::index;
      else if (c == 0 && runs && run.falls == 0 && run.least > 1e8)
        column.use = ColumnUse::time;  // seconds of an epoch
    }
    series += column.use == ColumnUse::series;
  }
  // Somebody cut the one column out that he asks about: then it is the series whatever its name.
  if (series == 0)
    for (auto column = table.columns.rbegin(); column != table.columns.rend(); ++column)
      if (column->texts * 2 <= table.rows - column->missing && !(column->use == ColumnUse::index)) {
        column->use = ColumnUse::series;
        break;
      }
}

}  // namespace culprit::ingest
