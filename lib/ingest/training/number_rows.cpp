// Rows of cells below names: what the columns mean, and what a row says.
#include "ingest/training/number_rows.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/port_errors.hpp"
#include "ingest/engine/rate_book.hpp"
#include "line/digit.hpp"
#include "line/header_layout.hpp"
#include "line/instance.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;

constexpr std::size_t kMostStepColumns = 100'000;
constexpr std::size_t kLongestColumnName = 512;

// "+09:00", "-03:30"
std::string offset_text(Nanoseconds offset) {
  const Nanoseconds minutes = std::abs(offset) / kMinute;
  return fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

// "tesla1_compute_ms", "tesla2_compute_ms" ...: a column a machine, if anything else knows it.
void label_columns(NumberColumns& layout) {
  constexpr std::size_t kFewest = 3;
  const auto cut = [](const NumberColumn& c) {
    const std::size_t end = c.name.find_first_of("_:/. ");
    const std::string_view host = std::string_view(c.name).substr(0, end);
    return c.meaning.role == KeyRole::value && end != std::string::npos &&
                   end + 1 < c.name.size() && host.size() > 2 && line::alpha(host.front()) &&
                   line::digit(host.back()) && line::may_name_machine(host)
               ? end
               : std::string::npos;
  };
  std::map<std::string, std::set<std::string>> hosts;  // by what they have in common
  for (const NumberColumn& c : layout.columns)
    if (const std::size_t end = cut(c); end != std::string::npos)
      hosts[c.name.substr(end + 1)].insert(c.name.substr(0, end));
  for (NumberColumn& c : layout.columns)
    if (const std::size_t end = cut(c); end != std::string::npos)
      if (const std::string name = c.name.substr(end + 1); hosts[name].size() >= kFewest) {
        c.labels = "column=" + c.name.substr(0, end);
        c.name = name;
      }
}

// Words of a file's name that say how it is laid out, or where it came from.
bool of_layout(std::string_view word) {
  constexpr std::array<std::string_view, 20> kWords{
      "by",   "per",   "rank", "ranks", "host", "hosts",  "node", "nodes", "all",         "each",
      "wide", "table", "csv",  "tsv",   "txt",  "series", "data", "as",    "joinbyfield", "export"};
  return word.empty() || contains(kWords, std::string_view(lower(word))) ||
         std::ranges::all_of(word, line::digit);
}

// "compute_time_by_rank.csv", "gx-07_sm_clock.csv": what columns of ranks or machines measure.
std::string measured_in(std::string_view base) {
  std::string out;
  while (!base.empty()) {
    const std::size_t end = std::min(base.find_first_of("_. "), base.size());
    std::string_view token = base.substr(0, end);
    base.remove_prefix(std::min(end + 1, base.size()));
    if (token.size() > 2 && line::alpha(token.front()) && line::digit(token.back()) &&
        line::may_name_machine(token))
      continue;
    while (!token.empty()) {
      const std::size_t cut = std::min(token.find('-'), token.size());
      if (!of_layout(token.substr(0, cut)))
        out.append(out.empty() ? "" : "_").append(token.substr(0, cut));
      token.remove_prefix(std::min(cut + 1, token.size()));
    }
  }
  return out.empty() ? "value" : out;
}

// "rank_7", "r12", "gx-07", "gpu3": a word and the number behind it.
struct NumberedName {
  std::string stem;  // without marks at its end, in small letters
  std::int64_t number = 0;
};
std::optional<NumberedName> numbered(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && line::digit(name[digits - 1])) --digits;
  NumberedName out;
  if (digits == 0 || digits == name.size() || !parse_whole(name.substr(digits), out.number))
    return std::nullopt;
  out.stem = lower(name.substr(0, digits));
  while (!out.stem.empty() && contains(std::string_view(" _-.:#["), out.stem.back()))
    out.stem.pop_back();
  if (out.stem.empty()) return std::nullopt;
  return out;
}

