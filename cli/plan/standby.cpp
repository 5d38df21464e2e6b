#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>

#include "analyze/facts/topology.hpp"
#include "command.hpp"
#include "fleet/document.hpp"
#include "model/json.hpp"
#include "plan/standby.hpp"
#include "cluster.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "store/fleet.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanStandbyOptions = joined(
    {{"machines", "N", "machines of the job"},
     {"failure-rate", "P", "failures of one machine a day (default 0.0012)"},
     {"from", "FILE",
      "a fleet database: its failures give the rate, and its machines their number"},
     {"percentile", "P", "how often a day must not need more (default 0.99)"},
     {"gpus-per-host", "N", "GPUs of a machine, for what idles (default 8)"},
     {"wake-s", "S", "seconds until a woken standby trains (default 54)"},
     {"reschedule-s", "S", "seconds when the evicted machines only are replaced (default 300)"},
     {"requeue-s", "S", "seconds when the whole job is queued again (default 600)"},
     {"catastrophe", "P", "share of failures that take a whole switch (default 0.01)"},
     {"catastrophe-machines", "N", "machines below such a switch (default 32)"}},
    kPlanDatabase, kPlanOptions);

// What a fleet's own failures say.
struct FleetMeasure {
  fleet::MachineRate rate;
  fleet::DownSummary down;
  double a_day() const { return -std::expm1(-rate.rate); }  // that a machine fails on a day
};

Result<FleetMeasure> measured_in(const std::string& path) {
  CULPRIT_TRY(record, store::read_fleet(path));
  FleetMeasure out{fleet::machine_rate(record), {}};
  if (out.rate.failures == 0 || !(out.rate.rate > 0))
    return usage_error("this fleet database holds no failures of machines over a time")
        .at({path, 0})
        .hint("`culprit fleet -d " + path + "` prints what it holds");
  out.down = fleet::machines_down(fleet::failures(record, {}), fleet::watched(record, {}));
  return out;
}

std::string sentence_of(const FleetMeasure& m) {
  return fmt::format(
      "  rate: {} failures of {} machines in {:.1f} days, {:.2g} a machine and day\n  [{:.2g}, "
      "{:.2g}]; of these days, 99 % had at most {} failing machine{}, all at most {}\n",
      m.rate.failures, m.rate.machines, m.rate.days, m.rate.rate, m.rate.interval.low,
      m.rate.interval.high, m.down.p99_new, m.down.p99_new == 1 ? "" : "s", m.down.most_new);
}

std::string text_of(const plan::StandbyParams& p, const plan::StandbyPlan& plan, std::int64_t gpus,
                    const std::string& counted, bool assumed,
                    const std::optional<FleetMeasure>& measured) {
  const auto chosen =
      std::ranges::find(plan.choices, plan.standbys, &plan::StandbyChoice::standbys);
  std::string out = fmt::format(
      "{} warm standby{} for {} machine{}: {:.3f} % of days need no more\n", plan.standbys,
      plan.standbys == 1 ? "" : "s", p.machines, p.machines == 1 ? "" : "s", chosen->enough * 100);
  out += fmt::format(
      "  {:g} failures a day are expected, at {:g} a machine; the answer is the\n  {:g} % point of "
      "their binomial distribution\n{}\n",
      plan.expected_failures, p.failure_rate, p.percentile * 100,
      counted.empty() ? "" : fmt::format("  machines: {}\n", counted));
  if (measured) out += sentence_of(*measured) + "\n";
  out += fmt::format("  {:>8}  {:>13}  {:>12}  {:>14}\n", "standbys", "enough, days",
                     "mean restart", "idle GPU-h/day");
  for (const auto& c : plan.choices)
    out += fmt::format("{} {:>8}  {:>11.3f} %  {:>10.1f} s  {:>14}\n",
                       c.standbys == plan.standbys ? ">" : " ", c.standbys, c.enough * 100,
                       c.mean_restart_s, c.standbys * gpus * 24);
  out += fmt::format(
      "\n  against: queue the job again {:.1f} s, replace machines without\n  standbys {:.1f} s, "
      "standbys without end {:.1f} s\n",
      plan.requeue_s, plan.reschedule_s, plan.oracle_s);
  out += fmt::format(
      "  the mean is over evictions of 1 to {} machines, and in {:g} % of cases a\n  switch with "
      "{}\n",
      std::max<std::int64_t>(1, plan.standbys), p.catastrophe * 100,
      std::min(p.catastrophe_machines, p.machines));
  if (assumed) out += fmt::format("note: {}\n", kAssumedGpus);
  return out;
}

