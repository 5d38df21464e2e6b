#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "plan/microbatch.hpp"
#include "plan_input.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLines = 32;   // of groups, for people

constexpr OptionSpec kOptions[] = {
    {"times", "T,T,...", "milliseconds of one micro-batch, for each data-parallel group"},
    {"micro-batches", "N", "micro-batches of a step, over all groups"},
    {"pp", "N", "pipeline stages: every group's number is a multiple (1F1B; default 1)"},
    kPlanInput, kPlanFormat, kPlanJson,
};

std::string text_of(const std::vector<double>& t, std::int64_t all, const plan::MicrobatchPlan& plan) {
  std::string out;
  if (plan.best_ms < plan.even_ms) out = fmt::format("A step takes {:.1f} ms instead of {:.1f} ms: {:.2f} times as fast\n", plan.best_ms, plan.even_ms, plan.even_ms / plan.best_ms);
  else out = fmt::format("Leave them spread evenly: no other distribution is below {:.1f} ms\n", plan.best_ms);
  out += fmt::format("  {} micro-batches over {} groups; with fractions of them it would be {:.1f} ms\n\n", all, t.size(), plan.bound_ms);
  out += fmt::format("  {:>6}  {:>10}  {:>7}  {:>7}  {:>10}  {:>8}\n", "group", "each", "before", "after", "done after", "weight");
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < t.size(); ++i) order.push_back(i);
  // Those that differ from the rest are what a reader looks for.
  if (t.size() > kMostLines) std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(plan.counts[a] - plan.even[a]) > std::abs(plan.counts[b] - plan.even[b]); });
  for (std::size_t i = 0; i < std::min(kMostLines, order.size()); ++i) {
    const std::size_t g = order[i];
    out += fmt::format("  {:>6}  {:>7.1f} ms  {:>7}  {:>7}  {:>7.1f} ms  {:>8.6f}\n", g, t[g], plan.even[g], plan.counts[g], static_cast<double>(plan.counts[g]) * t[g], static_cast<double>(plan.counts[g]) / static_cast<double>(all));
  }
  if (order.size() > kMostLines) out += fmt::format("  and {} more groups, of which the numbers change less: --format json has all\n", order.size() - kMostLines);
  out += "\n  A group's mean gradient counts with its weight (its part of the micro-batches), else the loss changes.\n";
  return out;
}

std::string json_of(const std::vector<double>& t, std::int64_t all, const plan::MicrobatchPlan& plan) {
  ordered_json out{{"plan", "microbatch"}, {"version", 1}, {"micro_batches", all}, {"before_ms", plan.even_ms}, {"after_ms", plan.best_ms}, {"bound_ms", plan.bound_ms}, {"groups", ordered_json::array()}};
  for (std::size_t i = 0; i < t.size(); ++i)
    out["groups"].push_back({{"group", i}, {"micro_batch_ms", t[i]}, {"before", plan.even[i]}, {"after", plan.counts[i]}, {"weight", static_cast<double>(plan.counts[i]) / static_cast<double>(all)}});
  return out.dump(2) + "\n";
}

Result<Exit> run(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kOptions));
  CULPRIT_TRY(t, input.reals("times", 1e-9, 1e12, 10'000'000));
  if (t.empty()) return usage_error("plan microbatch needs the time of a micro-batch for each group").hint("--times 100,100,100,170 --micro-batches 64");
  if (!input.has("micro-batches")) return usage_error("plan microbatch needs the number of micro-batches of a step").hint("--micro-batches 64");
  CULPRIT_TRY(all, input.integer("micro-batches", 0, 1, 1'000'000'000'000));
  CULPRIT_TRY(pp, input.integer("pp", 1, 1, 1'000'000));
  CULPRIT_TRY(plan, plan::plan_microbatches(t, all, pp));
  print(input.wants_json() ? json_of(t, all, plan) : text_of(t, all, plan));
  return Exit::finished;
}

}  // namespace

extern const Command kPlanMicrobatch;
constinit const Command kPlanMicrobatch{"plan microbatch", "how to spread micro-batches over groups of unequal speed", "plan microbatch --times T,T,... --micro-batches N [options]",
                                        "  culprit plan microbatch --times 100,100,100,170 --micro-batches 64\n"
                                        "  culprit plan microbatch --input groups.json --pp 8\n\n"
                                        "  The distribution with the earliest end of the slowest data-parallel group: none is better.\n",
                                        kOptions, run};

}  // namespace culprit::cli