// A column for each rank, machine or device, and nothing else but steps and times: what they
// measure says the name of the file.
void own_columns(NumberColumns& layout, std::string_view base) {
  constexpr std::size_t kFewest = 3;
  constexpr std::int64_t kMostDevices = 16;
  std::string stem;
  std::size_t columns = 0;
  std::int64_t highest = 0;
  for (const NumberColumn& c : layout.columns) {
    if (c.meaning.role != KeyRole::value || c.kind != NumberColumn::Kind::value) continue;
    const std::optional<NumberedName> name = numbered(c.name);
    if (!name || (!c.labels.empty() && name->stem != "gpu") || (columns > 0 && name->stem != stem))
      return;
    stem = name->stem;
    highest = std::max(highest, name->number);
    ++columns;
  }
  const bool devices = stem == "gpu" && highest < kMostDevices;
  if (columns < kFewest || (!devices && rules::part_name(stem).of_step()) ||
      figure_of(stem).figure != Figure::none)
    return;
  const bool ranks = contains(
      std::array<std::string_view, 6>{"rank", "r", "global_rank", "proc", "dp_rank", "trainer"},
      std::string_view(stem));
  const std::string name = measured_in(base);
  const bool measured = rules::part_name(name).of_step() || rules::whole_of_step(name) ||
                        rules::name_on_device(rules::Catalogue::built_in(), "gpu", name);
  if (!ranks && !measured) return;  // "layer1", "layer2": not of machines
  for (NumberColumn& c : layout.columns) {
    if (c.meaning.role != KeyRole::value || c.kind != NumberColumn::Kind::value) continue;
    if (!ranks && !devices && !line::may_name_machine(c.name)) return;
    if (ranks)
      c.rank = Rank(numbered(c.name)->number);
    else if (devices)
      c.gpu = std::to_string(numbered(c.name)->number);
    else if (c.labels.empty())
      c.labels = "column=" + c.name;
    c.name = name;
  }
  layout.owner_each = ranks || devices;
  layout.named_by_file = true;
}

NumberColumn column_named(std::string_view name, std::string_view base, bool for_people,
                          std::string& run, bool& several_runs) {
  NumberColumn c;
  name = name.substr(0, kLongestColumnName);
  c.meaning = meaning_of(name);
  // "host:gpu" above "gx-07:3"
  if (const std::size_t at = name.find_first_of(":/"); at != name.npos && at > 0)
    if (meaning_of(name.substr(0, at)).role == KeyRole::host) {
      const KeyRole device = meaning_of(name.substr(at + 1)).role;
      c.with_gpu = device == KeyRole::gpu || device == KeyRole::local_rank;
      if (c.with_gpu) c.meaning = {KeyRole::host, 1};
    }
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
  // "temp (C)", "SM clock [MHz]"; times of steps keep theirs.
  const char open = name.ends_with(')') ? '(' : name.ends_with(']') ? '[' : '\0';
  if (const std::size_t at = open == '\0' ? 0 : name.rfind(open); at != name.npos && at > 0) {
    const std::string_view unit = name.substr(at + 1, name.size() - at - 2);
    if (unit != "s" && unit != "ms" && unit != "us" && rules::unit_factor(unit, unit)) {
      c.unit = unit;
      name = trimmed(name.substr(0, at));
      if (c.meaning.role == KeyRole::value) c.meaning = meaning_of(name);
    }
  }
  c.name = name;
  if (for_people) std::ranges::replace(c.name, ' ', '_');  // "step time"
  if (const std::size_t dash = name.find(" - ");
      dash != std::string_view::npos && c.meaning.role == KeyRole::value) {
    if (name.ends_with("__MIN") || name.ends_with("__MAX")) c.kind = NumberColumn::Kind::skipped;
    c.name = name.substr(dash + 3);
    c.labels = "run=" + std::string(name.substr(0, dash));
    several_runs = several_runs || (!run.empty() && run != c.labels);
    run = c.labels;
    if (meaning_of(c.name).role == KeyRole::step)
      c.kind = NumberColumn::Kind::skipped;  // "<run> - _step"
  }
  return c;
}

}  // namespace

