#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/job_life.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/facts/job_pods.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "model/hostlist.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostNodesOfJob = 100'000;

// Of the jobs of a queue the one on whose nodes most machines are that the bundle has files of: all
// but a quarter; "" where none is so.
std::string job_of_most_machines(const Facts& facts) {
  std::set<Host> machines;
  for (const MemberRow& m : facts.members)
    if (m.host && facts.counts(&m)) machines.insert(short_host(*m.host));
  for (const ConfigRow& c : facts.configs) {
    if (c.name != "slurm.queue.nodes") continue;
    const std::size_t cut = std::min(c.value.find(' '), c.value.size());
    const auto nodes = expand_hostlist(std::string_view(c.value).substr(cut), kMostNodesOfJob);
    const auto named =
        static_cast<std::size_t>(std::ranges::count_if(nodes.hosts, [&](const std::string& node) {
          return machines.count(short_host(node)) > 0;
        }));
    if (named >= 2 && 4 * named >= 3 * machines.size()) return c.value.substr(0, cut);
  }
  return {};
}

// Of the scheduler's record of the job, unless machines have other names there than in their logs.
std::set<std::string> recorded_hosts(const Facts& facts) {
  std::string job = job_of_all_output(facts);
  if (job.empty()) job = job_of_most_machines(facts);
  std::set<std::string> names;
  if (job.empty()) return names;
  for (const ConfigRow& c : facts.configs) {
    if ((c.name != "slurm.job.nodes" && c.name != "slurm.queue.nodes") ||
        !c.value.starts_with(job + " "))
      continue;
    const auto nodes =
        expand_hostlist(std::string_view(c.value).substr(job.size() + 1), kMostNodesOfJob);
    if (nodes.broken) return {};
    for (const std::string& node : nodes.hosts) names.insert(short_host(node));
  }
  const auto listed = [&](const Host& host) { return names.count(short_host(host)) > 0; };
  const bool all = std::ranges::all_of(
      facts.ranks, [&](const RankRow& r) { return !r.host || listed(*r.host); });
  // "g-u17" is called as g-u[01-04] are, and is none of them.
  const auto stem = [](const std::string& name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
  };
  std::set<std::string> stems;
  for (const std::string& name : names) stems.insert(stem(name));
  const bool any =
      std::ranges::any_of(
          facts.hosts,
          [&](const HostRow& h) { return stems.contains(stem(short_host(h.host))); }) ||
      std::ranges::any_of(facts.ranks, [&](const RankRow& r) { return r.host && listed(*r.host); });
  if (!all || !any) names.clear();
  return names;
}

// The machines of a console in which each rank that is known said where it runs, as many on each
// machine: nobody who ran a rank is missing from it.
std::set<std::string> hosts_of_console(const Facts& facts) {
  constexpr std::size_t kFewestRanks = 16;
  std::map<MemberId, std::map<std::string, std::set<std::int64_t>>> consoles;
  for (const IdentityRow& i : facts.identities)
    if (i.rank && i.host && (i.source == "rank map" || i.source == "rank line"))
      consoles[i.place.member][short_host(*i.host)].insert(*i.rank);
  for (const auto& [member, hosts] : consoles) {
    std::set<std::int64_t> ranks;
    std::set<std::string> names;
    std::size_t told = 0;
    for (const auto& [host, on] : hosts) {
      told += on.size();
      ranks.insert(on.begin(), on.end());
      names.insert(host);
    }
    const std::size_t each = hosts.begin()->second.size();
    const bool even =
        std::ranges::all_of(hosts, [&](const auto& one) { return one.second.size() == each; });
    if (even && names.size() > 1 && ranks.size() >= kFewestRanks && told == ranks.size() &&
        ranks.size() >= facts.ranks.size() && *ranks.begin() == 0 &&
        *ranks.rbegin() + 1 == static_cast<std::int64_t>(ranks.size()))
      return names;
  }
  return {};
}

