#include "analyze/facts/job_pods.hpp"

#include <algorithm>
#include <map>

#include <re2/re2.h>

namespace culprit::analyze {

namespace {

// "pod/titan-d34b-worker-13", "jobset/mxt-70b", pod="ml/titan-d34b-worker-13"
std::string object_of(const std::string& message) {
  static const re2::RE2 kObject(
      R"re((?:\b(?:pod|job|jobset|workload|podgroup|replicaset|statefulset|deployment|(?:pytorch|mpi|ray|tf|jax)job|raycluster)s?/|\bpods?=\[?"?(?:[a-z0-9.-]+/)?)([a-z0-9][a-z0-9.-]*))re");
  std::string out;
  if (!re2::RE2::PartialMatch(message, kObject, &out)) return {};
  return out;
}

// The parts of paths that may be a pod's name: "logs/previous/NAME.log", "pods/NAME/trainer.txt",
// "logs_NAME.txt", "describe-pod-NAME.txt".
std::set<std::string> names_in_paths(const Facts& facts) {
  static const re2::RE2 kAfterWhat(
      R"((?:(?:logs?|describe|events|pods?|previous|stdout|stderr|yaml)[-_])+(.+))");
  std::set<std::string> out;
  for (const MemberRow& m : facts.members) {
    for (std::size_t at = 0; at < m.path.size();) {
      const std::size_t end = std::min(m.path.find('/', at), m.path.size());
      std::string part = m.path.substr(at, end - at);
      part.resize(std::min(part.find('.'), part.size()));
      std::string pod;
      if (re2::RE2::FullMatch(part, kAfterWhat, &pod)) out.insert(std::move(pod));
      // "worker-0_cpu.stat": no pod has such a line in its name.
      if (const std::size_t line = part.find('_'); line != std::string::npos)
        out.insert(part.substr(0, line));
      out.insert(std::move(part));
      at = end + 1;
    }
  }
  return out;
}

}  // namespace

std::string pod_stem(std::string_view pod) {
  static const re2::RE2 kAppended(R"(-(?:\d+|[a-z0-9]{5}|[a-f0-9]{8,10}))");
  std::string name(pod);
  const auto last = [&] { return name.rfind('-'); };
  while (last() != std::string::npos && re2::RE2::FullMatch(name.substr(last()), kAppended))
    name.resize(last());
  if (std::count(name.begin(), name.end(), '-') >= 2) name.resize(last());
  return name;
}

JobPods::JobPods(const Facts& facts) {
  std::optional<std::set<std::string>> known;  // most bundles have no pods
  // A log may be called after the pod without the letters that its controller appended.
  const auto has_log = [&](const std::string& pod) {
    if (!known) known = names_in_paths(facts);
    const std::set<std::string>& paths = *known;
    const std::size_t dash = pod.rfind('-');
    return paths.count(pod) != 0 || (dash != std::string::npos && pod.size() == dash + 6 &&
                                     paths.count(pod.substr(0, dash)) != 0);
  };
  // NCCL and launchers name a pod as the host that they run on.
  std::set<std::string> speakers;
  for (const IdentityRow& i : facts.identities)
    if (i.host && i.source != "pod") speakers.insert(*i.host);
  const auto see = [&](const std::string& pod) {
    if (std::string stem = pod_stem(pod);
        (has_log(pod) || speakers.count(pod) != 0) && stem.size() > 3)
      stems_.insert(std::move(stem));
  };
  static const re2::RE2 kFolder(
      R"((?:^|/)pods?(?:[-_]?logs?)?/([a-z0-9][a-z0-9-]*-[a-z0-9-]*[a-z0-9])\.(?:txt|log)$)");
  std::string pod;
  for (const MemberRow& m : facts.members)
    if (m.belonging == Belonging::job && re2::RE2::PartialMatch(m.path, kFolder, &pod)) see(pod);
  for (const IdentityRow& i : facts.identities)
    if (i.source == "pod" && i.address) see(*i.address);
  for (const EventRow& e : facts.events)
    if (const MemberRow* m = facts.member(e.place.member);
        m != nullptr && m->text_kind == "kubernetes")
      see(object_of(e.message));
  see_roles(facts);
  see_nodes(facts);
}

// Pods that are counted, on several machines on which the job speaks. What a cluster runs on every
// machine for itself has letters drawn by chance in place of a number.
void JobPods::see_nodes(const Facts& facts) {
  static const re2::RE2 kCounted(R"(.*-\d+(?:-[a-z0-9]{5})?)");
  std::set<Host> speakers;
  for (const IdentityRow& i : facts.identities)
    if (i.host && (i.rank || i.source.starts_with("nccl"))) speakers.insert(short_host(*i.host));
  for (const RankRow& r : facts.ranks)
    if (r.host) speakers.insert(short_host(*r.host));
  std::map<std::string, std::set<Host>> nodes;
  for (const IdentityRow& i : facts.identities)
    if (i.source == "pod" && i.host && i.address &&
        (speakers.empty() || speakers.contains(short_host(*i.host))) &&
        re2::RE2::FullMatch(*i.address, kCounted))
      nodes[pod_stem(*i.address)].insert(short_host(*i.host));
  std::erase_if(nodes, [](const auto& one) { return one.second.size() < 2; });
  // Where the job names no machine, only one workload may be it.
  if (speakers.empty() && nodes.size() != 1) return;
  for (const auto& [stem, hosts] : nodes)
    if (stem.size() > 3) stems_.insert(stem);
}

// Output whose hosts are called after the roles of one job is of its pods, also where no line about
// pods names one of them.
void JobPods::see_roles(const Facts& facts) {
  static const re2::RE2 kRole(
      R"(([a-z0-9][a-z0-9.-]+)-(?:(master|launcher|leader|head|chief)|worker)-\d+)");
  std::set<std::string> led, served;
  for (const MemberRow& m : facts.members) {
    if (!m.host || m.belonging != Belonging::job) continue;
    std::string job, leader;
    if (re2::RE2::FullMatch(*m.host, kRole, &job, &leader))
      (leader.empty() ? served : led).insert(job);
  }
  for (const std::string& job : led)
    if (served.count(job) != 0) stems_.insert(job);
}

bool JobPods::another(const EventRow& e) const {
  if (stems_.empty()) return false;
  const std::string object = object_of(e.message);
  return !object.empty() && std::ranges::none_of(stems_, [&](const std::string& s) {
    return object.find(s) != std::string::npos || s.find(object) == 0;
  });
}

std::set<Host> nodes_of_pods(const Facts& facts) {
  std::vector<const IdentityRow*> placed;
  for (const IdentityRow& i : facts.identities)
    if (i.source == "pod" && i.host && i.address) placed.push_back(&i);
  if (placed.empty()) return {};  // most bundles; whose pods they are takes a walk over all files
  const JobPods pods(facts);
  std::set<Host> ours, all;
  std::set<std::string> workloads;
  for (const IdentityRow* i : placed) {
    workloads.insert(pod_stem(*i->address));
    all.insert(short_host(*i->host));
    if (pods.ours(*i->address)) ours.insert(short_host(*i->host));
  }
  // A listing of one workload was made for the job.
  return ours.empty() && workloads.size() == 1 && placed.size() > 1 ? all : ours;
}

}  // namespace culprit::analyze
