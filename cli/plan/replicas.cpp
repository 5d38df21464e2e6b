#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "plan/replicas.hpp"
#include "model/sort.hpp"
#include "input.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanReplicasOptions =
    joined({{"mtbf-min", "MIN", "minutes between failures of the whole job (default 18)"},
            {"stall-min", "MIN", "minutes for which a failure stops all replicas (default 3)"},
            {"repair-min", "MIN",
             "minutes until the failed replica, or a synchronous job, trains again (default 10)"},
            {"replicas", "N", "replicas (default 12)"},
            {"failures", "N", "failures to simulate (default 200000; 0: none)"},
            {"seed", "N", "of the simulation (default 1)"}},
           kPlanOptions);

struct Row {
  std::int64_t replicas;
  plan::EffectiveTime share;
};

Result<std::vector<Row>> rows_of(plan::ReplicaParams p) {
  std::vector<std::int64_t> counts{2, 4, 8, 16, 32, 64, p.replicas};
  sort_unique(counts);
  std::vector<Row> out;
  for (const std::int64_t n : counts) {
    p.replicas = n;
    CULPRIT_TRY(share, plan::effective_time(p));
    out.push_back({n, share});
  }
  return out;
}

Result<Exit> run_plan_replicas(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanReplicasOptions));
  plan::ReplicaParams p;
  CULPRIT_CHECK(input.set("mtbf-min", p.mtbf, 1e-6, 1e9));
  CULPRIT_CHECK(input.set("stall-min", p.stall, 0, 1e9));
  CULPRIT_CHECK(input.set("repair-min", p.repair, 0, 1e9));
  CULPRIT_CHECK(input.set("replicas", p.replicas, 1, 1'000'000));
  CULPRIT_TRY(failures, input.integer("failures", 200'000, 0, 100'000'000));
  CULPRIT_TRY(seed, input.integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max()));
  CULPRIT_TRY(share, plan::effective_time(p));
  CULPRIT_TRY(enough, plan::enough_replicas(p));
  CULPRIT_TRY(rows, rows_of(p));
  double simulated = 0;
  if (failures > 0) {
    CULPRIT_TRY(lived, plan::simulate_replicas(p, failures, static_cast<std::uint64_t>(seed)));
    simulated = lived;
  }
  if (input.wants_json()) {
    ordered_json out{{"plan", "replicas"},
                     {"version", 1},
                     {"mtbf_min", p.mtbf},
                     {"stall_min", p.stall},
                     {"repair_min", p.repair},
                     {"replicas", p.replicas},
                     {"synchronous", share.synchronous},
                     {"replicated", share.replicated},
                     {"synchronous_random", share.synchronous_random},
                     {"replicated_random", share.replicated_random},
                     {"simulated", failures > 0 ? ordered_json(simulated) : ordered_json(nullptr)},
                     {"enough_replicas", enough},
                     {"by_replicas", ordered_json::array()}};
    for (const Row& row : rows)
      out["by_replicas"].push_back({{"replicas", row.replicas},
                                    {"replicated", row.share.replicated},
                                    {"replicated_random", row.share.replicated_random}});
    print(identified(json_text(out) + "\n"));
    return Exit::finished;
  }
  std::string out =
      fmt::format("{} replicas train {:.0f} % of the time, a synchronous job {:.0f} %\n",
                  p.replicas, share.replicated * 100, share.synchronous * 100);
  out += fmt::format(
      "  a failure every {:g} min stops all for {:g} min, and its replica for {:g} min\n", p.mtbf,
      p.stall, p.repair);
  out += fmt::format("  {} replica{} come{} within 1 % of what any number reaches\n\n", enough,
                     enough == 1 ? "" : "s", enough == 1 ? "s" : "");
  out += fmt::format("  {:<14} {:>14} {:>14}\n  {:<14} {:>13.1f}% {:>13.1f}%\n", "failures",
                     "evenly spaced", "at random", "synchronous", share.synchronous * 100,
                     share.synchronous_random * 100);
  for (const Row& row : rows)
    out += fmt::format("{} {:<14} {:>13.1f}% {:>13.1f}%\n", row.replicas == p.replicas ? ">" : " ",
                       fmt::format("{} replicas", row.replicas), row.share.replicated * 100,
                       row.share.replicated_random * 100);
  if (failures > 0)
    out += fmt::format("\n  simulated, {} random failures: {:.1f}%\n", failures, simulated * 100);
  print(out);
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanReplicas{
    "plan replicas",
    "how much of the time a job trains, in one piece and in replicas",
    "plan replicas [options]",
    "  culprit plan replicas\n"
    "  culprit plan replicas --mtbf-min 60 --stall-min 2 --repair-min 30 --replicas 16\n\n"
    "  The share of the time that a job trains when each failure stops all of it, and when it "
    "stops\n"
    "  one replica.\n",
    kPlanReplicasOptions,
    run_plan_replicas};

}  // namespace culprit::cli
