// The steps of the resolution, each with what those before it found out.
#include "analyze/facts/identity.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "analyze/facts/container_names.hpp"
#include "analyze/facts/copies.hpp"
#include "analyze/facts/host_names.hpp"
#include "analyze/facts/member_hosts.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/rank_table.hpp"
#include "analyze/facts/zone_joins.hpp"
#include "model/address.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::string_view kClaim = "rank label", kColumn = "column=";

void order_members(std::vector<MemberRow>& members) {
  std::vector<MemberRow*> paths;
  for (MemberRow& m : members) paths.push_back(&m);
  sort_by(paths, [](const MemberRow* m) { return std::tie(m->path, m->id); });
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i]->order = static_cast<std::int64_t>(i);
}

// Gives the machines of the manifest.
std::set<Host> learn_names(const Facts& facts, HostNames& names) {
  const auto learn = [&](const std::optional<Host>& host) {
    if (host) names.learn(*host);
  };
  if (facts.manifest) {
    for (const auto& host : facts.manifest->hosts) names.learn(host);
    for (const auto& [host, addresses] : facts.manifest->addresses) names.learn(host);
    for (const RankRow& row : facts.manifest->ranks) names.learn(*row.host);
    for (const auto& [host, addresses] : facts.manifest->addresses)
      for (const std::string& address : addresses)
        names.learn_address(address, names.canonical(host));
  }
  // A pod and its node are one machine.
  for (const auto& i : facts.identities)
    if ((i.source == "pod" || i.source == "scontrol") && i.host && i.address) {
      names.learn(*i.host);
      names.learn_address(*i.address, names.canonical(*i.host));
    }
  for (const auto& [name, node] : container_names(facts)) {
    names.learn(node);
    names.learn_address(name, names.canonical(node));
  }
  for (const auto& e : facts.events) learn(e.host);
  for (const auto& i : facts.identities)
    if (i.source != kClaim) learn(i.host);
  for (const auto& c : facts.clocks) learn(c.host);
  for (const auto& x : facts.exits) learn(x.host);
  const auto learn_name = [&](const std::optional<Host>& host) {
    if (host && !is_address(*host)) names.learn(*host);
  };
  for (const auto& c : facts.configs) learn_name(c.host);
  for (const auto& s : facts.series) learn_name(s.host);
  std::set<Host> of_manifest;
  if (facts.manifest)
    for (const auto& host : facts.manifest->hosts) of_manifest.insert(names.canonical(host));
  return of_manifest;
}

// "[bx-208 rank24]" places a rank, "[warmup2 rank24]" does not: the word is a machine where
// something else knows it, or where several such words share the ranks of a file among them.
void settle_claims(Facts& facts, HostNames& names) {
  std::map<MemberId, std::map<std::int64_t, std::set<Host>>> claimed;
  for (const IdentityRow& i : facts.identities)
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
  for (IdentityRow& i : facts.identities) {
    if (i.source != kClaim || !i.host) continue;
    if (names.known(*i.host) || maps.contains(i.place.member)) {
      names.learn(*i.host);
      i.source = "rank map";
    } else {
      i.host.reset();
    }
  }
  // The same of columns: "tesla1_compute_ms", "stage1_compute_ms".
  for (SeriesRow& s : facts.series)
    if (!s.host && s.labels.starts_with(kColumn))
      if (const std::string name =
              s.labels.substr(kColumn.size(), s.labels.find(',') - kColumn.size());
          names.known(name))
        s.host = Host(name);
}

// see(address, place): lines that name who prints them by an address.
void each_speaking_address(const Facts& facts, const auto& see) {
  const auto one = [&](const std::optional<Host>& host, const Place& place) {
    if (host && is_address(*host)) see(*host, place);
  };
  for (const auto& e : facts.events) one(e.host, e.place);
  for (const auto& i : facts.identities) one(i.host, i.place);
  for (const auto& t : facts.tracebacks) one(t.host, t.place);
}

// Files of several machines, in each of which the processes of one address speak, and of another
// one in each: as Ray names them.
void learn_addresses_of_files(const Facts& facts, const std::map<MemberId, Host>& named_by_path,
                              HostNames& names) {
  constexpr std::size_t kSeveral = 3;
  std::map<MemberId, std::set<std::string>> said;
  each_speaking_address(
      facts, [&](const Host& address, const Place& place) { said[place.member].insert(address); });
  std::map<std::string, std::set<Host>> of;
  std::map<Host, std::set<std::string>> addresses;
  for (const auto& [member, all] : said)
    if (const auto named = named_by_path.find(member); named != named_by_path.end())
      for (const std::string& address : all) {
        of[address].insert(named->second);
        addresses[named->second].insert(address);
      }
  const auto one_each = [](const auto& map) {
    return std::ranges::all_of(map, [](const auto& one) { return one.second.size() == 1; });
  };
  if (of.size() < kSeveral || !one_each(of) || !one_each(addresses)) return;
  for (const auto& [address, hosts] : of) names.learn_address(address, *hosts.begin());
}

