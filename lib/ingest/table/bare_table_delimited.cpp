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

class DelimitedRecords {
 public:
  DelimitedRecords(std::string_view bytes, char separator, std::size_t cell_bytes,
                   TableBuilder& builder)
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

std::size_t word_count(std::string_view line) {
  std::size_t out = 0;
  for (std::size_t i = 0; (i = line.find_first_not_of(" \t\r", i)) != std::string_view::npos; ++out)
    i = std::min(line.find_first_of(" \t\r", i), line.size());
  return out;
}

// The separator that most of the first lines agree upon; '\n' when there is one number a line.
char table_separator(std::string_view bytes) {
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
      const auto agree =
          static_cast<std::size_t>(std::ranges::count_if(lines, [&](std::string_view other) {
            return count_outside_quotes(other, separator) == count;
          }));
      if (count > 0) best = std::max(best, agree);
    }
    if (best * 2 > lines.size()) return separator;
  }
  const std::size_t width = lines.empty() ? 1 : word_count(lines.back());
  if (width > 1 &&
      std::ranges::all_of(lines, [&](std::string_view line) { return word_count(line) == width; }))
    return kBlanks;
  return '\n';
}

// A header is a row of texts over numbers. Ranks or years may stand in it: then numbers too, all
// different, behind a text.
bool is_table_header(const std::vector<std::string_view>& first,
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

// Records, in order, as rows of the table: the first of them may be its header.
class RecordsToRows {
 public:
  RecordsToRows(const TableOptions& options, TableBuilder& builder)
      : options_(options), builder_(builder) {}

  void blank() { hollow_ += seen_first_; }

  void record(const std::vector<std::string_view>& cells, std::uint64_t line) {
    if (!seen_first_) {
      first_ = cells;
      first_line_ = line;
      seen_first_ = true;
      hollow_ = 0;
      if (options_.header != TableOptions::Header::detect) {
        name_columns(options_.header == TableOptions::Header::yes);
        if (!builder_.table().header) add(first_, first_line_);
      }
      return;
    }
    if (!named_) {
      const std::size_t between = hollow_;
      name_columns(is_table_header(first_, cells));
      hollow_ = 0;
      if (!builder_.table().header) {
        add(first_, first_line_);
        hollow_ = between;
      }
    }
    add(cells, line);
  }

  void finish() {
    if (!seen_first_ || named_) return;
    name_columns(is_table_header(first_, {}));
    if (!builder_.table().header) add(first_, first_line_);
  }

 private:
  void name_columns(bool header) {
    builder_.table().header = header;
    width_ = first_.size();
    for (std::size_t c = 0; c < width_ && builder_.problem().empty(); ++c) {
      const bool has_name = header && !first_[c].empty();
      std::string name = has_name      ? std::string(first_[c])
                         : width_ == 1 ? "value"
                                       : fmt::format("column {}", c + 1);
      for (int again = 2; builder_.table().columns.size() > 0 && builder_.column(name) < c; ++again)
        name = fmt::format("{} ({})", has_name ? std::string(first_[c]) : "column", again);
      builder_.column(name);
    }
    named_ = true;
  }

  void add(const std::vector<std::string_view>& row, std::uint64_t line) {
    if (width_ == 1)
      for (; hollow_ > 0 && builder_.problem().empty(); --hollow_) builder_.begin_row(line);
    hollow_ = 0;
    builder_.begin_row(line);
    for (std::size_t c = 0; c < std::min(width_, row.size()); ++c) builder_.set(c, row[c]);
    if (row.size() < width_)
      builder_.reject(line, "table.short_row",
                      fmt::format("{} of {} cells: {}", row.size(), width_, row.front()));
    if (row.size() > width_)
      builder_.reject(line, "table.long_row",
                      fmt::format("{} cells instead of {}: {}", row.size(), width_, row.front()));
  }

  const TableOptions& options_;
  TableBuilder& builder_;
  std::vector<std::string_view> first_;
  std::uint64_t first_line_ = 0;
  bool seen_first_ = false;
  bool named_ = false;
  std::size_t width_ = 0;
  // Blank lines since the last row: missing numbers, unless the file ends with them.
  std::size_t hollow_ = 0;
};

const char* form_name(char separator) {
  switch (separator) {
    case ',': return "csv";
    case '\t': return "tsv";
    case ';': return "semicolon";
    case kBlanks: return "blanks";
    default: return "numbers";
  }
}

}  // namespace

Result<> read_delimited_table(std::string_view bytes, const TableOptions& options,
                              TableBuilder& builder) {
  std::uint64_t skipped = 0;
  // Lines on top that are comments or blank.
  for (;;) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = trimmed_cell(bytes.substr(0, end));
    if (end == bytes.size() || !(line.empty() || line.front() == '#')) break;
    bytes.remove_prefix(end + 1);
    ++skipped;
  }
  const char separator = table_separator(bytes);
  builder.table().form = form_name(separator);

  DelimitedRecords records(bytes, separator, options.limits.cell_bytes, builder);
  RecordsToRows rows(options, builder);
  std::vector<std::string_view> cells;
  while (!records.done() && builder.problem().empty()) {
    records.next(cells);
    if (cells.empty() || (cells.size() == 1 && cells.front().empty())) {
      rows.blank();
      continue;
    }
    if (cells.size() > options.limits.columns) {
      builder.full(fmt::format("the table has more than {} columns", options.limits.columns));
      break;
    }
    rows.record(cells, records.line() + skipped);
  }
  rows.finish();
  return {};
}

}  // namespace culprit::ingest
