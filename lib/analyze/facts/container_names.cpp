#include "analyze/facts/container_names.hpp"

#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/path_facts.hpp"
#include "model/address.hpp"

namespace culprit::analyze {

namespace {

// Whoever speaks in each file by a name of its own.
std::map<MemberId, std::set<Host>> speakers(const Facts& facts) {
  std::map<MemberId, std::set<Host>> out;
  const auto see = [&](const Place& place, const std::optional<Host>& host) {
    if (host && !nameless_host(*host) && !is_address(*host)) out[place.member].insert(*host);
  };
  for (const EventRow& e : facts.events) see(e.place, e.host);
  for (const IdentityRow& i : facts.identities)
    if (i.source.starts_with("nccl")) see(i.place, i.host);
  return out;
}

// The machine of these that a file is called after: "node-b3-03_pod.log"; no part of a longer name.
std::optional<Host> named_after(const std::string& path, const std::set<Host>& machines) {
  const std::string base = path.substr(path.rfind('/') + 1);
  for (const Host& machine : machines)
    if (const std::size_t at = base.find(machine); at != std::string::npos) {
      const std::size_t end = at + machine.size();
      const auto borders = [](char c) { return c == '_' || c == '.'; };
      if ((at == 0 || borders(base[at - 1])) && (end == base.size() || borders(base[end])))
        return machine;
    }
  return std::nullopt;
}

// Pods and the nodes that a listing puts them on.
std::map<std::string, Host> listed_pods(const Facts& facts) {
  std::map<std::string, Host> out;
  for (const IdentityRow& i : facts.identities)
    if (i.source == "pod" && i.host && i.address && !is_address(*i.address))
      out.emplace(*i.address, short_host(*i.host));
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Host>> container_names(const Facts& facts) {
  static const std::set<std::string> kOfMachine{"kernel", "fabric-manager", "bmc"};
  std::set<Host> machines;  // with a log of their own
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && kOfMachine.contains(m.text_kind))
      if (const std::optional<Host> host = facts_of_path(m.path).host)
        machines.insert(short_host(*host));
  const auto spoken = speakers(facts);
  const auto pods = listed_pods(facts);
  std::map<Host, std::set<Host>> nodes_of, names_of;
  std::set<Host> in_logs_of_pods;
  for (const MemberRow& m : facts.members) {
    const auto at = spoken.find(m.id);
    if (at == spoken.end() || kOfMachine.contains(m.text_kind)) continue;
    std::optional<Host> node = named_after(m.path, machines);
    // The log of a pod, "llm-worker-2.log", in which it calls itself "llm-2".
    const std::string base = m.path.substr(m.path.rfind('/') + 1);
    const auto pod = pods.find(base.substr(0, base.find('.')));
    if (pod != pods.end()) node = pod->second;
    if (!node) continue;
    for (const Host& name : at->second) {
      nodes_of[short_host(name)].insert(*node);
      names_of[*node].insert(short_host(name));
      if (pod != pods.end() && at->second.size() == 1) in_logs_of_pods.insert(short_host(name));
    }
  }
  // Two machines of one series may write into each other's files; a pod is called by its role.
  static const re2::RE2 kPod(
      R"(.*-(?:master|worker|launcher|leader|head|chief|trainer|server|replica)-\d+(?:-\w+)*)");
  std::vector<std::pair<std::string, Host>> out;
  for (const auto& [name, nodes] : nodes_of)
    if (const Host& node = *nodes.begin();
        nodes.size() == 1 && names_of[node].size() == 1 && name != node &&
        !machines.contains(name) &&
        (in_logs_of_pods.contains(name) || re2::RE2::FullMatch(name, kPod)))
      out.emplace_back(name, node);
  return out;
}

}  // namespace culprit::analyze
