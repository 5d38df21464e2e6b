#include "analyze/facts/path_facts.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>

#include <re2/re2.h>

#include "analyze/facts/facts.hpp"
#include "line/header_layout.hpp"
#include "model/ascii.hpp"
#include "model/json.hpp"
#include "model/word_list.hpp"
#include "rules/lazy_pattern.hpp"
#include "rules/literals.hpp"
#include "rules/prepared.hpp"
#include "schema/embedded.hpp"

namespace culprit::analyze {

namespace {

// Each is compiled when a name is first held against it, which takes longer than all the rest of a
// small bundle's names. Names are UTF-8, but nearly all are ASCII: of these a pattern over bytes
// says the same, and is a fraction of the size.
class NamePattern {
 public:
  explicit NamePattern(const std::string& text)
      : of_ascii_(std::make_unique<rules::LazyPattern>(text)),
        of_utf8_(std::make_unique<rules::LazyPattern>(text, re2::RE2::Options::EncodingUTF8)) {}

  bool is(std::string_view name) const {
    return re2::RE2::FullMatch(piece(name), expression(name));
  }
  bool stands_in(std::string_view name) const {
    return re2::RE2::PartialMatch(piece(name), expression(name));
  }

 private:
  static re2::StringPiece piece(std::string_view name) { return {name.data(), name.size()}; }
  const re2::RE2& expression(std::string_view name) const {
    const bool ascii =
        std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    return (ascii ? of_ascii_ : of_utf8_)->expression();
  }

