// CSV and TSV with a header: a column of steps or times, or what somebody read once of each machine
// or rank, and columns of numbers. Three shapes: wide
// (a column is a metric), long (the name of the metric stands in a column of its own; logs of
// collective calls are of this shape, with the operation for a name), and wandb's exports, whose
// columns are "<run> - <metric>". wandb adds a column with __MIN and one with __MAX for each: of an
// export that is not thinned out they repeat the value, and they are not read.
#include <algorithm>
#include <array>
#include <vector>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/remarks.hpp"
#include "ingest/training/number_rows.hpp"
#include "line/digit.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;

constexpr std::string_view kBom = "\xEF\xBB\xBF";

// Cells as they stand; of a quoted one what is between its quotes (doubled quotes stay doubled:
// names with quotes are rare and numbers have none). False: a quote is open at the end of the line.
// Blanks separate words, however many they are.
bool each_cell(std::string_view line, char separator, auto each) {
  if (separator == ' ') {
    std::size_t column = 0;
    const auto next = [&](std::size_t at, bool blank) {
      while (at < line.size() && (line[at] == ' ' || line[at] == '\t') != blank) ++at;
      return at;
    };
    for (std::size_t at = next(0, false); at < line.size();) {
      // "0x60 (SW_THERMAL, HW_THERMAL)": what brackets hold explains the word before.
      const std::size_t close = line[at] == '(' && column > 0 ? line.find(')', at) : at;
      const std::size_t end = next(close, true);
      if (close == at) each(column++, line.substr(at, std::min(end, line.size()) - at));
      at = next(end, false);
    }
    return true;
  }
  CsvCursor cells(line, separator);
  std::size_t column = 0;
  for (CsvCell cell; cells.more();) {
    if (!cells.next(cell)) return false;
    each(column++, cell.text);
  }
  return true;
}

std::size_t count_cells(std::string_view line, char separator) {
  std::size_t count = 0;
  return each_cell(line, separator, [&](std::size_t, std::string_view) { ++count; }) ? count : 0;
}

char step_separator(std::string_view header) {
  char best = ' ';
  std::size_t most = 0;
  for (const char c : {',', '\t', ';', '|'})
    if (const auto n = static_cast<std::size_t>(std::ranges::count(header, c)); n > most)
      most = n, best = c;
  return best;
}

// The cells of a line; empty where a quote is open at its end.
std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  if (!each_cell(line, separator, [&](std::size_t, std::string_view cell) { out.push_back(cell); }))
    out.clear();
  return out;
}

// The names in a heading: by two blanks, where a name has one and the rows have as many cells.
std::vector<std::string_view> names_of(std::string_view header, char separator, std::size_t cells) {
  if (separator == ' ' && count_cells(header, ' ') != cells)
    if (std::vector<std::string_view> out = wide_cells_of(header); out.size() == cells) return out;
  return cells_of(header, separator);
}

// nvidia-smi --query-gpu and its kind print the unit in brackets and dotted names: another
// reader's.
bool of_nvidia_smi(std::string_view header, const NumberColumns& layout) {
  if (contains(header, " [")) return true;
  for (const NumberColumn& column : layout.columns)
    for (const std::string_view family :
         {"utilization.", "memory.", "temperature.", "power.", "clocks.",
          "clocks_throttle_reasons.", "clocks_event_reasons.", "ecc.", "pcie.", "pci.", "fan.speed",
          "pstate", "retired_pages.", "remapped_rows.", "row_remapper.", "encoder.", "enforced.",
          "mig.", "accounting."})
      if (column.name.starts_with(family)) return true;
  return false;
}

