#include "analyze/identity.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/path_facts.hpp"

namespace culprit::analyze {

namespace {

bool is_address(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) return false;
  return std::count(text.begin(), text.end(), '.') == 3 ? text.find_first_not_of("0123456789.") == std::string::npos : text.find(':') != std::string::npos;
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

namespace {

// The steps share what they find out: names, ranks, processes.
class Resolution {
 public:
  explicit Resolution(Facts& facts) : facts_(facts) {}

  void run() {
    strip_wrapper(facts_.members);
    order_members();
    learn_names();
    attribute_members();
    learn_addresses();
    find_world_size();
    collect_ranks();
    place_small_job();
    index_processes();
    read_task_labels();
    place_members();
    settle_rows();
    name_peers();
    list_hosts();
    mark_copies();
  }

 private:
  using ProcessKey = std::pair<std::string, std::int64_t>;   // host, number

  void order_members() {
    for (MemberRow& m : facts_.members) paths_.push_back(&m);
    std::sort(paths_.begin(), paths_.end(), [](const MemberRow* a, const MemberRow* b) { return std::tie(a->path, a->id) < std::tie(b->path, b->id); });
    for (std::size_t i = 0; i < paths_.size(); ++i) paths_[i]->order = static_cast<std::int64_t>(i);
  }

  void learn_names() {
    const auto learn = [&](const std::optional<std::string>& host) { if (host) names_.learn(*host); };
    if (facts_.manifest) for (const auto& host : facts_.manifest->hosts) names_.learn(host);
    for (const auto& e : facts_.events) learn(e.host);
    for (const auto& i : facts_.identities) learn(i.host);
    for (const auto& c : facts_.clocks) learn(c.host);
    for (const auto& x : facts_.exits) learn(x.host);
    for (const auto& s : facts_.series) if (s.host && !is_address(*s.host)) names_.learn(*s.host);
    if (facts_.manifest) for (const auto& host : facts_.manifest->hosts) manifest_hosts_.insert(names_.canonical(host));
  }

  // The hosts that the lines of each member name.
  std::map<MemberId, std::set<std::string>> hosts_in_lines() const {
    std::map<MemberId, std::set<std::string>> out;
    const auto vote = [&](MemberId member, const std::optional<std::string>& host) {
      if (host && !nameless_host(*host) && !is_address(*host)) out[member].insert(names_.canonical(*host));
    };
    for (const auto& e : facts_.events) vote(e.place.member, e.host);
    for (const auto& c : facts_.clocks) vote(c.place.member, c.host);
    for (const auto& t : facts_.tracebacks) vote(t.place.member, t.host);
    for (const auto& i : facts_.identities)
      if (i.source.rfind("nccl", 0) == 0) vote(i.place.member, i.host);
    return out;
  }

  // A component of a path, or words of one, that is a host known from elsewhere: "dmesg-gpu-a17.txt", "gpu-a17_stderr.log",
  // "gpu07.nvidia-smi.txt". The last one.
  std::optional<std::string> known_host_in(const std::string& path) const {
    std::optional<std::string> out;
    std::size_t at = 0;
    for (std::size_t end = 0; at <= path.size(); at = end + 1) {
      end = std::min(path.find_first_of("/#", at), path.size());
      const std::string part = path.substr(at, end - at);
      if (part.empty()) continue;
      if (names_.known(part) && !nameless_host(part)) { out = short_host(part); continue; }
      for (std::size_t begin = 0; begin < part.size(); ++begin) {
        if (begin > 0 && std::string_view("-_.").find(part[begin - 1]) == std::string_view::npos) continue;
        for (std::size_t length = part.size() - begin; length >= 3; --length) {
          if (begin + length < part.size() && std::string_view("-_.").find(part[begin + length]) == std::string_view::npos) continue;
          const std::string piece = part.substr(begin, length);
          if (names_.known(piece) && piece.find_first_of("0123456789") != std::string::npos) { out = piece; begin = part.size(); break; }
        }
      }
    }
    return out;
  }

