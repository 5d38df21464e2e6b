#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "command.hpp"
#include "model/json.hpp"
#include "plan/mitigate.hpp"
#include "from_incident.hpp"
#include "incident.hpp"
#include "input.hpp"
#include "measured_job.hpp"
#include "microbatch_share.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLinesOfPlanMitigate = 24;  // of intervals, for people
constexpr double kMostMs = 1e12;

constexpr auto kPlanMitigateOptions = joined(
    {{"interval", "START,END,SLOW,HEALTHY",
      "iterations START to END took SLOW ms instead of HEALTHY (may be repeated); in a file "
      "objects "
      "with the keys start, end, slow_ms, healthy_ms"},
     {"cause", "CAUSE",
      "computation, communication or unknown (default, or what the incident tells)"},
     {"microbatch-cost-ms", "MS",
      "price of new micro-batches, S2 (default 5000, or a step of the incident)"},
     {"microbatch-helps", "P",
      "the share of slow computation they remove (default 0.7, or the best of the incident)"},
     {"topology-cost-ms", "MS",
      "price of a new topology, S3 (default 60000, or what the incident tells)"},
     {"topology-helps", "P",
      "the share it removes of slow communication (default 0.5), and of slow computation"},
     {"restart-cost-ms", "MS",
      "price of checkpoint and restart, S4 (default 600000, or as measured)"}},
    kPlanDatabase, kPlanOptions);

std::string time(double ms) {
  return ms < 1000      ? fmt::format("{:.0f} ms", ms)
         : ms < 600'000 ? fmt::format("{:.1f} s", ms / 1000)
                        : fmt::format("{:.1f} min", ms / 60'000);
}

// A strategy, and where its price is from.
struct PricedStrategy {
  plan::Strategy strategy;
  std::string_view source = "default";  // default, given, incident
};

std::string prices_of(const std::vector<PricedStrategy>& strategies) {
  std::string out;
  for (const PricedStrategy& one : strategies)
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", one.strategy.name,
                       time(one.strategy.cost_ms), one.source == "incident" ? " (measured)" : "");
  return out;
}