// Peers are named by them.
void learn_addresses(Facts& facts, const std::map<MemberId, Host>& named_by_path,
                     HostNames& names) {
  names.learn_addresses_in_names();
  // What several machines call their own (a bridge of containers) is no machine's name.
  std::map<std::string, std::set<Host>> claimed;
  for (const auto& i : facts.identities)
    if (i.address)
      if (const auto host = names.speaker(i.host, facts.member(i.place.member)))
        claimed[*i.address].insert(*host);
  for (const auto& [address, hosts] : claimed)
    if (hosts.size() == 1) names.learn_address(address, *hosts.begin());
  learn_addresses_of_files(facts, named_by_path, names);
  std::set<std::string> speakers;
  each_speaking_address(facts,
                        [&](const Host& address, const Place&) { speakers.insert(address); });
  names.learn_addresses_by_number(speakers);
  std::set<std::string> peers;
  for (const auto& e : facts.events)
    if (e.peer && is_address(Host(*e.peer))) peers.insert(*e.peer);
  names.learn_addresses_as_others(peers);
  for (MemberRow& m : facts.members)
    if (m.host) m.host = names.canonical(*m.host);
}

void place_by_ranks(const RankTable& ranks, std::vector<MemberRow>& members) {
  for (MemberRow& m : members) {
    if (!m.rank) m.rank = ranks.by_local(m.host, m.local_rank);
    if (m.host) continue;
    if (const auto seat = ranks.in_run({m.id, 0, 0, 0}, m.rank)) m.host = seat->host;
    if (!m.host) m.host = ranks.host_of(m.rank);
    if (m.host) m.attribution = "its rank";
  }
}

// "fra" in "logs/fra-66120.out" and "fra_gpu-022.txt".
bool named_in_path(std::string_view text, std::string_view word) {
  const auto part_of_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if ((at == 0 || !part_of_word(at - 1)) && !part_of_word(at + word.size())) return true;
  return false;
}

// Of which of the clusters an event tells: by its label, or by the folder of its file.
std::string cluster_of(const Facts& facts, const EventRow& e,
                       const std::set<std::string>& clusters) {
  std::string label = detail_of(e, "cluster");
  const MemberRow* m = facts.member(e.place.member);
  if (!label.empty() || m == nullptr) return label;
  const auto folder = std::ranges::find_if(clusters, [&](const std::string& name) {
    return m->path.starts_with(name + "/") || contains(m->path, "/" + name + "/");
  });
  return folder == clusters.end() ? std::string() : *folder;
}

// Names recur in other clusters. The job is of the one that has the hosts of its ranks and of
// their ends, and after which its files are named; where one export holds several, those of the
// others are other machines.
void tell_clusters_apart(Facts& facts, const HostNames& names, const RankTable& ranks) {
  std::set<std::string> said, clusters;  // said: of the job, by its own environment
  for (const ConfigRow& row : facts.configs) {
    if (row.name == "slurm.cluster") said.insert(row.value);
    if (row.name == "slurm.cluster" || row.name == "topo.cluster") clusters.insert(row.value);
  }
  std::map<std::string, std::set<Host>> hosts;  // by cluster
  for (const std::string& cluster : clusters)
    if (said.count(cluster) == 0) hosts[cluster];
  for (const EventRow& e : facts.events)
    if (const std::string cluster = cluster_of(facts, e, clusters); !cluster.empty() && e.host)
      hosts[cluster].insert(names.canonical(*e.host));
  if (hosts.empty() || said.size() > 1 || hosts.size() + said.size() < 2) return;
  std::set<Host> of_job;
  for (const auto& [rank, row] : ranks.rows())
    if (row.host) of_job.insert(*row.host);
  for (const ExitRow& x : facts.exits)
    if (const auto host = names.speaker(x.host, facts.member(x.place.member))) of_job.insert(*host);
  std::map<std::size_t, std::vector<std::string>> by_votes;
  for (const auto& of_cluster : hosts) {
    const auto of_it = std::ranges::count_if(
        of_cluster.second, [&](const Host& host) { return of_job.contains(host); });
    const auto named = std::ranges::count_if(
        facts.members, [&](const MemberRow& m) { return named_in_path(m.path, of_cluster.first); });
    by_votes[static_cast<std::size_t>(of_it + named)].push_back(of_cluster.first);
  }
  const auto& [votes, most] = *by_votes.rbegin();
  if (said.empty() && (votes == 0 || most.size() > 1)) return;
  const std::string own = said.empty() ? most.front() : *said.begin();
  for (EventRow& e : facts.events)
    if (const std::string cluster = cluster_of(facts, e, clusters);
        !cluster.empty() && cluster != own && e.host)
      e.host = in_cluster(names.canonical(*e.host), cluster);
}

