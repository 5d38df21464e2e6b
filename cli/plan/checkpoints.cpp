#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "command.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "input.hpp"
#include "machine_failures.hpp"
#include "measured_job.hpp"
#include "model/json.hpp"
#include "plan/checkpoint_interval.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanCheckpointsOptions =
    joined({{"mtbf-min", "MIN", "minutes between failures of the whole job"},
            {"stall-s", "S", "seconds for which a save holds up training"},
            {"restart-min", "MIN", "minutes from a failure until training goes on (default 0)"},
            {"interval-min", "MIN", "minutes of training between two saves now, to be compared"},
            {"runs", "LIST", "minutes that each run trained before it failed, such as 300,95,710"},
            {"last-runs", nullptr, "the last of these runs did not fail"}},
           kMachineFailures, kPlanDatabase, kPlanOptions);
constexpr std::size_t kMostTraceRuns = 100'000;

// One failure is no rate.
std::optional<double> mtbf_of(const plan::CheckpointTrace& trace) {
  double all = 0;
  for (const double run : trace.runs) all += run;
  const std::size_t failures = trace.runs.size() - (trace.last_failed ? 0 : 1);
  if (trace.runs.empty() || failures < 2 || !(all > 0)) return std::nullopt;
  return all / static_cast<double>(failures);
}

std::string told(double s) {
  return s < 120 ? fmt::format("{:.3g} s", s) : fmt::format("{:.1f} min", s / 60);
}

struct IntervalAnswer {
  plan::CheckpointParams params;
  plan::CheckpointInterval interval;
  plan::CheckpointTrace trace;
  std::optional<double> best_of_trace;
};

std::string text_of(const IntervalAnswer& a, const std::string& source) {
  const plan::CheckpointParams& p = a.params;
  std::string out = fmt::format("save every {} of training: {:.1f} % of the time counts\n",
                                told(a.interval.best), a.interval.best_share * 100);
  out += fmt::format("  a failure every {}, a save holds up {}, a restart takes {}\n{}\n",
                     told(p.mtbf), told(p.stall), told(p.restart),
                     source.empty() ? "" : "  " + source + "\n");
  const bool traced = a.best_of_trace.has_value();
  out += fmt::format("  {:<22} {:>12} {:>12}{}\n", "", "every", "at random",
                     traced ? fmt::format(" {:>12}", "these runs") : "");
  const auto row = [&](const char* name, double interval, double share) {
    out += fmt::format(
        "  {:<22} {:>12} {:>11.2f}%{}\n", name, told(interval), share * 100,
        traced ? fmt::format(" {:>11.2f}%", plan::trace_share(interval, a.trace, p) * 100) : "");
  };
  row("Young", a.interval.young, a.interval.young_share);
  row("Daly", a.interval.daly, a.interval.daly_share);
  row("best at random", a.interval.best, a.interval.best_share);
  if (traced)
    row("best for these runs", *a.best_of_trace,
        plan::checkpoint_share(*a.best_of_trace, a.params));
  if (p.now > 0) row("now", p.now, a.interval.now_share);
  if (traced)
    out += fmt::format("\n  {} run{}{}; what suits them is known afterwards only\n",
                       a.trace.runs.size(), a.trace.runs.size() == 1 ? "" : "s",
                       a.trace.last_failed ? "" : ", the last of which did not fail");
  return out;
}

std::string json_of(const IntervalAnswer& a) {
  const plan::CheckpointParams& p = a.params;
  const auto both = [&](double interval, double share) {
    ordered_json out{{"interval_s", interval}, {"share", share}};
    out["share_of_runs"] = a.best_of_trace ? ordered_json(plan::trace_share(interval, a.trace, p))
                                           : ordered_json(nullptr);
    return out;
  };
  ordered_json out{{"schema", "culprit.plan-checkpoints/1"},
                   {"mtbf_s", p.mtbf},
                   {"stall_s", p.stall},
                   {"restart_s", p.restart},
                   {"young", both(a.interval.young, a.interval.young_share)},
                   {"daly", both(a.interval.daly, a.interval.daly_share)},
                   {"best", both(a.interval.best, a.interval.best_share)}};
  out["best_of_runs"] = a.best_of_trace
                            ? both(*a.best_of_trace, plan::checkpoint_share(*a.best_of_trace, p))
                            : ordered_json(nullptr);
  out["now"] = p.now > 0 ? both(p.now, a.interval.now_share) : ordered_json(nullptr);
  out["runs_s"] = a.trace.runs;
  out["last_failed"] = a.trace.last_failed;
  return json_text(out) + "\n";
}

Result<Exit> run_plan_checkpoints(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanCheckpointsOptions));
  MeasuredJob measured;
  std::string source;
  if (names_plan_incident(arguments)) {
    CULPRIT_TRY(incident, open_plan_incident(arguments));
    measured = measured_job(incident);
    source = fmt::format("measured in {}: {} run{}, {} save{}", report::visible(incident.path),
                         measured.trace.runs.size(), measured.trace.runs.size() == 1 ? "" : "s",
                         measured.saves, measured.saves == 1 ? "" : "s");
  }
  if (input.has("runs")) {
    CULPRIT_TRY(runs, input.reals("runs", 0, 1e9, kMostTraceRuns));
    for (double& run : runs) run *= 60;
    measured.trace = {std::move(runs), !arguments.has("last-runs")};
  } else if (arguments.has("last-runs")) {
    return input.complaint("last-runs", "goes with --runs").hint("--runs 300,95,710 --last-runs");
  }
  std::optional<double> known = mtbf_of(measured.trace);
  CULPRIT_TRY(of_machines, mtbf_of_machines(input));
  if (of_machines) known = of_machines;
  CULPRIT_TRY(mtbf, input.real("mtbf-min", known.value_or(0) / 60, 1e-6, 1e9));
  CULPRIT_TRY(stall, input.real("stall-s", measured.stall.value_or(0), 1e-6, 1e9));
  if (!(mtbf > 0) || !(stall > 0))
    return usage_error(mtbf > 0 ? "plan checkpoints needs the stall of a save"
                                : "plan checkpoints needs the time between failures")
        .hint(
            "--mtbf-min 180 --stall-s 20, --runs of two failures or more, or -d incident.db of "
            "such a job");
  CULPRIT_TRY(restart, input.real("restart-min", measured.restart.value_or(0) / 60, 0, 1e9));
  CULPRIT_TRY(now, input.real("interval-min", measured.interval.value_or(0) / 60, 0, 1e9));
  IntervalAnswer answer;
  answer.params = {mtbf * 60, stall, restart * 60, now * 60};
  CULPRIT_TRY(interval, plan::checkpoint_interval(answer.params));
  answer.interval = interval;
  answer.trace = std::move(measured.trace);
  if (!answer.trace.runs.empty())
    if (auto best = plan::best_of_trace(answer.trace, answer.params)) answer.best_of_trace = *best;
  print(input.wants_json() ? identified(json_of(answer)) : text_of(answer, source));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanCheckpoints{
    "plan checkpoints",
    "how often to save a checkpoint",
    "plan checkpoints [BUNDLE...] [options]",
    "  culprit plan checkpoints --mtbf-min 60 --stall-s 18\n"
    "  culprit plan checkpoints --runs 300,95,710 --stall-s 30 --restart-min 12\n"
    "  culprit plan checkpoints -d incident.db\n\n"
    "  The interval by Young, by Daly, the best for failures at random, and the best that there "
    "was\n"
    "  for the runs that the job had.\n",
    kPlanCheckpointsOptions,
    run_plan_checkpoints};

}  // namespace culprit::cli
