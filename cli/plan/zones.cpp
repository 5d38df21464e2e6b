// culprit plan zones: how far apart parallel groups are, and which hosts change places so that
// replicas stay within zones.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "model/json.hpp"
#include "plan/zones.hpp"
#include "cluster.hpp"
#include "incident.hpp"
#include "report/terminal.hpp"
#include "shape.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLinesOfPlanZones = 24;
constexpr const char* kReachNames[] = {"host", "rack", "zone", "data center", "beyond"};

constexpr auto kPlanZonesOptions = joined({kClusterHosts, kClusterTor, kClusterPod, kClusterCenter},
                                          kShapeOptions, kPlanDatabase, kPlanOptions);

struct ZoneQuestion {
  JobShape job;
  std::vector<std::string> hosts;  // by number in the shape
  std::vector<plan::HostPlace> places;
};

Result<ZoneQuestion> zone_question(const PlanInput& input, const Arguments& arguments) {
  ZoneQuestion out;
  CULPRIT_TRY(job, job_shape(input, arguments));
  out.job = std::move(job);
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) at.emplace(cluster.hosts[i], i);
  const plan::Shape& shape = out.job.shape;
  const std::size_t count =
      shape.host.empty() ? static_cast<std::size_t>(shape.ranks())
                         : static_cast<std::size_t>(*std::ranges::max_element(shape.host)) + 1;
  std::vector<std::string> without;
  for (std::size_t h = 0; h < count; ++h) {
    // A layout that options tell has its hosts in the order of the list.
    const std::string name = !out.job.hosts.empty() ? out.job.hosts[h]
                             : h < cluster.hosts.size()
                                 ? cluster.hosts[h]
                                 : out.job.name_of_host(static_cast<std::int32_t>(h));
    plan::HostPlace place;
    if (const auto host = at.find(name); host != at.end()) {
      place.rack = cluster.tor[host->second];
      place.zone = cluster.pod[host->second];
      place.center = cluster.center[host->second];
    }
    if (place.zone.empty()) without.push_back(name);
    out.hosts.push_back(name);
    out.places.push_back(std::move(place));
  }
  if (!without.empty())
    return usage_error(fmt::format("{} of {} hosts are in no zone, such as {}", without.size(),
                                   count, without[0]))
        .hint("--hosts names them in the order of node ranks, --pod 'z1=n[1-64]' their zones");
  return out;
}

std::string text_of(const ZoneQuestion& q, const plan::ZonePlan& plan) {
  std::string out;
  if (plan.crossing_before == 0)
    out = fmt::format("{} replica{}, none crosses zones\n", plan.replicas,
                      plan.replicas == 1 ? "" : "s");
  else
    out = fmt::format(
        "{} of {} replicas cross zones; {}\n", plan.crossing_before, plan.replicas,
        plan.moved == 0
            ? std::string("no exchange of hosts helps")
            : fmt::format("after {} hosts change places, {}", plan.moved,
                          plan.crossing_after == 0 ? std::string("none does")
                                                   : fmt::format("{} do", plan.crossing_after)));
  out += fmt::format("\n  {:<18}{:>8}{:>8}{:>8}{:>13}{:>8}\n", "groups within a", "host", "rack",
                     "zone", "data center", "beyond");
  for (std::size_t d = 0; d < plan.before.size(); ++d)
    for (const auto* one : {&plan.before[d], &plan.after[d]}) {
      const bool now = one == &plan.before[d];
      if (!now && plan.moved == 0) continue;
      const auto& g = one->groups;
      out += fmt::format("  {:<9}{:<9}{:>8}{:>8}{:>8}{:>13}{:>8}\n", now ? one->dimension : "",
                         plan.moved == 0 ? ""
                         : now           ? "now"
                                         : "planned",
                         g[0], g[1], g[2], g[3], g[4]);
    }
  out +=
      "\n  latency, of that within a rack: 7 times within a zone, 15 within a data center,\n"
      "  30 beyond (FT-HSDP section 2.1)\n";
  if (plan.moved == 0) return out;
  out += "\n  host takes the place of\n";
  std::size_t printed = 0;
  for (std::size_t h = 0; h < plan.order.size(); ++h) {
    const auto host = static_cast<std::size_t>(plan.order[h]);
    if (host == h) continue;
    if (++printed > kMostLinesOfPlanZones) break;
    out += fmt::format("  {} -> {}\n", report::visible(q.hosts[host]), report::visible(q.hosts[h]));
  }
  if (plan.moved > kMostLinesOfPlanZones)
    out += fmt::format("  and {} more; --json has the order of all hosts\n",
                       plan.moved - kMostLinesOfPlanZones);
  return out;
}

std::string json_of(const ZoneQuestion& q, const plan::ZonePlan& plan) {
  ordered_json out{{"schema", "culprit.plan-zones/1"},
                   {"layout_from", q.job.source},
                   {"replicas", plan.replicas},
                   {"crossing", {{"now", plan.crossing_before}, {"planned", plan.crossing_after}}},
                   {"groups", ordered_json::array()},
                   {"hosts", ordered_json::array()}};
  const auto counts = [](const plan::DimensionReach& one) {
    ordered_json all;
    for (std::size_t i = 0; i < plan::kReaches; ++i) all[kReachNames[i]] = one.groups[i];
    return all;
  };
  for (std::size_t d = 0; d < plan.before.size(); ++d)
    out["groups"].push_back({{"dimension", plan.before[d].dimension},
                             {"now", counts(plan.before[d])},
                             {"planned", counts(plan.after[d])}});
  for (std::size_t h = 0; h < plan.order.size(); ++h)
    out["hosts"].push_back(
        {{"now", q.hosts[h]}, {"planned", q.hosts[static_cast<std::size_t>(plan.order[h])]}});
  return json_text(out) + "\n";
}

Result<Exit> run_plan_zones(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanZonesOptions));
  CULPRIT_TRY(question, zone_question(input, arguments));
  CULPRIT_TRY(plan, plan::plan_zones(question.job.shape, question.places));
  print(input.wants_json() ? identified(json_of(question, plan)) : text_of(question, plan));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanZones{
    "plan zones",
    "which hosts change places so that replicas stay within zones",
    "plan zones [BUNDLE...] [options]",
    "  culprit plan zones --tp 8 --pp 4 --dp 2 --hosts n[1-8] --pod z1=n[1-4] --pod z2=n[5-8]\n"
    "  culprit plan zones -d incident.db\n\n"
    "  How many groups of each dimension lie within a host, a rack, a zone, a data center; and an\n"
    "  order of the hosts in which replicas cross zones as little as can be.\n",
    kPlanZonesOptions,
    run_plan_zones};

}  // namespace culprit::cli