// What a line prints, else what its process, file or rank says.
void settle(const Facts& facts, const HostNames& names, const RankTable& ranks, auto& row) {
  const MemberRow* m = facts.member(row.place.member);
  if (row.host && nameless_host(*row.host)) row.host.reset();
  const bool by_path = m != nullptr && m->host && m->attribution.starts_with("path");
  const auto in_log = row.host || by_path ? std::nullopt : ranks.in_log(row.place, row.rank);
  if (row.host) {
    row.host = names.canonical(*row.host);
  } else if (in_log) {
    row.host = in_log->host;
  } else if (m != nullptr) {
    row.host = m->host;
  }
  if (!row.rank) row.rank = ranks.by_pid(row.host, row.pid);
  if (!row.rank) row.rank = ranks.by_local(row.host, row.local_rank);
  if constexpr (requires { row.task; })
    if (!row.rank) row.rank = ranks.rank_of_task(row.task);
  if (!row.rank && m != nullptr) row.rank = m->rank;
  const auto in_run = ranks.in_run(row.place, row.rank);
  if (!row.host && in_run) row.host = in_run->host;
  if (!row.host) row.host = ranks.host_of(row.rank);
  if constexpr (requires { row.local_rank; })
    if (!row.local_rank && in_run && row.host == in_run->host) row.local_rank = in_run->local;
  if constexpr (requires { row.task; })
    if (!row.host) row.host = ranks.host_of_task(row.place.member, row.task, row.place.line);
}

// A result is computed again on lines that name no rank, below the one that does.
void name_rank_of_reruns(Facts& facts) {
  constexpr std::uint64_t kNear = 50;  // lines, of other ranks between them
  const auto of_rerun = [](const EventRow& e) {
    return e.traits.has_any({Trait::rerun_same_gpu_agrees, Trait::rerun_same_gpu_differs});
  };
  std::vector<EventRow*> rows;
  for (EventRow& e : facts.events)
    if (of_rerun(e) || e.traits.has_any({Trait::nan_stop, Trait::own_numbers})) rows.push_back(&e);
  sort_by(rows, [](const EventRow* e) { return std::pair(e->place.member, e->place.line); });
  const EventRow* last = nullptr;
  for (EventRow* e : rows) {
    const bool near = last != nullptr && last->place.member == e->place.member &&
                      e->place.line - last->place.line <= kNear;
    if (e->rank && !of_rerun(*e))
      last = e;
    else if (of_rerun(*e) && !e->rank && !e->host && near)
      e->rank = last->rank;
  }
}