// The nodes of its pods, where every rank that is placed is on one of them.
std::set<std::string> hosts_of_pods(const Facts& facts) {
  const std::set<Host> nodes = nodes_of_pods(facts);
  const bool all = std::ranges::all_of(facts.ranks, [&](const RankRow& r) {
    return !r.host || nodes.count(short_host(*r.host)) > 0;
  });
  if (!all || nodes.size() < 2) return {};
  return {nodes.begin(), nodes.end()};
}

}  // namespace

std::vector<Host> hosts_of_job(const Facts& facts) {
  std::set<std::string> names;
  if (facts.manifest) {
    const bool attempts =
        !facts.manifest->attempts.empty() && !facts.manifest->attempts.back().hosts.empty();
    for (const Host& host :
         attempts ? facts.manifest->attempts.back().hosts : facts.manifest->hosts)
      names.insert(short_host(host));
  }
  // Ranks beyond the largest that printed may have been on a machine that printed nothing.
  if (names.empty() && facts.world_size > 0 && !facts.world_counted &&
      facts.ranks.size() >= static_cast<std::size_t>(facts.world_size)) {
    for (const RankRow& r : facts.ranks) {
      if (!r.host) {
        names.clear();
        break;
      }
      names.insert(*r.host);
    }
  }
  // Communicators of a few ranks each count for no world: all that set up one are of the job.
  if (!names.empty() && !facts.manifest)
    for (const IdentityRow& i : facts.identities)
      if (i.source.starts_with("nccl-init") && i.host && facts.counts(facts.member(i.place.member)))
        names.insert(short_host(*i.host));
  if (names.empty()) names = hosts_of_console(facts);
  if (names.empty()) names = recorded_hosts(facts);
  if (names.empty()) names = hosts_of_pods(facts);
  return {names.begin(), names.end()};
}

PodsAndNodes pods_beside_nodes(const Facts& facts) {
  std::set<Host> nodes, pods;
  for (const MemberRow& m : facts.members) {
    if (!m.host || m.duplicate_of != 0) continue;
    if (m.text_kind == "kernel")
      nodes.insert(Host(short_host(*m.host)));
    else if (in_folder_of_pods(m.path))
      pods.insert(Host(short_host(*m.host)));
  }
  const bool named =
      std::ranges::any_of(nodes, [&](const Host& node) { return pods.contains(node); });
  if (named || pods.empty() || nodes.size() != pods.size()) return {};
  return {{pods.begin(), pods.end()}, {nodes.begin(), nodes.end()}};
}

std::vector<Host> storage_servers(const Facts& facts) {
  std::set<Host> out;
  for (const EventRow& e : facts.events)
    if (e.traits.has(Trait::storage_server) && e.host)
      out.insert(short_host(*e.host));
    else if (e.traits.has(Trait::storage_missed) && e.peer && e.host && *e.host != *e.peer)
      out.insert(short_host(Host(*e.peer)));
  for (const HostRow& h : facts.hosts)
    if (named_as_storage(h.host)) out.insert(short_host(h.host));
  for (const ConfigRow& c : facts.configs)
    if (c.name == "storage.server") out.insert(short_host(Host(c.value)));
  // Small sites let a machine with GPUs serve files as well.
  if (out.empty()) return {};
  for (const RankRow& r : facts.ranks)
    if (r.host) out.erase(short_host(*r.host));
  for (const Host& host : hosts_of_job(facts)) out.erase(short_host(host));
  if (facts.manifest)
    for (const Host& host : facts.manifest->hosts) out.erase(short_host(host));
  for (const HostRow& h : facts.hosts)
    if (!h.driver.empty()) out.erase(short_host(h.host));
  for (const EventRow& e : facts.events)
    if (e.gpu && e.host) out.erase(short_host(*e.host));
  return {out.begin(), out.end()};
}

namespace {

// The scheduler's record of the job. "4711.batch" and "4711.0" are steps of job 4711.
std::string recorded_state(const Facts& facts, const std::string& job) {
  std::string out;
  for (const ConfigRow& c : facts.configs)
    if (!job.empty() && c.name == "slurm.job.state" && c.value.starts_with(job + " ") &&
        facts.counts(facts.member(c.place.member)))
      out = c.value.substr(job.size() + 1);
  return out;
}

}  // namespace

