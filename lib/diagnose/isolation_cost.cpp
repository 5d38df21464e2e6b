#include "isolation_cost.hpp"

#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/hostlist.hpp"
#include "plan/blast_radius.hpp"

namespace culprit::diagnose {

namespace {

std::set<std::string> machines_of(const Verdict& v, const analyze::Topology& topology) {
  std::set<std::string> out;
  for (const Target& t : v.targets) {
    const Subject& s = t.subject;
    if (s.kind == SubjectKind::host) out.insert(s.id);
    if (s.kind == SubjectKind::gpu || s.kind == SubjectKind::nic)
      if (const std::size_t slash = s.id.find('/'); slash != std::string::npos)
        out.insert(s.id.substr(0, slash));
    std::int64_t number = -1;
    if (s.kind != SubjectKind::rank ||
        std::from_chars(s.id.data(), s.id.data() + s.id.size(), number).ec != std::errc{})
      continue;
    if (const auto it = topology.host_of.find(Rank(number)); it != topology.host_of.end())
      out.insert(it->second);
  }
  return out;
}

// The replicas that are left, when the layout and every rank's host are known.
std::string going_on(const std::set<std::string>& machines, const analyze::Topology& topology) {
  if (!topology.layout) return {};
  const analyze::Layout& l = *topology.layout;
  auto shape = plan::make_shape(
      l.order, {{"tp", l.tp}, {"cp", l.cp}, {"ep", 1}, {"dp", l.dp}, {"pp", l.pp}}, 1);
  if (!shape || static_cast<std::int64_t>(topology.host_of.size()) != shape->ranks()) return {};
  std::map<std::string, std::int32_t> number;
  std::vector<Rank> isolated;
  shape->host.clear();
  for (const auto& [rank, host] : topology.host_of) {
    if (rank != Rank(static_cast<std::int64_t>(shape->host.size()))) return {};
    shape->host.push_back(
        number.emplace(host, static_cast<std::int32_t>(number.size())).first->second);
    if (machines.count(host) > 0) isolated.push_back(rank);
  }
  if (isolated.empty()) return {};
  const auto radius = plan::blast_radius(*shape, {}, isolated, {});
  if (!radius) return {};
  const std::string spares =
      machines.size() == 1
          ? "with a spare machine the job goes on at full size"
          : fmt::format("with {} spare machines the job goes on at full size", machines.size());
  const std::string without = machines.size() == 1 ? "without one" : "without them";
  return radius->whole_replicas > 0
             ? fmt::format("{}, {} with {} of {} replicas", spares, without, radius->whole_replicas,
                           radius->replicas)
             : fmt::format("{}; {} it cannot run, because every replica uses what is taken out",
                           spares, without);
}

}  // namespace

std::string isolation_cost(const Verdict& verdict, const analyze::Facts& facts,
                           const analyze::Topology& topology) {
  if (verdict.action != Action::isolate) return {};
  const auto machines = machines_of(verdict, topology);
  if (machines.empty()) return "Impact of the isolation: unknown; nothing ties it to a machine.";
  const std::vector<std::string> names(machines.begin(), machines.end());
  std::string out = fmt::format("Isolating {} takes out ", fold_hostlist(names));
  // GPUs: the ranks that are tied to those machines; else what the manifest says of every machine.
  std::int64_t tied = 0, gpus = 0;
  for (const auto& [rank, host] : topology.host_of) tied += machines.count(host) > 0;
  const std::int64_t per_node = facts.manifest ? facts.manifest->gpus_per_node.value_or(0) : 0;
  const auto n = static_cast<std::int64_t>(machines.size());
  if (facts.world_size > 0 &&
      static_cast<std::int64_t>(topology.host_of.size()) == facts.world_size)
    gpus = tied;
  else if (per_node > 0 && per_node <= facts.world_size / n)
    gpus = per_node * n;
  const std::string on = going_on(machines, topology);
  if (gpus == 0)
    return out + fmt::format(
                     "{} machine{}. Impact on the job: unknown; the rank-to-host map and the "
                     "parallel layout are missing (add a job.json).",
                     n, n == 1 ? "" : "s");
  out += fmt::format("{} of {} GPUs ({:.{}f} % of the job)", gpus, facts.world_size,
                     100.0 * static_cast<double>(gpus) / static_cast<double>(facts.world_size),
                     gpus * 100 < facts.world_size ? 1 : 0);
  return out + (on.empty() ? "; whether it can go on without a spare machine depends on its "
                             "parallel layout, which is not known."
                           : "; " + on + ".");
}

}  // namespace culprit::diagnose
