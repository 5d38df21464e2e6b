// JSON documents that hold a table: records of ranks, machines or devices with numbers, as scripts
// write reports. A list of objects; an object whose members are named by rank or machine; lists of
// numbers, one for each rank.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/line_numbers.hpp"
#include "ingest/engine/rate_book.hpp"
#include "ingest/training/number_rows.hpp"
#include "line/digit.hpp"
#include "line/header_layout.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostNumberDocument = 16u << 20;
constexpr std::size_t kFewestRecords = 3;
constexpr std::size_t kMostRecordCells = 64;
constexpr int kDeepestRecord = 6;

bool is_number(const Value& v) {
  return v.kind == Value::Kind::integer || v.kind == Value::Kind::real;
}

std::string cell_of(const Value& v) {
  switch (v.kind) {
    case Value::Kind::integer: return fmt::format("{}", v.integer);
    case Value::Kind::real: return fmt::format("{}", v.real);
    case Value::Kind::text: return std::string(v.text().substr(0, 512));
    default: return {};
  }
}

struct RecordCell {
  std::string name, text;
  bool is_number = false;
};

struct NumberRecord {
  std::size_t offset = 0;
  std::vector<RecordCell> cells;
};

bool names_owner(std::string_view name) {
  const KeyRole role = meaning_of(name).role;
  return role == KeyRole::rank || role == KeyRole::host || role == KeyRole::gpu;
}

// What people compare between ranks or machines.
bool is_measure(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return rules::part_name(name).of_step() || rules::whole_of_step(name) || names_rate(name) ||
         names_test_time(name) ||
         rules::name_on_device(rules::Catalogue::built_in(), "gpu", std::string(name)).has_value();
}

// Whose the member of that name is: "rank", "host", or nobody's.
std::string_view owner_named(std::string_view key) {
  if (!key.empty() && key.size() <= 6 &&
      std::ranges::all_of(key, [](char c) { return line::digit(c); }))
    return "rank";
  for (const std::string_view word : {"rank_", "rank", "Rank ", "rank ", "rank-"})
    if (key.size() > word.size() && key.starts_with(word) &&
        std::ranges::all_of(key.substr(word.size()), [](char c) { return line::digit(c); }))
      return "rank";
  return key.size() > 2 && line::alpha(key.front()) && line::may_name_machine(key) &&
                 key.find_first_of("0123456789") != key.npos
             ? "host"
             : std::string_view();
}

// Records of one table, in the order of the text; their names may differ.
class RecordTables {
 public:
  RecordTables(const Tree& tree, std::string_view base) : tree_(tree), base_(base) {
    walk(tree.root, "", {}, 0);
  }
  const std::vector<std::vector<NumberRecord>>& found() const { return found_; }

 private:
  using Above = std::vector<RecordCell>;  // what objects around a table say: its step, its machine
  static constexpr std::size_t kMostAbove = 8;

  static void say(Above& above, RecordCell cell) {
    const auto same = std::ranges::find(above, cell.name, &RecordCell::name);
    if (same != above.end())
      *same = std::move(cell);
    else if (above.size() < kMostAbove)
      above.push_back(std::move(cell));
  }

  void walk(const Value& value, const std::string& key, const Above& around, int depth) {
    if (depth > kDeepestRecord || found_.size() >= 64) return;
    if (value.is_list()) {
      of_gpus_ = lower(key).starts_with("gpu");
      if (records_of_list(value, around)) return;
      tree_.each(value, [&](const Value& member) {
        if (member.is_dict() || member.is_list()) walk(member, key, around, depth + 1);
        return true;
      });
      return;
    }
    if (!value.is_dict() || keyed_by_owner(value, key, around) || lists_by_rank(value, around))
      return;
    Above above = around;
    tree_.each_pair(value, [&](const Value& name, const Value& member) {
      const KeyRole role = meaning_of(name.text()).role;
      if (role == KeyRole::step || role == KeyRole::time || names_owner(name.text()))
        if (std::string text = cell_of(member); !text.empty())
          say(above, {std::string(name.text()), std::move(text), is_number(member)});
      return true;
    });
    tree_.each_pair(value, [&](const Value& name, const Value& member) {
      if (member.is_dict() || member.is_list())
        walk(member, std::string(name.text()), above, depth + 1);
      return true;
    });
  }