  std::unique_ptr<rules::LazyPattern> of_ascii_, of_utf8_;
};

struct PathPattern {
  std::unique_ptr<rules::LazyPattern> match;
  std::vector<std::string> words;  // folded: one of them stands in every match; none: not known
  bool sure = false;               // what stands there is a host, whatever it looks like
};

struct PathTable {
  std::vector<PathPattern> patterns;
  std::set<std::string> not_hosts;
  std::set<std::string> words_of_run_before, words_of_this_run;
  std::set<std::string> log_words;  // what people put beside a machine's name: "console-gx07.log"
  NamePattern not_hosts_like;       // names of other things that are counted
  NamePattern devices_like;         // machines and devices are both called so: "gpu-01", "train-04"
  NamePattern never_hosts_like;     // not even in a folder of hosts
  NamePattern one_per_machine_like;  // files of which a machine has one
  NamePattern tool_output_like;      // what a program prints that tells of a machine and ends
  NamePattern by_machine_tool_like;  // a folder or an ending is a tool that tells of one machine
  NamePattern storage_servers_like, job_output_like, other_programs_like, earlier_runs_like,
      pod_folders_like, named_after_run_like, records_like;
};

const PathTable& path_table() {
  static const PathTable kTable = [] {
    const auto document = parse_json(embedded_rule("tables/paths.json"));
    const auto named = [&](const char* key) {
      return NamePattern(document[key].get<std::string>());
    };
    PathTable table{.not_hosts_like = named("not_hosts_like"),
                    .devices_like = named("devices_like"),
                    .never_hosts_like = named("never_hosts_like"),
                    .one_per_machine_like = named("one_per_machine_like"),
                    .tool_output_like = named("tool_output_like"),
                    .by_machine_tool_like = named("by_machine_tool_like"),
                    .storage_servers_like = named("storage_servers_like"),
                    .job_output_like = named("job_output_like"),
                    .other_programs_like = named("other_programs_like"),
                    .earlier_runs_like = named("earlier_runs_like"),
                    .pod_folders_like = named("pod_folders_like"),
                    .named_after_run_like = named("named_after_run_like"),
                    .records_like = named("records_like")};
    for (const auto& one : document["patterns"]) {
      const std::string text = one["match"].get<std::string>();
      table.patterns.push_back({std::make_unique<rules::LazyPattern>(text),
                                rules::prepared_words(text).value_or(std::vector<std::string>{}),
                                one.value("sure", false)});
    }
    for (const auto& one : document["not_hosts"]) table.not_hosts.insert(one.get<std::string>());
    table.words_of_run_before = document["words_of_run_before"].get<std::set<std::string>>();
    table.words_of_this_run = document["words_of_this_run"].get<std::set<std::string>>();
    for (const auto& one : document["log_words"]) table.log_words.insert(one.get<std::string>());
    return table;
  }();
  return kTable;
}

std::optional<std::int64_t> small_number(const std::string& text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

bool listed(const std::string& name) {
  return path_table().not_hosts.count(culprit::lower(name)) > 0;
}

bool log_word(std::string_view part) {
  return path_table().log_words.count(rules::fold(std::string(part))) > 0;
}

// "gx-07-train": the machine's name alone.
std::string without_words_behind(std::string name) {
  for (std::size_t dash; (dash = name.rfind('-')) != std::string::npos && dash > 0 &&
                         log_word(std::string_view(name).substr(dash + 1));)
    name.resize(dash);
  return name;
}

// "console-gx07" the same. What is left of "slurm-51870" is none.
std::string without_log_words(const std::string& whole) {
  std::string name = without_words_behind(whole);
  for (std::size_t dash; (dash = name.find('-')) != std::string::npos && dash + 1 < name.size() &&
                         log_word(std::string_view(name).substr(0, dash));)
    name.erase(0, dash + 1);
  return isalpha(static_cast<unsigned char>(name[0])) ? name : whole;
}

// "pretrain-20931.log": what a scheduler numbers in the ten thousands are jobs.
bool numbered_like_job(const std::string& name) {
  static const re2::RE2 kJob(R"([-_.]\d{5,}$)");
  return re2::RE2::PartialMatch(name, kJob);
}

// A name that counts something else than machines.
bool other_series(const std::string& name) {
  return listed(name) || path_table().not_hosts_like.is(name);
}

// The first match that counts within the job: "node_rank4/rank33.txt" is rank 33's.
bool first_match(const re2::RE2& pattern, const std::string& path,
                 std::vector<re2::StringPiece>& groups) {
  const auto& names = pattern.NamedCapturingGroups();
  const auto of = names.find("of");
  groups.assign(static_cast<std::size_t>(pattern.NumberOfCapturingGroups()) + 1, {});
  for (std::size_t at = 0; pattern.Match(path, at, path.size(), re2::RE2::UNANCHORED, groups.data(),
                                         static_cast<int>(groups.size()));) {
    if (of == names.end() || groups[static_cast<std::size_t>(of->second)].empty()) return true;
    const auto& number = groups[static_cast<std::size_t>(names.at("rank"))];
    at = static_cast<std::size_t>(number.data() + number.size() - path.data());
  }
  return false;
}

}  // namespace

PathFacts facts_of_path(const std::string& path) {
  PathFacts out;
  std::vector<re2::StringPiece> groups;
  const std::string folded = rules::fold(path);
  const rules::Bigrams pairs(folded);
  for (const auto& [pattern, words, sure] : path_table().patterns) {
    const bool possible = words.empty() || std::ranges::any_of(words, [&](const std::string& word) {
                            return pairs.may_hold(word) && folded.find(word) != std::string::npos;
                          });
    if (!possible || !first_match(pattern->expression(), path, groups)) continue;
    for (const auto& [index, name] : pattern->expression().CapturingGroupNames()) {
      const auto& group = groups[static_cast<std::size_t>(index)];
      std::string value(group.data(), group.size());
      if (value.empty()) continue;
      if (name == "host") {
        value = without_words_behind(std::move(value));
        const bool taken = listed(value) || (!sure && numbered_like_job(value)) ||
                           path_table().never_hosts_like.is(value) ||
                           (!sure && (path_table().not_hosts_like.is(value) ||
                                      path_table().devices_like.is(value)));
        if (!out.host && !taken) out.host = Host(value);
      } else if (name == "rank") {
        if (!out.rank) out.rank = maybe<Rank>(small_number(value));
      } else if (name == "local_rank") {
        if (!out.local_rank) out.local_rank = maybe<LocalRank>(small_number(value));
      } else if (name == "attempt") {
        if (!out.attempt) out.attempt = small_number(value);
      }
    }
  }
  return out;
}

void strip_wrapper(std::vector<MemberRow>& members) {
  static constexpr std::string_view kContent =
      "logs log host hosts nodes node var etc proc sys sos_commands metrics stacks attempts "
      "ranks namespaces flight_recorder fr traces dumps pyspy py-spy gdb pstack eu-stack "
      "faulthandler ras nccl kernel dmesg slurm cache";
  std::string root;
  bool first = true;
  for (const MemberRow& m : members) {
    if (!m.in_archive) return;
    const std::size_t slash = m.path.find('/');
    if (slash == std::string::npos) return;
    const std::string top = m.path.substr(0, slash);
    if (first)
      root = top;
    else if (top != root)
      return;
    first = false;
  }
  if (root.empty() || has_word(kContent, root) || path_table().not_hosts.count(root) > 0) return;
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

// What a machine has one of.
bool of_one_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{"kernel", "rdma", "bmc", "fabric-manager"},
      kFormats{"rdma-statistic", "rdma-statistic-json", "ethtool-statistics"};
  return m.kind == "file" && (kKinds.count(m.text_kind) > 0 || kFormats.count(m.format) > 0);
}

bool named_as_one_of_machine(const MemberRow& m) {
  return m.kind == "file" && one_per_machine(m.path);
}

bool by_machine_tool(const MemberRow& m) {
  return m.kind == "file" && path_table().by_machine_tool_like.stands_in(m.path);
}

// Output of tools about a machine's GPUs, scrapes of an exporter: of a machine, or of one of its
// GPUs.
bool of_machine_or_device(const MemberRow& m) {
  static const std::set<std::string> kKinds{"nvidia-smi", "dcgm"};
  return m.kind == "file" && (kKinds.count(m.text_kind) > 0 || m.format == "prometheus-text" ||
                              m.format == "nvidia-smi-csv" || m.format == "host-words");
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

bool numbered(const std::string& name) {
  return name.find_first_of("0123456789") != std::string::npos;
}
bool bare_number(const std::string& name) {
  return name.find_first_not_of("0123456789") == std::string::npos;
}

struct Part {
  std::size_t begin, length;
};

// The folders of a path, and the words of the file's name.
std::vector<Part> parts_of(const std::string& path) {
  std::vector<Part> parts;
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end < path.size())
      parts.push_back({at, end - at});  // a folder's whole name
    else
      for (std::size_t begin = at; begin < end;) {  // words of the file's name
        std::size_t stop = begin;
        while (stop < end && (isalnum(static_cast<unsigned char>(path[stop])) ||
                              path[stop] == '-' || static_cast<unsigned char>(path[stop]) >= 0x80))
          ++stop;
        if (stop > begin) parts.push_back({begin, stop - begin});
        begin = stop + 1;
      }
    at = end + 1;
  }
  return parts;
}

// Collectors put the same file of every machine beside each other: "l04g/dcgmi.txt" and
// "l05g/dcgmi.txt", "snow8.smi.txt" and "snow9.smi.txt". The part of the path in which such
// siblings differ is the machine's name.
void hosts_from_same_files(std::vector<MemberRow>& members) {
  std::map<std::string, std::set<std::string>> values;
  const auto frame = [](const std::string& path, const Part& p) {
    return path.substr(0, p.begin) + "*" + path.substr(p.begin + p.length);
  };
  // The parts that may be the name: all, those that are folders, or none.
  const auto parts_to_see = [](const MemberRow& m) {
    std::vector<Part> parts;
    const bool all = of_one_machine(m) || of_machine_or_device(m) || by_machine_tool(m);
    if (!all && !named_as_one_of_machine(m)) return parts;
    parts = parts_of(m.path);
    if (!all)
      std::erase_if(parts, [&](const Part& p) {
        return p.begin + p.length >= m.path.size() || m.path[p.begin + p.length] != '/';
      });
    return parts;
  };
  std::vector<std::vector<Part>> parts;
  for (const MemberRow& m : members)
    for (const Part& p : parts.emplace_back(parts_to_see(m)))
      values[frame(m.path, p)].insert(m.path.substr(p.begin, p.length));
  for (std::size_t i = 0; i < members.size(); ++i) {
    MemberRow& m = members[i];
    if (m.host) continue;
    for (const Part& p : parts[i]) {
      const std::string value = m.path.substr(p.begin, p.length);
      if (values[frame(m.path, p)].size() < 2 || !numbered(value) || bare_number(value) ||
          long_number(value) || other_series(value))
        continue;
      if (of_machine_or_device(m) && path_table().devices_like.is(value)) continue;
      m.host = Host(value);
      m.attribution = "path, beside its siblings";
      break;
    }
  }
}

// The same of machines that are called by words: "dmesg_curie.txt", where another file is known to
// be of curie. Of a word that nothing knows it may say what the file holds.
void hosts_from_worded_files(std::vector<MemberRow>& members) {
  std::set<std::string> known;
  for (const MemberRow& m : members)
    if (m.host) known.insert(short_host(*m.host));
  for (MemberRow& m : members) {
    if (m.host || !of_one_machine(m)) continue;
    for (const Part& p : parts_of(m.path)) {
      const std::string word = m.path.substr(p.begin, p.length);
      // The tool stands in the file's own name: what a folder of its own holds may be moments.
      if (p.begin <= m.path.rfind('/') + 1 || !known.contains(word) || numbered(word)) continue;
      m.host = Host(word);
      m.attribution = "path, beside its siblings";
    }
  }
}

// Machines that are called by words: three folders or more beside each other, none with a number,
// that hold the same files of which a machine has one each, at least two. Moments of one machine
// ("before" and "after") come in pairs, or bear a date.
void hosts_from_worded_folders(std::vector<MemberRow>& members) {
  constexpr std::size_t kLeastFolders = 3, kLeastFiles = 2;
  std::map<std::string, std::set<std::string>> files;  // folder -> its files that tell of a machine
  for (const MemberRow& m : members)
    if ((of_one_machine(m) || of_machine_or_device(m)) && m.path.find('/') != std::string::npos)
      files[folder_of(m.path)].insert(m.path.substr(m.path.rfind('/') + 1));
  // the folder around them and what they hold -> their paths
  std::map<std::pair<std::string, std::set<std::string>>, std::set<std::string>> alike;
  for (const auto& [folder, held] : files) {
    const std::string name = folder.substr(folder.rfind('/') + 1);
    if (held.size() >= kLeastFiles && !numbered(name) && !other_series(name))
      alike[{folder_of(folder), held}].insert(folder);
  }
  // A kernel's log is of one machine, and so is what lies beside it in each of such folders.
  std::map<std::string, std::set<std::string>> all;
  for (const MemberRow& m : members)
    if (m.kind == "file" && m.path.find('/') != std::string::npos)
      all[folder_of(m.path)].insert(m.path.substr(m.path.rfind('/') + 1));
  std::map<std::pair<std::string, std::string>, std::size_t>
      having;  // around them, file -> folders
  for (const auto& [folder, held] : all)
    for (const std::string& file : held) ++having[{folder_of(folder), file}];
  for (const MemberRow& m : members) {
    if (m.text_kind != "kernel" && !named_as_one_of_machine(m)) continue;
    const std::string folder = folder_of(m.path), file = m.path.substr(m.path.rfind('/') + 1);
    const std::string name = folder.substr(folder.rfind('/') + 1), around = folder_of(folder);
    if (folder.empty() || numbered(name) || other_series(name) ||
        having[{around, file}] < kLeastFolders)
      continue;
    for (const std::string& other : all[folder])
      if (other != file && having[{around, other}] >= kLeastFolders)
        alike[{around, {file, other}}].insert(folder);
  }
  std::set<std::string> machines;  // their folders
  for (const auto& [key, folders] : alike)
    if (folders.size() >= kLeastFolders) machines.insert(folders.begin(), folders.end());
  for (MemberRow& m : members) {
    if (m.kind != "file" || m.host) continue;
    const std::string folder = folder_of(m.path);
    if (machines.count(folder) == 0) continue;
    m.host = Host(folder.substr(folder.rfind('/') + 1));
    m.attribution = "path, beside its siblings";
  }
}

// "cl-a", "cl-b"; "cx07", "cx08": one stem, and behind it a letter or two, or a number. Moments
// ("pre", "post", days of the week) are words of their own.
bool counted(const std::set<std::string>& names) {
  const auto stem_of = [](const std::string& name) {
    std::size_t end = name.size();
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
    if (end == name.size() && end > 2 && name.rfind('-') + 3 >= end) end = name.rfind('-') + 1;
    return end == name.size() ? std::string() : name.substr(0, end);
  };
  const std::string stem = stem_of(*names.begin());
  return !stem.empty() &&
         std::ranges::all_of(names, [&](const std::string& name) { return stem_of(name) == stem; });
}

// "dmesg/cl-a" and "pyspy/cl-a.txt": a folder a tool, a file a machine. Names that three kernel
// logs or more of one folder bear and the files of another folder bear, too, are machines.
void hosts_from_folders_of_tools(std::vector<MemberRow>& members) {
  constexpr std::size_t kLeastMachines = 3;
  const auto stem = [](const std::string& path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return file.substr(0, file.find('.'));
  };
  std::map<std::string, std::set<std::string>> logs;  // folder of kernel logs -> their stems
  for (const MemberRow& m : members) {
    if (!of_one_machine(m) || m.path.find('/') == std::string::npos) continue;
    const std::string name = stem(m.path);
    if (name.size() >= 2 && !bare_number(name) && !long_number(name) && !other_series(name))
      logs[folder_of(m.path)].insert(name);
  }
  std::map<std::string, std::set<std::string>> folders_of;  // such a stem -> folders it occurs in
  for (const auto& [folder, names] : logs)
    if (names.size() >= kLeastMachines && counted(names))
      for (const std::string& name : names) folders_of[name];
  if (folders_of.empty()) return;
  for (const MemberRow& m : members)
    if (m.kind == "file" && m.path.find('/') != std::string::npos)
      if (const auto it = folders_of.find(stem(m.path)); it != folders_of.end())
        it->second.insert(folder_of(m.path));
  std::set<std::string> hosts;
  for (const auto& [name, folders] : folders_of)
    if (folders.size() >= 2) hosts.insert(name);
  if (hosts.size() < kLeastMachines) return;
  for (MemberRow& m : members) {
    if (m.kind != "file" || m.host || hosts.count(stem(m.path)) == 0) continue;
    m.host = Host(stem(m.path));
    m.attribution = "path, a folder a tool";
  }
}

// "cx-07", "gpu-01", "r12u08", "train04": a word of two letters or more with a number that is
// padded or stands apart.
bool shaped_like_machine(const std::string& name) {
  static const re2::RE2 kShape(
      R"((?i)^(?:[a-z][a-z0-9-]*[a-z](?:-\d{1,4}|_\d{1,4}|0\d{1,3}|\d{3,4})[a-z]?|ip(?:-\d{1,3}){4})$)");
  return re2::RE2::FullMatch(name, kShape) && !long_number(name) && !other_series(name);
}

// "runs/rl-0811/": what stands in such a folder is numbered, and is no machine.
bool in_folder_of_runs(const std::string& path, std::size_t begin) {
  static const re2::RE2 kRuns(
      R"((?i)(?:^|/)(?:runs?|jobs?|experiments?|exps?|trials?|attempts?|outputs?|results|checkpoints?|ckpts?|history)/$)");
  return re2::RE2::PartialMatch(re2::StringPiece(path.data(), begin), kRuns);
}

// Folders beside each other that number themselves like machines are machines, whatever stands in
// them. Not where two of them hold the same rank: then they are looks at one job.
void hosts_from_folder_series(std::vector<MemberRow>& members) {
  struct Series {
    std::set<std::string> names;
    std::map<Rank, std::string> folder_of_rank;
    bool ranks_recur = false;
  };
  const auto series_name = [](const std::string& path, std::size_t begin, std::size_t end) {
    std::string out = path.substr(0, begin);
    for (std::size_t i = begin; i < end; ++i)
      if (path[i] < '0' || path[i] > '9')
        out += path[i];
      else if (out.size() == begin || out.back() != '#')
        out += '#';
    return out;
  };
  std::unordered_map<std::string, bool> shaped;  // most files share their folders
  const auto each_folder = [&](const std::string& path, const auto& see) {
    for (std::size_t at = 0, end; (end = path.find('/', at)) != std::string::npos; at = end + 1) {
      const std::string name = path.substr(at, end - at);
      const auto [it, fresh] = shaped.try_emplace(name, false);
      if (fresh) it->second = shaped_like_machine(name);
      if (it->second && !in_folder_of_runs(path, at) && !see(at, end, name)) return;
    }
  };
  std::map<std::string, Series> all;
  for (const MemberRow& m : members) {
    if (m.kind != "file") continue;
    each_folder(m.path, [&](std::size_t begin, std::size_t end, const std::string& name) {
      Series& one = all[series_name(m.path, begin, end)];
      one.names.insert(name);
      if (m.rank) {
        const auto [it, fresh] = one.folder_of_rank.emplace(*m.rank, name);
        one.ranks_recur = one.ranks_recur || (!fresh && it->second != name);
      }
      return true;
    });
  }
  for (MemberRow& m : members) {
    if (m.kind != "file" || m.host) continue;
    each_folder(m.path, [&](std::size_t begin, std::size_t end, const std::string& name) {
      const Series& one = all[series_name(m.path, begin, end)];
      if (one.names.size() < 2 || one.ranks_recur) return true;
      m.host = Host(name);
      m.attribution = "path, a folder of a series";
      return false;
    });
  }
}

// Files beside each other whose names differ in the number of one word that is shaped like a
// machine's name: "nos/gx07.txt", "console.gx-08.log".
void hosts_from_file_series(std::vector<MemberRow>& members) {
  constexpr std::size_t kLeastFiles = 3;
  static const re2::RE2 kText(R"((?i)(?:^|/)[^/.]*(?:\.[^/]*)?\.(?:txt|log|out|err)$)");
  static const re2::RE2 kShape(R"((?i)[a-z]{2}[a-z0-9-]*\d|[a-z]\d[a-z0-9-]+\d)");
  struct Place {
    std::string series, name;
  };
  const auto place_in = [](const MemberRow& m, const Part& p) -> std::optional<Place> {
    const std::string whole = m.path.substr(p.begin, p.length);
    const std::string name = without_log_words(whole);
    if (p.begin < m.path.rfind('/') + 1) return std::nullopt;  // a folder
    if (!re2::RE2::FullMatch(name, kShape) || long_number(name) || other_series(name) ||
        !line::may_name_machine(name) || path_table().devices_like.is(name) ||
        in_folder_of_runs(m.path, p.begin))
      return std::nullopt;
    std::string series = m.path;
    series.replace(p.begin + whole.find(name), name.size(), name_without_numbers(name));
    return Place{std::move(series), name};
  };
  std::map<std::string, std::set<std::string>> names;
  const auto each = [&](MemberRow& m, const auto& see) {
    if (m.kind != "file" || m.host || m.rank || !re2::RE2::PartialMatch(m.path, kText)) return;
    for (const Part& p : parts_of(m.path))
      if (const auto place = place_in(m, p); place && see(*place)) return;
  };
  for (MemberRow& m : members)
    each(m, [&](const Place& place) {
      names[place.series].insert(place.name);
      return false;
    });
  for (MemberRow& m : members)
    each(m, [&](const Place& place) {
      if (names[place.series].size() < kLeastFiles) return false;
      m.host = Host(place.name);
      m.attribution = "path, a file of a series";
      return true;
    });
}

}  // namespace

