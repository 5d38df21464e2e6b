#include "analyze/path_facts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <re2/re2.h>

#include "model/json.hpp"
#include "schema/embedded.hpp"

namespace culprit::analyze {

namespace {

struct PathPattern {
  std::unique_ptr<re2::RE2> expression;
};

struct PathTable {
  std::vector<PathPattern> patterns;
  std::set<std::string> not_hosts;
  std::unique_ptr<re2::RE2> not_hosts_like, not_machines_of_ranks_like;
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
        table.patterns.push_back({std::make_unique<re2::RE2>(one["match"].get<std::string>(), options)});
      }
      table.not_hosts_like = std::make_unique<re2::RE2>(document["not_hosts_like"].get<std::string>());
      table.not_machines_of_ranks_like = std::make_unique<re2::RE2>(document["not_machines_of_ranks_like"].get<std::string>());
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
  for (const PathPattern& pattern : path_table().patterns) {
    const auto& names = pattern.expression->CapturingGroupNames();
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.expression->NumberOfCapturingGroups()) + 1);
    if (!pattern.expression->Match(path, 0, path.size(), re2::RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) continue;
    for (const auto& [index, name] : names) {
      const std::string value = groups[static_cast<std::size_t>(index)].as_string();
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

bool of_one_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{"kernel", "nvidia-smi", "dcgm", "rdma", "bmc", "fabric-manager"};
  return m.kind == "file" && kKinds.count(m.text_kind) > 0;
}

// Collectors put the same file of every machine beside each other: "l04g/dcgmi.txt" and "l05g/dcgmi.txt", "snow8.smi.txt"
// and "snow9.smi.txt". The part of the path in which such siblings differ is the machine's name.
void machines_files(std::vector<MemberRow>& members) {
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
      if (siblings.size() < 2 || !numbered || bare_number || path_table().not_hosts.count(value) > 0 || re2::RE2::FullMatch(value, *path_table().not_hosts_like)) continue;
      m.host = value;
      m.attribution = "path, beside its siblings";
      break;
    }
  }
}

// A part of a path that could be a machine's name: "gpu-0178" in "stacks/gpu-0178/rank9.txt" or "gpu-0178_rank9.txt".
struct NamePart {
  std::string frame;    // the path before it, which siblings share
  std::string cousins;  // the same with any folder in place of the last: "rack4/x3" beside "rack3/x1"; "" = none
  std::string name;
};

constexpr std::string_view kSeparators = "-_.";