  // Whose file: from the path, then against the names that the lines themselves give.
  void attribute_members() {
    const auto votes = hosts_in_lines();
    // By path, and again for those without a host: a folder is known to be a machine's once another path has told so, and
    // which file was read first must not decide it.
    for (std::size_t turn = 0; turn < 2 * paths_.size(); ++turn) {
      MemberRow& m = *paths_[turn % paths_.size()];
      if (m.kind != "file" || (turn >= paths_.size() && m.host)) continue;
      PathFacts path = facts_of_path(m.path);
      if (const auto known = known_host_in(m.path)) path.host = known;   // beats every pattern
      if (path.host) {
        names_.learn(*path.host);
        m.host = names_.canonical(*path.host);
        m.attribution = "path";
      }
      m.rank = path.rank;
      m.local_rank = path.local_rank;
      m.attempt = path.attempt;
      const auto it = votes.find(m.id);
      if (it != votes.end() && it->second.size() == 1) {
        // All lines of the file name one host: a file's name may lie, its lines do not.
        const std::string& only = *it->second.begin();
        if (!m.host || *m.host != only) {
          m.attribution = m.host ? "content (the path says " + *m.host + ")" : "content";
          m.host = only;
        }
      }
    }
    hosts_from_siblings(facts_.members);
    for (MemberRow& m : facts_.members)
      if (m.host) { names_.learn(*m.host); m.host = names_.canonical(*m.host); }
    share_hosts_within_archives();
  }

  // Sections know what their file knows.
  void share_hosts_within_archives() {
    std::map<std::string, std::set<std::string>> of_container;
    for (const MemberRow& m : facts_.members)
      if (m.host && !m.container.empty()) of_container[m.container].insert(*m.host);
    for (MemberRow& m : facts_.members)
      if (!m.host && !m.container.empty())
        if (const auto it = of_container.find(m.container); it != of_container.end() && it->second.size() == 1) { m.host = *it->second.begin(); m.attribution = "the rest of its archive"; }
  }

  std::optional<std::string> host_of(const std::optional<std::string>& printed, const Place& place) const {
    if (printed && !nameless_host(*printed)) return names_.canonical(*printed);
    const MemberRow* m = facts_.member(place.member);
    return m != nullptr ? m->host : std::nullopt;
  }

  // Peers are named by them.
  void learn_addresses() {
    for (const auto& i : facts_.identities)
      if (i.address)
        if (const auto host = host_of(i.host, i.place)) names_.learn_address(*i.address, *host);
  }

  // The world: the manifest, or the largest communicator, or the largest rank.
  void find_world_size() {
    std::int64_t largest = 0;
    for (const auto& i : facts_.identities)
      if (i.world_size) largest = std::max(largest, *i.world_size);
    facts_.world_size = facts_.manifest && facts_.manifest->world_size ? *facts_.manifest->world_size : largest;
  }

  void add_rank(std::int64_t rank, const std::optional<std::string>& host, const std::optional<std::int64_t>& local, const std::optional<std::int64_t>& pid, const std::optional<std::string>& gpu, const char* source) {
    if (rank < 0 || rank > 10'000'000) return;
    RankRow& row = ranks_[rank];
    row.rank = rank;
    if (row.source.empty()) row.source = source;
    offer(row.host, host);
    offer(row.local_rank, local);
    offer(row.pid, pid);
    offer(row.gpu, gpu);
  }

