#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "command.hpp"
#include "model/json.hpp"
#include "plan/checks.hpp"
#include "plan/group_command.hpp"
#include "checks_solve.hpp"
#include "cluster.hpp"
#include "incident.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanChecksOptions =
    joined({kClusterHosts,
            {"for", "OCCASION", "stop (default), delivery, delivery-light, repair or dual-tor"},
            {"nan", nullptr, "with stop: the loss was NaN, so compare a training step bit by bit"},
            {"gpus-per-host", "N", "GPUs of a host (default 8)"},
            {"via", "TEXT", "how a command gets to a host (default: ssh {host})"}},
           kPlanDatabase, kPlanOptions);

struct NamedOccasion {
  std::string_view name;
  plan::CheckOccasion occasion;
};
constexpr NamedOccasion kOccasions[] = {{"stop", plan::CheckOccasion::stop},
                                        {"delivery", plan::CheckOccasion::delivery},
                                        {"delivery-light", plan::CheckOccasion::delivery_light},
                                        {"repair", plan::CheckOccasion::repair},
                                        {"dual-tor", plan::CheckOccasion::dual_tor}};

std::string text_of(const std::vector<plan::CheckStep>& steps, std::size_t hosts, bool assumed) {
  std::string out =
      fmt::format("{} checks of {} host{}, in this order; a host that fails leaves the list\n",
                  steps.size(), hosts, hosts == 1 ? "" : "s");
  std::string phase;
  std::size_t number = 0;
  for (const plan::CheckStep& step : steps) {
    if (step.phase != phase) {
      phase = step.phase;
      out += fmt::format("\n{}{} ({})\n", phase,
                         step.minutes.empty() ? "" : fmt::format(", {} min", step.minutes),
                         step.source);
    }
    out += fmt::format("\n  {}\n", report::wrapped(fmt::format("{}. {}; passed when: {}", ++number,
                                                               step.task, step.pass),
                                                   76, 5));
    if (!step.note.empty()) out += fmt::format("     {}\n", report::wrapped(step.note, 74, 5));
    for (const plan::CheckItem& item : step.items)
      out += fmt::format("  [ ] {}\n", plan::folded_command(report::visible(item.command), 74, 8));
  }
  if (assumed) out += fmt::format("\nnote: {}\n", kAssumedGpus);
  return out;
}

std::string json_of(const std::vector<plan::CheckStep>& steps, bool assumed) {
  ordered_json out{{"schema", "culprit.plan-checks/1"}, {"checks", ordered_json::array()}};
  for (const plan::CheckStep& step : steps) {
    ordered_json items = ordered_json::array();
    for (const plan::CheckItem& item : step.items)
      items.push_back({{"hosts", item.hosts}, {"command", item.command}, {"passed", nullptr}});
    out["checks"].push_back({{"phase", step.phase},
                             {"task", step.task},
                             {"minutes", step.minutes},
                             {"pass", step.pass},
                             {"note", step.note},
                             {"source", step.source},
                             {"items", std::move(items)}});
  }
  if (assumed) out["notes"] = {kAssumedGpus};
  return json_text(out) + "\n";
}

Result<Exit> run_plan_checks(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanChecksOptions, true));
  const auto& words = arguments.positional();
  if (!words.empty() && words[0] == "solve") {
    if (words.size() != 2)
      return usage_error("plan checks solve takes one file of outcomes")
          .hint("culprit plan checks solve outcomes.csv; `-` reads standard input");
    return solve_plan_checks(arguments, input, words[1]);
  }
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  if (cluster.hosts.empty())
    return usage_error("plan checks needs the hosts")
        .hint("--hosts node[01-04], or -d incident.db");
  plan::CheckParams p;
  CULPRIT_TRY(occasion, input.text("for", "stop"));
  const auto known = std::ranges::find(kOccasions, occasion, &NamedOccasion::name);
  if (known == std::end(kOccasions))
    return input.complaint(
        "for", fmt::format("takes stop, delivery, delivery-light, repair or dual-tor, not '{}'",
                           occasion));
  p.occasion = known->occasion;
  p.nan = arguments.has("nan");
  if (p.nan && p.occasion != plan::CheckOccasion::stop)
    return input.complaint("nan", "goes with --for stop").hint("leave one of the two out");
  CULPRIT_TRY(gpus, input.integer("gpus-per-host", cluster.gpus.value_or(8), 1, 1024));
  CULPRIT_TRY(via, input.text("via", p.via));
  const bool assumed = !cluster.gpus && !input.has("gpus-per-host");
  p.gpus_per_host = gpus;
  p.via = via;
  CULPRIT_TRY(steps, plan::plan_checks(cluster.hosts, p));
  print(input.wants_json() ? identified(json_of(steps, assumed))
                           : text_of(steps, cluster.hosts.size(), assumed));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanChecks{
    "plan checks",
    "what to run on suspects, or before hosts go to a job",
    "plan checks [solve OUTCOMES] [BUNDLE...] [options]",
    "  culprit plan checks --hosts node[07-09] --nan\n"
    "  culprit plan checks --hosts node[01-24] --for delivery\n"
    "  culprit plan checks --hosts node07 --for dual-tor\n"
    "  culprit plan checks solve outcomes.csv\n\n"
    "  Commands for each host, in the order in which production "
    "systems run them, with what counts as\n"
    "  passed and how long it takes. With their outcomes: which machine they leave.\n",
    kPlanChecksOptions,
    run_plan_checks};

}  // namespace culprit::cli