  void members(const Value& object, const std::string& prefix, NumberRecord& record,
               int depth) const {
    tree_.each_pair(object, [&](const Value& name, const Value& member) {
      std::string full = prefix + std::string(name.text().substr(0, 128));
      if (of_gpus_ && (full == "index" || full == "idx" || full == "id")) full = "gpu";
      if (member.is_dict() && depth < 2) members(member, full + "/", record, depth + 1);
      if (std::string text = cell_of(member);
          !text.empty() && record.cells.size() < kMostRecordCells)
        record.cells.push_back({full, std::move(text), is_number(member)});
      return true;
    });
  }

  NumberRecord begin(const Value& at, const Above& above) const {
    NumberRecord out;
    out.offset = tree_.nodes[at.node].offset;
    out.cells = above;
    return out;
  }

  bool keep(std::vector<NumberRecord> records) {
    std::size_t owned = 0;
    bool measured = false;
    for (const NumberRecord& record : records) {
      owned += std::ranges::any_of(record.cells,
                                   [](const RecordCell& c) { return names_owner(c.name); });
      measured = measured || std::ranges::any_of(record.cells, [](const RecordCell& c) {
                   return c.is_number && is_measure(c.name);
                 });
    }
    if (records.size() < kFewestRecords || owned < records.size() || !measured) return false;
    found_.push_back(std::move(records));
    return true;
  }

  bool records_of_list(const Value& list, const Above& above) {
    std::vector<NumberRecord> records;
    bool objects = true;
    tree_.each(list, [&](const Value& member) {
      objects = member.is_dict();
      if (!objects) return false;
      records.push_back(begin(member, above));
      members(member, "", records.back(), 0);
      return true;
    });
    return objects && keep(std::move(records));
  }

  // {"0": {...}, "1": {...}}, {"gx-07": 1.23, "gx-08": 1.25}
  bool keyed_by_owner(const Value& object, const std::string& key, const Above& above) {
    std::vector<NumberRecord> records;
    std::string_view whose;
    bool all = true;
    // Bare numbers are ranks where they begin at nought or the name says so; others are steps.
    bool ranks = mentions(key, "rank") || mentions(base_, "rank");
    tree_.each_pair(object, [&](const Value& name, const Value& member) {
      const std::string_view owner = owner_named(name.text());
      ranks = ranks || owner == "host" || name.text() == "0" || !line::digit(name.text().front());
      all = !owner.empty() && (whose.empty() || owner == whose) &&
            (member.is_dict() || is_number(member));
      if (!all) return false;
      whose = owner;
      NumberRecord record = begin(member.is_dict() ? member : object, above);
      std::string_view text = name.text();
      if (owner == "rank") text.remove_prefix(text.find_first_of("0123456789"));
      record.cells.push_back({std::string(owner), std::string(text), owner == "rank"});
      if (member.is_dict())
        members(member, "", record, 0);
      else
        record.cells.push_back({key.empty() ? base_ : key, cell_of(member), true});
      records.push_back(std::move(record));
      return true;
    });
    return all && ranks && keep(std::move(records));
  }

  // {"rank_compute_ms": [...], "rank_wait_ms": [...]}: the place in the list is the rank.
  bool lists_by_rank(const Value& object, const Above& above) {
    std::vector<NumberRecord> records;
    bool told = contains(std::string_view(base_), "rank");
    bool all = true;
    tree_.each_pair(object, [&](const Value& name, const Value& member) {
      if (!member.is_list() || !is_measure(name.text())) return true;
      told = told || contains(name.text(), "rank");
      std::size_t rank = 0;
      tree_.each(member, [&](const Value& one) {
        all = all && is_number(one);
        if (!all) return false;
        if (records.size() <= rank) {
          records.push_back(begin(member, above));
          records.back().cells.push_back({"rank", std::to_string(rank), true});
        }
        if (records[rank].cells.size() < kMostRecordCells)
          records[rank].cells.push_back({std::string(name.text()), cell_of(one), true});
        ++rank;
        return true;
      });
      all = all && rank == records.size();
      return all;
    });
    return all && told && keep(std::move(records));
  }