bool is_cell_unit(std::string_view text) {
  return text.size() <= 8 && text.find_first_of("0123456789:-") == std::string_view::npos;
}

NumberColumns number_columns(std::span<const std::string_view> names, std::string_view base,
                             bool for_people) {
  NumberColumns out;
  std::string run;
  for (std::size_t i = 0; i < std::min(names.size(), kMostStepColumns); ++i) {
    NumberColumn c = column_named(trimmed(names[i]), base, for_people, run, out.several_runs);
    const auto first = [&](std::size_t& column) {
      if (column == NumberColumns::kNone) column = i;
    };
    switch (c.meaning.role) {
      case KeyRole::step: out.step = true; break;
      case KeyRole::time: out.time = true; break;
      case KeyRole::host:
      case KeyRole::rank: out.owner = true; break;
      case KeyRole::metric: first(out.metric); break;
      case KeyRole::amount: first(out.amount); break;
      case KeyRole::operation: first(out.operation); break;
      case KeyRole::bytes: first(out.bytes); break;
      case KeyRole::group: first(out.group); break;
      default: break;
    }
    out.columns.push_back(std::move(c));
  }
  label_columns(out);
  if (!out.owner && !out.is_long() && !out.calls()) own_columns(out, base);
  return out;
}

void NumberRows::header(std::span<const std::string_view> names, bool for_people,
                        const Place& place, Reading& reading) {
  columns_ = number_columns(names, base_, for_people);
  if (columns_.several_runs) rows_ = StepRows("");  // steps of several runs are nobody's progress
  text_.assign(columns_.columns.size(), {});
  for (NumberColumn& column : columns_.columns) {
    if (column.kind == NumberColumn::Kind::value)
      column.slot = rows_.slot(column.name, column.unit, column.labels);
    // Of times of day: dates of a zone are UTC at once.
    if (column.offset && column.meaning.role == KeyRole::time)
      reading.sink.put(ConfigRow{
          place, "timezone.file[" + reading.path + "]", offset_text(*column.offset), {}, {}});
  }
}

Outcome NumberRows::row(std::span<const std::string_view> cells, bool cut, const Place& place,
                        Reading& reading) {
  if (!read(cells, cut)) return {false, nullptr, problem_.empty() ? "table.cells" : problem_};
  if (row_.cells.empty()) return {};
  if (!put(place, reading)) return {false, nullptr, "series.too_many"};
  if (row_.step == kNoValue && row_.time.clock == Clock::none && row_.owner.host)
    keep_rates(place, reading);
  if (row_.owner.host && row_.owner.nic && row_.time.clock == Clock::none)
    for (const StepRow::Cell& cell : row_.cells)
      reading.keep<PortErrors>().add(*row_.owner.host, *row_.owner.nic, rows_.name(cell.slot),
                                     cell.value, place);
  return {true};
}

bool NumberRows::put(const Place& place, Reading& reading) {
  return columns_.owner_each ? put_each(place, reading) : rows_.put(row_, place, reading);
}

// What a test measured once of each machine or device.
void NumberRows::keep_rates(const Place& place, Reading& reading) {
  std::vector<RatePart> parts{{RatePart::Kind::host, std::string(*row_.owner.host), {}}};
  if (row_.owner.gpu)
    parts.push_back({RatePart::Kind::device, parts[0].host, "GPU " + *row_.owner.gpu});
  else if (row_.owner.nic)
    parts.push_back({RatePart::Kind::device, parts[0].host, *row_.owner.nic});
  for (std::size_t i = 0; i < row_.cells.size(); ++i)
    if (const std::string& name = columns_.columns[at_[i]].name;
        (names_rate(name) && names_test(name)) || names_test_time(name))
      reading.keep<RateBook>().add(name, {parts, row_.owner.labels, row_.cells[i].value}, place,
                                   names_test_time(name));
}

