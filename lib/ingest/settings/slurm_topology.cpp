// Slurm's description of the network: topology.conf, `scontrol show topology`, and topology.yaml
// (25.05 and later).
#include <algorithm>
#include <map>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

void NetworkCollector::begin(std::string kind, std::uint64_t line, std::size_t offset,
                             std::size_t length) {
  rows_.push_back(
      NetworkRow{.place = {member_, line, offset,
                           static_cast<std::uint32_t>(std::min<std::size_t>(length, 1u << 20))},
                 .source = source_,
                 .kind = std::move(kind)});
  has_level_.push_back(false);
  open_ = true;
}

void NetworkCollector::level(std::string_view digits) {
  std::int64_t value = 0;
  if (!open_ || !parse_whole(digits, value) || value < 0 || value > 64) return;
  rows_.back().level = value;
  has_level_.back() = true;
}

template <class Name>
void NetworkCollector::expand(std::string_view list, std::vector<Name>& out) {
  if (!open_ || list.empty() || list == "ALL" || list == "(null)") return;
  Hostlist all = expand_hostlist(list, kHostsPerSwitch);
  const char* reason = all.broken ? "hostlist.broken"
                       : all.capped || expanded_ + all.hosts.size() > kHostsPerFile
                           ? "hostlist.too_many"
                           : "";
  if (*reason != '\0')
    sink_.put(RejectRow{rows_.back().place, reason, std::string(list.substr(0, 200))});
  if (expanded_ + all.hosts.size() > kHostsPerFile) return;
  expanded_ += all.hosts.size();
  for (std::string& name : all.hosts) out.emplace_back(std::move(name));
}

void NetworkCollector::hosts(std::string_view list) {
  if (open_) expand(list, rows_.back().hosts);
}
void NetworkCollector::children(std::string_view list) {
  if (open_) expand(list, rows_.back().children);
}

std::size_t NetworkCollector::finish() {
  // A switch stands one above the highest below it. From the leaves up, so that switches that hang
  // below themselves are never reached: they keep level 1.
  std::map<std::string, std::vector<std::size_t>, std::less<>> named;
  for (std::size_t i = 0; i < rows_.size(); ++i) named[rows_[i].name].push_back(i);
  std::vector<std::vector<std::size_t>> above(rows_.size());
  std::vector<std::size_t> waits(rows_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (const std::string& child : rows_[i].children)
      if (const auto it = named.find(child); it != named.end())
        for (const std::size_t below : it->second) {
          if (above[below].size() >= 1024) continue;
          above[below].push_back(i);
          ++waits[i];
        }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!has_level_[i] && !rows_[i].children.empty()) rows_[i].level = 1;
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t i = ready.back();
    ready.pop_back();
    for (const std::size_t up : above[i]) {
      if (!has_level_[up]) rows_[up].level = std::max(rows_[up].level, rows_[i].level + 1);
      if (--waits[up] == 0) ready.push_back(up);
    }
  }
  std::size_t put = 0;
  for (const NetworkRow& row : rows_) {
    if (row.name.empty() || (row.hosts.empty() && row.children.empty())) continue;
    sink_.put(row);
    ++put;
  }
  rows_.clear();
  has_level_.clear();
  open_ = false;
  return put;
}

namespace {

std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return trimmed(line.substr(0, at));
  return trimmed(line);
}

bool starts_record(std::string_view line) {
  const std::string head = lower(line.substr(0, 12));
  return head.starts_with("switchname=") || head.starts_with("blockname=") ||
         head.starts_with("blocksizes=");
}

bool sniff_conf(const Head& head) {
  bool found = false;
  int others = 0;
  each_text_line(head.bytes.substr(0, 8192),
                 [&](std::string_view line, std::uint64_t, std::size_t) {
                   const std::string_view text = without_comment(line);
                   if (text.empty()) return true;
                   found = starts_record(text);
                   return !found && ++others <= 1;  // the command that printed it
                 });
  return found;
}

