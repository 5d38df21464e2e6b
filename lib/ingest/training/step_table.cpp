// CSV and TSV with a header: a column of steps or times, or what somebody read once of each machine
// or rank, and columns of numbers. Three shapes: wide
// (a column is a metric), long (the name of the metric stands in a column of its own; logs of
// collective calls are of this shape, with the operation for a name), and wandb's exports, whose
// columns are "<run> - <metric>". wandb adds a column with __MIN and one with __MAX for each: of an
// export that is not thinned out they repeat the value, and they are not read.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/port_errors.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/remarks.hpp"
#include "ingest/training/step_rows.hpp"
#include "line/digit.hpp"
#include "line/header_layout.hpp"
#include "line/instance.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "model/number.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;

constexpr std::size_t kMostStepColumns = 100'000;
constexpr std::size_t kLongestColumnName = 512;
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

// "+09:00", "-03:30"
std::string offset_text(Nanoseconds offset) {
  const Nanoseconds minutes = std::abs(offset) / kMinute;
  return fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

// "%", "MiB"; what follows the first number of a date or a version is none.
bool is_unit(std::string_view text) {
  return text.size() <= 8 && text.find_first_of("0123456789:-") == std::string_view::npos;
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

struct StepColumn {
  enum class Kind : unsigned char { value, text, skipped };
  KeyMeaning meaning;
  Kind kind = Kind::value;
  std::string name, labels;
  std::optional<Nanoseconds> offset;       // "time(PST)"
  std::uint32_t slot = StepRows::kNoSlot;  // for cells with this unit
  std::string unit;
};

struct Layout {
  char separator = ',';
  std::vector<StepColumn> columns;
  std::size_t metric = kNone, amount = kNone, operation = kNone, bytes = kNone, group = kNone;
  bool step = false, time = false, owner = false, several_runs = false;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is_long() const { return metric != kNone && amount != kNone; }
  bool calls() const { return operation != kNone && bytes != kNone && time; }
};

// "tesla1_compute_ms", "tesla2_compute_ms" ...: a column a machine, if anything else knows it.
void label_columns(Layout& layout) {
  constexpr std::size_t kFewest = 3;
  const auto cut = [](const StepColumn& c) {
    const std::size_t end = c.name.find_first_of("_:/. ");
    const std::string_view host = std::string_view(c.name).substr(0, end);
    return c.meaning.role == KeyRole::value && end != std::string::npos &&
                   end + 1 < c.name.size() && host.size() > 2 && line::alpha(host.front()) &&
                   line::digit(host.back()) && line::may_name_machine(host)
               ? end
               : std::string::npos;
  };
  std::map<std::string, std::set<std::string>> hosts;  // by what they have in common
  for (const StepColumn& c : layout.columns)
    if (const std::size_t end = cut(c); end != std::string::npos)
      hosts[c.name.substr(end + 1)].insert(c.name.substr(0, end));
  for (StepColumn& c : layout.columns)
    if (const std::size_t end = cut(c); end != std::string::npos)
      if (const std::string name = c.name.substr(end + 1); hosts[name].size() >= kFewest) {
        c.labels = "column=" + c.name.substr(0, end);
        c.name = name;
      }
}

Layout layout_of(std::string_view header, std::string_view base) {
  Layout out;
  out.separator = step_separator(header);
  std::string run;
  each_cell(header, out.separator, [&](std::size_t i, std::string_view cell) {
    if (i >= kMostStepColumns) return;
    StepColumn c;
    std::string_view name = trimmed(cell);
    name = name.substr(0, kLongestColumnName);
    c.meaning = meaning_of(name);
    if (const std::size_t open = name.rfind('('); open != name.npos && name.ends_with(')')) {
      c.offset = line::offset_named(name.substr(open + 1, name.size() - open - 2));
      const KeyMeaning bare = meaning_of(trimmed(name.substr(0, open)));
      if (c.offset && bare.role == KeyRole::time) c.meaning = bare;
    }
    // TensorBoard downloads one tag a file: run-<run>-tag-<tag>.csv
    if (c.meaning.role == KeyRole::amount)
      if (const std::size_t tag = base.find("-tag-"); tag != std::string_view::npos) {
        name = base.substr(tag + 5);
        name = name.substr(0, name.rfind('.'));
        c.meaning = {};
      }
    c.name = name;
    // For people's eyes: "step time".
    if (out.separator == '|') std::ranges::replace(c.name, ' ', '_');
    if (const std::size_t dash = name.find(" - ");
        dash != std::string_view::npos && c.meaning.role == KeyRole::value) {
      if (name.ends_with("__MIN") || name.ends_with("__MAX")) c.kind = StepColumn::Kind::skipped;
      c.name = name.substr(dash + 3);
      c.labels = "run=" + std::string(name.substr(0, dash));
      out.several_runs = out.several_runs || (!run.empty() && run != c.labels);
      run = c.labels;
      if (meaning_of(c.name).role == KeyRole::step)
        c.kind = StepColumn::Kind::skipped;  // "<run> - _step"
    }
    const auto take = [&](std::size_t& column) {
      if (column == Layout::kNone) column = i;
    };
    switch (c.meaning.role) {
      case KeyRole::step: out.step = true; break;
      case KeyRole::time: out.time = true; break;
      case KeyRole::host:
      case KeyRole::rank: out.owner = true; break;
      case KeyRole::metric: take(out.metric); break;
      case KeyRole::amount: take(out.amount); break;
      case KeyRole::operation: take(out.operation); break;
      case KeyRole::bytes: take(out.bytes); break;
      case KeyRole::group: take(out.group); break;
      default: break;
    }
    out.columns.push_back(std::move(c));
  });
  label_columns(out);
  return out;
}

// nvidia-smi --query-gpu and its kind print the unit in brackets and dotted names: another
// reader's.
bool of_nvidia_smi(std::string_view header, const Layout& layout) {
  if (contains(header, " [")) return true;
  for (const StepColumn& column : layout.columns)
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
bool known_columns(const Layout& layout) {
  constexpr std::ptrdiff_t kLeast = 2;
  const rules::Catalogue& catalogue = rules::Catalogue::built_in();
  return std::ranges::count_if(layout.columns, [&](const StepColumn& c) {
           return c.meaning.role == KeyRole::value &&
                  (rules::part_name(c.name).of_step() ||
                   rules::name_on_device(catalogue, "gpu", c.name));
         }) >= kLeast;
}

// A column of sentences makes a record of what happened, whatever numbers stand beside.
bool tells_in_words(std::string_view column) {
  return contains(
      std::array<std::string_view, 6>{"message", "msg", "description", "event", "text", "details"},
      std::string_view(lower(column)));
}

// Whether the first rows have as many cells as the header: those of most heads have not.
bool as_wide(std::string_view rows, std::string_view header, int percent, std::size_t fewest) {
  constexpr std::int64_t kLookedAt = 16;
  const char separator = step_separator(header);
  const std::size_t width = count_cells(header, separator);
  if (separator == ' ' && width < fewest) return false;
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
  if (!as_wide(rest, header, percent, fewest)) return false;
  const Layout layout = layout_of(header, base);
  const bool once = !layout.step && !layout.time;
  if (layout.columns.size() < fewest || (once && !layout.owner) || of_nvidia_smi(header, layout) ||
      (layout.separator == ' ' && !known_columns(layout)))
    return false;
  // A header is words.
  for (const StepColumn& column : layout.columns) {
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
    const bool closed =
        each_cell(line, layout.separator, [&](std::size_t i, std::string_view cell) {
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
            number = number || (metric_number(cell, value, unit) && is_unit(unit));
          // Under another name it may be a log whose records are rows.
          prose = prose || ((!named || tells_in_words(layout.columns[i].name)) &&
                            role != KeyRole::time && contains(trimmed(cell), ' '));
        });
    good += closed && !prose && axis && number &&
            count_cells(line, layout.separator) == layout.columns.size();
  }
  return rows > 0 && good * 100 >= rows * percent;
}

class StepTableReader final : public RecordReader {
 public:
  explicit StepTableReader(std::string_view base) : base_(base) {}

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
    if (layout_.columns.empty()) {
      if (line::remark(raw)) {
        remark_ = raw;
        return {};
      }
      const std::string_view names = header_above(raw, remark_);
      if (names.empty()) return header(raw, place, reading);
      header(names, place, reading);
    }
    if (trimmed(raw).empty()) return {};
    if (raw == header_) return {};  // written again by a process that was started again
    if (!row(raw, cut)) {
      // What a loop prints behind its rows as it dies is no row, and the rules have to hear it.
      reading.keep<Remarks>().hear(raw, place, reading);
      return {false, nullptr, problem_.empty() ? "table.cells" : problem_};
    }
    if (row_.cells.empty()) return {};
    if (!rows_.put(row_, place, reading)) return {false, nullptr, "series.too_many"};
    if (row_.owner.host && row_.owner.nic && row_.time.clock == Clock::none)
      for (const StepRow::Cell& cell : row_.cells)
        reading.keep<PortErrors>().add(*row_.owner.host, *row_.owner.nic, rows_.name(cell.slot),
                                       cell.value, place);
    return {true};
  }

  Outcome header(std::string_view raw, const Place& place, Reading& reading) {
    layout_ = layout_of(raw, base_);
    header_ = raw;
    if (layout_.several_runs) rows_ = StepRows("");  // steps of several runs are nobody's progress
    text_.resize(layout_.columns.size());
    for (StepColumn& column : layout_.columns) {
      if (column.kind == StepColumn::Kind::value)
        column.slot = rows_.slot(column.name, {}, column.labels);
      // Of times of day: dates of a zone are UTC at once.
      if (column.offset && column.meaning.role == KeyRole::time)
        reading.sink.put(ConfigRow{
            place, "timezone.file[" + reading.path + "]", offset_text(*column.offset), {}, {}});
    }
    return {true};
  }

  bool row(std::string_view raw, bool cut) {
    row_.step = kNoValue;
    row_.time = {};
    row_.owner = {};
    row_.cells.clear();
    named_.clear();
    group_.clear();
    run_.clear();
    devices_.clear();
    problem_ = {};
    step_grade_ = time_grade_ = rank_grade_ = host_grade_ = gpu_grade_ = 0;
    std::size_t cells = 0;
    const bool closed =
        each_cell(raw, layout_.separator, [&](std::size_t i, std::string_view cell) {
          ++cells;
          if (i + cut < layout_.columns.size()) take(i, cell);
        });
    if (!closed || cells != layout_.columns.size()) return false;
    // The step of a record, or its name, may be what is missing.
    if (cut && layout_.columns.back().meaning.role != KeyRole::value &&
        layout_.columns.back().meaning.role != KeyRole::amount &&
        layout_.columns.back().meaning.role != KeyRole::bytes)
      problem_ = "table.cut";
    devices_.name(row_.owner);
    for (const std::string& label : {group_, run_})
      if (!label.empty()) row_.owner.labels += (row_.owner.labels.empty() ? "" : ",") + label;
    if (layout_.calls())
      rename(text_[layout_.operation], layout_.bytes, true);
    else if (layout_.is_long())
      rename(text_[layout_.metric], layout_.amount, false);
    return problem_.empty();
  }

  void take(std::size_t i, std::string_view cell) {
    StepColumn& column = layout_.columns[i];
    const int grade = column.meaning.grade;
    double value = 0;
    std::string_view unit;
    switch (column.meaning.role) {
      case KeyRole::value: break;
      case KeyRole::step:
        if (grade > step_grade_ && metric_number(cell, value, unit) && value > -9e15 &&
            value < 9e15 && value == static_cast<double>(static_cast<std::int64_t>(value)))
          step_grade_ = grade, row_.step = static_cast<std::int64_t>(value);
        return;
      case KeyRole::time: {
        Timestamp time;
        if (moment(cell, time)) {
          if (column.offset && time.clock == Clock::local)
            time.clock = Clock::utc, time.ns -= *column.offset;
          if (grade > time_grade_) time_grade_ = grade, row_.time = time;
          return;
        }
        break;
      }
      case KeyRole::rank:
      case KeyRole::local_rank: {
        std::int64_t rank = 0;
        if (!parse_whole(trimmed(cell), rank) || rank < 0 || rank > 10'000'000) return;
        if (column.meaning.role == KeyRole::local_rank)
          row_.owner.local_rank = LocalRank(rank);
        else if (grade > rank_grade_)
          rank_grade_ = grade, row_.owner.rank = Rank(rank);
        return;
      }
      case KeyRole::host:
        if (const std::string_view name = line::without_port(trimmed(cell));
            grade > host_grade_ && !name.empty())
          host_grade_ = grade, row_.owner.host = Host(name.substr(0, kLongestColumnName));
        return;
      case KeyRole::gpu:
        if (grade > gpu_grade_ && !trimmed(cell).empty())
          gpu_grade_ = grade,
          row_.owner.gpu = std::string(trimmed(cell).substr(0, kLongestColumnName));
        return;
      case KeyRole::nic:
        if (!trimmed(cell).empty()) devices_.nic = trimmed(cell).substr(0, kLongestColumnName);
        return;
      case KeyRole::port: devices_.port = trimmed(cell).substr(0, kLongestColumnName); return;
      case KeyRole::device: devices_.device = trimmed(cell).substr(0, kLongestColumnName); return;
      case KeyRole::element:
        if (trimmed(cell).empty() || metric_number(cell, value, unit)) break;
        [[fallthrough]];
      case KeyRole::run: tell_apart(column.name, trimmed(cell)); return;
      case KeyRole::metric:
        if (layout_.is_long() && i == layout_.metric)
          text_[i] = trimmed(cell).substr(0, kLongestColumnName);
        return;
      case KeyRole::operation:
        if (i == layout_.operation) text_[i] = trimmed(cell).substr(0, kLongestColumnName);
        return;
      case KeyRole::group:
        if (layout_.calls())
          group_ = column.name + "=" + std::string(trimmed(cell).substr(0, kLongestColumnName));
        return;
      case KeyRole::amount:
      case KeyRole::bytes: break;
    }
    if (column.kind != StepColumn::Kind::value || !metric_number(cell, value, unit) ||
        !is_unit(unit))
      return;
    if (unit != column.unit) {
      column.unit = unit;
      column.slot = rows_.slot(column.name, unit, column.labels);
    }
    if (column.slot == StepRows::kNoSlot) {
      problem_ = "series.too_many";
      return;
    }
    row_.cells.push_back({column.slot, value});
    if (layout_.calls() || layout_.is_long()) named_.push_back(i);
  }

  void tell_apart(const std::string& column, std::string_view cell) {
    run_ +=
        (run_.empty() ? "" : ",") + column + "=" + std::string(cell.substr(0, kLongestColumnName));
  }

  // Of a long table: the numbers are of what the row names. all: each of them, else `main` only.
  void rename(const std::string& name, std::size_t main, bool all) {
    for (std::size_t n = 0; n < named_.size(); ++n) {
      const StepColumn& column = layout_.columns[named_[n]];
      if (named_[n] != main && !all) continue;
      if (name.empty()) {
        problem_ = "table.no_name";
        return;
      }
      row_.cells[n].slot =
          rows_.slot(named_[n] == main ? name : name + "/" + column.name, column.unit);
      if (row_.cells[n].slot == StepRows::kNoSlot) {
        problem_ = "series.too_many";
        return;
      }
    }
  }

  std::string base_, remark_, header_, group_, run_;
  Layout layout_;
  StepRows rows_{"csv"};
  StepRow row_;
  DeviceWords devices_;
  std::vector<std::string> text_;
  std::vector<std::size_t> named_;  // the columns of the row's cells
  std::string_view problem_;
  int step_grade_ = 0, time_grade_ = 0, rank_grade_ = 0, host_grade_ = 0, gpu_grade_ = 0;
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
