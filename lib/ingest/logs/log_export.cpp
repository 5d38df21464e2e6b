// Logs inside the answer of a log store: one JSON document (Loki's HTTP API, CloudWatch
// get-log-events and Insights, `gcloud logging read --format=json`, an Elasticsearch search), or
// JSON lines that begin with the newest. The records are put into the order of time and read like
// any other log, each line with the time and the host of its record. JSON lines that begin with the
// oldest need none of this: the line layer takes them apart (line/wrapper.cpp).
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/logs/exported_records.hpp"
#include "line/timestamp.hpp"
#include "line/wrapper.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr int kExportDepth = 10;

bool text_has(std::string_view text, std::string_view word) { return contains(text, word); }

std::string_view first_text_in(std::string_view bytes) {
  const std::size_t at = bytes.find_first_not_of(" \r\n\t\xEF\xBB\xBF");
  return at == std::string_view::npos ? std::string_view{} : bytes.substr(at);
}

// The moments of the first and the last whole record of the head, when every line of it is one.
bool newest_first(std::string_view head) {
  std::optional<Nanoseconds> first, last;
  for (std::size_t at = 0, n = 0; at < head.size() && n < 40; ++n) {
    const std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos) break;
    const std::string_view text = head.substr(at, end - at);
    at = end + 1;
    if (text.size() < 2) continue;
    line::Prefix prefix;
    if (text[0] != '{' || !line::unwrap(text, prefix) || prefix.time.clock == Clock::none)
      return false;
    if (!first) first = prefix.time.ns;
    last = prefix.time.ns;
  }
  return first && *last < *first;
}

bool sniff_log_export(const Head& head) {
  const std::string_view text = first_text_in(head.bytes);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  if (text_has(text, "\"streams\"") && text_has(text, "\"values\"") && text_has(text, "\"stream\""))
    return true;  // Loki's API
  if (text_has(text, "\"ingestionTime\"") && text_has(text, "\"message\"") &&
      text_has(text, "\"timestamp\"") && text_has(text, "\"events\""))
    return true;  // CloudWatch
  if (text_has(text, "\"@message\"") && text_has(text, "\"results\""))
    return true;  // CloudWatch Insights
  if (text_has(text, "\"hits\"") && text_has(text, "\"_source\"") && text_has(text, "timestamp\""))
    return true;  // Elasticsearch
  if (text[0] == '[' && text_has(text, "\"logName\"") && (text_has(text, "Payload\"")))
    return true;  // Cloud Logging
  return text[0] == '{' && newest_first(head.bytes);
}

class Finder {
 public:
  Finder(std::string_view bytes, const Tree& tree) : bytes_(bytes), tree_(tree) {}

  std::vector<ExportedRecord> records;

  void walk(const Value& value, int depth) {
    if (depth > kExportDepth || records.size() >= kMostExported) return;
    if (value.is_list()) {
      if (insights_row(value)) return;
      tree_.each(value, [&](const Value& one) {
        walk(one, depth + 1);
        return true;
      });
      return;
    }
    if (!value.is_dict() || loki_stream(value)) return;
    const Tree::Node& node = tree_.nodes[value.node];
    // A record is small and holds a text and a time; what is larger holds records.
    if (node.length > 0 && node.length < (1u << 20)) {
      ExportedRecord record;
      if (auto message = line::unwrap(bytes_.substr(node.offset, node.length), record.prefix);
          message && record.prefix.time.clock != Clock::none) {
        record.offset = node.offset;
        record.length = node.length;
        record.message = std::move(*message);
        records.push_back(std::move(record));
        return;
      }
    }
    tree_.each_pair(value, [&](const Value&, const Value& one) {
      walk(one, depth + 1);
      return true;
    });
  }

 private:
  // {"stream": {"host": ...}, "values": [["1700000000000000000", "line"], ...]}
  bool loki_stream(const Value& dict) {
    const Value labels = tree_.find(dict, "stream");
    const Value values = tree_.find(dict, "values");
    if (!labels.is_dict() || !values.is_list()) return false;
    const Tree::Node& node = tree_.nodes[labels.node];
    const std::string_view told = bytes_.substr(node.offset, node.length);
    ++group_;
    tree_.each(values, [&](const Value& pair) {
      std::string_view field[2];
      std::size_t n = 0;
      tree_.each(pair, [&](const Value& one) {
        if (n < 2) field[n++] = one.text();
        return n < 2;
      });
      if (n < 2 || records.size() >= kMostExported ||
          field[0].find_first_not_of("0123456789") != std::string_view::npos ||
          told.size() > 65'536)
        return true;
      // As logcli prints it, so that one place knows the labels.
      ExportedRecord record;
      const std::string as_line = "{\"labels\":" + std::string(told) + ",\"timestamp\":\"" +
                                  std::string(field[0].substr(0, 24)) + "\",\"line\":\"-\"}";
      if (!line::unwrap(as_line, record.prefix)) return true;
      record.message = std::string(field[1]);
      const Tree::Node& at = tree_.nodes[pair.node];
      record.offset = at.offset;
      record.length = at.length;
      record.group = group_;
      records.push_back(std::move(record));
      return true;
    });
    return true;
  }

  // [{"field": "@timestamp", "value": "2026-..."}, {"field": "@message", "value": "..."}]
  bool insights_row(const Value& list) {
    ExportedRecord record;
    Timestamp time;
    tree_.each(list, [&](const Value& cell) {
      const std::string_view field = tree_.find(cell, "field").text();
      const std::string_view value = tree_.find(cell, "value").text();
      if (field == "@timestamp")
        line::parse_iso(value, time);
      else if (field == "@message")
        record.message = std::string(value);
      else if (field == "@logStream" && value.size() <= 64 &&
               value.find_first_of("/ []") == std::string_view::npos &&
               value.find_first_of("0123456789") != std::string_view::npos)
        record.prefix.host = Host(value);
      return !field.empty();
    });
    if (record.message.empty() || time.clock == Clock::none) return false;
    time.clock = Clock::utc;
    record.prefix.time = time;
    const Tree::Node& node = tree_.nodes[list.node];
    record.offset = node.offset;
    record.length = node.length;
    records.push_back(std::move(record));
    return true;
  }

  std::string_view bytes_;
  const Tree& tree_;
  std::size_t group_ = 0;
};

void read_lines(std::string_view bytes, std::vector<ExportedRecord>& records) {
  for (std::size_t at = 0; at < bytes.size() && records.size() < kMostExported;) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    ExportedRecord record;
    if (auto message = line::unwrap(bytes.substr(at, end - at), record.prefix)) {
      record.offset = at;
      record.length = end - at;
      record.message = std::move(*message);
      records.push_back(std::move(record));
    }
    at = end + 1;
  }
}

std::string read_log_export(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::vector<ExportedRecord> records;
  if (newest_first(bytes.substr(0, 64u << 10))) {
    read_lines(bytes, records);
  } else {
    Tree tree;
    read_lenient_json(bytes, tree);
    Finder finder(bytes, tree);
    finder.walk(tree.root, 0);
    records = std::move(finder.records);
    reading.cut = tree.truncated;
  }
  if (records.empty()) return "log_export.no_records";
  put_records(bytes, std::move(records), member, reading);
  return {};
}

}  // namespace

extern constinit const Document kLogExport{
    "log-export",
    "answers of log stores (Loki, CloudWatch, Cloud Logging, "
    "Elasticsearch) and JSON lines that begin with the newest",
    kMostExportedBytes, sniff_log_export, read_log_export};

}  // namespace culprit::ingest