  void collect_ranks() {
    // In order of trust; within a source the order of paths, so that the answer does not depend on the order of reading.
    for (const auto& i : facts_.identities) order_.push_back(&i);
    std::sort(order_.begin(), order_.end(), [&](const IdentityRow* a, const IdentityRow* b) {
      const MemberRow* x = facts_.member(a->place.member);
      const MemberRow* y = facts_.member(b->place.member);
      const std::string& p = x->path;
      const std::string& q = y->path;
      return p != q ? p < q : a->place.line < b->place.line;
    });
    if (facts_.manifest && !facts_.manifest->hosts.empty() && facts_.manifest->gpus_per_node) {
      const std::int64_t per = *facts_.manifest->gpus_per_node;
      for (std::size_t h = 0; h < facts_.manifest->hosts.size(); ++h)
        for (std::int64_t l = 0; l < per && static_cast<std::int64_t>(h) * per + l < std::max<std::int64_t>(facts_.world_size, static_cast<std::int64_t>(facts_.manifest->hosts.size()) * per); ++l)
          add_rank(static_cast<std::int64_t>(h) * per + l, names_.canonical(facts_.manifest->hosts[h]), l, {}, {}, "manifest");
    }
    for (const char* source : {"nccl-init", "nccl-init-start", "environment", "torchrun", "rank line", "prefix"})
      for (const IdentityRow* i : order_) {
        if (i->source != source || !i->rank) continue;
        if (i->communicator && (!i->world_size || *i->world_size != facts_.world_size || facts_.world_size < 2)) continue;  // a rank of a smaller group
        const MemberRow* m = facts_.member(i->place.member);
        auto local = i->local_rank;
        if (!local && m != nullptr) local = m->local_rank;
        add_rank(*i->rank, host_of(i->host, i->place), local, i->pid, i->gpu, source);
      }
    // Lines that print both, and files that are one rank's on one host.
    for (const auto& e : facts_.events)
      if (e.rank)
        if (const auto host = host_of(e.host, e.place)) add_rank(*e.rank, host, e.local_rank, {}, {}, "log line");
    for (const auto& m : facts_.members)
      if (m.rank && m.host) add_rank(*m.rank, m.host, m.local_rank, {}, {}, "path");
      else if (m.rank) add_rank(*m.rank, {}, m.local_rank, {}, {}, "path");
  }

  // A job of a handful of ranks, all local ranks too, in a bundle that names one machine and no other: they ran there.
  void place_small_job() {
    std::set<std::string> named;
    for (const auto& i : facts_.identities)
      if (i.host && !nameless_host(*i.host)) named.insert(names_.canonical(*i.host));
    for (const auto& m : facts_.members)
      if (m.host) named.insert(*m.host);
    const bool local = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return !one.second.host && (!one.second.local_rank || *one.second.local_rank == one.first); });
    if (named.size() == 1 && local && !ranks_.empty() && ranks_.size() <= 16 && ranks_.rbegin()->first < static_cast<std::int64_t>(ranks_.size()) &&
        (facts_.world_size == 0 || static_cast<std::size_t>(facts_.world_size) == ranks_.size()))
      for (auto& [rank, row] : ranks_) row.host = *named.begin();
  }

  void index_processes() {
    std::set<ProcessKey> torn_local, torn_pid;
    for (const auto& [rank, row] : ranks_) {
      const std::string host = row.host.value_or("");
      if (row.local_rank && !by_local_.emplace(std::pair(host, *row.local_rank), rank).second) torn_local.insert({host, *row.local_rank});
      if (row.pid && !by_pid_.emplace(std::pair(host, *row.pid), rank).second) torn_pid.insert({host, *row.pid});
    }
    for (const auto& key : torn_local) by_local_.erase(key);
    // A launcher gives the processes of a machine consecutive ranks: where all known pairs agree on the first, it gives the
    // others, too.
    std::map<std::string, std::set<std::int64_t>> first_of;
    for (const auto& [key, rank] : by_local_) first_of[key.first].insert(rank - key.second);
    for (const MemberRow& m : facts_.members) {
      if (m.rank || !m.local_rank || !m.host) continue;
      const auto it = first_of.find(*m.host);
      if (it == first_of.end() || it->second.size() != 1) continue;
      const std::int64_t rank = *it->second.begin() + *m.local_rank;
      if (rank < 0 || ranks_.count(rank) != 0 || (facts_.world_size > 0 && rank >= facts_.world_size) || !by_local_.emplace(std::pair(*m.host, *m.local_rank), rank).second) continue;
      add_rank(rank, m.host, m.local_rank, {}, {}, "path");
    }
    for (const auto& key : torn_pid) by_pid_.erase(key);
    // All ranks of the job on one machine: what names no machine is of that one.
    if (!ranks_.empty() && (facts_.world_size == 0 || static_cast<std::size_t>(facts_.world_size) <= ranks_.size())) {
      only_ = ranks_.begin()->second.host;
      for (const auto& [rank, row] : ranks_)
        if (row.host != only_) { only_.reset(); break; }
    }
  }