void settle_rows(Facts& facts, const HostNames& names, const RankTable& ranks) {
  std::map<Host, std::vector<const RankRow*>> with_gpu;  // by host, in the order of the ranks
  for (const auto& [rank, row] : ranks.rows())
    if (row.host && row.gpu) with_gpu[*row.host].push_back(&row);
  for (auto& e : facts.events) {
    settle(facts, names, ranks, e);
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
  for (auto& t : facts.tracebacks) settle(facts, names, ranks, t);
  for (auto& x : facts.exits) settle(facts, names, ranks, x);
  for (auto& c : facts.configs)
    if (c.host && !nameless_host(*c.host)) c.host = names.canonical(*c.host);
  for (auto& s : facts.series) {
    ranks.place_by_label(s);
    const MemberRow* m = facts.member(s.member);
    s.host = names.speaker(s.host, m);
    if (!s.rank) s.rank = ranks.by_local(s.host, s.local_rank);
    if (!s.rank && m != nullptr && !s.gpu && !s.nic) s.rank = m->rank;
    if (!s.host) s.host = ranks.host_of(s.rank);
  }
}

// Peers: a name, an address, "host<port>", a rank.
void name_peers(Facts& facts, const HostNames& names, const RankTable& ranks) {
  for (auto& e : facts.events) {
    if (!e.peer) continue;
    std::string peer = *e.peer;
    if (const std::size_t port = peer.find('<'); port != std::string::npos)
      peer = peer.substr(0, port);
    if (!peer.empty() && peer.front() == '[') peer = peer.substr(1, peer.find(']') - 1);
    if (peer.starts_with("::ffff:")) peer = peer.substr(7);
    if (std::ranges::count(peer, ':') == 1) peer = peer.substr(0, peer.find(':'));
    if (peer.starts_with("rank ")) peer = peer.substr(5);
    if (nameless_host(peer)) continue;
    if (peer.find_first_not_of("0123456789") == std::string::npos && peer.size() < 9) {
      const Rank rank{std::strtoll(peer.c_str(), nullptr, 10)};
      if (ranks.rows().contains(rank)) e.peer_host = ranks.host_of(rank);
      continue;
    }
    // An address that nothing ties to a name is a name too: somebody can look it up.
    e.peer_host = names.canonical(peer);
  }
}

void list_hosts(Facts& facts, const HostNames& names, const RankTable& ranks,
                const std::set<Host>& manifest_hosts) {
  std::map<Host, HostRow> hosts;
  const auto add_host = [&](const std::optional<Host>& host) {
    if (host && !nameless_host(*host)) hosts[*host].host = *host;
  };
  for (const auto& [rank, row] : ranks.rows()) add_host(row.host);
  for (const auto& host : manifest_hosts) add_host(host);
  for (const auto& e : facts.events) add_host(e.host);
  for (const auto& m : facts.members) add_host(m.host);
  for (const auto& i : facts.identities)  // where a process of the job said who it is
    if (i.host && i.source.starts_with("nccl")) add_host(names.canonical(*i.host));
  for (const auto& s : facts.series)
    if (s.host && !is_address(*s.host)) add_host(s.host);
  for (const auto& [address, host] : names.addresses())
    if (hosts.count(host) > 0) hosts[host].addresses.push_back(address);
  if (facts.manifest)
    for (std::size_t i = 0; i < facts.manifest->hosts.size(); ++i)
      if (const auto it = hosts.find(names.canonical(facts.manifest->hosts[i])); it != hosts.end())
        it->second.node_rank = static_cast<std::int64_t>(i);
  std::map<Host, std::string> newest_driver;
  for (const auto& c : facts.configs)
    if (c.name == "driver_version")
      if (const auto host = names.speaker(c.host, facts.member(c.place.member)))
        newest_driver[*host] = c.value;
  for (auto& [host, version] : newest_driver)
    if (hosts.count(host) > 0) hosts[host].driver = version;
  std::set<MemberId> training;
  for (const auto& p : facts.progress) training.insert(p.member);
  for (const auto& t : facts.tracebacks) training.insert(t.place.member);
  for (const auto& i : facts.identities)
    if (tells_of_job(i)) training.insert(i.place.member);
  for (const auto& x : facts.exits) training.insert(x.place.member);
  for (const auto& e : facts.events)  // what ranks say of each other
    if (e.role == Role::cascade && e.severity == Severity::distributed)
      if (const MemberRow* m = facts.member(e.place.member); m != nullptr && !of_machine(*m))
        training.insert(m->id);
  for (const auto& m : facts.members)
    if (m.host && hosts.count(*m.host) > 0 && (training.count(m.id) > 0 || m.rank || m.local_rank))
      hosts[*m.host].has_log = true;
  // A switch has a log too, and runs no ranks.
  for (const NetworkRow& n : facts.networks)
    if (n.kind == "switch" && std::ranges::none_of(ranks.rows(), [&](const auto& one) {
          return one.second.host == n.name;
        }))
      hosts.erase(Host(n.name));
  if (facts.manifest)
    for (const auto* groups : {&facts.manifest->tor, &facts.manifest->pod})
      for (const auto& [name, below] : *groups)
        if (manifest_hosts.count(Host(name)) == 0) hosts.erase(Host(name));
  facts.hosts.reserve(hosts.size());
  for (auto& [host, row] : hosts) facts.hosts.push_back(std::move(row));
  facts.ranks.reserve(ranks.rows().size());
  for (const auto& [rank, row] : ranks.rows()) facts.ranks.push_back(row);
}

}  // namespace

void resolve_identity(Facts& facts) {
  strip_wrapper(facts.members);
  order_members(facts.members);
  HostNames names;
  const std::set<Host> manifest_hosts = learn_names(facts, names);
  const auto named_by_path = attribute_members(facts, manifest_hosts, names);
  settle_claims(facts, names);
  learn_addresses(facts, named_by_path, names);
  const RankTable ranks(facts, names);
  place_by_ranks(ranks, facts.members);
  tell_clusters_apart(facts, names, ranks);
  name_rank_of_reruns(facts);
  settle_rows(facts, names, ranks);
  name_peers(facts, names, ranks);
  list_hosts(facts, names, ranks, manifest_hosts);
  mark_copies(facts.members);
}

}  // namespace culprit::analyze
