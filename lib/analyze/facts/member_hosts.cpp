// Whose file each member is.
#include "analyze/facts/member_hosts.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "analyze/facts/path_facts.hpp"
#include "model/address.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using Votes = std::map<MemberId, std::set<Host>>;  // the hosts that the lines of each member name

// "srun: error: Node failure on a106" in the output of many ranks: of whom it speaks is not who
// speaks. Nor where the ranks are further apart than one machine's, or where a launcher says of
// a process of that log that it ran on another one.
void drop_spoken_of(const Facts& facts, const HostNames& names, Votes& votes) {
  constexpr std::int64_t kOfOneMachine = 16;
  std::map<MemberId, std::set<Rank>> ranks;
  std::set<MemberId> printed;
  std::map<MemberId, std::set<Host>> ended;
  for (const auto& t : facts.tracebacks)
    if (t.rank) ranks[t.place.member].insert(*t.rank);
  for (const auto& i : facts.identities)
    if (i.host && i.source != kSrunExit) printed.insert(i.place.member);
  for (const auto& x : facts.exits)
    if (x.host) ended[x.place.member].insert(names.canonical(*x.host));
  for (const auto& e : facts.events) {
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
    if (of.size() > 1 && elsewhere != ended.end() && elsewhere->second != vote.second) return true;
    const bool silent = printed.count(vote.first) == 0;
    if (silent && known.size() > 1) return true;
    return of.size() > 1 &&
           (silent || number_of(*of.rbegin()) - number_of(*of.begin()) >= kOfOneMachine);
  });
}

Votes hosts_in_lines(const Facts& facts, const HostNames& names) {
  constexpr std::uint64_t kSmallFile = 16'384;
  Votes out;
  // What schedulers record are the machines of others.
  std::set<MemberId> records;
  for (const MemberRow& m : facts.members)
    if (m.text_kind == "scheduler" || m.text_kind == "slurm" || m.text_kind == "kubernetes")
      records.insert(m.id);
  const auto vote = [&](MemberId member, const std::optional<Host>& host) {
    if (host && !nameless_host(*host) && !is_address(*host) && records.count(member) == 0)
      out[member].insert(names.canonical(*host));
  };
  for (const auto& e : facts.events) vote(e.place.member, e.host);
  for (const auto& c : facts.clocks) vote(c.place.member, c.host);
  for (const auto& t : facts.tracebacks) vote(t.place.member, t.host);
  for (const auto& i : facts.identities) {
    const MemberRow* m = facts.member(i.place.member);
    // A small file whose machine says its own name; in a job's output one of many machines may
    // say it.
    const bool of_machine = m != nullptr && (m->size < kSmallFile || !m->text_kind.empty());
    if (i.source.starts_with("nccl") || i.source == "prompt" ||
        (of_machine && (i.source == "uname" || i.source == "hostname")))
      vote(i.place.member, i.host);
  }
  drop_spoken_of(facts, names, out);
  return out;
}

// Machines that are named after people or particles: several files begin with such a name each, and
// all their lines are of that machine.
std::set<std::string> names_of_own_logs(const Facts& facts, const Votes& votes) {
  constexpr std::size_t kSeveral = 2, kShortest = 4;
  std::set<std::string> out;
  for (const auto& [member, hosts] : votes) {
    const MemberRow* m = facts.member(member);
    if (m == nullptr || hosts.size() != 1) continue;
    const std::string name = short_host(*hosts.begin());
    const std::string file = m->path.substr(m->path.rfind('/') + 1);
    if (name.size() >= kShortest && file.size() > name.size() && file.starts_with(name) &&
        std::string_view("-_.").find(file[name.size()]) != std::string_view::npos)
      out.insert(name);
  }
  if (out.size() < kSeveral) out.clear();
  return out;
}

