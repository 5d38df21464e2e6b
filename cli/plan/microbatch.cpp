#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "command.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "plan/backup.hpp"
#include "plan/microbatch.hpp"
#include "from_incident.hpp"
#include "microbatch_share.hpp"
#include "incident.hpp"
#include "input.hpp"
#include "report/terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLinesOfPlanMicrobatch = 32;  // of groups, for people

constexpr auto kPlanMicrobatchOptions = joined(
    {{"times", "T,T,...", "milliseconds of one micro-batch, for each data-parallel group"},
     {"micro-batches", "N", "micro-batches of a step, over all groups"},
     {"pp", "N",
      "pipeline stages: every group's number is a multiple (1F1B; default 1, or the job's)"}},
    kPlanDatabase, kPlanOptions);

// What the plan is made of, and where each part is from.
struct Question {
  std::vector<double> times;  // ms of a micro-batch, by group
  std::int64_t all = 0, pp = 1;
  std::vector<std::string> notes;
};

std::string text_of(const Question& question, const plan::MicrobatchPlan& plan) {
  const auto& t = question.times;
  const std::int64_t all = question.all;
  std::string out;
  if (plan.best_ms < plan.even_ms)
    out = fmt::format("A step takes {:.1f} ms instead of {:.1f} ms: {:.2f} times as fast\n",
                      plan.best_ms, plan.even_ms, plan.even_ms / plan.best_ms);
  else
    out = fmt::format("Leave them spread evenly: no other distribution is below {:.1f} ms\n",
                      plan.best_ms);
  out += fmt::format(
      "  {} micro-batches over {} groups; with fractions of them it would be {:.1f} ms\n\n", all,
      t.size(), plan.bound_ms);
  out += fmt::format("  {:>6}  {:>10}  {:>7}  {:>7}  {:>10}  {:>8}\n", "group", "each", "before",
                     "after", "done after", "weight");
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < t.size(); ++i) order.push_back(i);
  // Those that differ from the rest are what a reader looks for.
  if (t.size() > kMostLinesOfPlanMicrobatch)
    sort_rows(order, [&](std::size_t a, std::size_t b) {
      return std::abs(plan.counts[a] - plan.even[a]) > std::abs(plan.counts[b] - plan.even[b]);
    });
  for (std::size_t i = 0; i < std::min(kMostLinesOfPlanMicrobatch, order.size()); ++i) {
    const std::size_t g = order[i];
    out += fmt::format("  {:>6}  {:>7.1f} ms  {:>7}  {:>7}  {:>7.1f} ms  {:>8.6f}\n", g, t[g],
                       plan.even[g], plan.counts[g], static_cast<double>(plan.counts[g]) * t[g],
                       static_cast<double>(plan.counts[g]) / static_cast<double>(all));
  }
  if (order.size() > kMostLinesOfPlanMicrobatch)
    out += fmt::format(
        "  and {} more groups, of which the numbers change less: --format json has all\n",
        order.size() - kMostLinesOfPlanMicrobatch);
  out +=
      "\n  A group's mean gradient counts with its weight (its part of the\n  micro-batches), else "
      "the loss changes.\n";
  for (const std::string& note : question.notes)
    out += report::paragraph("note: ", report::visible(note), 74, 6);
  return out;
}

std::string json_of(const Question& question, const plan::MicrobatchPlan& plan) {
  const auto& t = question.times;
  const std::int64_t all = question.all;
  ordered_json out{{"plan", "microbatch"},           {"version", 1},
                   {"micro_batches", all},           {"before_ms", plan.even_ms},
                   {"after_ms", plan.best_ms},       {"bound_ms", plan.bound_ms},
                   {"groups", ordered_json::array()}};
  for (std::size_t i = 0; i < t.size(); ++i)
    out["groups"].push_back(
        {{"group", i},
         {"micro_batch_ms", t[i]},
         {"before", plan.even[i]},
         {"after", plan.counts[i]},
         {"weight", static_cast<double>(plan.counts[i]) / static_cast<double>(all)}});
  if (!question.notes.empty()) out["notes"] = question.notes;
  return json_text(out) + "\n";
}

// Groups with a slow rank, each with its worst spell; what a step takes when nobody is slow.
struct SlowGroups {
  std::map<std::int64_t, const diagnose::SlowSpell*> worst;
  double healthy = 0;
  bool nobody = false;  // a spell that nothing ties to a rank
};

Result<SlowGroups> slow_groups(const std::vector<diagnose::SlowSpell>& spells,
                               const analyze::Layout& l) {
  const std::vector<plan::Dimension> sizes{
      {"tp", l.tp}, {"cp", l.cp}, {"ep", 1}, {"dp", l.dp}, {"pp", l.pp}};
  CULPRIT_TRY(shape, plan::make_shape(l.order, sizes, 1));
  std::size_t dp = 0;
  while (dp < shape.dimensions.size() && shape.dimensions[dp].name != "dp") ++dp;
  SlowGroups out;
  for (const diagnose::SlowSpell& s : spells) {
    if (s.ranks.empty()) {
      out.nobody = true;
      continue;
    }
    for (const Rank rank : s.ranks) {
      if (!is_rank_of(shape.ranks(), rank)) continue;
      const diagnose::SlowSpell*& worst = out.worst[shape.coordinate(rank, dp)];
      if (worst == nullptr || s.level_ms > worst->level_ms) worst = &s;
    }
    out.healthy = out.healthy == 0 ? s.healthy_ms : std::min(out.healthy, s.healthy_ms);
  }
  return out;
}

