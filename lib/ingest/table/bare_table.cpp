#include "ingest/table/bare_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ingest/table/bare_table_parts.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFreeCells = 1
                                   << 20;  // that a small file may have although it has fewer bytes

bool same(std::string_view cell, std::string_view lower) {
  return cell.size() == lower.size() &&
         std::equal(cell.begin(), cell.end(), lower.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool missing_cell(std::string_view cell) {
  if (cell.empty() || cell == "-") return true;
  if (cell.size() > 5) return false;
  for (const std::string_view word : {"nan", "na", "n/a", "null", "none", "-nan", "<na>"})
    if (same(cell, word)) return true;
  return false;
}

std::string excerpt_of(std::string_view text) { return std::string(text.substr(0, 200)); }

}  // namespace

bool cell_number(std::string_view cell, double& value) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  value = kNaN;
  if (missing_cell(cell)) return true;
  if (cell.front() == '+' && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (end != cell.data() + cell.size() || error == std::errc::invalid_argument) {
    value = kNaN;
    return false;
  }
  if (error == std::errc::result_out_of_range) value = kNaN;  // neither 0 nor infinity was meant
  return true;
}

const TableColumn* BareTable::find(std::string_view column) const {
  const auto it = std::ranges::find(columns, column, &TableColumn::name);
  return it == columns.end() ? nullptr : &*it;
}

const TableColumn* BareTable::first(TableColumn::Use use) const {
  const auto it = std::ranges::find(columns, use, &TableColumn::use);
  return it == columns.end() ? nullptr : &*it;
}

const TableColumn* BareTable::named(std::initializer_list<std::string_view> names) const {
  for (const std::string_view wanted : names)
    for (const TableColumn& column : columns)
      if (folded_name(column.name) == wanted) return &column;
  return nullptr;
}

std::string folded_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      out += c;
    else if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c + 32);
  return out;
}

bool TableBuilder::room(std::size_t rows, std::size_t columns) {
  const std::size_t most =
      std::min(limits_.cells, (table_.bytes ? table_.bytes->size() : 0) + kFreeCells);
  if (columns == 0 || rows <= most / columns) return true;
  full(fmt::format("the table has more than {} cells for its size", most));
  return false;
}

std::size_t TableBuilder::column(std::string_view name) {
  if (const auto it = names_.find(std::string(name)); it != names_.end()) return it->second;
  const std::size_t at = table_.columns.size();
  if (at >= limits_.columns) {
    full(fmt::format("the table has more than {} columns", limits_.columns));
    return kNone;
  }
  if (!room(table_.rows, at + 1)) return kNone;
  names_.emplace(std::string(name), at);
  table_.columns.emplace_back().name = std::string(name);
  return at;
}

void TableBuilder::begin_row(std::uint64_t line) {
  if (!room(table_.rows + 1, table_.columns.size())) return;
  ++table_.rows;
  if (line != 0) {
    lines_.resize(table_.rows, 0);
    lines_.back() = line;
  }
}

void TableBuilder::set(std::size_t column, std::string_view cell) {
  if (table_.rows > 0) set(column, table_.rows - 1, cell);
}

void TableBuilder::set(std::size_t column, std::size_t row, std::string_view cell) {
  if (column >= table_.columns.size() || row >= table_.rows) return;
  auto& cells = table_.columns[column].cells;
  if (cells.size() <= row) {
    if (cells.capacity() <= row)
      cells.reserve(
          std::max<std::size_t>(row + 1, std::min(cells.capacity() * 2, table_.rows * 2)));
    cells.resize(row + 1);
  }
  if (cell.size() > limits_.cell_bytes) {
    reject(row < lines_.size() ? lines_[row] : 0, "table.cell_too_long", cell);
    return;
  }
  cells[row] = cell;
}

void TableBuilder::reject(std::uint64_t line, std::string_view code, std::string_view excerpt) {
  ++table_.rejected;
  if (table_.rejects.size() < limits_.rejects)
    table_.rejects.push_back({line, std::string(code), excerpt_of(excerpt)});
}

Result<> TableBuilder::finish() {
  const auto place = Where{path_, 0};
  if (!problem_.empty())
    return fail(problem_).at(place).hint("cut the table, or export fewer columns at once");
  if (table_.columns.empty() || table_.rows == 0)
    return fail("it has no row of data")
        .at(place)
        .hint("a table has numbers in columns: CSV, TSV, JSON or JSON lines");
  for (TableColumn& column : table_.columns) {
    column.cells.resize(table_.rows);
    column.values.resize(table_.rows);
    for (std::size_t i = 0; i < table_.rows; ++i) {
      if (!cell_number(column.cells[i], column.values[i]))
        ++column.texts;
      else if (std::isnan(column.values[i]))
        ++column.missing;
    }
  }
  find_uses(table_);
  // A text among numbers is a broken cell; a column of texts is a label.
  for (const TableColumn& column : table_.columns) {
    if (column.texts == 0 || column.use == TableColumn::Use::label ||
        column.use == TableColumn::Use::time)
      continue;
    double ignored = 0;
    for (std::size_t i = 0; i < table_.rows; ++i)
      if (!cell_number(column.cells[i], ignored))
        reject(i < lines_.size() ? lines_[i] : 0, "table.not_a_number", column.cells[i]);
  }
  sort_by(table_.rejects, &TableReject::line);
  return {};
}

Result<BareTable> read_bare_table(std::string bytes, const std::string& path,
                                  const TableOptions& options) {
  if (bytes.size() > options.limits.bytes)
    return fail(fmt::format("a table of more than {} bytes", options.limits.bytes))
        .at({path, 0})
        .hint("ingest it as a bundle, or cut it");
  BareTable table;
  table.bytes = std::make_shared<const std::string>(std::move(bytes));
  std::string_view text = *table.bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
      contains(text.substr(0, 4096), '\0'))
    return fail("this is not UTF-8 text")
        .at({path, 1})
        .hint("save it as UTF-8 (`iconv -t utf-8`), or decompress it first");
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos)
    return fail("the file is empty")
        .at({path, 0})
        .hint("a table has numbers in columns: CSV, TSV, JSON or JSON lines");
  TableBuilder builder(table, options.limits, path);
  const bool json = text[start] == '{' || text[start] == '[';
  auto read = json ? read_json_table(text, builder) : read_delimited_table(text, options, builder);
  if (!read) {
    Error error = std::move(read.error());
    error.where = Where{path, error.where ? error.where->line : 0};
    return error;
  }
  CULPRIT_CHECK(builder.finish());
  return table;
}

}  // namespace culprit::ingest