  static std::optional<std::int64_t> look(const std::map<ProcessKey, std::int64_t>& map, const std::optional<std::string>& host, const std::optional<std::int64_t>& key) {
    if (!key) return std::nullopt;
    const auto it = map.find({host.value_or(""), *key});
    return it == map.end() ? std::nullopt : std::optional(it->second);
  }

  // srun -l labels: ranks when there is one task a GPU. Lines that print both a label and a rank decide; without such
  // lines, labels that run up to the world size and no further do.
  void read_task_labels() {
    std::size_t agree = 0, differ = 0;
    std::int64_t highest = -1;
    const auto compare = [&](const std::optional<std::int64_t>& task, const std::optional<std::int64_t>& rank) {
      if (task) highest = std::max(highest, *task);
      if (task && rank) ++(*task == *rank ? agree : differ);
    };
    for (const auto& e : facts_.events) compare(e.task, e.rank);
    for (const auto& i : facts_.identities) compare(i.task, i.communicator && i.world_size != facts_.world_size ? std::nullopt : i.rank);
    tasks_are_ranks_ = agree > 0 ? differ == 0 : differ == 0 && facts_.world_size > 1 && highest + 1 == facts_.world_size;
    if (tasks_are_ranks_)
      for (const IdentityRow* i : order_)
        if (i->task && i->host) add_rank(*i->task, host_of(i->host, i->place), {}, i->pid, i->gpu, "srun label");
  }

  void place_members() {
    for (MemberRow& m : facts_.members) {
      if (!m.rank && m.local_rank) m.rank = look(by_local_, m.host ? m.host : only_, m.local_rank);
      if (!m.host && m.rank)
        if (const auto it = ranks_.find(*m.rank); it != ranks_.end() && it->second.host) { m.host = it->second.host; m.attribution = "its rank"; }
    }
  }

  // What the line prints, else what its process, file or rank says.
  template <class Row> void settle(Row& row) {
    const MemberRow* m = facts_.member(row.place.member);
    if (row.host && nameless_host(*row.host)) row.host.reset();
    if (row.host) row.host = names_.canonical(*row.host);
    else if (m != nullptr && m->host) row.host = m->host;
    if (!row.rank) row.rank = look(by_pid_, row.host ? row.host : only_, row.pid);
    if (!row.rank) row.rank = look(by_local_, row.host ? row.host : only_, row.local_rank);
    if constexpr (requires { row.task; })
      if (!row.rank && tasks_are_ranks_) row.rank = row.task;
    if (!row.rank && m != nullptr) row.rank = m->rank;
    if (!row.host && row.rank)
      if (const auto it = ranks_.find(*row.rank); it != ranks_.end()) row.host = it->second.host;
  }

  void settle_rows() {
    for (auto& e : facts_.events) {
      settle(e);
      if (e.gpu && e.gpu->find(':') == std::string::npos && e.host) {  // an index: the PCI address is the name that stays
        for (const auto& [rank, row] : ranks_)
          if (row.host == e.host && row.gpu && row.local_rank && std::to_string(*row.local_rank) == *e.gpu) e.gpu = row.gpu;
      }
      if (!e.rank && e.gpu && e.host && e.scope == Scope::host_local)
        for (const auto& [rank, row] : ranks_)
          if (row.host == e.host && row.gpu == e.gpu) e.rank = rank;
    }
    for (auto& t : facts_.tracebacks) settle(t);
    for (auto& x : facts_.exits) settle(x);
    for (auto& s : facts_.series) {
      const MemberRow* m = facts_.member(s.member);
      if (s.host && nameless_host(*s.host)) s.host.reset();
      if (s.host) s.host = names_.canonical(*s.host);
      else if (m != nullptr) s.host = m->host;
      if (!s.rank) s.rank = look(by_local_, s.host ? s.host : only_, s.local_rank);
      if (!s.rank && m != nullptr && !s.gpu && !s.nic) s.rank = m->rank;
      if (!s.host && s.rank)
        if (const auto it = ranks_.find(*s.rank); it != ranks_.end()) s.host = it->second.host;
    }
  }

