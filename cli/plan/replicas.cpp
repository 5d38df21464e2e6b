#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "analyze/pace/interruptions.hpp"
#include "analyze/pace/restart_parts.hpp"
#include "command.hpp"
#include "diagnose/pace.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "plan/replicas.hpp"
#include "model/sort.hpp"
#include "report/terminal.hpp"
#include "input.hpp"
#include "machine_failures.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanReplicasOptions =
    joined({{"mtbf-min", "MIN", "minutes between failures of the whole job (default 18)"},
            {"stall-min", "MIN", "minutes for which a failure stops all replicas (default 3)"},
            {"repair-min", "MIN",
             "minutes until the failed replica, or a synchronous job, trains again (default 10)"},
            {"replicas", "N", "replicas (default 12)"},
            {"detection-s", "S", "until a failure is noticed (default 60, with any of the parts)"},
            {"regroup-s", "S", "until the other replicas are a group again (default 5)"},
            {"retry-s", "S", "of the step that failed (default 20)"},
            {"catch-up-s", "S", "for which all wait when the replica comes back (default 100)"},
            {"restart-s", "S", "of the failed replica: machines, container, process"},
            {"rendezvous-s", "S", "of its rendezvous"},
            {"init-s", "S", "of its communicators"},
            {"load-s", "S", "of its checkpoint"},
            {"failures", "N", "failures to simulate (default 200000; 0: none)"},
            {"seed", "N", "of the simulation (default 1)"}},
           kMachineFailures, kPlanDatabase, kPlanOptions);

struct PartOption {
  const char* option;
  double plan::FailureParts::*seconds;
};
constexpr PartOption kPartOptions[] = {{"detection-s", &plan::FailureParts::detection},
                                       {"regroup-s", &plan::FailureParts::regroup},
                                       {"retry-s", &plan::FailureParts::retry},
                                       {"catch-up-s", &plan::FailureParts::catch_up},
                                       {"restart-s", &plan::FailureParts::restart},
                                       {"rendezvous-s", &plan::FailureParts::rendezvous},
                                       {"init-s", &plan::FailureParts::init},
                                       {"load-s", &plan::FailureParts::load}};

struct Failure {
  std::optional<plan::FailureParts> parts;  // none: stall and repair as a whole
  std::vector<std::string> notes;
};

// The parts of the last start of an incident of which lines tell any, and what of its interruption
// was detection.
void take_parts(const PlanIncident& incident, Failure& out) {
  const analyze::Facts& facts = incident.resolved.facts;
  const diagnose::Pace pace = diagnose::pace_of(incident.db, facts);
  const auto starts =
      analyze::restart_parts(facts, pace.steps, incident.db.start_marks(), pace.loads);
  plan::FailureParts& p = out.parts.emplace();
  constexpr double kSecondsOf = 1e9;
  for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
    for (const analyze::StartPart& part : start->parts) {
      if (!part.took || part.name == "first step") continue;
      double& place = part.name == "rendezvous"   ? p.rendezvous
                      : part.name == "nccl"       ? p.init
                      : part.name == "checkpoint" ? p.load
                                                  : p.restart;
      place += static_cast<double>(*part.took) / kSecondsOf;
      out.notes.push_back(fmt::format("{} of attempt {}: {:.1f} s", part.label, start->attempt,
                                      static_cast<double>(*part.took) / kSecondsOf));
    }
    if (!out.notes.empty()) break;
  }
  if (out.notes.empty()) out.notes.push_back("no line of this incident bounds a part of a start");
  for (const analyze::Interruption& i : analyze::interruptions(facts, pace.steps, starts))
    if (i.failed && i.reported) {
      p.detection = static_cast<double>(*i.reported - *i.failed) / kSecondsOf;
      out.notes.push_back(
          fmt::format("detection after attempt {}: {:.1f} s", i.attempt, p.detection));
    }
}

Result<Failure> failure_of(const PlanInput& input, const Arguments& arguments) {
  Failure out;
  if (names_plan_incident(arguments)) {
    CULPRIT_TRY(incident, open_plan_incident(arguments));
    take_parts(incident, out);
  }
  for (const auto& [option, seconds] : kPartOptions) {
    if (!input.has(option)) continue;
    if (!out.parts) out.parts.emplace();
    CULPRIT_CHECK(input.set(option, *out.parts.*seconds, 0, 1e9));
  }
  for (const char* whole : {"stall-min", "repair-min"})
    if (out.parts && input.has(whole))
      return input.complaint(whole, "is the sum of parts that are given as well")
          .hint("give the whole, or its parts");
  return out;
}

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
  CULPRIT_TRY(of_machines, mtbf_of_machines(input));
  if (of_machines) p.mtbf = *of_machines / 60;
  CULPRIT_CHECK(input.set("mtbf-min", p.mtbf, 1e-6, 1e9));
  CULPRIT_CHECK(input.set("stall-min", p.stall, 0, 1e9));
  CULPRIT_CHECK(input.set("repair-min", p.repair, 0, 1e9));
  CULPRIT_CHECK(input.set("replicas", p.replicas, 1, 1'000'000));
  CULPRIT_TRY(failure, failure_of(input, arguments));
  if (failure.parts) p = plan::with_parts(p, *failure.parts);
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
    if (failure.parts)
      for (const auto& [option, seconds] : kPartOptions) {
        std::string key = option;
        std::ranges::replace(key, '-', '_');
        out["parts"][key] = *failure.parts.*seconds;
      }
    if (!failure.notes.empty()) out["notes"] = failure.notes;
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
      "  a failure every {:.4g} min stops all for {:.3g} min, and its replica for {:.3g} min\n",
      p.mtbf, p.stall, p.repair);
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
  if (failure.parts) {
    out += "\n  seconds:";
    for (const auto& [option, seconds] : kPartOptions)
      out += fmt::format(" {} {:.4g}", std::string_view(option).substr(0, std::strlen(option) - 2),
                         *failure.parts.*seconds);
    out += "\n";
  }
  for (const std::string& note : failure.notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  print(out);
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanReplicas{
    "plan replicas",
    "how much of the time a job trains, in one piece and in replicas",
    "plan replicas [BUNDLE...] [options]",
    "  culprit plan replicas\n"
    "  culprit plan replicas --mtbf-min 60 --stall-min 2 --repair-min 30 --replicas 16\n"
    "  culprit plan replicas --detection-s 10 --catch-up-s 40 --init-s 200 --load-s 90\n"
    "  culprit plan replicas -d incident.db\n\n"
    "  The share of the time that a job trains when each failure stops all of it, and when it "
    "stops\n"
    "  one replica.\n",
    kPlanReplicasOptions,
    run_plan_replicas};

}  // namespace culprit::cli