std::string read_conf(std::string_view bytes, const MemberRow& member, Reading& reading) {
  NetworkCollector out(reading.sink, member.id, "slurm");
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    // Words of a line that a backslash continues belong to the record that is open.
    std::string_view rest = without_comment(line);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest = trimmed(rest.substr(end));
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string key = lower(word.substr(0, equals));
      const std::string_view value = word.substr(equals + 1);
      if (key == "switchname" || key == "blockname") {
        out.begin(key == "switchname" ? "switch" : "block", number, offset, line.size());
        out.name(value);
      } else if (key == "level") {
        out.level(value);
      } else if (key == "nodes") {
        out.hosts(value);
      } else if (key == "switches") {
        out.children(value);
      }
    }
  });
  return out.finish() == 0 ? "slurm_topology.no_switch" : "";
}

bool sniff_topology_yaml(const Head& head) {
  if (!head.base().ends_with(".yaml") && !head.base().ends_with(".yml")) return false;
  return head.has("topology:") && (head.has("switch:") || head.has("block:")) &&
         !head.has("apiVersion");
}

// As much of YAML as such files use: a key and a value a line, lists of such, one-line maps in
// braces. Depth is not followed: the keys say what they belong to.
class YamlReader {
 public:
  explicit YamlReader(NetworkCollector& out) : out_(out) {}

  void line(std::string_view raw, std::uint64_t number, std::size_t offset) {
    std::string_view text = without_comment(raw);
    bool item = false;
    while (text == "-" || text.starts_with("- ")) {
      item = true;
      text = trimmed(text.substr(1));
    }
    if (text.empty()) return;
    if (item && text.front() == '{' && text.back() == '}') {
      in_list_ = 0;
      open(number, offset, raw.size());
      text = text.substr(1, text.size() - 2);
      std::size_t begin = 0;
      int depth = 0;
      for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && (text[at] == '[' || text[at] == '{')) ++depth;
        if (at < text.size() && (text[at] == ']' || text[at] == '}')) --depth;
        if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
        pair(trimmed(text.substr(begin, at - begin)));
        begin = at + 1;
      }
      return;
    }
    const std::size_t colon = text.find(": ");
    const bool has_key = colon != std::string_view::npos || text.back() == ':';
    if (item && !has_key) {  // a list of hosts, one a line
      if (in_list_ == 'n') out_.hosts(unquoted(text));
      if (in_list_ == 'c') out_.children(unquoted(text));
      return;
    }
    in_list_ = 0;
    if (item) open(number, offset, raw.size());
    pair(text);
  }

 private:
  void open(std::uint64_t number, std::size_t offset, std::size_t length) {
    out_.begin("switch", number, offset, length);
  }

  static std::string_view unquoted(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
        text.back() == text.front())
      text = text.substr(1, text.size() - 2);
    return text;
  }

  void pair(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string key = lower(unquoted(text.substr(0, colon)));
    std::string_view value = unquoted(text.substr(colon + 1));
    if (key == "nodes" || key == "children") {
      in_list_ = value.empty() ? key[0] : '\0';
      if (value.size() >= 2 && value.front() == '[' &&
          value.back() == ']') {  // [a, b[1-2]]: a list of the language, not of Slurm
        std::string names(value.substr(1, value.size() - 2));
        std::erase_if(names, [](char c) { return c == '"' || c == '\''; });
        key == "nodes" ? out_.hosts(names) : out_.children(names);
      } else {
        key == "nodes" ? out_.hosts(value) : out_.children(value);
      }
    } else if (key == "switch" && !value.empty()) {
      out_.name(value);
    } else if (key == "block" && !value.empty()) {
      out_.name(value);
      out_.kind("block");
    }
  }

  NetworkCollector& out_;
  char in_list_ = 0;
};

std::string read_topology_yaml(std::string_view bytes, const MemberRow& member, Reading& reading) {
  NetworkCollector out(reading.sink, member.id, "slurm");
  YamlReader yaml(out);
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    yaml.line(line, number, offset);
  });
  return out.finish() == 0 && !contains(bytes, "flat:") ? "slurm_topology.no_switch" : "";
}

}  // namespace

extern constinit const Document kSlurmTopology{
    "slurm-topology", "Slurm's topology.conf, scontrol show topology: switches and blocks",
    16u << 20, sniff_conf, read_conf};
extern constinit const Document kSlurmTopologyYaml{
    "topology-yaml", "Slurm's topology.yaml", 16u << 20, sniff_topology_yaml, read_topology_yaml};

}  // namespace culprit::ingest
