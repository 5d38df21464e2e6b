// Delimited text (RFC 4180 and what people make of it).
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "ingest/table/bare_table_parts.hpp"
#include "model/csv_cursor.hpp"

namespace culprit::ingest {

namespace {

constexpr char kBlanks = ' ';

std::string_view trimmed_cell(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t' || cell.back() == '\r'))
    cell.remove_suffix(1);
  return cell;
}

class Records {
 public:
  Records(std::string_view bytes, char separator, std::size_t cell_bytes, TableBuilder& builder)
      : bytes_(bytes),
        separator_(separator),
        cursor_(bytes, separator, cell_bytes),
        builder_(builder) {}

  bool done() const { return cursor_.done(); }
  std::uint64_t line() const { return line_; }  // of the record that next() gave

  // A quote that is not closed within a cell's length was none: the line is a reject and the next
  // one is looked at.
  void next(std::vector<std::string_view>& cells) {
    cells.clear();
    line_ = next_line_++;
    if (separator_ == kBlanks) return blanks(cells);
    cursor_.next_record();
    for (CsvCell cell; cursor_.more();) {
      if (!cursor_.next(cell)) {
        builder_.reject(line_, "table.quote", rest_of_line(cursor_.offset()));
        cells.clear();
        skip_line();
        return;
      }
      next_line_ += cell.lines;
      cells.push_back(cell.doubled  ? builder_.keep(csv_undoubled(cell.text))
                      : cell.quoted ? cell.text
                                    : trimmed_cell(cell.text));
    }
  }

 private:
  std::string_view rest_of_line(std::size_t from) const {
    return bytes_.substr(from, std::min(bytes_.find('\n', from), bytes_.size()) - from);
  }

  void skip_line() {
    const std::size_t end = bytes_.find('\n', cursor_.offset());
    cursor_.seek(end == std::string_view::npos ? bytes_.size() : end + 1);
  }

  void blanks(std::vector<std::string_view>& cells) {
    const std::string_view line = rest_of_line(cursor_.offset());
    skip_line();
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t from = line.find_first_not_of(" \t\r", i);
      if (from == std::string_view::npos) break;
      i = std::min(line.find_first_of(" \t\r", from), line.size());
      cells.push_back(line.substr(from, i - from));
    }
  }

  std::string_view bytes_;
  char separator_;
  CsvCursor cursor_;
  TableBuilder& builder_;
  std::uint64_t line_ = 1, next_line_ = 1;
};

std::size_t count_outside_quotes(std::string_view line, char separator) {
  std::size_t out = 0;
  bool in = false;
  for (const char c : line) {
    if (c == '"') in = !in;
    out += !in && c == separator;
  }
  return out;
}

std::size_t words(std::string_view line) {
  std::size_t out = 0;
  for (std::size_t i = 0; (i = line.find_first_not_of(" \t\r", i)) != std::string_view::npos; ++out)
    i = std::min(line.find_first_of(" \t\r", i), line.size());
  return out;
}

// The separator that most of the first lines agree upon; '\n' when there is one number a line.
char separator_of(std::string_view bytes) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < bytes.size() && lines.size() < 20;) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    if (const auto line = trimmed_cell(bytes.substr(at, end - at)); !line.empty())
      lines.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  for (const char separator : {'\t', ',', ';'}) {
    std::size_t best = 0;
    for (const std::string_view line : lines) {
      const std::size_t count = count_outside_quotes(line, separator);
      const auto agree = static_cast<std::size_t>(std::count_if(
          lines.begin(), lines.end(),
          [&](std::string_view other) { return count_outside_quotes(other, separator) == count; }));
      if (count > 0) best = std::max(best, agree);
    }
    if (best * 2 > lines.size()) return separator;
  }
  const std::size_t width = lines.empty() ? 1 : words(lines.back());
  if (width > 1 && std::all_of(lines.begin(), lines.end(),
                               [&](std::string_view line) { return words(line) == width; }))
    return kBlanks;
  return '\n';
}

