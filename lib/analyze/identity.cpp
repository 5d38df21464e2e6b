#include "analyze/identity.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "schema/embedded.hpp"

namespace culprit::analyze {

namespace {

bool is_address(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) return false;
  return std::count(text.begin(), text.end(), '.') == 3 ? text.find_first_not_of("0123456789.") == std::string::npos : text.find(':') != std::string::npos;
}

struct PathPattern {
  std::unique_ptr<re2::RE2> expression;
};

struct PathTable {
  std::vector<PathPattern> patterns;
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
        table.patterns.push_back({std::make_unique<re2::RE2>(one["match"].get<std::string>(), options)});
      }
      table.not_hosts_like = std::make_unique<re2::RE2>(document["not_hosts_like"].get<std::string>());
      for (const auto& one : document["not_hosts"]) table.not_hosts.insert(one.get<std::string>());
    }
    return table;
  }();
  return kTable;
}

struct PathFacts {
  std::optional<std::string> host;
  std::optional<std::int64_t> rank, local_rank, attempt;
};

std::optional<std::int64_t> small_number(const std::string& text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

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

// An archive often wraps everything in one folder of its own; a folder given as such does not show it.
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

bool of_one_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{"kernel", "nvidia-smi", "dcgm", "rdma", "bmc", "fabric-manager"};
  return m.kind == "file" && kKinds.count(m.text_kind) > 0;
}

// Collectors put the same file of every machine beside each other: "l04g/dcgmi.txt" and "l05g/dcgmi.txt", "snow8.smi.txt"
// and "snow9.smi.txt". The part of the path in which such siblings differ is the machine's name.
void guess_hosts_from_siblings(std::vector<MemberRow>& members) {
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

class Names {
 public:
  // Two names of one machine (short and full) become one: the shorter, unless two machines share it.
  std::string canonical(const std::string& name) const {
    if (is_address(name)) {
      const auto it = address_.find(name);
      return it == address_.end() ? name : it->second;
    }
    const std::string small = short_host(name);
    const auto it = domains_.find(small);
    if (it != domains_.end() && it->second.size() > 1) return name;
    return small;
  }
  void learn(const std::string& name) {
    if (nameless_host(name) || is_address(name)) return;
    const std::string small = short_host(name);
    if (small.find_first_not_of("0123456789") == std::string::npos) return;  // part of an address, a number: no name
    auto& domains = domains_[small];
    if (name.size() > small.size()) domains.insert(name.substr(small.size()));
  }
  void learn_address(const std::string& address, const std::string& host) {
    if (!address.empty() && !nameless_host(address)) address_.emplace(address, host);
  }
  bool known(const std::string& name) const { return domains_.count(short_host(name)) > 0; }
  const std::map<std::string, std::string>& addresses() const { return address_; }

 private:
  std::map<std::string, std::set<std::string>> domains_;   // short name -> domains seen
  std::map<std::string, std::string> address_;
};

template <class T>
void offer(std::optional<T>& slot, const std::optional<T>& value) {
  if (!slot && value) slot = value;
}

}  // namespace

const MemberRow* Facts::member(MemberId id) const {
  // Asked for every row: where no member was left out, it stands at its number.
  if (id >= 1 && static_cast<std::size_t>(id) <= members.size() && members[static_cast<std::size_t>(id) - 1].id == id) return &members[static_cast<std::size_t>(id) - 1];
  const auto it = std::lower_bound(members.begin(), members.end(), id, [](const MemberRow& m, MemberId value) { return m.id < value; });
  return it != members.end() && it->id == id ? &*it : nullptr;
}

std::optional<Nanoseconds> Facts::clock_offset(MemberId id, Clock clock) const {
  if (clock == Clock::utc) return 0;
  for (const MemberClock& c : member_clocks)
    if (c.member == id && c.clock == clock) return c.offset;
  return std::nullopt;
}

Evidence Facts::evidence(const Place& place, std::string excerpt) const {
  const MemberRow* m = member(place.member);
  return {place.member, m == nullptr ? "" : m->path, place.line, place.offset, place.length, std::move(excerpt)};
}