  // Peers: a name, an address, "host<port>", a rank.
  void name_peers() {
    for (auto& e : facts_.events) {
      if (!e.peer) continue;
      std::string peer = *e.peer;
      if (const std::size_t port = peer.find('<'); port != std::string::npos) peer = peer.substr(0, port);
      if (!peer.empty() && peer.front() == '[') peer = peer.substr(1, peer.find(']') - 1);
      if (peer.rfind("::ffff:", 0) == 0) peer = peer.substr(7);
      if (std::count(peer.begin(), peer.end(), ':') == 1) peer = peer.substr(0, peer.find(':'));
      if (peer.rfind("rank ", 0) == 0) peer = peer.substr(5);
      if (nameless_host(peer)) continue;
      if (peer.find_first_not_of("0123456789") == std::string::npos && peer.size() < 9) {
        if (const auto it = ranks_.find(std::strtoll(peer.c_str(), nullptr, 10)); it != ranks_.end()) e.peer_host = it->second.host;
        continue;
      }
      // An address that nothing ties to a name is a name too: somebody can look it up.
      e.peer_host = names_.canonical(peer);
    }
  }

  void list_hosts() {
    std::map<std::string, HostRow> hosts;
    const auto add_host = [&](const std::optional<std::string>& host) {
      if (host && !nameless_host(*host)) hosts[*host].host = *host;
    };
    for (const auto& [rank, row] : ranks_) add_host(row.host);
    for (const auto& host : manifest_hosts_) add_host(host);
    for (const auto& e : facts_.events) add_host(e.host);
    for (const auto& m : facts_.members) add_host(m.host);
    for (const auto& s : facts_.series) if (s.host && !is_address(*s.host)) add_host(s.host);
    for (const auto& [address, host] : names_.addresses())
      if (hosts.count(host) > 0) hosts[host].addresses.push_back(address);
    if (facts_.manifest)
      for (std::size_t i = 0; i < facts_.manifest->hosts.size(); ++i)
        if (const auto it = hosts.find(names_.canonical(facts_.manifest->hosts[i])); it != hosts.end()) it->second.node_rank = static_cast<std::int64_t>(i);
    std::map<std::string, std::string> newest_driver;
    for (const auto& c : facts_.configs)
      if (c.name == "driver_version")
        if (const auto host = host_of(c.host, c.place)) newest_driver[*host] = c.value;
    for (auto& [host, version] : newest_driver)
      if (hosts.count(host) > 0) hosts[host].driver = version;
    std::set<MemberId> training;
    for (const auto& p : facts_.progress) training.insert(p.member);
    for (const auto& t : facts_.tracebacks) training.insert(t.place.member);
    for (const auto& i : facts_.identities) training.insert(i.place.member);
    for (const auto& x : facts_.exits) training.insert(x.place.member);
    for (const auto& m : facts_.members)
      if (m.host && hosts.count(*m.host) > 0 && (training.count(m.id) > 0 || m.rank || m.local_rank)) hosts[*m.host].has_log = true;
    // A switch has a log too, and runs no ranks.
    for (const NetworkRow& n : facts_.networks)
      if (n.kind == "switch" && std::none_of(ranks_.begin(), ranks_.end(), [&](const auto& one) { return one.second.host == n.name; })) hosts.erase(n.name);
    for (auto& [host, row] : hosts) facts_.hosts.push_back(std::move(row));
    for (auto& [rank, row] : ranks_) facts_.ranks.push_back(std::move(row));
  }

  // Copies: equal bytes of one owner. The copy whose owner is known stands; else the first path.
  void mark_copies() {
    std::map<std::string, std::vector<MemberRow*>> same;
    for (MemberRow& m : facts_.members)
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

  Facts& facts_;
  Names names_;
  std::vector<MemberRow*> paths_;                            // in order of their paths
  std::vector<const IdentityRow*> order_;                    // in order of their members' paths
  std::set<std::string> manifest_hosts_;
  std::map<std::int64_t, RankRow> ranks_;
  std::map<ProcessKey, std::int64_t> by_local_, by_pid_;     // -> rank
  std::optional<std::string> only_;                          // the one machine of the job
  bool tasks_are_ranks_ = false;
};

}  // namespace

void resolve_identity(Facts& facts) { Resolution(facts).run(); }

}  // namespace culprit::analyze