std::string json_of(const plan::StandbyParams& p, const plan::StandbyPlan& plan, std::int64_t gpus,
                    bool assumed, const std::optional<FleetMeasure>& measured) {
  ordered_json out{{"plan", "standby"},
                   {"version", 1},
                   {"machines", p.machines},
                   {"failure_rate", p.failure_rate},
                   {"percentile", p.percentile},
                   {"standbys", plan.standbys},
                   {"expected_failures_per_day", plan.expected_failures},
                   {"requeue_s", plan.requeue_s},
                   {"reschedule_s", plan.reschedule_s},
                   {"oracle_s", plan.oracle_s},
                   {"choices", ordered_json::array()}};
  for (const auto& c : plan.choices)
    out["choices"].push_back({{"standbys", c.standbys},
                              {"enough", c.enough},
                              {"mean_restart_s", c.mean_restart_s},
                              {"idle_gpu_hours_per_day", c.standbys * gpus * 24}});
  if (measured)
    out["measured"] = {{"failures", measured->rate.failures},
                       {"machines", measured->rate.machines},
                       {"days", measured->rate.days},
                       {"rate", measured->rate.rate},
                       {"interval", {measured->rate.interval.low, measured->rate.interval.high}},
                       {"p99_failing_a_day", measured->down.p99_new},
                       {"most_failing_a_day", measured->down.most_new}};
  if (assumed) out["notes"] = {kAssumedGpus};
  return json_text(out) + "\n";
}

Result<Exit> run_plan_standby(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanStandbyOptions));
  plan::StandbyParams p;
  std::int64_t known_gpus = 0;
  std::string counted;
  if (names_plan_incident(arguments)) {
    CULPRIT_TRY(incident, open_plan_incident(arguments));
    const analyze::Facts& facts = incident.resolved.facts;
    // Hosts that ranks ran on, when that is known: launchers and switches have names in the logs,
    // too.
    std::set<std::string> hosts;
    for (const auto& [rank, host] : incident.resolved.topology.host_of) hosts.insert(host);
    counted = hosts.empty() ? "hosts of the incident, as none is known to have ranks"
                            : "hosts with ranks, of the incident";
    p.machines = static_cast<std::int64_t>(hosts.empty() ? facts.hosts.size() : hosts.size());
    if (facts.manifest && facts.manifest->gpus_per_node)
      known_gpus = *facts.manifest->gpus_per_node;
    else if (p.machines > 0 && facts.world_size >= p.machines)
      known_gpus = (facts.world_size + p.machines - 1) / p.machines;
  }
  std::optional<FleetMeasure> measured;
  if (input.has("from")) {
    CULPRIT_TRY(path, input.text("from"));
    CULPRIT_TRY(found, measured_in(path));
    measured = found;
    p.failure_rate = found.a_day();
    if (p.machines < 1) p.machines = found.rate.machines;
  }
  CULPRIT_TRY(machines, input.integer("machines", p.machines, 1, 1'000'000'000));
  if (machines < 1)
    return usage_error("plan standby needs the number of machines")
        .hint("--machines 1024, --from fleet.db, or -d incident.db of a job whose hosts are known");
  p.machines = machines;
  if (input.has("machines")) counted.clear();
  CULPRIT_CHECK(input.set("failure-rate", p.failure_rate, 0, 1));
  CULPRIT_CHECK(input.set("percentile", p.percentile, 1e-9, 1 - 1e-9));
  CULPRIT_CHECK(input.set("wake-s", p.wake_s, 0, 1e9));
  CULPRIT_CHECK(input.set("reschedule-s", p.reschedule_s, 0, 1e9));
  CULPRIT_CHECK(input.set("requeue-s", p.requeue_s, 0, 1e9));
  CULPRIT_CHECK(input.set("catastrophe", p.catastrophe, 0, 1));
  CULPRIT_CHECK(input.set("catastrophe-machines", p.catastrophe_machines, 1, 1'000'000'000));
  CULPRIT_TRY(
      gpus, input.integer("gpus-per-host",
                          known_gpus > 0 ? std::min<std::int64_t>(known_gpus, 1024) : 8, 1, 1024));
  const bool assumed = known_gpus == 0 && !input.has("gpus-per-host");
  CULPRIT_TRY(plan, plan::plan_standby(p));
  print(input.wants_json() ? identified(json_of(p, plan, gpus, assumed, measured))
                           : text_of(p, plan, gpus, counted, assumed, measured));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanStandby{
    "plan standby",
    "how many machines to keep warm",
    "plan standby [BUNDLE...] [options]",
    "  culprit plan standby --machines 1024\n"
    "  culprit plan standby -d incident.db --failure-rate 0.002\n"
    "  culprit plan standby --from reports/fleet.db --machines 512\n\n"
    "  The 99th percentile of how many machines fail on a day, and the mean restart time that\n"
    "  this number and its neighbours give.\n",
    kPlanStandbyOptions,
    run_plan_standby};

}  // namespace culprit::cli