std::string text_of(const plan::MitigationReplay& replay,
                    const std::vector<PricedStrategy>& strategies,
                    const std::vector<std::string>& notes) {
  std::string out;
  if (replay.rule_ms < replay.ignored_ms)
    out = fmt::format("The rule would have saved {} of {} lost\n",
                      time(replay.ignored_ms - replay.rule_ms), time(replay.ignored_ms));
  else if (replay.rule_ms > replay.ignored_ms)
    out = fmt::format(
        "The rule would have cost {} on top of {} lost: the slowdowns ended soon after it acted\n",
        time(replay.rule_ms - replay.ignored_ms), time(replay.ignored_ms));
  else
    out = fmt::format(
        "The rule would have done nothing: the slowdowns cost {}, less than any strategy that "
        "helps\n",
        time(replay.ignored_ms));
  out += fmt::format(
      "  The rule waits until a slowdown has cost as much as the next strategy:\n  {}\n",
      replay.ladder.empty() ? "none helps"
                            : fmt::format("{}", fmt::join(replay.ladder, ", then ")));
  out += fmt::format("  prices: {}\n", prices_of(strategies));
  if (!replay.passed_over.empty())
    out += fmt::format("  passed over, since cheaper ones do as much against this cause:\n  {}\n",
                       fmt::join(replay.passed_over, ", "));
  out += fmt::format("\n  {:<28} {:>12}  {:>12}\n", "strategy", "time lost", "saved");
  for (const auto& one : replay.alone)
    out += fmt::format("  {:<28} {:>12}  {:>12}\n",
                       one.name == "ignore" ? "ignore" : one.name + " at once", time(one.lost_ms),
                       one.name == "ignore" ? "-"
                       : one.lost_ms <= replay.ignored_ms
                           ? time(replay.ignored_ms - one.lost_ms)
                           : "-" + time(one.lost_ms - replay.ignored_ms));
  out += fmt::format("  {:<28} {:>12}\n  {:<28} {:>12}\n", "the rule", time(replay.rule_ms),
                     "the best, for each interval", time(replay.best_ms));
  if (replay.best_ms > 0)
    out += fmt::format(
        "\n  The rule lost {:.2f} times what somebody who knew the ends would have lost.\n  "
        "Whatever the slowdowns are, that is at most {:.2f} times, counting one slow\n  iteration "
        "more for each.\n",
        replay.rule_ms / replay.best_ms, replay.bound);
  out += "\n";
  std::size_t lines = 0;
  for (const auto& one : replay.intervals) {
    if (++lines > kMostLinesOfPlanMitigate) break;
    out += fmt::format("  iterations {} to {}: {:g} ms instead of {:g} ms, {} lost; best: {}\n",
                       one.interval.start, one.interval.end, one.interval.slow_ms,
                       one.interval.healthy_ms, time(one.ignored_ms), one.best);
    for (const auto& taken : one.taken)
      out += fmt::format("    {} before iteration {}, when {} were lost\n", taken.strategy,
                         taken.iteration, time(taken.lost_ms));
  }
  if (replay.intervals.size() > kMostLinesOfPlanMitigate)
    out += fmt::format("  and {} more intervals: --format json has all\n",
                       replay.intervals.size() - kMostLinesOfPlanMitigate);
  for (const std::string& note : notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  return out;
}

std::string json_of(const plan::MitigationReplay& replay, const std::string& cause,
                    const std::vector<PricedStrategy>& strategies,
                    const std::vector<std::string>& notes) {
  ordered_json out{{"plan", "mitigate"},
                   {"version", 1},
                   {"cause", cause},
                   {"ignored_ms", replay.ignored_ms},
                   {"rule_ms", replay.rule_ms},
                   {"best_ms", replay.best_ms},
                   {"ratio", replay.best_ms > 0 ? ordered_json(replay.rule_ms / replay.best_ms)
                                                : ordered_json(nullptr)},
                   {"bound", replay.bound},
                   {"ladder", replay.ladder},
                   {"passed_over", replay.passed_over},
                   {"prices", ordered_json::array()}};
  for (const PricedStrategy& one : strategies)
    out["prices"].push_back({{"strategy", one.strategy.name},
                             {"cost_ms", one.strategy.cost_ms},
                             {"source", one.source}});
  const auto outcomes = [](const std::vector<plan::Outcome>& list) {
    ordered_json all = ordered_json::array();
    for (const auto& one : list) all.push_back({{"strategy", one.name}, {"lost_ms", one.lost_ms}});
    return all;
  };
  out["at_once"] = outcomes(replay.alone);
  out["intervals"] = ordered_json::array();
  for (const auto& one : replay.intervals) {
    ordered_json taken = ordered_json::array();
    for (const auto& t : one.taken)
      taken.push_back(
          {{"strategy", t.strategy}, {"iteration", t.iteration}, {"lost_ms", t.lost_ms}});
    out["intervals"].push_back({{"start", one.interval.start},
                                {"end", one.interval.end},
                                {"slow_ms", one.interval.slow_ms},
                                {"healthy_ms", one.interval.healthy_ms},
                                {"ignored_ms", one.ignored_ms},
                                {"rule_ms", one.rule_ms},
                                {"best", one.best},
                                {"best_ms", one.best_ms},
                                {"taken", std::move(taken)},
                                {"at_once", outcomes(one.alone)}});
  }
  if (!notes.empty()) out["notes"] = notes;
  return json_text(out) + "\n";
}

// What the rule asks for in a slowdown that is not over: what is due, and what comes next.
std::string due_now(const plan::IntervalReplay& one, const std::vector<std::string>& ladder,
                    const std::vector<PricedStrategy>& strategies) {
  std::string out = one.taken.empty()
                        ? fmt::format("now: nothing is due yet, {} are lost", time(one.ignored_ms))
                        : fmt::format("now: {}, due since iteration {}", one.taken.back().strategy,
                                      one.taken.back().iteration);
  if (one.taken.size() >= ladder.size()) return out;
  const std::string& name = ladder[one.taken.size()];
  const auto next = std::ranges::find(
      strategies, name, [](const PricedStrategy& priced) { return priced.strategy.name; });
  return out + (next == strategies.end() ? ""
                                         : fmt::format("; if it goes on, {} when {} are lost", name,
                                                       time(next->strategy.cost_ms)));
}

// The intervals that the options or the file give.
Result<std::vector<plan::SlowInterval>> given_intervals(const PlanInput& input) {
  static constexpr const char* kColumns[] = {"start", "end", "slow_ms", "healthy_ms"};
  CULPRIT_TRY(rows, input.table("interval", kColumns, 0, kMostMs, 1'000'000));
  std::vector<plan::SlowInterval> intervals;
  for (const auto& row : rows) {
    for (const double whole : {row[0], row[1]})
      if (whole != static_cast<double>(static_cast<std::int64_t>(whole)))
        return input
            .complaint("interval", fmt::format("counts iterations in whole numbers, not {}", whole))
            .hint(
                "--interval 120,480,1500,1000: iterations 120 to 480 took 1500 ms instead of 1000");
    intervals.push_back(
        {static_cast<std::int64_t>(row[0]), static_cast<std::int64_t>(row[1]), row[2], row[3]});
  }
  return intervals;
}

// What the strategies without a given price cost this job, as far as its logs tell: new
// micro-batches begin with the next step; a new topology makes new communicators, and its state
// stays in memory (GREYHOUND figure 19); a restart is a save and what follows the decision to start
// anew.
void measure_prices(const MeasuredJob& job, std::vector<PricedStrategy>& out,
                    std::vector<std::string>& notes) {
  const auto take = [&](std::size_t which, double seconds, std::string how) {
    if (out[which].source == "given") return;
    out[which].strategy.cost_ms = seconds * 1000;
    out[which].source = "incident";
    notes.push_back(fmt::format("price of {}: {}", out[which].strategy.name, how));
  };
  if (job.step) take(0, *job.step, fmt::format("a step of {}", time(*job.step * 1000)));
  if (job.regroup && job.step)
    take(1, *job.regroup + *job.step,
         fmt::format("{} for rendezvous and communicators of its last start, and a step",
                     time(*job.regroup * 1000)));
  if (!job.new_start) return;
  const auto& [took, count, from_decision] = *job.new_start;
  take(2, job.stall.value_or(0) + took,
       fmt::format("{}{} {} ({} restart{})",
                   job.stall ? fmt::format("a save of {}, and ", time(*job.stall * 1000)) : "",
                   time(took * 1000),
                   from_decision ? "from the decision to start anew to the first step"
                                 : "from the last step to the first of the next run, detection "
                                   "included",
                   count, count == 1 ? "" : "s"));
}

// Options win over what the incident tells, and that over the defaults.
Result<std::vector<PricedStrategy>> priced_strategies(const PlanInput& input,
                                                      const std::optional<MeasuredJob>& job,
                                                      const std::optional<double>& helps,
                                                      std::vector<std::string>& notes) {
  std::vector<PricedStrategy> out;
  for (plan::Strategy& one : plan::default_strategies()) out.push_back({std::move(one)});
  static constexpr const char* kCosts[] = {"microbatch-cost-ms", "topology-cost-ms",
                                           "restart-cost-ms"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!input.has(kCosts[i])) continue;
    CULPRIT_CHECK(input.set(kCosts[i], out[i].strategy.cost_ms, 0, kMostMs));
    out[i].source = "given";
  }
  if (job) measure_prices(*job, out, notes);
  if (helps && !input.has("microbatch-helps")) {
    out[0].strategy.helps_computation = *helps;
    notes.push_back(
        fmt::format("micro-batches remove {:.0f} % of slow computation: the best "
                    "distribution over its groups, with {} for each group and stage",
                    100 * *helps, kAssumedMicrobatches));
  }
  CULPRIT_CHECK(input.set("microbatch-helps", out[0].strategy.helps_computation, 0, 1));
  CULPRIT_CHECK(input.set("topology-helps", out[1].strategy.helps_computation, 0, 1));
  CULPRIT_CHECK(input.set("topology-helps", out[1].strategy.helps_communication, 0, 1));
  return out;
}

