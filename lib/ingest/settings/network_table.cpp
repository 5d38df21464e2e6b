// A table of hosts and what they hang on: CSV or JSON with a column host and some of tor, switch,
// leaf, rack, rail, pod, block. There is no standard for it; people export one from their
// inventory.
#include <algorithm>
#include <map>
#include <set>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/csv_cursor.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

struct NetworkColumn {
  std::string_view kind;  // "host", a kind of node, or "" for a column that says nothing here
  std::int64_t level = 0;
  std::string_view names;
};
// Any other column makes it another table: pod and host stand in metrics too.
constexpr NetworkColumn kColumns[] = {
    {"host", 0, "host hostname node nodename"},
    {"switch", 0, "tor switch leaf tor_switch leaf_switch"},
    {"switch", 1, "spine"},
    {"pod", 1, "pod"},
    {"block", 0, "block"},
    {"rail", 0, "rail"},
    {"rack", 0, "rack"},
    {"", 0,
     "ip address row zone room dc datacenter port nic hca interface leaf_port "
     "switch_port slot serial position unit"},
};

const NetworkColumn* column(std::string_view name) {
  const std::string small = lower(trimmed(name));
  const auto* it = std::ranges::find_if(
      kColumns, [&](const NetworkColumn& c) { return has_word(c.names, small); });
  return it == std::end(kColumns) ? nullptr : &*it;
}

std::vector<std::string_view> cells(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  CsvCursor cursor(line, separator);
  for (CsvCell cell; cursor.more() && out.size() < 64 && cursor.next(cell);)
    out.push_back(trimmed(cell.text));
  return out;
}

// The columns of a header, or nothing when the line is none.
std::vector<const NetworkColumn*> network_header(std::string_view line, char& separator) {
  for (const char by : {',', '\t', ';'}) {
    if (line.find(by) == std::string_view::npos) continue;  // one column says nothing
    std::vector<const NetworkColumn*> out;
    bool host = false;
    bool node = false;
    for (const std::string_view cell : cells(line, by)) {
      const NetworkColumn* known = column(cell);
      if (known == nullptr) {
        out.clear();
        break;
      }
      host = host || known->kind == "host";
      node = node || (known->kind != "host" && !known->kind.empty());
      out.push_back(known);
    }
    if (out.size() < 2 || !host || !node) continue;
    separator = by;
    return out;
  }
  return {};
}

std::string_view first_line(std::string_view bytes) {
  std::string_view found;
  each_text_line(bytes.substr(0, 8192), [&](std::string_view line, std::uint64_t, std::size_t) {
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (const std::string_view text = trimmed(line); !text.empty() && text.front() != '#')
      found = text;
    return found.empty();
  });
  return found;
}

class NetworkTable {
 public:
  void add(const NetworkColumn& column, std::string_view name, std::string_view host,
           const Place& place) {
    if (name.empty() || host.empty() || name.size() > 255 || host.size() > 255 ||
        cells_++ > kHostsPerFile)
      return;
    const auto [it, fresh] =
        rows_.try_emplace({column.level, std::string(column.kind), std::string(name)});
    if (fresh) it->second.place = place;
    if (hosts_[&it->second].emplace(host).second) it->second.hosts.emplace_back(host);
  }
  std::string put(Sink& sink) {
    for (auto& [key, row] : rows_) {
      row.source = "table";
      std::tie(row.level, row.kind, row.name) = key;
      sink.put(row);
    }
    return rows_.empty() ? "network_table.no_host" : "";
  }

 private:
  std::map<std::tuple<std::int64_t, std::string, std::string>, NetworkRow> rows_;
  std::map<const NetworkRow*, std::set<std::string, std::less<>>> hosts_;
  std::size_t cells_ = 0;
};

bool sniff_csv(const Head& head) {
  char separator = ',';
  const std::string_view top = first_line(head.bytes);
  return !top.empty() && top.front() != '{' && top.front() != '[' && top.size() < 512 &&
         !network_header(top, separator).empty();
}

std::string read_csv(std::string_view bytes, const MemberRow& member, Reading& reading) {
  char separator = ',';
  const auto columns = network_header(first_line(bytes), separator);
  NetworkTable table;
  bool past_header = false;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#') return;
    if (!past_header) {
      past_header = true;
      return;
    }
    const auto values = cells(text, separator);
    std::string_view host;
    for (std::size_t i = 0; i < columns.size() && i < values.size(); ++i)
      if (columns[i]->kind == "host" && host.empty()) host = values[i];
    const Place place{member.id, number, offset,
                      static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), 1u << 20))};
    if (host.empty() || values.size() != columns.size()) {
      reading.sink.put(RejectRow{place, "network_table.row", std::string(text.substr(0, 200))});
      return;
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i]->kind != "host" && !columns[i]->kind.empty())
        table.add(*columns[i], values[i], host, place);
  });
  return table.put(reading.sink);
}

// [{"host": "a1", "tor": "t1", ...}, ...]
bool sniff_network_json(const Head& head) {
  if (!head.base().ends_with(".json")) return false;
  const std::size_t open = head.bytes.find_first_not_of(" \r\n\t");
  if (open == std::string_view::npos || head.bytes[open] != '[') return false;
  const std::size_t begin = head.bytes.find('{', open);
  if (begin == std::string_view::npos || head.bytes.find_first_not_of(" \r\n\t", open + 1) != begin)
    return false;
  const std::size_t end = head.bytes.find('}', begin);
  if (end == std::string_view::npos) return false;
  Tree tree;
  read_lenient_json(head.bytes.substr(begin, end - begin + 1), tree);
  if (tree.truncated) return false;
  bool host = false;
  bool node = false;
  bool others = false;
  tree.each_pair(tree.root, [&](const Value& key, const Value&) {
    const NetworkColumn* known = column(std::string(key.text()));
    others = known == nullptr;
    host = host || (!others && known->kind == "host");
    node = node || (!others && known->kind != "host" && !known->kind.empty());
    return !others;
  });
  return host && node && !others;
}

std::string read_network_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  if (!tree.root.is_list()) return "network_table.not_json";
  reading.cut = tree.truncated;
  const Place place{member.id, 1, 0,
                    static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), 1u << 20))};
  const auto text = [](const Value& value) {
    return value.kind == Value::Kind::integer ? std::to_string(value.integer)
                                              : std::string(value.text());
  };
  NetworkTable table;
  tree.each(tree.root, [&](const Value& one) {
    std::string host;
    tree.each_pair(one, [&](const Value& key, const Value& value) {
      if (const NetworkColumn* known = column(std::string(key.text()));
          known != nullptr && known->kind == "host" && host.empty())
        host = text(value);
      return true;
    });
    tree.each_pair(one, [&](const Value& key, const Value& value) {
      if (const NetworkColumn* known = column(std::string(key.text()));
          known != nullptr && known->kind != "host" && !known->kind.empty())
        table.add(*known, text(value), host, place);
      return true;
    });
    return true;
  });
  return table.put(reading.sink);
}

}  // namespace

extern constinit const Document kNetworkCsv{"network-table",
                                            "CSV of hosts with their switch, rack, rail or pod",
                                            64u << 20, sniff_csv, read_csv};
extern constinit const Document kNetworkJson{"network-table-json",
                                             "JSON of hosts with their switch, rack, rail or pod",
                                             16u << 20, sniff_network_json, read_network_json};

}  // namespace culprit::ingest