// Of an incident: the group of the one that stands out takes what steps took, the others what they
// took before.
Result<> from_incident(const Arguments& arguments, const PlanInput& input, Question& out) {
  CULPRIT_TRY(incident, open_plan_incident(arguments));
  const analyze::Topology& topology = incident.resolved.topology;
  if (topology.layout && !input.has("pp")) out.pp = topology.layout->pp;
  if (!out.times.empty()) return {};
  const char* kGive = "give the time of a micro-batch for each group: --times 100,100,100,170";
  if (!topology.layout)
    return usage_error(
               "the parallel layout of the job is not known, so nothing tells its data-parallel "
               "groups")
        .at({incident.path, 0})
        .hint(
            std::string(kGive) +
            "; a job.json with \"parallelism\" or the trainer's printed arguments tell the layout");
  const analyze::Layout& l = *topology.layout;
  if (l.dp < 2)
    return usage_error(
               "the job has one data-parallel group: there is no other group to give the work to")
        .at({incident.path, 0})
        .hint(kGive);
  CULPRIT_TRY(slow, slow_spells(incident));
  const auto spells = slow.to_act_on();
  CULPRIT_TRY(groups, slow_groups(spells, l));
  const auto& [group, healthy, nobody] = groups;
  if (group.empty())
    return usage_error(slow.spells.empty()
                           ? "the job was not slow for long: " + report::words(slow.why)
                       : nobody ? std::string("the job was slow, and nothing ties that to one rank")
                                : std::string("the slow ranks are not in the layout of the job"))
        .at({incident.path, 0})
        .hint(kGive);
  if (static_cast<std::int64_t>(group.size()) == l.dp)
    return usage_error(
               "every data-parallel group holds a slow rank: there is no other group to give the "
               "work to")
        .at({incident.path, 0})
        .hint("culprit plan topology brings slow ranks together");
  if (!input.has("micro-batches")) {
    constexpr std::int64_t kEach = kAssumedMicrobatches;
    if (l.dp > 1'000'000'000 / (kEach * out.pp))
      return usage_error("the layout has too many groups").at({incident.path, 0}).hint(kGive);
    out.all = l.dp * out.pp * kEach;
    out.notes.push_back(
        fmt::format("{} micro-batches a step are assumed, {} for each group: --micro-batches takes "
                    "those of the job",
                    out.all, kEach * out.pp));
  }
  // A step is what a group's micro-batches take one after the other, as far as the step's time
  // tells.
  const double each = static_cast<double>(out.all) / static_cast<double>(l.dp);
  out.times.assign(static_cast<std::size_t>(l.dp), healthy / each);
  std::size_t told = 0;
  for (const auto& [g, s] : group) {
    out.times[static_cast<std::size_t>(g)] = s->level_ms / each;
    if (++told > 8) continue;
    out.notes.push_back(fmt::format("group {} is slow {}", g, because_of(*s)));
  }
  if (told > 8) out.notes.push_back(fmt::format("and {} more slow groups", told - 8));
  return {};
}

Result<Exit> run_plan_microbatch(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanMicrobatchOptions));
  Question question;
  CULPRIT_TRY(t, input.reals("times", 1e-9, 1e12, 10'000'000));
  question.times = std::move(t);
  CULPRIT_CHECK(input.set("micro-batches", question.all, input.has("micro-batches") ? 1 : 0,
                          1'000'000'000'000));
  CULPRIT_CHECK(input.set("pp", question.pp, 1, 1'000'000));
  if (names_plan_incident(arguments)) CULPRIT_CHECK(from_incident(arguments, input, question));
  if (question.times.empty())
    return usage_error("plan microbatch needs the time of a micro-batch for each group")
        .hint(
            "--times 100,100,100,170 --micro-batches 64, or -d incident.db of a job that was slow");
  if (question.all == 0)
    return usage_error("plan microbatch needs the number of micro-batches of a step")
        .hint("--micro-batches 64");
  CULPRIT_TRY(plan, plan::plan_microbatches(question.times, question.all, question.pp));
  print(input.wants_json() ? identified(json_of(question, plan)) : text_of(question, plan));
  return Exit::finished;
}

}  // namespace

std::optional<double> microbatch_share(const PlanIncident& incident,
                                       const diagnose::SlowSpells& slow) {
  constexpr std::int64_t kMostGroups = 1 << 20;
  const auto& layout = incident.resolved.topology.layout;
  if (!layout || layout->dp < 2 || layout->dp > kMostGroups || layout->pp > kMostGroups)
    return std::nullopt;
  const auto spells = slow.to_act_on();
  const auto groups = slow_groups(spells, *layout);
  if (!groups || groups->worst.empty() ||
      static_cast<std::int64_t>(groups->worst.size()) == layout->dp)
    return std::nullopt;
  std::vector<double> times(static_cast<std::size_t>(layout->dp), groups->healthy);
  for (const auto& [group, spell] : groups->worst)
    times[static_cast<std::size_t>(group)] = spell->level_ms;
  const std::int64_t each = kAssumedMicrobatches * layout->pp;
  const auto plan = plan::plan_microbatches(times, each * layout->dp, layout->pp);
  const double healthy = groups->healthy * static_cast<double>(each);
  if (!plan || !(plan->even_ms > healthy)) return std::nullopt;
  return (plan->even_ms - plan->best_ms) / (plan->even_ms - healthy);
}

constinit const Command kPlanMicrobatch{
    "plan microbatch",
    "how to spread micro-batches over groups of unequal speed",
    "plan microbatch [BUNDLE...] [options]",
    "  culprit plan microbatch --times 100,100,100,170 --micro-batches 64\n"
    "  culprit plan microbatch -d incident.db --micro-batches 64\n\n"
    "  The distribution with the earliest end of the slowest data-parallel group: none is "
    "better.\n",
    kPlanMicrobatchOptions,
    run_plan_microbatch};

}  // namespace culprit::cli
