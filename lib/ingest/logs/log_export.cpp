// Logs inside the answer of a log store: one JSON document (Loki's HTTP API, CloudWatch
// get-log-events and Insights, `gcloud logging read --format=json`, an Elasticsearch search), or
// JSON lines that begin with the newest. The records are put into the order of time and read like
// any other log, each line with the time and the host of its record. JSON lines that begin with the
// oldest need none of this: the line layer takes them apart (line/wrapper.cpp).
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/text_reader.hpp"
#include "line/timestamp.hpp"
#include "line/wrapper.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::size_t kMaxRecords = 4u << 20;
constexpr int kExportDepth = 10;

struct ExportedRecord {
  std::size_t offset = 0, length = 0;  // in the document
  line::Prefix prefix;
  std::string message;
  std::size_t group = 0;  // of a stream that has an order of its own
};

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
    if (depth > kExportDepth || records.size() >= kMaxRecords) return;
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
      if (n < 2 || records.size() >= kMaxRecords ||
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
  for (std::size_t at = 0; at < bytes.size() && records.size() < kMaxRecords;) {
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

// Records of one moment keep the order in which they were written: a store that begins with the
// newest turned it round.
void sort_by_time(std::vector<ExportedRecord>& records) {
  std::size_t later = 0, earlier = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].group != records[i - 1].group) continue;
    later += records[i - 1].prefix.time.ns < records[i].prefix.time.ns;
    earlier += records[i - 1].prefix.time.ns > records[i].prefix.time.ns;
  }
  if (earlier > later) std::ranges::reverse(records);
  sort_by(records, [](const ExportedRecord& a) { return a.prefix.time.ns; });
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
  sort_by_time(records);
  // What the lines are is told by the first of them, as for a file of the same lines.
  std::string head;
  for (const ExportedRecord& record : records) {
    if (head.size() > (32u << 10)) break;
    head += record.message + "\n";
  }
  const line::Habit habit = line::habit_of(head);
  const Scanner scanner(reading.pack);
  TextReader reader(scanner, reading.sink, member.id, {}, habit, true, member.path);
  // Offsets do not rise any more after the sorting: lines are counted once, from the front.
  std::vector<std::size_t> ends;
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1))
    ends.push_back(at);
  for (const ExportedRecord& record : records) {
    const auto line =
        static_cast<std::uint64_t>(std::ranges::lower_bound(ends, record.offset) - ends.begin()) +
        1;
    reader.record({member.id, line, record.offset,
                   static_cast<std::uint32_t>(std::min<std::size_t>(record.length, 1u << 20))},
                  record.message, record.prefix);
  }
  reader.finish();
  for (const auto* edge : {&records.front(), &records.back()})
    reading.sink.put(ClockRow{{member.id, 1, edge->offset, 0},
                              edge->prefix.time,
                              {},
                              0,
                              {},
                              edge == &records.front() ? "first" : "last"});
  return {};
}

}  // namespace

extern constinit const Document kLogExport{
    "log-export",
    "answers of log stores (Loki, CloudWatch, Cloud Logging, "
    "Elasticsearch) and JSON lines that begin with the newest",
    kMaxBytes, sniff_log_export, read_log_export};

}  // namespace culprit::ingest