bool Facts::foreign(const MemberRow& m) const {
  if (!manifest || manifest->job.empty() || manifest->job.find_first_not_of("0123456789") != std::string::npos) return false;
  static const re2::RE2 kJob(R"((?:^|/)(?:slurm|job|lsf|pbs)[-_](\d+)[^/]*$)");
  std::string number;
  return re2::RE2::PartialMatch(m.path, kJob, &number) && number != manifest->job;
}

std::string short_host(const std::string& name) {
  if (name.find_first_not_of("0123456789.:") == std::string::npos || is_address(name)) return name;
  const std::size_t dot = name.find('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

bool nameless_host(const std::string& name) {
  static const std::set<std::string> kNone{"", "localhost", "localhost.localdomain", "(none)", "127.0.0.1", "::1", "0.0.0.0", "<NULL>", "None", "-", "unknown"};
  return kNone.count(name) > 0;
}

void resolve_identity(Facts& facts) {
  strip_wrapper(facts.members);
  std::vector<MemberRow*> paths;
  for (MemberRow& m : facts.members) paths.push_back(&m);
  std::sort(paths.begin(), paths.end(), [](const MemberRow* a, const MemberRow* b) { return std::tie(a->path, a->id) < std::tie(b->path, b->id); });
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i]->order = static_cast<std::int64_t>(i);
  Names names;
  const auto learn = [&](const std::optional<std::string>& host) { if (host) names.learn(*host); };
  if (facts.manifest) for (const auto& host : facts.manifest->hosts) names.learn(host);
  for (const auto& e : facts.events) learn(e.host);
  for (const auto& i : facts.identities) learn(i.host);
  for (const auto& c : facts.clocks) learn(c.host);
  for (const auto& x : facts.exits) learn(x.host);
  for (const auto& s : facts.series) if (s.host && !is_address(*s.host)) names.learn(*s.host);

  // Whose file: from the path, then against the names that the lines themselves give.
  struct Votes { std::map<std::string, int> hosts; std::map<std::int64_t, int> ranks; };
  std::map<MemberId, Votes> votes;
  const auto vote = [&](MemberId member, const std::optional<std::string>& host, const std::optional<std::int64_t>& rank) {
    if (host && !nameless_host(*host) && !is_address(*host)) ++votes[member].hosts[names.canonical(*host)];
    if (rank) ++votes[member].ranks[*rank];
  };
  for (const auto& e : facts.events) vote(e.place.member, e.host, e.rank);
  for (const auto& c : facts.clocks) vote(c.place.member, c.host, {});
  for (const auto& t : facts.tracebacks) vote(t.place.member, t.host, t.rank);
  for (const auto& i : facts.identities)
    if (i.source.rfind("nccl", 0) == 0) vote(i.place.member, i.host, {});

  std::set<std::string> manifest_hosts;
  if (facts.manifest) for (const auto& host : facts.manifest->hosts) manifest_hosts.insert(names.canonical(host));
  // By path, and again for those without a host: a folder is known to be a machine's once another path has told so, and
  // which file was read first must not decide it.
  for (std::size_t turn = 0; turn < 2 * paths.size(); ++turn) {
    MemberRow& m = *paths[turn % paths.size()];
    if (m.kind != "file" || (turn >= paths.size() && m.host)) continue;
    PathFacts path = facts_of_path(m.path);
    // A component of the path that is a known host beats every pattern.
    std::size_t at = 0;
    for (std::size_t end = 0; at <= m.path.size(); at = end + 1) {
      end = std::min(m.path.find_first_of("/#", at), m.path.size());
      const std::string part = m.path.substr(at, end - at);
      if (part.empty()) continue;
      if (names.known(part) && !nameless_host(part)) { path.host = short_host(part); continue; }  // also "gpu07.nvidia-smi.txt"
      // "dmesg-gpu-a17.txt", "gpu-a17_stderr.log"
      for (std::size_t begin = 0; begin < part.size(); ++begin) {
        if (begin > 0 && std::string_view("-_.").find(part[begin - 1]) == std::string_view::npos) continue;
        for (std::size_t length = part.size() - begin; length >= 3; --length) {
          if (begin + length < part.size() && std::string_view("-_.").find(part[begin + length]) == std::string_view::npos) continue;
          const std::string piece = part.substr(begin, length);
          if (names.known(piece) && piece.find_first_of("0123456789") != std::string::npos) { path.host = piece; begin = part.size(); break; }
        }
      }
    }
    if (path.host) {
      names.learn(*path.host);
      m.host = names.canonical(*path.host);
      m.attribution = "path";
    }
    m.rank = path.rank;
    m.local_rank = path.local_rank;
    m.attempt = path.attempt;
    const auto it = votes.find(m.id);
    if (it != votes.end() && it->second.hosts.size() == 1) {
      // All lines of the file name one host: a file's name may lie, its lines do not.
      const std::string& only = it->second.hosts.begin()->first;
      if (!m.host || *m.host != only) {
        m.attribution = m.host ? "content (the path says " + *m.host + ")" : "content";
        m.host = only;
      }
    }
  }

  guess_hosts_from_siblings(facts.members);
  for (MemberRow& m : facts.members)
    if (m.host) { names.learn(*m.host); m.host = names.canonical(*m.host); }

  // Sections know what their file knows.
  std::map<std::string, const MemberRow*> by_path;
  for (const MemberRow& m : facts.members) by_path.emplace(m.path, &m);
  {
    std::map<std::string, std::set<std::string>> of_container;
    for (const MemberRow& m : facts.members)
      if (m.host && !m.container.empty()) of_container[m.container].insert(*m.host);
    for (MemberRow& m : facts.members)
      if (!m.host && !m.container.empty())
        if (const auto it = of_container.find(m.container); it != of_container.end() && it->second.size() == 1) { m.host = *it->second.begin(); m.attribution = "the rest of its archive"; }
  }

  const auto member_of = [&](const Place& place) { return facts.member(place.member); };
  const auto host_of = [&](const std::optional<std::string>& printed, const Place& place) -> std::optional<std::string> {
    if (printed && !nameless_host(*printed)) return names.canonical(*printed);
    const MemberRow* m = member_of(place);
    return m != nullptr ? m->host : std::nullopt;
  };

  // Addresses first: peers are named by them.
  for (const auto& i : facts.identities)
    if (i.address)
      if (const auto host = host_of(i.host, i.place)) names.learn_address(*i.address, *host);

  // The world: the manifest, or the largest communicator, or the largest rank.
  std::int64_t largest = 0;
  for (const auto& i : facts.identities)
    if (i.world_size) largest = std::max(largest, *i.world_size);
  facts.world_size = facts.manifest && facts.manifest->world_size ? *facts.manifest->world_size : largest;

  std::map<std::int64_t, RankRow> ranks;
  const auto add_rank = [&](std::int64_t rank, const std::optional<std::string>& host, const std::optional<std::int64_t>& local, const std::optional<std::int64_t>& pid, const std::optional<std::string>& gpu,
                            const char* source) {
    if (rank < 0 || rank > 10'000'000) return;
    RankRow& row = ranks[rank];
    row.rank = rank;
    if (row.source.empty()) row.source = source;
    offer(row.host, host);
    offer(row.local_rank, local);
    offer(row.pid, pid);
    offer(row.gpu, gpu);
  };
  // In order of trust; within a source the order of paths, so that the answer does not depend on the order of reading.
  std::vector<const IdentityRow*> order;
  for (const auto& i : facts.identities) order.push_back(&i);
  std::sort(order.begin(), order.end(), [&](const IdentityRow* a, const IdentityRow* b) {
    const MemberRow* x = member_of(a->place);
    const MemberRow* y = member_of(b->place);
    const std::string& p = x->path;
    const std::string& q = y->path;
    return p != q ? p < q : a->place.line < b->place.line;
  });
  if (facts.manifest && !facts.manifest->hosts.empty() && facts.manifest->gpus_per_node) {
    const std::int64_t per = *facts.manifest->gpus_per_node;
    for (std::size_t h = 0; h < facts.manifest->hosts.size(); ++h)
      for (std::int64_t l = 0; l < per && static_cast<std::int64_t>(h) * per + l < std::max<std::int64_t>(facts.world_size, static_cast<std::int64_t>(facts.manifest->hosts.size()) * per); ++l)
        add_rank(static_cast<std::int64_t>(h) * per + l, names.canonical(facts.manifest->hosts[h]), l, {}, {}, "manifest");
  }
  for (const char* source : {"nccl-init", "nccl-init-start", "environment", "torchrun", "rank line", "prefix"})
    for (const IdentityRow* i : order) {
      if (i->source != source || !i->rank) continue;
      if (i->communicator && (!i->world_size || *i->world_size != facts.world_size || facts.world_size < 2)) continue;  // a rank of a smaller group
      const MemberRow* m = member_of(i->place);
      auto local = i->local_rank;
      if (!local && m != nullptr) local = m->local_rank;
      add_rank(*i->rank, host_of(i->host, i->place), local, i->pid, i->gpu, source);
    }
  // Lines that print both, and files that are one rank's on one host.
  for (const auto& e : facts.events)
    if (e.rank)
      if (const auto host = host_of(e.host, e.place)) add_rank(*e.rank, host, e.local_rank, {}, {}, "log line");
  for (const auto& m : facts.members)
    if (m.rank && m.host) add_rank(*m.rank, m.host, m.local_rank, {}, {}, "path");
    else if (m.rank) add_rank(*m.rank, {}, m.local_rank, {}, {}, "path");

  // A job of a handful of ranks, all local ranks too, in a bundle that names one machine and no other: they ran there.
  std::set<std::string> named;
  for (const auto& i : facts.identities)
    if (i.host && !nameless_host(*i.host)) named.insert(names.canonical(*i.host));
  for (const auto& m : facts.members)
    if (m.host) named.insert(*m.host);
  const bool local = std::all_of(ranks.begin(), ranks.end(), [](const auto& one) { return !one.second.host && (!one.second.local_rank || *one.second.local_rank == one.first); });
  if (named.size() == 1 && local && !ranks.empty() && ranks.size() <= 16 && ranks.rbegin()->first < static_cast<std::int64_t>(ranks.size()) &&
      (facts.world_size == 0 || static_cast<std::size_t>(facts.world_size) == ranks.size()))
    for (auto& [rank, row] : ranks) row.host = *named.begin();

  std::map<std::pair<std::string, std::int64_t>, std::int64_t> by_local, by_pid;
  std::set<std::pair<std::string, std::int64_t>> torn_local, torn_pid;
  for (const auto& [rank, row] : ranks) {
    const std::string host = row.host.value_or("");
    if (row.local_rank && !by_local.emplace(std::pair(host, *row.local_rank), rank).second) torn_local.insert({host, *row.local_rank});
    if (row.pid && !by_pid.emplace(std::pair(host, *row.pid), rank).second) torn_pid.insert({host, *row.pid});
  }
  for (const auto& key : torn_local) by_local.erase(key);
  // A launcher gives the processes of a machine consecutive ranks: where all known pairs agree on the first, it gives the
  // others, too.
  std::map<std::string, std::set<std::int64_t>> first_of;
  for (const auto& [key, rank] : by_local) first_of[key.first].insert(rank - key.second);
  for (const MemberRow& m : facts.members) {
    if (m.rank || !m.local_rank || !m.host) continue;
    const auto it = first_of.find(*m.host);
    if (it == first_of.end() || it->second.size() != 1) continue;
    const std::int64_t rank = *it->second.begin() + *m.local_rank;
    if (rank < 0 || ranks.count(rank) != 0 || (facts.world_size > 0 && rank >= facts.world_size) || !by_local.emplace(std::pair(*m.host, *m.local_rank), rank).second) continue;
    add_rank(rank, m.host, m.local_rank, {}, {}, "path");
  }
  for (const auto& key : torn_pid) by_pid.erase(key);
  // All ranks of the job on one machine: what names no machine is of that one.
  std::optional<std::string> only;
  if (!ranks.empty() && (facts.world_size == 0 || static_cast<std::size_t>(facts.world_size) <= ranks.size())) {
    only = ranks.begin()->second.host;
    for (const auto& [rank, row] : ranks)
      if (row.host != only) { only.reset(); break; }
  }
  const auto look = [](const auto& map, const std::optional<std::string>& host, const std::optional<std::int64_t>& key) -> std::optional<std::int64_t> {
    if (!key) return std::nullopt;
    const auto it = map.find({host.value_or(""), *key});
    return it == map.end() ? std::nullopt : std::optional(it->second);
  };

  // srun -l labels: ranks when there is one task a GPU. Lines that print both a label and a rank decide; without such
  // lines, labels that run up to the world size and no further do.
  std::size_t agree = 0, differ = 0;
  std::int64_t highest = -1;
  const auto compare = [&](const std::optional<std::int64_t>& task, const std::optional<std::int64_t>& rank) {
    if (task) highest = std::max(highest, *task);
    if (task && rank) ++(*task == *rank ? agree : differ);
  };
  for (const auto& e : facts.events) compare(e.task, e.rank);
  for (const auto& i : facts.identities) compare(i.task, i.communicator && i.world_size != facts.world_size ? std::nullopt : i.rank);
  const bool tasks_are_ranks = agree > 0 ? differ == 0 : differ == 0 && facts.world_size > 1 && highest + 1 == facts.world_size;
  if (tasks_are_ranks)
    for (const IdentityRow* i : order)
      if (i->task && i->host) add_rank(*i->task, host_of(i->host, i->place), {}, i->pid, i->gpu, "srun label");

  for (MemberRow& m : facts.members) {
    if (!m.rank && m.local_rank) m.rank = look(by_local, m.host ? m.host : only, m.local_rank);
    if (!m.host && m.rank)
      if (const auto it = ranks.find(*m.rank); it != ranks.end() && it->second.host) { m.host = it->second.host; m.attribution = "its rank"; }
  }

  // Rows: what the line prints, else what its process, file or rank says.
  const auto settle = [&](auto& row) {
    const MemberRow* m = member_of(row.place);
    if (row.host && nameless_host(*row.host)) row.host.reset();
    if (row.host) row.host = names.canonical(*row.host);
    else if (m != nullptr && m->host) row.host = m->host;
    if (!row.rank) row.rank = look(by_pid, row.host ? row.host : only, row.pid);
    if (!row.rank) row.rank = look(by_local, row.host ? row.host : only, row.local_rank);
    if constexpr (requires { row.task; })
      if (!row.rank && tasks_are_ranks) row.rank = row.task;
    if (!row.rank && m != nullptr) row.rank = m->rank;
    if (!row.host && row.rank)
      if (const auto it = ranks.find(*row.rank); it != ranks.end()) row.host = it->second.host;
  };
  for (auto& e : facts.events) {
    settle(e);
    if (e.gpu && e.gpu->find(':') == std::string::npos && e.host) {  // an index: the PCI address is the name that stays
      for (const auto& [rank, row] : ranks)
        if (row.host == e.host && row.gpu && row.local_rank && std::to_string(*row.local_rank) == *e.gpu) e.gpu = row.gpu;
    }
    if (!e.rank && e.gpu && e.host && e.scope == Scope::host_local)
      for (const auto& [rank, row] : ranks)
        if (row.host == e.host && row.gpu == e.gpu) e.rank = rank;
  }
  for (auto& t : facts.tracebacks) settle(t);
  for (auto& x : facts.exits) settle(x);
  for (auto& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (s.host && nameless_host(*s.host)) s.host.reset();
    if (s.host) s.host = names.canonical(*s.host);
    else if (m != nullptr) s.host = m->host;
    if (!s.rank) s.rank = look(by_local, s.host ? s.host : only, s.local_rank);
    if (!s.rank && m != nullptr && !s.gpu && !s.nic) s.rank = m->rank;
    if (!s.host && s.rank)
      if (const auto it = ranks.find(*s.rank); it != ranks.end()) s.host = it->second.host;
  }

  // Peers: a name, an address, "host<port>", a rank.
  for (auto& e : facts.events) {
    if (!e.peer) continue;
    std::string peer = *e.peer;
    if (const std::size_t port = peer.find('<'); port != std::string::npos) peer = peer.substr(0, port);
    if (!peer.empty() && peer.front() == '[') peer = peer.substr(1, peer.find(']') - 1);
    if (peer.rfind("::ffff:", 0) == 0) peer = peer.substr(7);
    if (std::count(peer.begin(), peer.end(), ':') == 1) peer = peer.substr(0, peer.find(':'));
    if (peer.rfind("rank ", 0) == 0) peer = peer.substr(5);
    if (nameless_host(peer)) continue;
    if (peer.find_first_not_of("0123456789") == std::string::npos && peer.size() < 9) {
      if (const auto it = ranks.find(std::strtoll(peer.c_str(), nullptr, 10)); it != ranks.end()) e.peer_host = it->second.host;
      continue;
    }
    // An address that nothing ties to a name is a name too: somebody can look it up.
    e.peer_host = names.canonical(peer);
  }

  // Hosts.
  std::map<std::string, HostRow> hosts;
  const auto add_host = [&](const std::optional<std::string>& host) {
    if (host && !nameless_host(*host)) hosts[*host].host = *host;
  };
  for (const auto& [rank, row] : ranks) add_host(row.host);
  for (const auto& host : manifest_hosts) add_host(host);
  for (const auto& e : facts.events) add_host(e.host);
  for (const auto& m : facts.members) add_host(m.host);
  for (const auto& s : facts.series) if (s.host && !is_address(*s.host)) add_host(s.host);
  for (const auto& [address, host] : names.addresses())
    if (hosts.count(host) > 0) hosts[host].addresses.push_back(address);
  if (facts.manifest)
    for (std::size_t i = 0; i < facts.manifest->hosts.size(); ++i)
      if (const auto it = hosts.find(names.canonical(facts.manifest->hosts[i])); it != hosts.end()) it->second.node_rank = static_cast<std::int64_t>(i);
  std::map<std::string, std::string> newest_driver;
  for (const auto& c : facts.configs)
    if (c.name == "driver_version")
      if (const auto host = host_of(c.host, c.place)) newest_driver[*host] = c.value;
  for (auto& [host, version] : newest_driver)
    if (hosts.count(host) > 0) hosts[host].driver = version;
  std::set<MemberId> training;
  for (const auto& p : facts.progress) training.insert(p.member);
  for (const auto& t : facts.tracebacks) training.insert(t.place.member);
  for (const auto& i : facts.identities) training.insert(i.place.member);
  for (const auto& x : facts.exits) training.insert(x.place.member);
  for (const auto& m : facts.members)
    if (m.host && hosts.count(*m.host) > 0 && (training.count(m.id) > 0 || m.rank || m.local_rank)) hosts[*m.host].has_log = true;
  for (auto& [host, row] : hosts) facts.hosts.push_back(std::move(row));
  for (auto& [rank, row] : ranks) facts.ranks.push_back(std::move(row));

  // Copies: equal bytes of one owner. The copy whose owner is known stands; else the first path.
  std::map<std::string, std::vector<MemberRow*>> same;
  for (MemberRow& m : facts.members)
    if (m.kind == "file" && m.size > 0) same[m.digest].push_back(&m);
  for (auto& [digest, group] : same) {
    if (group.size() < 2) continue;
    std::sort(group.begin(), group.end(), [](const MemberRow* a, const MemberRow* b) {
      const bool known_a = a->host || a->rank;
      const bool known_b = b->host || b->rank;
      return known_a != known_b ? known_a : a->path != b->path ? a->path < b->path : a->id < b->id;
    });
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, MemberRow*> owners;
    for (MemberRow* m : group) {
      const bool known = m->host || m->rank || m->local_rank;
      if (!known && !owners.empty()) { m->duplicate_of = owners.begin()->second->id; continue; }
      const auto [it, fresh] = owners.emplace(std::tuple(m->host.value_or(""), m->rank.value_or(-1), m->local_rank.value_or(-1), m->attempt.value_or(-1)), m);
      if (!fresh) m->duplicate_of = it->second->id;
    }
  }
}

}  // namespace culprit::analyze