// A component of a path, or words of one, that is a host known from elsewhere:
// "dmesg-gpu-a17.txt", "gpu-a17_stderr.log", "gpu07.nvidia-smi.txt". The last one.
// spoken: names without a number that are machines all the same.
std::optional<Host> known_host_in(const HostNames& names, const std::set<std::string>& spoken,
                                  const std::string& path) {
  std::optional<Host> out;
  std::size_t at = 0;
  for (std::size_t end = 0; at <= path.size(); at = end + 1) {
    end = std::min(path.find_first_of("/#", at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part.empty()) continue;
    if (names.known(part) && !nameless_host(part)) {
      out = short_host(part);
      continue;
    }
    const auto splits = [&](std::size_t i) {
      return i == part.size() || std::string_view("-_.").find(part[i]) != std::string_view::npos;
    };
    bool found = false;
    for (std::size_t begin = 0; begin < part.size() && !found; ++begin) {
      if (begin > 0 && !splits(begin - 1)) continue;
      for (std::size_t length = part.size() - begin; length >= 3 && !found; --length) {
        if (!splits(begin + length)) continue;
        const std::string piece = part.substr(begin, length);
        found = names.known(piece) &&
                (piece.find_first_of("0123456789") != std::string::npos || spoken.count(piece) > 0);
        // "node-07.txt" is known as well as "node-07.example.org".
        if (found) out = short_host(piece);
      }
    }
  }
  return out;
}

// "pretrain-llm-3120.log" beside "trn01.dmesg" and "trn02.dmesg": a name that only output of the
// job bears, and that is none of a series, where the machines are known by files of their own,
// is the job's.
// told: by the paths, in their order
std::set<std::string> names_of_jobs(const Facts& facts, const Votes& votes,
                                    const std::vector<MemberRow*>& paths,
                                    const std::vector<PathFacts>& told) {
  std::map<std::string, std::set<std::string>> machines, jobs;  // by series
  const auto machine = [&](const std::string& name) {
    machines[name_without_numbers(name)].insert(name);
  };
  if (facts.manifest)
    for (const auto& host : facts.manifest->hosts) machine(short_host(host));
  for (const auto& [member, hosts] : votes)
    for (const Host& host : hosts) machine(host);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const MemberRow* m = paths[i];
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
  for (const ConfigRow& c : facts.configs)
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

// A folder in which one machine says its name (hostname, uname, a prompt): what else a machine
// has one of is its, and where each of several folders beside each other names another machine,
// all of it.
void share_hosts_within_folders(Facts& facts, const HostNames& names) {
  std::map<std::string, std::set<Host>>
      said;  // folder -> machines that say their name in it or below
  for (const auto& i : facts.identities) {
    const MemberRow* m = facts.member(i.place.member);
    if (m == nullptr) continue;
    // A launcher's line names its machine, which is not yet the file's: one console may hold
    // several launchers.
    const bool launcher = i.source == "node rank" && i.host;
    const bool itself =
        m->host && (i.source == "hostname" || i.source == "uname" || i.source == "prompt");
    if (!launcher && !itself) continue;
    const Host host = launcher ? names.canonical(*i.host) : *m->host;
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
  for (MemberRow& m : facts.members) {
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
void drop_node_numbers(Facts& facts, const HostNames& names, const std::set<Host>& manifest_hosts,
                       const std::map<std::string, std::set<Host>>& path_says) {
  static const re2::RE2 kNumbered(R"((?i)^(?:n|nd|node|host|worker|machine|h|w)[-_]?(\d{1,4})$)");
  static const std::set<std::string> kOfMachine{"kernel", "rdma", "bmc", "fabric-manager"};
  std::set<Host> runs;  // machines that run ranks
  for (const auto& i : facts.identities)
    if (i.host && (i.rank || i.local_rank || i.source.starts_with("nccl")) &&
        !nameless_host(*i.host) && !is_address(*i.host))
      runs.insert(names.canonical(*i.host));
  runs.insert(manifest_hosts.begin(), manifest_hosts.end());
  std::set<Host> counted;
  const auto by_path = [](const MemberRow& m) {
    return m.host && m.attribution.starts_with("path");
  };
  for (const MemberRow& m : facts.members)
    if (by_path(m) && re2::RE2::FullMatch(*m.host, kNumbered)) counted.insert(*m.host);
  // More numbers than machines: several nodes of a test on one machine, and their numbers are all
  // that tells them apart.
  static const re2::RE2 kShort(R"((?i)^(?:n|nd|h|w)\d{1,4}$)");
  const bool only_short = std::ranges::all_of(
      counted, [](const Host& one) { return re2::RE2::FullMatch(one, kShort); });
  if (runs.empty() || counted.empty() || (counted.size() > runs.size() && !only_short) ||
      std::ranges::any_of(counted, [&](const Host& one) { return runs.count(one) > 0; }))
    return;
  const std::vector<Host> order = facts.manifest ? facts.manifest->hosts : std::vector<Host>{};
  const bool from_zero = std::ranges::any_of(counted, [](const std::string& one) {
    return one.find_first_not_of("0", one.find_first_of("0123456789")) == std::string::npos;
  });
  std::map<std::string, std::size_t> claims;  // two numbers for one machine name neither
  for (const std::string& name : counted)
    if (const auto it = path_says.find(name); it != path_says.end() && it->second.size() == 1)
      ++claims[*it->second.begin()];
  for (MemberRow& m : facts.members) {
    if (!by_path(m) || counted.count(*m.host) == 0) continue;
    std::int64_t number = 0;
    re2::RE2::FullMatch(*m.host, kNumbered, &number);
    const auto said = path_says.find(*m.host);
    if (said != path_says.end() && said->second.size() == 1 && claims[*said->second.begin()] == 1) {
      m.host = *said->second.begin();
      m.attribution = "path, and what other files of that name say";
    } else if (from_zero && counted.size() <= order.size() &&
               static_cast<std::size_t>(number) < order.size()) {
      m.host = names.canonical(order[static_cast<std::size_t>(number)]);
      m.attribution = "path, by the number of the node";
    } else if (kOfMachine.count(m.text_kind) == 0) {
      m.host.reset();
      m.attribution.clear();
    }
  }
}

// Sections know what their file knows.
void share_hosts_within_archives(std::vector<MemberRow>& members) {
  std::map<std::string, std::set<Host>> of_container;
  for (const MemberRow& m : members)
    if (m.host && !m.container.empty()) of_container[m.container].insert(*m.host);
  for (MemberRow& m : members)
    if (!m.host && !m.container.empty())
      if (const auto it = of_container.find(m.container);
          it != of_container.end() && it->second.size() == 1) {
        m.host = *it->second.begin();
        m.attribution = "the rest of its archive";
      }
}
}  // namespace

std::map<MemberId, Host> attribute_members(Facts& facts, const std::set<Host>& manifest_hosts,
                                           HostNames& names) {
  std::map<MemberId, Host> named_by_path;
  std::map<std::string, std::set<Host>> path_says;  // a host by the path -> those that lines name
  names.learn_endings();
  const auto votes = hosts_in_lines(facts, names);
  const std::set<std::string> spoken = names_of_own_logs(facts, votes);
  std::vector<MemberRow*> paths;
  for (MemberRow& m : facts.members) paths.push_back(&m);
  sort_by(paths, &MemberRow::order);
  std::vector<PathFacts> told;
  for (const MemberRow* m : paths) told.push_back(facts_of_path(m->path));
  const std::set<std::string> of_jobs = names_of_jobs(facts, votes, paths, told);
  // By path, and again for those without a host: a folder is known to be a machine's once another
  // path has told so, and which file was read first must not decide it.
  for (std::size_t turn = 0; turn < 2 * paths.size(); ++turn) {
    MemberRow& m = *paths[turn % paths.size()];
    if (m.kind != "file" || (turn >= paths.size() && m.host)) continue;
    PathFacts path = told[turn % paths.size()];
    if (path.host && of_jobs.count(*path.host) > 0) path.host.reset();
    if (const auto known = known_host_in(names, spoken, m.path))
      path.host = known;  // beats every pattern
    if (path.host)
      if (Host whole = names.by_ending(*path.host); !whole.empty()) path.host = whole;
    if (path.host) {
      names.learn(*path.host);
      m.host = names.canonical(*path.host);
      m.attribution = "path";
      if (!is_address(*m.host)) named_by_path.emplace(m.id, *m.host);
    }
    m.rank = path.rank;
    m.local_rank = path.local_rank;
    m.attempt = path.attempt;
    const auto it = votes.find(m.id);
    if (it != votes.end() && it->second.size() == 1) {
      // All lines of the file name one host: a file's name may lie, its lines do not.
      const Host& only = *it->second.begin();
      if (!m.host || *m.host != only) {
        if (m.host) path_says[*m.host].insert(only);
        m.attribution = m.host ? "content (the path says " + *m.host + ")" : "content";
        m.host = only;
      }
    }
  }
  hosts_from_siblings(facts.members);
  for (MemberRow& m : facts.members)
    if (m.host) {
      names.learn(*m.host);
      m.host = names.canonical(*m.host);
    }
  // What the siblings showed names the other files of those machines, too.
  for (MemberRow& m : facts.members)
    if (m.kind == "file" && !m.host)
      if (const auto known = known_host_in(names, spoken, m.path)) {
        m.host = names.canonical(*known);
        m.attribution = "path";
      }
  share_hosts_within_folders(facts, names);
  share_hosts_within_archives(facts.members);
  drop_node_numbers(facts, names, manifest_hosts, path_says);
  return named_by_path;
}

}  // namespace culprit::analyze
