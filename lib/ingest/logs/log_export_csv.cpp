// What a log store saves as CSV: a header that names the columns, one of them the text of a line
// and one its time (CloudWatch Insights, Splunk, Grafana, Kibana, Azure Monitor, Datadog). A row is
// read as the JSON record of the same columns would be, so that one place knows all labels.
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/logs/exported_records.hpp"
#include "line/wrapper.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "model/json.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestCell = 1u << 20, kMostColumns = 64;

// As line/wrapper.cpp calls it.
std::string key_of(std::string_view column) {
  const std::string name = lower(column);
  if (has_word("@message message _raw line body log syslogmessage rendereddescription", name))
    return "message";
  if (has_word("@timestamp timestamp _time time date datetime timegenerated", name) ||
      name.starts_with("timegenerated ["))
    return "timestamp";
  if (has_word("host hostname computer node nodename instance", name)) return "host";
  return std::string(column);
}

// The cells of the next record. False: it is not closed.
bool next_row(CsvCursor& cursor, std::vector<std::string>& cells) {
  cells.clear();
  cursor.next_record();
  for (CsvCell cell; cursor.more();) {
    if (!cursor.next(cell)) return false;
    if (cells.size() == kMostColumns) continue;
    cells.push_back(cell.doubled ? csv_undoubled(cell.text) : std::string(cell.text));
    if (!cells.back().empty() && cells.back().back() == '\r') cells.back().pop_back();
  }
  return true;
}

struct Columns {
  std::vector<std::string> keys;
  char separator = ',';
  bool cloudwatch = false;  // which prints UTC without saying so
};

// Nothing: no header of an export.
std::optional<Columns> columns_of(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::string_view header = bytes.substr(0, bytes.find('\n'));
  if (header.size() > 4096) return std::nullopt;
  Columns out;
  for (const char separator : {',', ';', '\t'})
    if (contains(header, separator)) {
      out.separator = separator;
      break;
    }
  CsvCursor cursor(header, out.separator);
  std::vector<std::string> cells;
  if (!next_row(cursor, cells)) return std::nullopt;
  for (const std::string& cell : cells) {
    out.cloudwatch = out.cloudwatch || cell == "@logStream" || cell == "@log" || cell == "@ptr";
    out.keys.push_back(key_of(cell));
  }
  if (std::ranges::count(out.keys, "message") != 1 ||
      std::ranges::count(out.keys, "timestamp") == 0)
    return std::nullopt;
  return out;
}

std::optional<ExportedRecord> record_of(const Columns& columns, std::vector<std::string>& cells) {
  if (cells.size() < 2 || cells.size() > columns.keys.size()) return std::nullopt;
  nlohmann::json object = nlohmann::json::object();
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].empty()) object.emplace(columns.keys[i], std::move(cells[i]));
  ExportedRecord out;
  auto message = line::unwrap(json_text(object, -1), out.prefix);
  if (!message || out.prefix.time.clock == Clock::none) return std::nullopt;
  if (columns.cloudwatch) out.prefix.time.clock = Clock::utc;
  out.message = std::move(*message);
  return out;
}

struct Row {
  std::optional<ExportedRecord> text;  // nothing: it has no time, or no text
  std::string_view row;                // as it stands there
};

// Takes each row of an export until `take` says false. False: no header, or a cell is not closed.
template <class Take>
bool each_row(std::string_view bytes, const Take& take) {
  const auto columns = columns_of(bytes);
  if (!columns) return false;
  CsvCursor cursor(bytes, columns->separator, kLongestCell);
  cursor.seek(std::min(bytes.size(), bytes.find('\n')));
  if (!cursor.done()) cursor.seek(cursor.offset() + 1);
  for (std::vector<std::string> cells; !cursor.done();) {
    const std::size_t from = cursor.offset();
    if (!next_row(cursor, cells)) return false;
    Row row{record_of(*columns, cells), bytes.substr(from, cursor.offset() - from)};
    while (!row.row.empty() && (row.row.back() == '\n' || row.row.back() == '\r'))
      row.row.remove_suffix(1);
    if (row.text) {
      row.text->offset = from;
      row.text->length = row.row.size();
    }
    if (!take(std::move(row))) break;
  }
  return true;
}

// Texts are of words; a table of measurements may have a column of that name, too.
bool sniff_log_export_csv(const Head& head) {
  if (!head.mentions("message") && !head.mentions("_raw") && !head.mentions("line") &&
      !head.mentions("body") && !head.mentions("log"))
    return false;
  std::size_t rows = 0, good = 0;
  each_row(head.bytes, [&](const Row& row) {
    ++rows;
    good += row.text && contains(row.text->message, ' ');
    return rows < 20;
  });
  return rows > 1 && good * 10 >= rows * 8;
}

std::string read_log_export_csv(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::vector<ExportedRecord> records;
  const bool whole = each_row(bytes, [&](Row row) {
    if (row.text)
      records.push_back(std::move(*row.text));
    else if (!records.empty())  // a message of several lines without quotes around it
      records.back().message += '\n' + std::string(row.row);
    return records.size() < kMostExported;
  });
  reading.cut = !whole;
  if (records.empty()) return "log_export.no_records";
  put_records(bytes, std::move(records), member, reading);
  return {};
}

}  // namespace

extern constinit const Document kLogExportCsv{
    "log-export-csv", "logs that a log store saved as CSV (CloudWatch, Splunk, Grafana, Kibana)",
    kMostExportedBytes, sniff_log_export_csv, read_log_export_csv};

}  // namespace culprit::ingest