void hosts_from_siblings(std::vector<MemberRow>& members) {
  hosts_from_same_files(members);
  hosts_from_worded_files(members);
  hosts_from_folder_series(members);
  hosts_from_worded_folders(members);
  hosts_from_folders_of_tools(members);
  hosts_from_file_series(members);
}

std::string name_without_numbers(std::string_view name) {
  std::string out;
  for (const std::string_view packed : {".gz", ".zst", ".xz", ".bz2"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  for (const char c : name)
    if (c < '0' || c > '9')
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  return out;
}

FileOfRun file_of_run(std::string_view path) {
  FileOfRun out;
  std::string word, last;
  const auto end_word = [&](char separator) {
    // "run_a" and "run_b", "run-0311a" and "run-0411b": as by a number.
    if (last == "run" && !word.empty() && word.back() >= 'a' && word.back() <= 'd' &&
        (word.size() == 1 || (word.size() == 2 && word.front() == '#')))
      word = "#";
    // "last_week" is "lastweek".
    const bool joined = path_table().words_of_run_before.count(last + word) > 0;
    last = word;
    const bool before = joined || path_table().words_of_run_before.count(word) > 0;
    if (before || path_table().words_of_this_run.count(word) > 0)
      out.age = before ? -1 : 1;
    else
      out.series += word + (separator == '/' ? separator : '_');
    word.clear();
  };
  for (const char c : name_without_numbers(path)) {
    if (c == '/' || c == '.' || c == '_' || c == '-')
      end_word(c);
    else
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  end_word('_');
  return out;
}

bool system_log(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (const std::string_view folder : {"journal", "messages", "syslog", "dmesg", "kern"})
    if (slash != std::string_view::npos && path.substr(0, slash).ends_with(folder) &&
        (slash == folder.size() || path[slash - folder.size() - 1] == '/'))
      return true;
  for (const std::string_view word : {"messages", "syslog", "journal", "kern.log", "dmesg", "kmsg"})
    if (file.find(word) != std::string_view::npos) return true;
  return false;
}

bool one_per_machine(std::string_view path) {
  return path_table().one_per_machine_like.stands_in(path);
}

bool tool_output(std::string_view path) { return path_table().tool_output_like.stands_in(path); }

bool named_as_output(std::string_view path) { return path_table().job_output_like.stands_in(path); }

bool named_as_storage(std::string_view host) {
  return path_table().storage_servers_like.stands_in(host);
}

bool named_as_record(std::string_view path) { return path_table().records_like.stands_in(path); }

bool of_other_program(std::string_view path) {
  return path_table().other_programs_like.stands_in(path);
}

bool in_folder_of_pods(std::string_view path) {
  return path_table().pod_folders_like.stands_in(path);
}

bool of_earlier_run(std::string_view path) {
  return path_table().earlier_runs_like.stands_in(path);
}

bool named_after_run(std::string_view path) {
  return path_table().named_after_run_like.stands_in(path);
}

}  // namespace culprit::analyze
