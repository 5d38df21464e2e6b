#include "analyze/path_facts.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <re2/re2.h>

#include "model/json.hpp"
#include "schema/embedded.hpp"

namespace culprit::analyze {

namespace {

struct PathTable {
  std::vector<std::unique_ptr<re2::RE2>> patterns;
  std::set<std::string> not_hosts;
  std::unique_ptr<re2::RE2> not_hosts_like;
};

const PathTable& path_table() {
  static const PathTable kTable = [] {
    PathTable table;
    for (const EmbeddedFile& file : embedded_rules()) {
      if (std::string_view(file.name) != "tables/paths.json") continue;
      const auto document = nlohmann::json::parse(file.text(), nullptr, false);
      for (const auto& one : document["patterns"]) {
        re2::RE2::Options options;
        options.set_encoding(re2::RE2::Options::EncodingLatin1);
        table.patterns.push_back(std::make_unique<re2::RE2>(one["match"].get<std::string>(), options));
      }
      table.not_hosts_like = std::make_unique<re2::RE2>(document["not_hosts_like"].get<std::string>());
      for (const auto& one : document["not_hosts"]) table.not_hosts.insert(one.get<std::string>());
    }
    return table;
  }();
  return kTable;
}

std::optional<std::int64_t> small_number(const std::string& text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

}  // namespace

PathFacts facts_of_path(const std::string& path) {
  PathFacts out;
  for (const auto& pattern : path_table().patterns) {
    const auto& names = pattern->CapturingGroupNames();
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern->NumberOfCapturingGroups()) + 1);
    if (!pattern->Match(path, 0, path.size(), re2::RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) continue;
    for (const auto& [index, name] : names) {
      const auto& group = groups[static_cast<std::size_t>(index)];
      const std::string value(group.data(), group.size());
      if (value.empty()) continue;
      if (name == "host") {
        std::string lower = value;
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(tolower(c)); });
        if (!out.host && path_table().not_hosts.count(lower) == 0 && !re2::RE2::FullMatch(value, *path_table().not_hosts_like)) out.host = value;
      } else if (name == "rank") {
        if (!out.rank) out.rank = small_number(value);
      } else if (name == "local_rank") {
        if (!out.local_rank) out.local_rank = small_number(value);
      } else if (name == "attempt") {
        if (!out.attempt) out.attempt = small_number(value);
      }
    }
  }
  return out;
}

void strip_wrapper(std::vector<MemberRow>& members) {
  static const std::set<std::string> kContent{"logs", "log", "host", "hosts", "nodes", "node", "var", "etc", "proc", "sys", "sos_commands", "metrics", "stacks", "attempts", "ranks", "namespaces", "flight_recorder",
                                               "fr", "traces", "dumps", "pyspy", "py-spy", "gdb", "pstack", "eu-stack", "faulthandler", "ras", "nccl", "kernel", "dmesg", "slurm", "cache"};
  std::string root;
  bool first = true;
  for (const MemberRow& m : members) {
    if (!m.in_archive) return;
    const std::size_t slash = m.path.find('/');
    if (slash == std::string::npos) return;
    const std::string top = m.path.substr(0, slash);
    if (first) root = top;
    else if (top != root) return;
    first = false;
  }
  if (root.empty() || kContent.count(root) > 0 || path_table().not_hosts.count(root) > 0) return;
  // A lone folder that names a machine is content too: "gpu-a17/var/log/messages".
  bool host_like = false;
  for (const MemberRow& m : members) host_like = host_like || facts_of_path(m.path).host == root;
  if (host_like) return;
  for (MemberRow& m : members) {
    m.path = m.path.substr(root.size() + 1);
    if (m.container.rfind(root + "/", 0) == 0) m.container = m.container.substr(root.size() + 1);
  }
}

namespace {

// Scrapes of an exporter: what they say of themselves is of the machine it ran on.
bool of_one_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{"kernel", "nvidia-smi", "dcgm", "rdma", "bmc", "fabric-manager"};
  return m.kind == "file" && (kKinds.count(m.text_kind) > 0 || m.format == "prometheus-text");
}

// "20261115T203120Z", "job-4821930"
bool long_number(std::string_view text) {
  std::size_t run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run >= 6) return true;
  }
  return false;
}

}  // namespace

// Collectors put the same file of every machine beside each other: "l04g/dcgmi.txt" and "l05g/dcgmi.txt", "snow8.smi.txt"
// and "snow9.smi.txt". The part of the path in which such siblings differ is the machine's name.
void hosts_from_siblings(std::vector<MemberRow>& members) {
  struct Part { std::size_t begin, length; };
  const auto parts_of = [](const std::string& path) {
    std::vector<Part> parts;
    std::size_t at = 0;
    while (at <= path.size()) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      if (end < path.size()) parts.push_back({at, end - at});  // a folder's whole name
      else for (std::size_t begin = at; begin < end;) {         // words of the file's name
        std::size_t stop = begin;
        while (stop < end && (isalnum(static_cast<unsigned char>(path[stop])) || path[stop] == '-' || static_cast<unsigned char>(path[stop]) >= 0x80)) ++stop;
        if (stop > begin) parts.push_back({begin, stop - begin});
        begin = stop + 1;
      }
      at = end + 1;
    }
    return parts;
  };
  std::map<std::string, std::set<std::string>> values;
  const auto frame = [](const std::string& path, const Part& p) { return path.substr(0, p.begin) + "*" + path.substr(p.begin + p.length); };
  for (const MemberRow& m : members)
    if (of_one_machine(m))
      for (const Part& p : parts_of(m.path)) values[frame(m.path, p)].insert(m.path.substr(p.begin, p.length));
  for (MemberRow& m : members) {
    if (!of_one_machine(m) || m.host) continue;
    for (const Part& p : parts_of(m.path)) {
      const std::string value = m.path.substr(p.begin, p.length);
      const auto& siblings = values[frame(m.path, p)];
      const bool numbered = value.find_first_of("0123456789") != std::string::npos;
      const bool bare_number = value.find_first_not_of("0123456789") == std::string::npos;
      if (siblings.size() < 2 || !numbered || bare_number || long_number(value) || path_table().not_hosts.count(value) > 0 || re2::RE2::FullMatch(value, *path_table().not_hosts_like)) continue;
      m.host = value;
      m.attribution = "path, beside its siblings";
      break;
    }
  }
}

}  // namespace culprit::analyze