// Of a row of words that begins with a number or a time, the names of its columns at the end of the
// remark above it: "# scrape, 1/min (UTC)  time gpu temp_C". "": it is no such row, or the remark
// has fewer words.
std::string_view header_above(std::string_view row, std::string_view remark) {
  if (row.find_first_of(",;|") != std::string_view::npos || trimmed(row).empty() ||
      !line::digit(trimmed(row).front()) || remark.empty())
    return {};
  const std::size_t columns = count_cells(row, ' ');
  std::vector<std::string_view> words;
  const std::string_view text =
      remark.substr(std::min(remark.find_first_not_of("# "), remark.size()));
  each_cell(text, ' ', [&](std::size_t, std::string_view word) { words.push_back(word); });
  if (words.size() < columns) return {};
  const std::string_view first = words[words.size() - columns], last = words.back();
  return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

// Columns of words, not of cells that anything separates, may be any list that people or programs
// print: two of them have to be metrics, or times of a step, by name.
bool known_columns(const NumberColumns& layout) {
  constexpr std::ptrdiff_t kLeast = 2;
  const rules::Catalogue& catalogue = rules::Catalogue::built_in();
  return std::ranges::count_if(layout.columns, [&](const NumberColumn& c) {
           return c.meaning.role == KeyRole::value &&
                  (rules::part_name(c.name).of_step() || figure_of(c.name).figure != Figure::none ||
                   rules::name_on_device(catalogue, "gpu", c.name));
         }) >= kLeast;
}

// A column of sentences makes a record of what happened, whatever numbers stand beside.
bool tells_in_words(std::string_view column) {
  return contains(
      std::array<std::string_view, 6>{"message", "msg", "description", "event", "text", "details"},
      std::string_view(lower(column)));
}

// The names in a heading above these rows.
std::vector<std::string_view> names_above(std::string_view rows, std::string_view header,
                                          char separator) {
  std::size_t cells = 0;
  each_text_line(rows, [&](std::string_view line, std::uint64_t, std::size_t) {
    if (line.empty() || line == header) return true;
    cells = count_cells(line, separator);
    return false;
  });
  return names_of(header, separator, cells);
}

// Whether the first rows have as many cells as the header: those of most heads have not.
bool as_wide(std::string_view rows, std::string_view header, char separator, std::size_t width,
             int percent) {
  constexpr std::int64_t kLookedAt = 16;
  ShareOfLines share(rows, percent, kLookedAt);
  bool first = true;
  each_text_line(rows, [&](std::string_view line, std::uint64_t, std::size_t offset) {
    const bool cut = offset + line.size() >= rows.size();
    if (line.empty() || line == header || (cut && !first)) return true;
    first = false;
    return share.take(count_cells(line, separator) == width);
  });
  return share.reached();
}

bool sniff_step_table(const Head& head) {
  if (head.has(",Asserted")) return false;  // what a machine's controller recorded
  const std::string_view base = head.base();
  const bool named = base.ends_with(".csv") || base.ends_with(".tsv");
  std::string_view rest = head.bytes;
  if (rest.starts_with(kBom)) rest.remove_prefix(kBom.size());
  const auto next = [&] {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
  };
  std::string_view header = next(), remark;
  while (line::remark(header) && !rest.empty()) remark = header, header = next();
  if (header.empty()) return false;
  if (const std::string_view names = header_above(header, remark); !names.empty()) {
    rest = std::string_view(header.data(), static_cast<std::size_t>(rest.end() - header.begin()));
    header = names;
  }
  const int percent = named ? 60 : 90;
  const std::size_t fewest = named ? 2 : 3;
  const char separator = step_separator(header);
  const std::vector<std::string_view> names = names_above(rest, header, separator);
  if ((separator == ' ' && names.size() < fewest) ||
      !as_wide(rest, header, separator, names.size(), percent))
    return false;
  const NumberColumns layout = number_columns(names, base, separator == '|' || separator == ' ');
  const bool once = !layout.step && !layout.time;
  if (layout.columns.size() < fewest || (once && !layout.owner && !layout.named_by_file) ||
      of_nvidia_smi(header, layout) || (separator == ' ' && !known_columns(layout)))
    return false;
  // A header is words.
  for (const NumberColumn& column : layout.columns) {
    double number = 0;
    std::string_view unit;
    if (!column.name.empty() && metric_number(column.name, number, unit)) return false;
  }
  int rows = 0, good = 0;
  while (!rest.empty() && rows < 16) {
    const bool cut = !contains(rest, '\n');
    const std::string_view line = next();
    if (line.empty() || line == header || (cut && rows > 0)) continue;
    ++rows;
    bool axis = once, number = false, prose = false;
    const bool closed = each_cell(line, separator, [&](std::size_t i, std::string_view cell) {
      if (i >= layout.columns.size()) return;
      const KeyRole role = layout.columns[i].meaning.role;
      double value = 0;
      std::string_view unit;
      Timestamp time;
      if (role == KeyRole::step)
        axis = axis || metric_number(cell, value, unit);
      else if (role == KeyRole::time)
        axis = axis || moment(trimmed(cell), time);
      else
        number = number || (metric_number(cell, value, unit) && is_cell_unit(unit));
      // Under another name it may be a log whose records are rows.
      prose = prose || ((!named || tells_in_words(layout.columns[i].name)) &&
                        role != KeyRole::time && contains(trimmed(cell), ' '));
    });
    good +=
        closed && !prose && axis && number && count_cells(line, separator) == layout.columns.size();
  }
  return rows > 0 && good * 100 >= rows * percent;
}

class StepTableReader final : public RecordReader {
 public:
  explicit StepTableReader(std::string_view base) : rows_(base, "csv") {}

  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    return line(raw, place, reading, false);
  }
  // The last cell may be the half of a number.
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return line(raw, place, reading, true);
  }

 private:
  Outcome line(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    if (place.line == 1 && raw.starts_with(kBom)) raw.remove_prefix(kBom.size());
    if (!rows_.begun()) {
      if (line::remark(raw)) {
        remark_ = raw;
        return {};
      }
      const std::string_view names = header_above(raw, remark_);
      if (names.empty() && header_.empty()) {
        header_ = raw;
        separator_ = step_separator(raw);
        // How words of names with blanks belong together the first row says.
        if (separator_ == ' ' && contains(trimmed(raw), "  ")) return {true};
        return header(raw, count_cells(raw, separator_), place, reading);
      }
      if (trimmed(raw).empty()) return {};
      const bool remarked = header_.empty();
      if (remarked) separator_ = ' ';
      header(remarked ? names : std::string_view(header_), count_cells(raw, separator_), place,
             reading);
      if (remarked) header_ = names;
    }
    if (trimmed(raw).empty()) return {};
    if (raw == header_) return {};  // written again by a process that was started again
    cells_.clear();
    const bool closed = each_cell(
        raw, separator_, [&](std::size_t, std::string_view cell) { cells_.push_back(cell); });
    if (!closed) cells_.clear();
    Outcome out = rows_.row(cells_, cut, place, reading);
    // What a loop prints behind its rows as it dies is no row, and the rules have to hear it.
    if (!out.reject.empty() && out.reject != "series.too_many")
      reading.keep<Remarks>().hear(raw, place, reading);
    return out;
  }

  Outcome header(std::string_view names, std::size_t cells, const Place& place, Reading& reading) {
    rows_.header(names_of(names, separator_, cells), separator_ == '|' || separator_ == ' ', place,
                 reading);
    return {true};
  }

  std::string remark_, header_;
  char separator_ = ',';
  NumberRows rows_;
  std::vector<std::string_view> cells_;
};

std::unique_ptr<RecordReader> make_step_table(const Head& head) {
  return std::make_unique<StepTableReader>(head.base());
}

}  // namespace

extern constinit const RecordText kStepTable{
    "metrics-table",
    "CSV and TSV of numbers by step or time: wide, long, wandb exports, logs of collective calls",
    sniff_step_table, make_step_table};

}  // namespace culprit::ingest