// A row of ranks is one of each.
bool NumberRows::put_each(const Place& place, Reading& reading) {
  const std::vector<StepRow::Cell> cells = std::move(row_.cells);
  bool room = true;
  for (std::size_t i = 0; i < cells.size() && room; ++i) {
    const NumberColumn& column = columns_.columns[at_[i]];
    row_.owner.rank = column.rank;
    if (!column.gpu.empty()) row_.owner.gpu = column.gpu;
    row_.cells.assign(1, cells[i]);
    room = rows_.put(row_, place, reading);
  }
  return room;
}

void NumberRows::clear() {
  row_.step = kNoValue;
  row_.time = {};
  row_.owner = {};
  row_.cells.clear();
  at_.clear();
  group_.clear();
  run_.clear();
  devices_.clear();
  problem_ = {};
  step_grade_ = time_grade_ = rank_grade_ = host_grade_ = gpu_grade_ = 0;
}

bool NumberRows::read(std::span<const std::string_view> cells, bool cut) {
  clear();
  const std::vector<NumberColumn>& columns = columns_.columns;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (i + cut < columns.size()) take(i, cells[i]);
  if (cells.size() != columns.size()) return false;
  // The step of a record, or its name, may be what is missing.
  if (const KeyRole last = columns.back().meaning.role;
      cut && last != KeyRole::value && last != KeyRole::amount && last != KeyRole::bytes)
    problem_ = "table.cut";
  devices_.name(row_.owner);
  for (const std::string& label : {group_, run_})
    if (!label.empty()) row_.owner.labels += (row_.owner.labels.empty() ? "" : ",") + label;
  if (columns_.calls())
    rename(text_[columns_.operation], columns_.bytes, true);
  else if (columns_.is_long())
    rename(text_[columns_.metric], columns_.amount, false);
  return problem_.empty();
}

void NumberRows::take(std::size_t i, std::string_view cell) {
  NumberColumn& column = columns_.columns[i];
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
      if (const std::size_t at = column.with_gpu ? cell.find_last_of(":/") : cell.npos;
          at != cell.npos) {
        row_.owner.gpu = std::string(trimmed(cell.substr(at + 1)));
        cell = cell.substr(0, at);
      }
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
      if (columns_.is_long() && i == columns_.metric)
        text_[i] = trimmed(cell).substr(0, kLongestColumnName);
      return;
    case KeyRole::operation:
      if (i == columns_.operation) text_[i] = trimmed(cell).substr(0, kLongestColumnName);
      return;
    case KeyRole::group:
      if (columns_.calls())
        group_ = column.name + "=" + std::string(trimmed(cell).substr(0, kLongestColumnName));
      return;
    case KeyRole::amount:
    case KeyRole::bytes: break;
  }
  take_number(i, cell);
}

void NumberRows::take_number(std::size_t i, std::string_view cell) {
  NumberColumn& column = columns_.columns[i];
  double value = 0;
  std::string_view unit;
  if (column.kind != NumberColumn::Kind::value || !metric_number(cell, value, unit) ||
      !is_cell_unit(unit))
    return;
  if (!unit.empty() && unit != column.unit) {
    column.unit = unit;
    column.slot = rows_.slot(column.name, unit, column.labels);
  }
  if (column.slot == StepRows::kNoSlot) {
    problem_ = "series.too_many";
    return;
  }
  row_.cells.push_back({column.slot, value});
  at_.push_back(i);
}

void NumberRows::tell_apart(const std::string& column, std::string_view cell) {
  run_ +=
      (run_.empty() ? "" : ",") + column + "=" + std::string(cell.substr(0, kLongestColumnName));
}

// Of a long table: the numbers are of what the row names. all: each of them, else `main` only.
void NumberRows::rename(const std::string& name, std::size_t main, bool all) {
  for (std::size_t n = 0; n < at_.size(); ++n) {
    const NumberColumn& column = columns_.columns[at_[n]];
    if (at_[n] != main && !all) continue;
    if (name.empty()) {
      problem_ = "table.no_name";
      return;
    }
    row_.cells[n].slot = rows_.slot(at_[n] == main ? name : name + "/" + column.name, column.unit);
    if (row_.cells[n].slot == StepRows::kNoSlot) {
      problem_ = "series.too_many";
      return;
    }
  }
}

}  // namespace culprit::ingest