  const Tree& tree_;
  bool of_gpus_ = false;  // the list that is read is "gpus": an index is that of one
  std::string base_;
  std::vector<std::vector<NumberRecord>> found_;
};

std::string file_stem(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return std::string(path.substr(0, path.find('.')));
}

// A list of the objects that stand a line each; "" where they are one document. The place of each
// is as it was, and one more.
std::string as_list(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (!bytes.starts_with('{') || end == bytes.npos || bytes[end - 1] != '}') return {};
  std::string out = "[" + std::string(bytes) + "]";
  for (std::size_t at = out.find("}\n"); at != out.npos; at = out.find("}\n", at + 2))
    out[at + 1] = at + 2 < out.size() && out[at + 2] == '{' ? ',' : ' ';
  return out;
}

bool sniff_number_document(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (at == std::string_view::npos || (head.bytes[at] != '{' && head.bytes[at] != '[') ||
      head.base() == "wandb-summary.json" || head.has("apiVersion") || head.has("traceEvents") ||
      head.has("resultType") || head.has("pg_config") || head.has("metric_groups"))
    return false;
  Tree tree;
  const std::string list = as_list(head.bytes);
  read_lenient_json(list.empty() ? head.bytes.substr(at) : std::string_view(list), tree,
                    {.values = 1u << 16, .nodes = 1u << 14});
  const RecordTables tables(tree, file_stem(head.path));
  // Lines of steps or times are records of a log.
  const auto of_log = [](const RecordCell& cell) {
    const KeyRole role = meaning_of(cell.name).role;
    return role == KeyRole::step || role == KeyRole::time;
  };
  return !tables.found().empty() &&
         (list.empty() || std::ranges::none_of(tables.found().front().front().cells, of_log));
}

std::string read_number_document(std::string_view bytes, const MemberRow& member,
                                 Reading& reading) {
  Tree tree;
  const std::string list = as_list(bytes);
  const std::size_t before = list.empty() ? 0 : 1;
  read_lenient_json(list.empty() ? bytes : std::string_view(list), tree);
  const std::string name = file_stem(member.path);
  LineNumbers lines(bytes);
  const RecordTables tables(tree, name);
  for (const std::vector<NumberRecord>& table : tables.found()) {
    std::vector<std::string_view> names;
    for (const NumberRecord& record : table)
      for (const RecordCell& cell : record.cells)
        if (names.size() < kMostRecordCells && !contains(names, std::string_view(cell.name)))
          names.push_back(cell.name);
    NumberRows rows(name, "");
    for (const NumberRecord& record : table) {
      const std::size_t offset = std::min(record.offset - before, bytes.size());
      const LineNumbers::Found& line = lines.of(offset);
      const Place place{member.id, line.number, offset,
                        static_cast<std::uint32_t>(line.end - offset)};
      if (!rows.begun()) rows.header(names, false, place, reading);
      std::vector<std::string_view> cells(names.size());
      for (const RecordCell& cell : record.cells)
        if (const auto at = std::ranges::find(names, cell.name); at != names.end())
          cells[static_cast<std::size_t>(at - names.begin())] = cell.text;
      const Outcome read = rows.row(cells, false, place, reading);
      if (!read.reject.empty())
        reading.sink.put(RejectRow{place, std::string(read.reject), std::string()});
    }
  }
  if (tree.truncated) reading.cut = true;
  return "";
}

}  // namespace

extern constinit const Document kNumberDocument{
    "number-document", "JSON reports with numbers by rank, machine or device", kMostNumberDocument,
    sniff_number_document, read_number_document};

}  // namespace culprit::ingest
