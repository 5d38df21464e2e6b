#include "analyze/facts/identity.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/container_names.hpp"
#include "analyze/facts/host_names.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/zone_joins.hpp"
#include "analyze/facts/rank_blocks.hpp"
#include "model/address.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::string_view kClaim = "rank label", kColumn = "column=";
constexpr std::uint64_t kSmallFile = 16'384;
constexpr std::size_t kMostOriginals =
    16;  // of one text: each further file is held against all of them

template <class T>
void offer(std::optional<T>& slot, const std::optional<T>& value) {
  if (!slot && value) slot = value;
}

}  // namespace

const MemberRow* Facts::member(MemberId id) const {
  // Asked for every row: where no member was left out, it stands at its number.
  if (id >= 1 && static_cast<std::size_t>(id) <= members.size() &&
      members[static_cast<std::size_t>(id) - 1].id == id)
    return &members[static_cast<std::size_t>(id) - 1];
  const auto it = std::lower_bound(members.begin(), members.end(), id,
                                   [](const MemberRow& m, MemberId value) { return m.id < value; });
  return it != members.end() && it->id == id ? &*it : nullptr;
}

std::optional<Nanoseconds> Facts::clock_offset(MemberId id, Clock clock) const {
  if (clock == Clock::utc) return 0;
  const auto it = std::lower_bound(member_clocks.begin(), member_clocks.end(), std::pair(id, clock),
                                   [](const MemberClock& c, const std::pair<MemberId, Clock>& of) {
                                     return std::pair(c.member, c.clock) < of;
                                   });
  return it != member_clocks.end() && it->member == id && it->clock == clock
             ? std::optional(it->offset)
             : std::nullopt;
}

Evidence Facts::evidence(const Place& place, std::string excerpt) const {
  const MemberRow* m = member(place.member);
  return {place.member, m == nullptr ? "" : m->path, place.line, place.offset,
          place.length, std::move(excerpt)};
}

bool Facts::foreign(const MemberRow& m) const {
  if (!manifest) return false;
  const std::string& own = manifest->job_id.empty() ? manifest->job : manifest->job_id;
  if (own.empty() || own.find_first_not_of("0123456789") != std::string::npos) return false;
  static const re2::RE2 kJob(R"((?:^|/)(?:slurm|job|lsf|pbs)[-_](\d+)[^/]*$)");
  std::string number;
  return re2::RE2::PartialMatch(m.path, kJob, &number) && number != own;
}

Host short_host(const std::string& name) {
  if (name.find_first_not_of("0123456789.:") == std::string::npos || is_address(name))
    return Host(name);
  const std::size_t dot = name.find('.');
  return Host(dot == std::string::npos || dot == 0 ? name : name.substr(0, dot));
}