bool goes_on_elsewhere(const Facts& facts, MemberId log) {
  const auto own = std::ranges::find(facts.progress, log, &ProgressSpan::member);
  if (own == facts.progress.end() || !own->last.time_ns || !own->last.iteration) return false;
  constexpr std::int64_t kNext = 100;  // a log may print every so manieth step
  return std::ranges::any_of(facts.progress, [&](const ProgressSpan& p) {
    return p.member != log && p.framework == own->framework && p.last.total == own->last.total &&
           p.first.time_ns && *p.first.time_ns > *own->last.time_ns + kMinute &&
           p.first.iteration && *p.first.iteration >= *own->last.iteration &&
           *p.first.iteration <= *own->last.iteration + kNext;
  });
}

const EventRow* closing_line(const Facts& facts) {
  const EventRow* last = nullptr;
  // A launcher that saw one of its jobs fail speaks of another one when it says that one succeeded.
  const bool another_failed = std::ranges::any_of(facts.events, [&](const EventRow& e) {
    return e.traits.has(Trait::launcher_failed) && facts.counts(facts.member(e.place.member));
  });
  const auto place = [&](const EventRow& e) {
    return std::pair(facts.order(e.place.member), e.place.line);
  };
  for (const EventRow& e : facts.events)
    if (e.role == Role::recovery &&
        (e.traits.has(Trait::completed) ||
         (e.traits.has(Trait::launcher_completed) && !another_failed)) &&
        facts.counts(facts.member(e.place.member)) &&
        facts.earlier_output.count(e.place.member) == 0 &&
        (last == nullptr || place(*last) < place(e)))
      last = &e;
  // What trains on behind it is another run; a bar that shows the last step once more is none.
  const auto all_done = [](const ProgressSpan& p) {
    return p.last.iteration && p.last.total && *p.last.iteration >= *p.last.total;
  };
  const bool goes_on =
      last != nullptr && std::ranges::any_of(facts.progress, [&](const ProgressSpan& p) {
        return !all_done(p) &&
               ((p.member == last->place.member && p.last.place.line > last->place.line) ||
                (p.last.time_ns && last->time_ns && *p.last.time_ns > *last->time_ns + kMinute));
      });
  return goes_on || (last != nullptr && goes_on_elsewhere(facts, last->place.member)) ? nullptr
                                                                                      : last;
}

bool job_completed(const Facts& facts) {
  return recorded_state(facts, job_of_all_output(facts)).starts_with("COMPLETED") ||
         closing_line(facts) != nullptr;
}

// Of a job that was started again by hand the earlier record says nothing of the run in question.
bool recorded_failed(const Facts& facts) {
  const std::string job = job_of_all_output(facts);
  return recorded_state(facts, job).starts_with("FAILED") && began_last(facts, job);
}

bool uses_gpus(const Facts& facts) {
  const auto of_gpu = [](const EventRow& e) { return e.traits.has(Trait::gpu_in_use); };
  return std::ranges::any_of(facts.events, of_gpu) ||
         std::ranges::any_of(facts.identities,
                             [](const IdentityRow& i) { return i.source.rfind("nccl", 0) == 0; }) ||
         std::ranges::any_of(facts.ranks, [](const RankRow& r) { return r.gpu.has_value(); }) ||
         std::ranges::any_of(facts.hosts, [](const HostRow& h) { return !h.driver.empty(); }) ||
         std::ranges::any_of(facts.recorders, [](const RecorderRow&) { return true; }) ||
         std::ranges::any_of(facts.members,
                             [](const MemberRow& m) {
                               return m.text_kind == "nccl" || m.text_kind == "nvidia-smi" ||
                                      m.text_kind == "dcgm";
                             }) ||
         (facts.manifest && facts.manifest->gpus_per_node.value_or(0) > 0);
}

}  // namespace culprit::analyze