Result<Exit> run_plan_mitigate(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanMitigateOptions));
  CULPRIT_TRY(intervals, given_intervals(input));
  std::vector<std::string> notes;
  std::string known_cause = "unknown";
  std::vector<std::size_t> going_on;  // intervals that are not over
  std::optional<MeasuredJob> job;
  std::optional<double> helps;  // new micro-batches, this job
  if (intervals.empty() && names_plan_incident(arguments)) {
    CULPRIT_TRY(incident, open_plan_incident(arguments));
    CULPRIT_TRY(slow, slow_spells(incident));
    job = measured_job(incident);
    helps = microbatch_share(incident, slow);
    std::set<std::string> kinds;
    for (const diagnose::SlowSpell& s : slow.spells) {
      if (!s.over) going_on.push_back(intervals.size());
      intervals.push_back({s.first, s.last + 1, s.mean_ms, s.healthy_ms});
      kinds.insert(
          s.subject.kind == SubjectKind::rank || s.subject.kind == SubjectKind::gpu ? "computation"
          : s.subject.kind == SubjectKind::nic || s.subject.kind == SubjectKind::network_switch
              ? "communication"
              : "unknown");
      notes.push_back(
          fmt::format("{} iteration {}{}: {}", s.over ? "from" : "since", s.first,
                      s.over ? fmt::format(" to {}", s.last) : "",
                      s.subject.kind == SubjectKind::job
                          ? std::string("no rank is an outlier")
                          : fmt::format("because of {} {}", name(s.subject.kind), s.subject.id)));
    }
    if (kinds.size() == 1) known_cause = *kinds.begin();
    if (intervals.empty())
      notes.push_back("no slow interval in this incident: " + report::words(slow.why));
    if (notes.size() > kMostLinesOfPlanMitigate) notes.resize(kMostLinesOfPlanMitigate);
  } else if (intervals.empty()) {
    return usage_error("plan mitigate needs the intervals that were slow")
        .hint(
            "--interval 120,480,1500,1000: iterations 120 to 480 took 1500 ms instead of 1000; or "
            "-d incident.db");
  }
  CULPRIT_TRY(cause_name, input.text("cause", known_cause));
  const std::vector<std::string> causes{"computation", "communication", "unknown"};
  const auto cause = std::ranges::find(causes, cause_name);
  if (cause == causes.end()) {
    const std::string near = schema::nearest(cause_name, causes);
    return input
        .complaint("cause",
                   fmt::format("takes computation, communication or unknown, not '{}'", cause_name))
        .hint(near.empty() ? "unknown is always right" : fmt::format("did you mean '{}'?", near));
  }
  std::vector<std::string> priced;
  CULPRIT_TRY(strategies, priced_strategies(input, job, helps, priced));
  std::vector<plan::Strategy> known;
  for (const PricedStrategy& one : strategies) known.push_back(one.strategy);
  CULPRIT_TRY(replay, plan::replay_mitigation(
                          intervals, known, static_cast<plan::SlowCause>(cause - causes.begin())));
  if (intervals.empty() && !input.wants_json()) {
    print(report::paragraph("Nothing to act on: ", report::visible(notes.front()), 76, 2));
    return Exit::finished;
  }
  if (names_plan_incident(arguments) && !input.has("cause") && known_cause != "unknown")
    notes.push_back(fmt::format("taken for slow {}, by the outliers (--cause)", known_cause));
  if (!intervals.empty()) notes.insert(notes.end(), priced.begin(), priced.end());
  for (const std::size_t i : going_on)
    if (i < replay.intervals.size())
      notes.insert(notes.begin(), due_now(replay.intervals[i], replay.ladder, strategies));
  print(input.wants_json() ? identified(json_of(replay, cause_name, strategies, notes))
                           : text_of(replay, strategies, notes));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanMitigate{
    "plan mitigate",
    "when acting on a slowdown would have paid",
    "plan mitigate [BUNDLE...] [options]",
    "  culprit plan mitigate --interval 120,4800,1500,1000 --cause computation\n"
    "  culprit plan mitigate -d incident.db --restart-cost-ms 900000\n\n"
    "  Micro-batches, topology and restart, each taken when the slowdown has cost its price; "
    "against\n"
    "  each at once, nothing at all, and what was best.\n",
    kPlanMitigateOptions,
    run_plan_mitigate};

}  // namespace culprit::cli