std::string detail_of(const EventRow& e, std::string_view name) {
  const std::string start = std::string(name) + "=";
  for (std::size_t at = 0; at < e.detail.size();) {
    const std::size_t end = std::min(e.detail.find('\n', at), e.detail.size());
    if (e.detail.compare(at, start.size(), start) == 0)
      return e.detail.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  return {};
}

constexpr char kOfCluster = '@';  // in no name of a machine

Host in_cluster(const Host& host, std::string_view cluster) {
  return Host(host + kOfCluster + std::string(cluster));
}
bool in_another_cluster(const Host& host) { return contains(host, kOfCluster); }

bool said_by_kernel(const EventRow& e) { return contains(e.detail, "unit=kernel"); }
bool said_by_unit(const EventRow& e) { return contains(e.detail, "unit="); }

bool tells_of_job(const IdentityRow& row) {
  static const std::set<std::string> kOfMachines{"hostfile", "hostname",  "uname",
                                                 "prompt",   "ip addr",   "scontrol",
                                                 "pod",      "etc-hosts", "inventory"};
  return kOfMachines.count(row.source) == 0;
}

bool nameless_host(const std::string& name) {
  static const std::set<std::string> kNone{"",        "localhost", "localhost.localdomain",
                                           "(none)",  "127.0.0.1", "::1",
                                           "0.0.0.0", "<NULL>",    "None",
                                           "-",       "unknown"};
  return kNone.count(name) > 0;
}

namespace {

// "fra" in "logs/fra-66120.out" and "fra_gpu-022.txt".
bool named_in_path(std::string_view text, std::string_view word) {
  const auto part_of_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if ((at == 0 || !part_of_word(at - 1)) && !part_of_word(at + word.size())) return true;
  return false;
}

// The steps share what they find out: names, ranks, processes.
class Resolution {
 public:
  explicit Resolution(Facts& facts) : facts_(facts) {}

  void run() {
    strip_wrapper(facts_.members);
    order_members();
    learn_names();
    attribute_members();
    settle_claims();
    learn_addresses();
    find_world_size();
    collect_ranks();
    place_small_job();
    place_by_blocks(ranks_, facts_.world_size);
    index_processes();
    read_task_labels();
    place_series_of_tasks();
    place_members();
    tell_clusters_apart();
    settle_rows();
    name_peers();
    list_hosts();
    mark_copies();
  }

 private:
  // Where a task ran, up to a line of its log.
  struct TaskPlace {
    Host host;
    std::uint64_t until = 0;
  };
  static constexpr std::string_view kExit = "srun exit";
  using LocalKey = std::pair<std::string, LocalRank>;       // of a host
  using ProcessKey = std::pair<std::string, std::int64_t>;  // host, pid

  void order_members() {
    for (MemberRow& m : facts_.members) paths_.push_back(&m);
    sort_by(paths_, [](const MemberRow* a) { return std::tie(a->path, a->id); });
    for (std::size_t i = 0; i < paths_.size(); ++i) paths_[i]->order = static_cast<std::int64_t>(i);
  }

  void learn_names() {
    const auto learn = [&](const std::optional<Host>& host) {
      if (host) names_.learn(*host);
    };
    if (facts_.manifest) {
      for (const auto& host : facts_.manifest->hosts) names_.learn(host);
      for (const auto& [host, addresses] : facts_.manifest->addresses) names_.learn(host);
      for (const RankRow& row : facts_.manifest->ranks) names_.learn(*row.host);
      for (const auto& [host, addresses] : facts_.manifest->addresses)
        for (const std::string& address : addresses)
          names_.learn_address(address, names_.canonical(host));
    }
    // A pod and its node are one machine.
    for (const auto& i : facts_.identities)
      if ((i.source == "pod" || i.source == "scontrol") && i.host && i.address) {
        names_.learn(*i.host);
        names_.learn_address(*i.address, names_.canonical(*i.host));
      }
    for (const auto& [name, node] : container_names(facts_)) {
      names_.learn(node);
      names_.learn_address(name, names_.canonical(node));
    }
    for (const auto& e : facts_.events) learn(e.host);
    for (const auto& i : facts_.identities)
      if (i.source != kClaim) learn(i.host);
    for (const auto& c : facts_.clocks) learn(c.host);
    for (const auto& x : facts_.exits) learn(x.host);
    for (const auto& c : facts_.configs)
      if (c.host && !is_address(*c.host)) names_.learn(*c.host);
    for (const auto& s : facts_.series)
      if (s.host && !is_address(*s.host)) names_.learn(*s.host);
    if (facts_.manifest)
      for (const auto& host : facts_.manifest->hosts)
        manifest_hosts_.insert(names_.canonical(host));
  }

  // The hosts that the lines of each member name.
  std::map<MemberId, std::set<Host>> hosts_in_lines() const {
    std::map<MemberId, std::set<Host>> out;
    // What schedulers record are the machines of others.
    std::set<MemberId> records;
    for (const MemberRow& m : facts_.members)
      if (m.text_kind == "scheduler" || m.text_kind == "slurm" || m.text_kind == "kubernetes")
        records.insert(m.id);
    const auto vote = [&](MemberId member, const std::optional<Host>& host) {
      if (host && !nameless_host(*host) && !is_address(*host) && records.count(member) == 0)
        out[member].insert(names_.canonical(*host));
    };
    for (const auto& e : facts_.events) vote(e.place.member, e.host);
    for (const auto& c : facts_.clocks) vote(c.place.member, c.host);
    for (const auto& t : facts_.tracebacks) vote(t.place.member, t.host);
    for (const auto& i : facts_.identities) {
      const MemberRow* m = facts_.member(i.place.member);
      // A small file whose machine says its own name; in a job's output one of many machines may
      // say it.
      const bool of_machine = m != nullptr && (m->size < kSmallFile || !m->text_kind.empty());
      if (i.source.rfind("nccl", 0) == 0 || i.source == "prompt" ||
          (of_machine && (i.source == "uname" || i.source == "hostname")))
        vote(i.place.member, i.host);
    }
    drop_spoken_of(out);
    return out;
  }

  // "srun: error: Node failure on a106" in the output of many ranks: of whom it speaks is not who
  // speaks. Nor where the ranks are further apart than one machine's, or where a launcher says of
  // a process of that log that it ran on another one.
  void drop_spoken_of(std::map<MemberId, std::set<Host>>& votes) const {
    constexpr std::int64_t kOfOneMachine = 16;
    std::map<MemberId, std::set<Rank>> ranks;
    std::set<MemberId> printed;
    std::map<MemberId, std::set<Host>> ended;
    for (const auto& t : facts_.tracebacks)
      if (t.rank) ranks[t.place.member].insert(*t.rank);
    for (const auto& i : facts_.identities)
      if (i.host && i.source != kExit) printed.insert(i.place.member);
    for (const auto& x : facts_.exits)
      if (x.host) ended[x.place.member].insert(names_.canonical(*x.host));
    for (const auto& e : facts_.events) {
      if (e.rank) ranks[e.place.member].insert(*e.rank);
      const std::size_t named = e.host ? e.message.find(*e.host) : 0;
      const bool launcher = e.message.starts_with("srun: ") && named > 0;
      if (e.host && !launcher && (e.role != Role::root || named == 0 || named == std::string::npos))
        printed.insert(e.place.member);
    }
    std::set<Host> known;
    for (const auto& [member, hosts] : votes) known.insert(hosts.begin(), hosts.end());
    std::erase_if(votes, [&](const auto& vote) {
      const std::set<Rank>& of = ranks[vote.first];
      if (vote.second.size() != 1) return false;
      const auto elsewhere = ended.find(vote.first);
      if (of.size() > 1 && elsewhere != ended.end() && elsewhere->second != vote.second)
        return true;
      const bool silent = printed.count(vote.first) == 0;
      if (silent && known.size() > 1) return true;
      return of.size() > 1 &&
             (silent || number_of(*of.rbegin()) - number_of(*of.begin()) >= kOfOneMachine);
    });
  }

  // A component of a path, or words of one, that is a host known from elsewhere:
  // "dmesg-gpu-a17.txt", "gpu-a17_stderr.log", "gpu07.nvidia-smi.txt". The last one.
  std::optional<Host> known_host_in(const std::string& path) const {
    std::optional<Host> out;
    std::size_t at = 0;
    for (std::size_t end = 0; at <= path.size(); at = end + 1) {
      end = std::min(path.find_first_of("/#", at), path.size());
      const std::string part = path.substr(at, end - at);
      if (part.empty()) continue;
      if (names_.known(part) && !nameless_host(part)) {
        out = short_host(part);
        continue;
      }
      for (std::size_t begin = 0; begin < part.size(); ++begin) {
        if (begin > 0 && std::string_view("-_.").find(part[begin - 1]) == std::string_view::npos)
          continue;
        for (std::size_t length = part.size() - begin; length >= 3; --length) {
          if (begin + length < part.size() &&
              std::string_view("-_.").find(part[begin + length]) == std::string_view::npos)
            continue;
          const std::string piece = part.substr(begin, length);
          if (names_.known(piece) && piece.find_first_of("0123456789") != std::string::npos) {
            out = short_host(piece);  // "node-07.txt" is known as well as "node-07.example.org"
            begin = part.size();
            break;
          }
        }
      }
    }
    return out;
  }

  // "pretrain-llm-3120.log" beside "trn01.dmesg" and "trn02.dmesg": a name that only output of the
  // job bears, and that is none of a series, where the machines are known by files of their own,
  // is the job's.
  // told: by the paths, in their order
  std::set<std::string> names_of_jobs(const std::map<MemberId, std::set<Host>>& votes,
                                      const std::vector<PathFacts>& told) const {
    std::map<std::string, std::set<std::string>> machines, jobs;  // by series
    const auto machine = [&](const std::string& name) {
      machines[name_without_numbers(name)].insert(name);
    };
    if (facts_.manifest)
      for (const auto& host : facts_.manifest->hosts) machine(short_host(host));
    for (const auto& [member, hosts] : votes)
      for (const Host& host : hosts) machine(host);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const MemberRow* m = paths_[i];
      const auto& host = told[i].host;
      if (m->kind != "file" || !host) continue;
      const std::size_t base = m->path.rfind('/') == std::string::npos ? 0 : m->path.rfind('/') + 1;
      const bool of_job =
          (m->text_kind.empty() || m->text_kind == "training" || m->text_kind == "nccl") &&
          m->format == "text" && m->path.compare(base, host->size(), *host) == 0;
      if (of_job)
        jobs[name_without_numbers(*host)].insert(*host);
      else
        machine(*host);
    }
    // "tune-7781.log" beside a record of job 7781.
    std::set<std::string> out, recorded;
    for (const ConfigRow& c : facts_.configs)
      if (c.name.starts_with("slurm.job."))
        recorded.insert(c.value.substr(0, c.value.find_first_of(" .")));
    for (const auto& [series, names] : jobs)
      for (const std::string& name : names)
        if (const std::string number = name.substr(name.find_last_not_of("0123456789") + 1);
            number.size() > 2 && recorded.count(number) > 0)
          out.insert(name);
    const bool fleet =
        std::ranges::any_of(machines, [](const auto& one) { return one.second.size() > 1; });
    for (const auto& [series, names] : jobs)
      if (fleet && names.size() == 1 && machines.count(series) == 0) out.insert(*names.begin());
    return out;
  }

  // Whose file: from the path, then against the names that the lines themselves give.
  void attribute_members() {
    names_.learn_endings();
    const auto votes = hosts_in_lines();
    std::vector<PathFacts> told;
    for (const MemberRow* m : paths_) told.push_back(facts_of_path(m->path));
    const std::set<std::string> of_jobs = names_of_jobs(votes, told);
    // By path, and again for those without a host: a folder is known to be a machine's once another
    // path has told so, and which file was read first must not decide it.
    for (std::size_t turn = 0; turn < 2 * paths_.size(); ++turn) {
      MemberRow& m = *paths_[turn % paths_.size()];
      if (m.kind != "file" || (turn >= paths_.size() && m.host)) continue;
      PathFacts path = told[turn % paths_.size()];
      if (path.host && of_jobs.count(*path.host) > 0) path.host.reset();
      if (const auto known = known_host_in(m.path)) path.host = known;  // beats every pattern
      if (path.host)
        if (Host whole = names_.by_ending(*path.host); !whole.empty()) path.host = whole;
      if (path.host) {
        names_.learn(*path.host);
        m.host = names_.canonical(*path.host);
        m.attribution = "path";
        if (!is_address(*m.host)) named_by_path_.emplace(m.id, *m.host);
      }
      m.rank = path.rank;
      m.local_rank = path.local_rank;
      m.attempt = path.attempt;
      const auto it = votes.find(m.id);
      if (it != votes.end() && it->second.size() == 1) {
        // All lines of the file name one host: a file's name may lie, its lines do not.
        const Host& only = *it->second.begin();
        if (!m.host || *m.host != only) {
          if (m.host) path_says_[*m.host].insert(only);
          m.attribution = m.host ? "content (the path says " + *m.host + ")" : "content";
          m.host = only;
        }
      }
    }
    hosts_from_siblings(facts_.members);
    for (MemberRow& m : facts_.members)
      if (m.host) {
        names_.learn(*m.host);
        m.host = names_.canonical(*m.host);
      }
    // What the siblings showed names the other files of those machines, too.
    for (MemberRow& m : facts_.members)
      if (m.kind == "file" && !m.host)
        if (const auto known = known_host_in(m.path)) {
          m.host = names_.canonical(*known);
          m.attribution = "path";
        }
    share_hosts_within_folders();
    share_hosts_within_archives();
    drop_node_numbers();
  }

  // A folder in which one machine says its name (hostname, uname, a prompt): what else a machine
  // has one of is its, and where each of several folders beside each other names another machine,
  // all of it.
  void share_hosts_within_folders() {
    std::map<std::string, std::set<Host>>
        said;  // folder -> machines that say their name in it or below
    for (const auto& i : facts_.identities) {
      const MemberRow* m = facts_.member(i.place.member);
      if (m == nullptr) continue;
      // A launcher's line names its machine, which is not yet the file's: one console may hold
      // several launchers.
      const bool launcher = i.source == "node rank" && i.host;
      const bool itself =
          m->host && (i.source == "hostname" || i.source == "uname" || i.source == "prompt");
      if (!launcher && !itself) continue;
      const Host host = launcher ? names_.canonical(*i.host) : *m->host;
      for (std::string folder = folder_of(m->path);; folder = folder_of(folder)) {
        said[folder].insert(host);
        if (folder.empty()) break;
      }
    }
    if (said.empty()) return;
    std::map<std::string, std::set<Host>>
        beside;  // folder -> machines of the folders in it, one each
    for (const auto& [folder, hosts] : said)
      if (hosts.size() == 1 && !folder.empty()) beside[folder_of(folder)].insert(*hosts.begin());
    static const std::set<std::string> kOfMachine{"kernel", "nvidia-smi",     "dcgm",   "rdma",
                                                  "bmc",    "fabric-manager", "process"};
    for (MemberRow& m : facts_.members) {
      if (m.kind != "file" || m.host) continue;
      for (std::string folder = folder_of(m.path);; folder = folder_of(folder)) {
        const auto it = said.find(folder);
        if (it != said.end()) {
          const bool own_folder = !folder.empty() && beside[folder_of(folder)].size() > 1;
          if (it->second.size() == 1 &&
              (own_folder || kOfMachine.count(m.text_kind) > 0 || m.format == "host-words")) {
            m.host = *it->second.begin();
            m.attribution = "its folder";
          }
          break;
        }
        if (folder.empty()) break;
      }
    }
  }

  // "n0.log" beside ranks that run on trn-01 and trn-02 is no machine: it counts the nodes of the
  // job. Which of them it is, other files of that name say in their lines, or the order of the
  // hosts.
  void drop_node_numbers() {
    static const re2::RE2 kNumbered(R"((?i)^(?:n|nd|node|host|worker|machine|h|w)[-_]?(\d{1,4})$)");
    static const std::set<std::string> kOfMachine{"kernel", "rdma", "bmc", "fabric-manager"};
    std::set<Host> runs;  // machines that run ranks
    for (const auto& i : facts_.identities)
      if (i.host && (i.rank || i.local_rank || i.source.rfind("nccl", 0) == 0) &&
          !nameless_host(*i.host) && !is_address(*i.host))
        runs.insert(names_.canonical(*i.host));
    runs.insert(manifest_hosts_.begin(), manifest_hosts_.end());
    std::set<Host> counted;
    const auto by_path = [](const MemberRow& m) {
      return m.host && m.attribution.rfind("path", 0) == 0;
    };
    for (const MemberRow& m : facts_.members)
      if (by_path(m) && re2::RE2::FullMatch(*m.host, kNumbered)) counted.insert(*m.host);
    // More numbers than machines: several nodes of a test on one machine, and their numbers are all
    // that tells them apart.
    static const re2::RE2 kShort(R"((?i)^(?:n|nd|h|w)\d{1,4}$)");
    const bool only_short = std::ranges::all_of(
        counted, [](const Host& one) { return re2::RE2::FullMatch(one, kShort); });
    if (runs.empty() || counted.empty() || (counted.size() > runs.size() && !only_short) ||
        std::ranges::any_of(counted, [&](const Host& one) { return runs.count(one) > 0; }))
      return;
    const std::vector<Host> order = facts_.manifest ? facts_.manifest->hosts : std::vector<Host>{};
    const bool from_zero = std::ranges::any_of(counted, [](const std::string& one) {
      return one.find_first_not_of("0", one.find_first_of("0123456789")) == std::string::npos;
    });
    std::map<std::string, std::size_t> claims;  // two numbers for one machine name neither
    for (const std::string& name : counted)
      if (const auto it = path_says_.find(name); it != path_says_.end() && it->second.size() == 1)
        ++claims[*it->second.begin()];
    for (MemberRow& m : facts_.members) {
      if (!by_path(m) || counted.count(*m.host) == 0) continue;
      std::int64_t number = 0;
      re2::RE2::FullMatch(*m.host, kNumbered, &number);
      const auto said = path_says_.find(*m.host);
      if (said != path_says_.end() && said->second.size() == 1 &&
          claims[*said->second.begin()] == 1) {
        m.host = *said->second.begin();
        m.attribution = "path, and what other files of that name say";
      } else if (from_zero && counted.size() <= order.size() &&
                 static_cast<std::size_t>(number) < order.size()) {
        m.host = names_.canonical(order[static_cast<std::size_t>(number)]);
        m.attribution = "path, by the number of the node";
      } else if (kOfMachine.count(m.text_kind) == 0) {
        m.host.reset();
        m.attribution.clear();
      }
    }
  }

  // Sections know what their file knows.
  void share_hosts_within_archives() {
    std::map<std::string, std::set<Host>> of_container;
    for (const MemberRow& m : facts_.members)
      if (m.host && !m.container.empty()) of_container[m.container].insert(*m.host);
    for (MemberRow& m : facts_.members)
      if (!m.host && !m.container.empty())
        if (const auto it = of_container.find(m.container);
            it != of_container.end() && it->second.size() == 1) {
          m.host = *it->second.begin();
          m.attribution = "the rest of its archive";
        }
  }

  // "[bx-208 rank24]" places a rank, "[warmup2 rank24]" does not: the word is a machine where
  // something else knows it, or where several such words share the ranks of a file among them.
  void settle_claims() {
    std::map<MemberId, std::map<std::int64_t, std::set<Host>>> claimed;
    for (const IdentityRow& i : facts_.identities)
      if (i.source == kClaim && i.rank && i.host) claimed[i.place.member][*i.rank].insert(*i.host);
    const auto shared_out = [&](MemberId member) {
      std::set<Host> words;
      for (const auto& [rank, of] : claimed[member]) {
        if (of.size() > 1) return false;
        words.insert(*of.begin());
      }
      return words.size() > 1;
    };
    std::set<MemberId> maps;
    for (const auto& [member, ranks] : claimed)
      if (shared_out(member)) maps.insert(member);
    for (IdentityRow& i : facts_.identities) {
      if (i.source != kClaim || !i.host) continue;
      if (names_.known(*i.host) || maps.contains(i.place.member)) {
        names_.learn(*i.host);
        i.source = "rank map";
      } else {
        i.host.reset();
      }
    }
    // The same of columns: "tesla1_compute_ms", "stage1_compute_ms".
    for (SeriesRow& s : facts_.series)
      if (!s.host && s.labels.starts_with(kColumn))
        if (const std::string name =
                s.labels.substr(kColumn.size(), s.labels.find(',') - kColumn.size());
            names_.known(name))
          s.host = Host(name);
  }

  static std::optional<std::int64_t> task_of(const SeriesRow& s) {
    std::int64_t task = 0;
    if (s.rank || !s.labels.starts_with(kTaskLabel)) return std::nullopt;
    const std::string_view text = std::string_view(s.labels).substr(kTaskLabel.size());
    return parse_whole(text.substr(0, text.find(',')), task) ? std::optional(task) : std::nullopt;
  }

  std::optional<Host> host_of(const std::optional<Host>& printed, const Place& place) const {
    if (printed && !nameless_host(*printed)) return names_.canonical(*printed);
    const MemberRow* m = facts_.member(place.member);
    return m != nullptr ? m->host : std::nullopt;
  }

  // Peers are named by them.
  void learn_addresses() {
    names_.learn_addresses_in_names();
    // What several machines call their own (a bridge of containers) is no machine's name.
    std::map<std::string, std::set<Host>> claimed;
    for (const auto& i : facts_.identities)
      if (i.address)
        if (const auto host = host_of(i.host, i.place)) claimed[*i.address].insert(*host);
    for (const auto& [address, hosts] : claimed)
      if (hosts.size() == 1) names_.learn_address(address, *hosts.begin());
    learn_addresses_of_files();
    std::set<std::string> speakers;
    each_speaking_address([&](const Host& address, const Place&) { speakers.insert(address); });
    names_.learn_addresses_by_number(speakers);
    std::set<std::string> peers;
    for (const auto& e : facts_.events)
      if (e.peer && is_address(Host(*e.peer))) peers.insert(*e.peer);
    names_.learn_addresses_as_others(peers);
    for (MemberRow& m : facts_.members)
      if (m.host) m.host = names_.canonical(*m.host);
  }

  // see(address, place): lines that name who prints them by an address.
  void each_speaking_address(const auto& see) const {
    const auto one = [&](const std::optional<Host>& host, const Place& place) {
      if (host && is_address(*host)) see(*host, place);
    };
    for (const auto& e : facts_.events) one(e.host, e.place);
    for (const auto& i : facts_.identities) one(i.host, i.place);
    for (const auto& t : facts_.tracebacks) one(t.host, t.place);
  }

  // Files of several machines, in each of which the processes of one address speak, and of another
  // one in each: as Ray names them.
  void learn_addresses_of_files() {
    constexpr std::size_t kSeveral = 3;
    std::map<MemberId, std::set<std::string>> said;
    each_speaking_address(
        [&](const Host& address, const Place& place) { said[place.member].insert(address); });
    std::map<std::string, std::set<Host>> of;
    std::map<Host, std::set<std::string>> addresses;
    for (const auto& [member, all] : said)
      if (const auto named = named_by_path_.find(member); named != named_by_path_.end())
        for (const std::string& address : all) {
          of[address].insert(named->second);
          addresses[named->second].insert(address);
        }
    const auto one_each = [](const auto& map) {
      return std::ranges::all_of(map, [](const auto& one) { return one.second.size() == 1; });
    };
    if (of.size() < kSeveral || !one_each(of) || !one_each(addresses)) return;
    for (const auto& [address, hosts] : of) names_.learn_address(address, *hosts.begin());
  }

  // The world: the manifest, or the largest communicator, or the largest rank.
  void find_world_size() {
    std::int64_t largest = 0;
    for (const auto& i : facts_.identities)
      if (i.world_size) largest = std::max(largest, *i.world_size);
    facts_.world_size =
        facts_.manifest && facts_.manifest->world_size ? *facts_.manifest->world_size : largest;
  }

  // Nothing tells the size of the job: where at least half of the ranks up to the largest were
  // seen, the others exist, too. A rank 1 that timed out proves a rank 0.
  void count_world_from_ranks() {
    if (facts_.world_size != 0 || ranks_.empty()) return;
    const std::int64_t size = number_of(ranks_.rbegin()->first) + 1;
    facts_.world_counted = static_cast<std::int64_t>(ranks_.size()) * 2 >= size;
    if (facts_.world_counted) facts_.world_size = size;
  }

  void add_rank(Rank rank, const std::optional<Host>& host, const std::optional<LocalRank>& local,
                const std::optional<std::int64_t>& pid, const std::optional<std::string>& gpu,
                const char* source) {
    if (!is_rank_of(10'000'001, rank)) return;
    RankRow& row = ranks_[rank];
    row.rank = rank;
    if (row.source.empty()) row.source = source;
    offer(row.host, host);
    offer(row.local_rank, local);
    offer(row.pid, pid);
    offer(row.gpu, gpu);
  }

  // What each log says of the ranks of its own run. Runs that give a rank other machines say
  // nothing of the job as a whole.
  void read_rank_maps() {
    std::map<Rank, Host> first;
    for (const IdentityRow* i : order_) {
      if (i->source != "rank map" || !i->rank || !i->host) continue;
      const Rank rank{*i->rank};
      const Host host = names_.canonical(*i->host);
      run_ranks_[{i->place.member, rank}] = {host, i->local_rank.value_or(LocalRank{})};
      if (first.emplace(rank, host).first->second != host) moved_.insert(rank);
    }
  }

  void collect_ranks() {
    // In order of trust; within a source the order of paths, so that the answer does not depend on
    // the order of reading.
    for (const auto& i : facts_.identities) order_.push_back(&i);
    sort_rows(order_, [&](const IdentityRow* a, const IdentityRow* b) {
      const MemberRow* x = facts_.member(a->place.member);
      const MemberRow* y = facts_.member(b->place.member);
      const std::string& p = x->path;
      const std::string& q = y->path;
      return p != q ? p < q : a->place.line < b->place.line;
    });
    if (facts_.manifest)
      for (const RankRow& row : facts_.manifest->ranks)
        add_rank(row.rank, names_.canonical(*row.host), row.local_rank, {}, {}, "manifest");
    if (facts_.manifest && !facts_.manifest->hosts.empty() && facts_.manifest->gpus_per_node) {
      const std::int64_t per = *facts_.manifest->gpus_per_node;
      for (std::size_t h = 0; h < facts_.manifest->hosts.size(); ++h)
        for (std::int64_t l = 0;
             l < per && static_cast<std::int64_t>(h) * per + l <
                            std::max<std::int64_t>(
                                facts_.world_size,
                                static_cast<std::int64_t>(facts_.manifest->hosts.size()) * per);
             ++l)
          add_rank(Rank(static_cast<std::int64_t>(h) * per + l),
                   names_.canonical(facts_.manifest->hosts[h]), LocalRank(l), {}, {}, "manifest");
    }
    read_rank_maps();
    for (const char* source : {"nccl-init", "nccl-init-start", "environment", "torchrun",
                               "rank line", "prefix", "rank table", "rank map"})
      for (const IdentityRow* i : order_) {
        if (i->source != source || !i->rank) continue;
        if (i->communicator &&
            (!i->world_size || *i->world_size != facts_.world_size || facts_.world_size < 2))
          continue;  // a rank of a smaller group
        const MemberRow* m = facts_.member(i->place.member);
        auto local = i->local_rank;
        if (!local && m != nullptr) local = m->local_rank;
        if (i->source == "rank map" && moved_.count(Rank(*i->rank)) > 0) continue;
        add_rank(Rank(*i->rank), host_of(i->host, i->place), local, i->pid, i->gpu, source);
      }
    // Lines that print both, and files that are one rank's on one host.
    for (const auto& e : facts_.events)
      if (e.rank)
        if (const auto host = host_of(e.host, e.place))
          add_rank(*e.rank, host, e.local_rank, {}, {}, "log line");
    // Records of a rank that print its machine.
    for (const auto& s : facts_.series)
      if (s.rank && s.host && !nameless_host(*s.host))
        add_rank(*s.rank, names_.canonical(*s.host), s.local_rank, {}, {}, "record");
    for (const auto& m : facts_.members)
      if (m.rank && m.host)
        add_rank(*m.rank, m.host, m.local_rank, {}, {}, "path");
      else if (m.rank)
        add_rank(*m.rank, {}, m.local_rank, {}, {}, "path");
    // What speaks of a rank proves that there is one.
    const auto exists = [&](const auto& rows, const char* source) {
      for (const auto& row : rows)
        if (row.rank && (facts_.world_size == 0 || number_of(*row.rank) < facts_.world_size))
          add_rank(*row.rank, {}, {}, {}, {}, source);
    };
    exists(facts_.events, "log line");
    exists(facts_.tracebacks, "traceback");
    exists(facts_.exits, "exit");
    exists(facts_.frontiers, "dump");
    exists(facts_.recorders, "dump");
    // Where a heading places what is dumped, if nothing else places the rank: it may be a proxy.
    for (const IdentityRow& i : facts_.identities)
      if (i.source == "dump heading" && i.rank && i.host && !is_address(*i.host))
        add_rank(Rank(*i.rank), names_.canonical(*i.host), {}, {}, {}, "dump");
    count_world_from_ranks();
  }

  // A job of a handful of ranks, all local ranks too, in a bundle that names one machine and no
  // other: they ran there. Of rank 0 alone most jobs have a log, wherever the others ran.
  void place_small_job() {
    std::set<Host> named;
    for (const auto& i : facts_.identities)
      if (i.host && !nameless_host(*i.host)) named.insert(names_.canonical(*i.host));
    for (const auto& m : facts_.members)
      if (m.host) named.insert(*m.host);
    const bool local = std::ranges::all_of(ranks_, [](const auto& one) {
      return !one.second.host &&
             (!one.second.local_rank || number_of(*one.second.local_rank) == number_of(one.first));
    });
    constexpr std::size_t kMostOfMachine = 8;
    if (named.size() == 1 && local && !ranks_.empty() && ranks_.size() <= kMostOfMachine &&
        number_of(ranks_.rbegin()->first) < static_cast<std::int64_t>(ranks_.size()) &&
        (facts_.world_counted ? ranks_.size() > 1
                              : static_cast<std::size_t>(facts_.world_size) == ranks_.size()))
      for (auto& [rank, row] : ranks_) row.host = *named.begin();
  }

  void index_processes() {
    std::set<LocalKey> torn_local;
    std::set<ProcessKey> torn_pid;
    for (const auto& [rank, row] : ranks_) {
      const std::string host = name_of(row.host);
      if (row.local_rank && !by_local_.emplace(std::pair(host, *row.local_rank), rank).second)
        torn_local.insert({host, *row.local_rank});
      if (row.pid && !by_pid_.emplace(std::pair(host, *row.pid), rank).second)
        torn_pid.insert({host, *row.pid});
    }
    for (const auto& key : torn_local) by_local_.erase(key);
    // A launcher gives the processes of a machine consecutive ranks: where all known pairs agree on
    // the first, it gives the others, too.
    std::map<std::string, std::set<std::int64_t>> first_of;  // numbers of ranks
    for (const auto& [key, rank] : by_local_)
      first_of[key.first].insert(number_of(rank) - number_of(key.second));
    for (const MemberRow& m : facts_.members) {
      if (m.rank || !m.local_rank || !m.host) continue;
      const auto it = first_of.find(*m.host);
      if (it == first_of.end() || it->second.size() != 1) continue;
      const Rank rank{*it->second.begin() + number_of(*m.local_rank)};
      if (number_of(rank) < 0 || ranks_.count(rank) != 0 ||
          (facts_.world_size > 0 && number_of(rank) >= facts_.world_size) ||
          !by_local_.emplace(std::pair(*m.host, *m.local_rank), rank).second)
        continue;
      add_rank(rank, m.host, m.local_rank, {}, {}, "path");
    }
    for (const auto& key : torn_pid) by_pid_.erase(key);
    // All ranks of the job on one machine: what names no machine is of that one.
    if (!ranks_.empty() &&
        (facts_.world_size == 0 || static_cast<std::size_t>(facts_.world_size) <= ranks_.size())) {
      only_ = ranks_.begin()->second.host;
      for (const auto& [rank, row] : ranks_)
        if (row.host != only_) {
          only_.reset();
          break;
        }
    }
  }

  template <class Number>
  static std::optional<Rank> look(const std::map<std::pair<std::string, Number>, Rank>& map,
                                  const std::optional<Host>& host,
                                  const std::optional<Number>& key) {
    if (!key) return std::nullopt;
    const auto it = map.find({name_of(host), *key});
    return it == map.end() ? std::nullopt : std::optional(it->second);
  }

  // srun -l labels: ranks when there is one task a GPU. Lines that print both a label and a rank
  // decide; without such lines, labels that run up to the world size and no further do.
  void read_task_labels() {
    std::size_t agree = 0, differ = 0;
    std::int64_t highest = -1;
    const auto compare = [&](const std::optional<std::int64_t>& task,
                             const std::optional<std::int64_t>& rank) {
      if (task) highest = std::max(highest, *task);
      if (task && rank) ++(*task == *rank ? agree : differ);
    };
    for (const auto& e : facts_.events) compare(e.task, number_of(e.rank));
    for (const SeriesRow& s : facts_.series) compare(task_of(s), number_of(s.rank));
    for (const auto& i : facts_.identities)
      if (i.source != kExit)
        compare(i.task,
                i.communicator && i.world_size != facts_.world_size ? std::nullopt : i.rank);
    // Where a task of a log ran holds for its lines, ranks or not.
    std::set<std::pair<MemberId, std::int64_t>> torn;
    for (const IdentityRow* i : order_)
      if (i->task && i->host) {
        const std::pair key(i->place.member, *i->task);
        const Host host = host_of(i->host, i->place).value_or(Host());
        // The last word on a step says nothing of the steps behind it.
        const std::uint64_t until = i->source == kExit ? i->place.line : UINT64_MAX;
        const auto [at, fresh] = by_task_.emplace(key, TaskPlace{host, until});
        if (at->second.host != host) torn.insert(key);
        if (!fresh) at->second.until = std::max(at->second.until, until);
      }
    for (const auto& key : torn) by_task_.erase(key);
    tasks_are_ranks_ =
        differ == 0 && (agree > 0 || (facts_.world_size > 1 && highest + 1 == facts_.world_size) ||
                        a_task_each_device());
    if (tasks_are_ranks_)
      for (const IdentityRow* i : order_)
        if (i->task && i->host && i->source != kExit)
          add_rank(Rank(*i->task), host_of(i->host, i->place), {}, i->pid, i->gpu, "srun label");
  }

  // The numbers on lines with such a label.
  void place_series_of_tasks() {
    for (SeriesRow& s : facts_.series) {
      const std::optional<std::int64_t> task = task_of(s);
      if (!task) continue;
      if (tasks_are_ranks_) s.rank = Rank(*task);
      if (const auto it = by_task_.find({s.member, *task}); it != by_task_.end() && !s.host)
        s.host = it->second.host;
    }
  }

  // Several tasks of one machine each name another local rank there.
  bool a_task_each_device() const {
    std::map<Host, std::map<LocalRank, std::int64_t>> devices;
    bool several = false;
    for (const IdentityRow* i : order_) {
      if (!i->task || !i->host || !i->local_rank) continue;
      auto& of_host = devices[*i->host];
      if (of_host.emplace(*i->local_rank, *i->task).first->second != *i->task) return false;
      several = several || of_host.size() > 1;
    }
    return several;
  }

  void place_members() {
    for (MemberRow& m : facts_.members) {
      if (!m.rank && m.local_rank) m.rank = look(by_local_, m.host ? m.host : only_, m.local_rank);
      if (!m.host && m.rank)
        if (const auto it = ranks_.find(*m.rank); it != ranks_.end() && it->second.host) {
          m.host = it->second.host;
          m.attribution = "its rank";
        }
    }
  }

  // The machine of the rank that a line names, by the log's own map; false: it has none.
  bool settle_by_map(auto& row, const MemberRow* m) const {
    if (!row.rank || (m != nullptr && m->host && m->attribution.starts_with("path"))) return false;
    const auto own = run_ranks_.find({row.place.member, *row.rank});
    if (own == run_ranks_.end()) return false;
    row.host = own->second.host;
    if constexpr (requires { row.local_rank; })
      if (!row.local_rank) row.local_rank = own->second.local;
    return true;
  }

  // What the line prints, else what its process, file or rank says.
  void settle(auto& row) {
    const MemberRow* m = facts_.member(row.place.member);
    if (row.host && nameless_host(*row.host)) row.host.reset();
    if (row.host)
      row.host = names_.canonical(*row.host);
    else if (!settle_by_map(row, m) && m != nullptr && m->host)
      row.host = m->host;
    if (!row.rank) row.rank = look(by_pid_, row.host ? row.host : only_, row.pid);
    if (!row.rank) row.rank = look(by_local_, row.host ? row.host : only_, row.local_rank);
    if constexpr (requires { row.task; })
      if (!row.rank && tasks_are_ranks_) row.rank = maybe<Rank>(row.task);
    if (!row.rank && m != nullptr) row.rank = m->rank;
    if (!row.host && row.rank)
      if (const auto it = ranks_.find(*row.rank); it != ranks_.end()) row.host = it->second.host;
    if constexpr (requires { row.task; })
      if (!row.host && row.task)
        if (const auto it = by_task_.find({row.place.member, *row.task});
            it != by_task_.end() && row.place.line <= it->second.until)
          row.host = it->second.host;
  }

  // Of which of the clusters an event tells: by its label, or by the folder of its file.
  std::string cluster_of(const EventRow& e, const std::set<std::string>& clusters) const {
    std::string label = detail_of(e, "cluster");
    const MemberRow* m = facts_.member(e.place.member);
    if (!label.empty() || m == nullptr) return label;
    const auto folder = std::ranges::find_if(clusters, [&](const std::string& name) {
      return m->path.starts_with(name + "/") || contains(m->path, "/" + name + "/");
    });
    return folder == clusters.end() ? std::string() : *folder;
  }

  // Names recur in other clusters. The job is of the one that has the hosts of its ranks and of
  // their ends, and after which its files are named; where one export holds several, those of the
  // others are other machines.
  void tell_clusters_apart() {
    std::set<std::string> said, clusters;  // said: of the job, by its own environment
    for (const ConfigRow& row : facts_.configs) {
      if (row.name == "slurm.cluster") said.insert(row.value);
      if (row.name == "slurm.cluster" || row.name == "topo.cluster") clusters.insert(row.value);
    }
    std::map<std::string, std::set<Host>> hosts;  // by cluster
    for (const std::string& cluster : clusters)
      if (said.count(cluster) == 0) hosts[cluster];
    for (const EventRow& e : facts_.events)
      if (const std::string cluster = cluster_of(e, clusters); !cluster.empty() && e.host)
        hosts[cluster].insert(names_.canonical(*e.host));
    if (hosts.empty() || said.size() > 1 || hosts.size() + said.size() < 2) return;
    std::set<Host> of_job;
    for (const auto& [rank, row] : ranks_)
      if (row.host) of_job.insert(*row.host);
    for (const ExitRow& x : facts_.exits)
      if (const auto host = host_of(x.host, x.place)) of_job.insert(*host);
    std::map<std::size_t, std::vector<std::string>> by_votes;
    for (const auto& of_cluster : hosts) {
      const auto of_it = std::ranges::count_if(
          of_cluster.second, [&](const Host& host) { return of_job.contains(host); });
      const auto named = std::ranges::count_if(facts_.members, [&](const MemberRow& m) {
        return named_in_path(m.path, of_cluster.first);
      });
      by_votes[static_cast<std::size_t>(of_it + named)].push_back(of_cluster.first);
    }
    const auto& [votes, most] = *by_votes.rbegin();
    if (said.empty() && (votes == 0 || most.size() > 1)) return;
    const std::string own = said.empty() ? most.front() : *said.begin();
    for (EventRow& e : facts_.events)
      if (const std::string cluster = cluster_of(e, clusters);
          !cluster.empty() && cluster != own && e.host)
        e.host = in_cluster(names_.canonical(*e.host), cluster);
  }

  void settle_rows() {
    std::map<Host, std::vector<const RankRow*>> with_gpu;  // by host, in the order of the ranks
    for (const auto& [rank, row] : ranks_)
      if (row.host && row.gpu) with_gpu[*row.host].push_back(&row);
    for (auto& e : facts_.events) {
      settle(e);
      if (!e.gpu || !e.host) continue;
      const auto own = with_gpu.find(*e.host);
      if (own == with_gpu.end()) continue;
      if (e.gpu->find(':') == std::string::npos)
        // an index: the PCI address is the name that stays
        for (const RankRow* row : own->second)
          if (row->local_rank && std::to_string(number_of(*row->local_rank)) == *e.gpu)
            e.gpu = row->gpu;
      if (!e.rank && e.scope == Scope::host_local)
        for (const RankRow* row : own->second)
          if (row->gpu == e.gpu) e.rank = row->rank;
    }
    for (auto& t : facts_.tracebacks) settle(t);
    for (auto& x : facts_.exits) settle(x);
    for (auto& c : facts_.configs)
      if (c.host && !nameless_host(*c.host)) c.host = names_.canonical(*c.host);
    for (auto& s : facts_.series) {
      const MemberRow* m = facts_.member(s.member);
      if (s.host && nameless_host(*s.host)) s.host.reset();
      if (s.host)
        s.host = names_.canonical(*s.host);
      else if (m != nullptr)
        s.host = m->host;
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
      if (const std::size_t port = peer.find('<'); port != std::string::npos)
        peer = peer.substr(0, port);
      if (!peer.empty() && peer.front() == '[') peer = peer.substr(1, peer.find(']') - 1);
      if (peer.rfind("::ffff:", 0) == 0) peer = peer.substr(7);
      if (std::count(peer.begin(), peer.end(), ':') == 1) peer = peer.substr(0, peer.find(':'));
      if (peer.rfind("rank ", 0) == 0) peer = peer.substr(5);
      if (nameless_host(peer)) continue;
      if (peer.find_first_not_of("0123456789") == std::string::npos && peer.size() < 9) {
        if (const auto it = ranks_.find(Rank(std::strtoll(peer.c_str(), nullptr, 10)));
            it != ranks_.end())
          e.peer_host = it->second.host;
        continue;
      }
      // An address that nothing ties to a name is a name too: somebody can look it up.
      e.peer_host = names_.canonical(peer);
    }
  }

  void list_hosts() {
    std::map<Host, HostRow> hosts;
    const auto add_host = [&](const std::optional<Host>& host) {
      if (host && !nameless_host(*host)) hosts[*host].host = *host;
    };
    for (const auto& [rank, row] : ranks_) add_host(row.host);
    for (const auto& host : manifest_hosts_) add_host(host);
    for (const auto& e : facts_.events) add_host(e.host);
    for (const auto& m : facts_.members) add_host(m.host);
    for (const auto& i : facts_.identities)  // where a process of the job said who it is
      if (i.host && i.source.starts_with("nccl")) add_host(names_.canonical(*i.host));
    for (const auto& s : facts_.series)
      if (s.host && !is_address(*s.host)) add_host(s.host);
    for (const auto& [address, host] : names_.addresses())
      if (hosts.count(host) > 0) hosts[host].addresses.push_back(address);
    if (facts_.manifest)
      for (std::size_t i = 0; i < facts_.manifest->hosts.size(); ++i)
        if (const auto it = hosts.find(names_.canonical(facts_.manifest->hosts[i]));
            it != hosts.end())
          it->second.node_rank = static_cast<std::int64_t>(i);
    std::map<Host, std::string> newest_driver;
    for (const auto& c : facts_.configs)
      if (c.name == "driver_version")
        if (const auto host = host_of(c.host, c.place)) newest_driver[*host] = c.value;
    for (auto& [host, version] : newest_driver)
      if (hosts.count(host) > 0) hosts[host].driver = version;
    std::set<MemberId> training;
    for (const auto& p : facts_.progress) training.insert(p.member);
    for (const auto& t : facts_.tracebacks) training.insert(t.place.member);
    for (const auto& i : facts_.identities)
      if (tells_of_job(i)) training.insert(i.place.member);
    for (const auto& x : facts_.exits) training.insert(x.place.member);
    for (const auto& e : facts_.events)  // what ranks say of each other
      if (e.role == Role::cascade && e.severity == Severity::distributed)
        if (const MemberRow* m = facts_.member(e.place.member); m != nullptr && !of_machine(*m))
          training.insert(m->id);
    for (const auto& m : facts_.members)
      if (m.host && hosts.count(*m.host) > 0 &&
          (training.count(m.id) > 0 || m.rank || m.local_rank))
        hosts[*m.host].has_log = true;
    // A switch has a log too, and runs no ranks.
    for (const NetworkRow& n : facts_.networks)
      if (n.kind == "switch" &&
          std::ranges::none_of(ranks_, [&](const auto& one) { return one.second.host == n.name; }))
        hosts.erase(Host(n.name));
    if (facts_.manifest)
      for (const auto* groups : {&facts_.manifest->tor, &facts_.manifest->pod})
        for (const auto& [name, below] : *groups)
          if (manifest_hosts_.count(Host(name)) == 0) hosts.erase(Host(name));
    facts_.hosts.reserve(hosts.size());
    for (auto& [host, row] : hosts) facts_.hosts.push_back(std::move(row));
    facts_.ranks.reserve(ranks_.size());
    for (auto& [rank, row] : ranks_) facts_.ranks.push_back(std::move(row));
  }

  // Copies: a log collected twice. Equal bytes alone prove nothing: a process that stands still
  // prints the same stack in each look, ranks of one program the same last words, and a counter
  // that does not move the same snapshot.
  void mark_copies() {
    std::vector<MemberRow*> files;
    for (MemberRow& m : facts_.members)
      if (m.kind == "file" && m.size > 0 && log_text(m)) files.push_back(&m);
    std::ranges::sort(files, [](const MemberRow* a, const MemberRow* b) {
      return std::tie(a->digest, a->id) < std::tie(b->digest, b->id);
    });
    std::map<std::pair<std::string, std::string>, std::vector<MemberRow*>> same;  // digest, name
    for (std::size_t i = 0; i < files.size(); ++i)
      if ((i > 0 && files[i - 1]->digest == files[i]->digest) ||
          (i + 1 < files.size() && files[i + 1]->digest == files[i]->digest))
        same[{files[i]->digest, name_without_copy_marks(files[i]->path)}].push_back(files[i]);
    for (auto& [key, group] : same) {
      if (group.size() < 2) continue;
      // The copy whose owner is known stands; else the first path.
      sort_rows(group, [](const MemberRow* a, const MemberRow* b) {
        const bool known_a = a->host || a->rank;
        const bool known_b = b->host || b->rank;
        return known_a != known_b   ? known_a
               : a->path != b->path ? a->path < b->path
                                    : a->id < b->id;
      });
      std::vector<MemberRow*> originals;
      for (MemberRow* m : group) {
        const auto it = std::ranges::find_if(originals, [&](const MemberRow* one) {
          return owners_agree(*one, *m) && !differ_in_numbers_only(one->path, m->path);
        });
        if (it != originals.end())
          m->duplicate_of = (*it)->id;
        else if (originals.size() < kMostOriginals)
          originals.push_back(m);
      }
    }
  }

  // What a program or daemon wrote line by line; no dump, no snapshot, no table.
  static bool log_text(const MemberRow& m) {
    static const std::set<std::string> kSnapshots{"data",       "stack", "process", "source",
                                                  "nvidia-smi", "dcgm",  "rdma"};
    static const std::set<std::string> kFormats{"text",           "kernel-log", "nccl-log",
                                                "fabric-manager", "ipmi-sel",   "kubectl-describe"};
    return kSnapshots.count(m.text_kind) == 0 && kFormats.count(m.format) > 0;
  }

  // "console.log", "console.txt.gz", "console.log.bak" and "console (1).log" are one name.
  static std::string name_without_copy_marks(const std::string& path) {
    static const re2::RE2 kMarks(
        R"((?i)(?:\.(?:gz|xz|zst|bz2|bak|orig|copy|log|txt)|~|[ _-]copy| ?\(\d\)|[_-]backup)$)");
    std::string name = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
    for (int turn = 0; turn < 8 && name.size() > 1; ++turn) {
      re2::StringPiece mark;
      if (!kMarks.Match(name, 0, name.size(), re2::RE2::UNANCHORED, &mark, 1) ||
          mark.size() == name.size())
        break;
      name.resize(name.size() - mark.size());
    }
    return name;
  }

  static bool owners_agree(const MemberRow& a, const MemberRow& b) {
    const auto agree = [](const auto& x, const auto& y) { return !x || !y || *x == *y; };
    return agree(a.host, b.host) && agree(a.rank, b.rank) && agree(a.local_rank, b.local_rank) &&
           agree(a.attempt, b.attempt);
  }

  // "out/0/stderr.log" and "out/1/stderr.log": two of a kind, whatever the number counts.
  static bool differ_in_numbers_only(const std::string& a, const std::string& b) {
    const auto without = [](const std::string& path) {
      std::string out;
      for (const char c : path)
        if (c < '0' || c > '9')
          out += c;
        else if (out.empty() || out.back() != '#')
          out += '#';
      return out;
    };
    return a != b && without(a) == without(b);
  }

  Facts& facts_;
  HostNames names_;
  std::vector<MemberRow*> paths_;  // in order of their paths
  struct OnMachine {
    Host host;
    LocalRank local{};
  };
  std::map<std::pair<MemberId, Rank>, OnMachine> run_ranks_;  // by the log of the run
  std::set<Rank> moved_;                                      // on other machines in other runs
  std::vector<const IdentityRow*> order_;                     // in order of their members' paths
  std::set<Host> manifest_hosts_;
  std::map<std::string, std::set<Host>>
      path_says_;  // a host by the path -> those that the lines of such files name
  std::map<MemberId, Host> named_by_path_;
  std::map<Rank, RankRow> ranks_;
  std::map<LocalKey, Rank> by_local_;
  std::map<ProcessKey, Rank> by_pid_;
  std::optional<Host> only_;                                        // the one machine of the job
  std::map<std::pair<MemberId, std::int64_t>, TaskPlace> by_task_;  // of one log
  bool tasks_are_ranks_ = false;
};

}  // namespace

void resolve_identity(Facts& facts) { Resolution(facts).run(); }

}  // namespace culprit::analyze