// The end of the last word that all names begin with. A number alone is no name: "gpu-0178" and "gpu-0192" share "gpu-",
// and are called by it.
std::size_t common_beginning(const std::vector<std::string_view>& names) {
  std::size_t common = names.front().size();
  for (const std::string_view name : names) {
    std::size_t same = 0;
    while (same < std::min(common, name.size()) && name[same] == names.front()[same]) ++same;
    common = same;
  }
  const auto back_to_word = [&](std::size_t at) {
    while (at > 0 && kSeparators.find(names.front()[at - 1]) == std::string_view::npos) --at;
    return at;
  };
  common = back_to_word(common);
  const bool numbers = std::all_of(names.begin(), names.end(), [&](std::string_view n) { return n.find_first_not_of("0123456789-_.", common) == std::string_view::npos; });
  return numbers && common > 0 ? back_to_word(common - 1) : common;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && kSeparators.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kSeparators.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// Folders, and what stands before the rank in files' names: "py-spy-gpu-0178-local0.txt". The innermost first.
std::map<MemberId, std::vector<NamePart>> name_parts(const std::vector<const MemberRow*>& members) {
  static const re2::RE2 kMark(R"((?i)^(.*?)(?:global[_-]?|local[_-]?)?(?:rank|local)[_-]?\d+(?:[^0-9]|$))");
  std::map<std::string, std::vector<std::pair<MemberId, std::string>>> heads;   // by folder
  std::map<MemberId, std::vector<NamePart>> out;
  for (const MemberRow* m : members) {
    const std::size_t slash = m->path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : m->path.substr(0, slash + 1);
    std::string head;
    if (re2::RE2::PartialMatch(m->path.substr(folder.size()), kMark, &head)) heads[folder].emplace_back(m->id, head);
  }
  for (const auto& [folder, files] : heads) {
    std::vector<std::string_view> names;
    for (const auto& [id, head] : files) names.push_back(head);
    const std::size_t from = common_beginning(names);
    for (const auto& [id, head] : files)
      if (const std::string_view name = trimmed(std::string_view(head).substr(from)); !name.empty()) out[id].push_back({folder + head.substr(0, from), "", std::string(name)});
  }
  for (const MemberRow* m : members)
    for (std::size_t end = m->path.rfind('/'); end != std::string::npos && end > 0;) {
      const std::size_t before = m->path.rfind('/', end - 1);
      const std::size_t begin = before == std::string::npos ? 0 : before + 1;
      const std::size_t outer = begin < 2 ? std::string::npos : m->path.rfind('/', begin - 2);
      out[m->id].push_back({m->path.substr(0, begin), begin == 0 ? "" : (outer == std::string::npos ? "" : m->path.substr(0, outer + 1)) + "*/", m->path.substr(begin, end - begin)});
      end = before;
    }
  return out;
}

// Whoever launches a job gives a machine's processes ranks in a row, and the same local ranks on every machine. Names that
// part the files of ranks like that are machines' names, whatever they look like.
void ranks_files(std::vector<MemberRow>& members) {
  std::vector<const MemberRow*> nameless;
  for (const MemberRow& m : members)
    if (m.kind == "file" && !m.host && !m.attempt && (m.rank || m.local_rank)) nameless.push_back(&m);   // attempt: torchrun's folders have names of chance
  const auto parts = name_parts(nameless);
  struct Ranks { std::set<std::int64_t> global, local; bool twice = false; };
  std::map<std::string, std::map<std::string, Ranks>> frames;
  for (const MemberRow* m : nameless) {
    const auto at = parts.find(m->id);
    if (at == parts.end()) continue;
    for (const NamePart& part : at->second)
      for (const std::string* frame : {&part.frame, &part.cousins}) {
        if (frame == &part.cousins && frame->empty()) continue;
        Ranks& ranks = frames[*frame][part.name];
        if (m->rank) ranks.global.insert(*m->rank);
        else if (!ranks.local.insert(*m->local_rank).second) ranks.twice = true;
      }
  }
  const auto machines = [](const std::map<std::string, Ranks>& names) {
    if (names.size() < 2) return false;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    std::set<std::int64_t> local;
    std::size_t most = 0, of_local = 0;
    for (const auto& [name, ranks] : names) {
      const bool number = name.find_first_not_of("0123456789-_.") == std::string::npos;
      // "gpu-0178" with the files of eight ranks in it is no GPU.
      const bool part_of_job = path_table().not_hosts.count(name) > 0 || re2::RE2::FullMatch(name, *path_table().not_machines_of_ranks_like) || (re2::RE2::FullMatch(name, *path_table().not_hosts_like) && name.rfind("gpu", 0) != 0);
      if (number || part_of_job || ranks.twice || name.find_first_of("0123456789") == std::string::npos) return false;
      most = std::max({most, ranks.global.size(), ranks.local.size()});
      if (!ranks.global.empty()) spans.emplace_back(*ranks.global.begin(), *ranks.global.rbegin());
      local.insert(ranks.local.begin(), ranks.local.end());
      of_local += ranks.local.size();
    }
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first <= spans[i - 1].second) return false;
    return most >= 2 && (spans.size() == names.size() || (spans.empty() && local.size() < of_local));
  };
  std::set<std::string> trusted;
  for (const auto& [frame, names] : frames)
    if (machines(names)) trusted.insert(frame);
  for (MemberRow& m : members) {
    const auto at = parts.find(m.id);
    if (at == parts.end()) continue;
    for (const NamePart& part : at->second)
      if (trusted.count(part.frame) > 0 || trusted.count(part.cousins) > 0) {
        m.host = part.name;
        m.attribution = "path, beside its siblings";
        break;
      }
  }
}

}  // namespace

void hosts_from_siblings(std::vector<MemberRow>& members) {
  machines_files(members);
  ranks_files(members);
}

}  // namespace culprit::analyze