// A header is a row of texts over numbers. Ranks or years may stand in it: then numbers too, all
// different, behind a text.
bool is_header(const std::vector<std::string_view>& first,
               const std::vector<std::string_view>& second) {
  std::size_t texts = 0;
  std::set<std::string_view> numbers;
  std::size_t whole = 0;
  std::size_t repeated = 0;
  double value = 0;
  for (const std::string_view cell : first) {
    if (!cell_number(cell, value)) {
      ++texts;
      continue;
    }
    if (std::isnan(value)) continue;
    if (!numbers.insert(cell).second) ++repeated;
    whole += value == std::floor(value) && value >= 0;
  }
  if (texts == 0) return false;
  if (numbers.empty()) return true;
  double below = 0;
  return !second.empty() && !cell_number(first.front(), value) &&
         cell_number(second.front(), below) && repeated == 0 && whole == numbers.size();
}

}  // namespace

Result<> read_delimited_table(std::string_view bytes, const TableOptions& options,
                              TableBuilder& builder) {
  BareTable& table = builder.table();
  std::uint64_t skipped = 0;
  // Lines on top that are comments or blank.
  for (;;) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = trimmed_cell(bytes.substr(0, end));
    if (end == bytes.size() || !(line.empty() || line.front() == '#')) break;
    bytes.remove_prefix(end + 1);
    ++skipped;
  }
  const char separator = separator_of(bytes);
  table.form = separator == ','       ? "csv"
               : separator == '\t'    ? "tsv"
               : separator == ';'     ? "semicolon"
               : separator == kBlanks ? "blanks"
                                      : "numbers";

  Records records(bytes, separator, options.limits.cell_bytes, builder);
  std::vector<std::string_view> cells, first;
  bool named = false;
  bool seen_first = false;
  std::uint64_t first_line = 0;
  std::size_t width = 0;
  std::size_t hollow =
      0;  // blank lines since the last row: missing numbers, unless the file ends with them

  const auto name_columns = [&](bool header) {
    table.header = header;
    width = first.size();
    for (std::size_t c = 0; c < width && builder.problem().empty(); ++c) {
      std::string name = header && !first[c].empty() ? std::string(first[c])
                         : width == 1                ? "value"
                                                     : fmt::format("column {}", c + 1);
      for (int again = 2; table.columns.size() > 0 && builder.column(name) < c; ++again)
        name = fmt::format("{} ({})",
                           header && !first[c].empty() ? std::string(first[c]) : "column", again);
      builder.column(name);
    }
    named = true;
  };
  const auto add = [&](const std::vector<std::string_view>& row, std::uint64_t line) {
    if (width == 1)
      for (; hollow > 0 && builder.problem().empty(); --hollow) builder.begin_row(line);
    hollow = 0;
    builder.begin_row(line);
    for (std::size_t c = 0; c < std::min(width, row.size()); ++c) builder.set(c, row[c]);
    if (row.size() < width)
      builder.reject(line, "table.short_row",
                     fmt::format("{} of {} cells: {}", row.size(), width, row.front()));
    if (row.size() > width)
      builder.reject(line, "table.long_row",
                     fmt::format("{} cells instead of {}: {}", row.size(), width, row.front()));
  };

  while (!records.done() && builder.problem().empty()) {
    records.next(cells);
    const std::uint64_t line = records.line() + skipped;
    if (cells.empty() || (cells.size() == 1 && cells.front().empty())) {
      hollow += seen_first;
      continue;
    }
    if (cells.size() > options.limits.columns) {
      builder.full(fmt::format("the table has more than {} columns", options.limits.columns));
      break;
    }
    if (!seen_first) {
      first = cells;
      first_line = line;
      seen_first = true;
      hollow = 0;
      if (options.header != TableOptions::Header::detect) {
        name_columns(options.header == TableOptions::Header::yes);
        if (!table.header) add(first, first_line);
      }
      continue;
    }
    if (!named) {
      const std::size_t between = hollow;
      name_columns(is_header(first, cells));
      hollow = 0;
      if (!table.header) {
        add(first, first_line);
        hollow = between;
      }
    }
    add(cells, line);
  }
  if (seen_first && !named) {
    name_columns(is_header(first, {}));
    if (!table.header) add(first, first_line);
  }
  return {};
}

}  // namespace culprit::ingest
