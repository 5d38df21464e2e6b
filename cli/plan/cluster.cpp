#include "cluster.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/topology.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "from_incident.hpp"
#include "model/sort.hpp"

namespace culprit::cli {

namespace {

using Places = std::map<std::string, std::set<std::string>>;  // host -> names of what it hangs on

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "+") + name;
  return out;
}

Result<> from_options(const PlanInput& input, const char* option, Places& places) {
  CULPRIT_TRY(given, input.pairs(option, kMostHosts));
  for (const auto& [name, list] : given) {
    const Hostlist hosts = expand_hostlist(list, kMostHosts);
    if (hosts.broken || hosts.capped)
      return input
          .complaint(option,
                     fmt::format("takes NAME=LIST with hosts such as a1,node[01-04], not '{}'",
                                 list.substr(0, 60)))
          .hint(fmt::format("--{} t1=node[01-04]", option));
    for (const std::string& host : hosts.hosts) places[host].insert(name);
  }
  return {};
}

Result<> from_database(const Arguments& arguments, bool want_hosts, Cluster& out, Places& tors,
                       Places& pods) {
  CULPRIT_TRY(incident, open_plan_incident(arguments));
  const analyze::Facts& facts = incident.resolved.facts;
  const analyze::Topology& topology = incident.resolved.topology;
  if (want_hosts) {
    auto hosts = facts.hosts;
    // Without node ranks: by the first rank on the host, else by name.
    std::map<std::string, Rank> first_rank;
    for (const auto& [rank, host] : topology.host_of) first_rank.emplace(host, rank);
    const auto place = [&](const HostRow& h) {
      const auto it = first_rank.find(h.host);
      return std::tuple(!h.node_rank.has_value(), h.node_rank.value_or(0), it == first_rank.end(),
                        it == first_rank.end() ? Rank{} : it->second, h.host);
    };
    sort_by(hosts, [&](const HostRow& a) { return place(a); });
    bool ordered = true;
    for (const HostRow& h : hosts) {
      out.hosts.push_back(h.host);
      ordered = ordered && (h.node_rank || first_rank.count(h.host) > 0);
    }
    if (!ordered && !hosts.empty())
      out.notes.push_back("the order of node ranks is not known: hosts are sorted by name");
  }
  const auto hosts = static_cast<std::int64_t>(facts.hosts.size());
  if (hosts > 0 && facts.world_size > 0 && facts.world_size % hosts == 0)
    out.gpus = facts.world_size / hosts;
  if (facts.manifest && facts.manifest->gpus_per_node) out.gpus = facts.manifest->gpus_per_node;
  if (topology.layout) {
    out.tp = topology.layout->tp;
    out.pp = topology.layout->pp;
    out.cp = topology.layout->cp;
    out.dp = topology.layout->dp;
  }
  for (const analyze::Switch& s : topology.switches) {
    const bool pod = s.kind == "pod";
    if (!pod && (s.level != 0 || s.kind == "rack"))
      continue;  // a rack shares no cable, and a spine is above everybody
    Places& places = pod ? pods : tors;
    for (const std::string& host : s.hosts) places[host].insert(s.name);
  }
  return {};
}

// Data center of each pod.
Result<std::map<std::string, std::string>> centers_of(const PlanInput& input,
                                                      const std::vector<std::string>& pods) {
  std::map<std::string, std::string> out;
  CULPRIT_TRY(given, input.pairs("datacenter", kMostHosts));
  for (const auto& [name, list] : given) {
    const Hostlist members = expand_hostlist(list, kMostHosts);
    if (members.broken || members.capped || members.hosts.empty())
      return input.complaint("datacenter", fmt::format("takes NAME=LIST, not '{}'", list))
          .hint("--datacenter east=p1,p2");
    for (const std::string& pod : members.hosts) {
      if (!contains(pods, pod))
        return input.complaint("datacenter", fmt::format("names {}, which is no pod", pod))
            .hint("--pod names the pods with their hosts");
      if (!out.emplace(pod, name).second)
        return input.complaint("datacenter", fmt::format("names the pod {} twice", pod));
    }
  }
  return out;
}

}  // namespace

Result<Cluster> read_cluster(const PlanInput& input, const Arguments& arguments) {
  Cluster out;
  CULPRIT_TRY(hosts, input.names("hosts", kMostHosts));
  out.hosts = std::move(hosts);
  Places tors, pods, known_tors, known_pods;
  CULPRIT_CHECK(from_options(input, "tor", tors));
  CULPRIT_CHECK(from_options(input, "pod", pods));
  const bool named = !out.hosts.empty();
  if (names_plan_incident(arguments))
    CULPRIT_CHECK(from_database(arguments, !named, out, known_tors, known_pods));
  std::set<std::string> seen;
  for (const std::string& host : out.hosts)
    if (!seen.insert(host).second)
      return input.complaint("hosts", fmt::format("names {} twice", host))
          .hint("each host once; a machine that counts twice would be its own witness");
  if (out.hosts.size() > kMostHosts)
    return usage_error(fmt::format("{} hosts are more than {}", out.hosts.size(), kMostHosts))
        .hint("plan for a part of them");
  for (const auto& [option, places] :
       {std::pair<const char*, const Places*>{"tor", &tors}, {"pod", &pods}})
    for (const auto& [host, names] : *places)
      if (seen.count(host) == 0)
        return input
            .complaint(option, fmt::format("{} has the host {}, which is none of the hosts",
                                           joined(names), host))
            .hint("--hosts names them all");
  const auto of = [](const Places& given, const Places& known, const std::string& host) {
    const Places& places = given.empty() ? known : given;
    const auto it = places.find(host);
    return it == places.end() ? std::string() : joined(it->second);
  };
  for (const std::string& host : out.hosts) {
    out.tor.push_back(of(tors, known_tors, host));
    out.pod.push_back(of(pods, known_pods, host));
  }
  CULPRIT_TRY(centers, centers_of(input, out.pod));
  for (const std::string& pod : out.pod) {
    const auto center = centers.find(pod);
    out.center.push_back(center == centers.end() ? "" : center->second);
  }
  return out;
}

}  // namespace culprit::cli
