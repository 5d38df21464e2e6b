#include <algorithm>

#include <fmt/format.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "plan/topology.hpp"
#include "shape.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLinesOfPlanTopology = 64;  // of moves, for people

constexpr auto kPlanTopologyOptions = joined(
    {{"straggler", "RANK,SLOWDOWN",
      "a rank that takes SLOWDOWN times as long (may be repeated); in a file objects with the "
      "keys "
      "rank, slowdown"},
     {"congested", "HOST,HOST", "a congested link, by its two hosts"}},
    kShapeOptions,
    {{"micro-batches", "N", "micro-batches of one replica in a step (default 8)"},
     {"end-load", "F", "time of the first and last stage against the others (default 1)"},
     {"dp-mb", "MB", "what a GPU sends in a step for data parallelism (default 10000)"},
     {"pp-mb", "MB", "what it sends to the next stage (default 100)"}},
    kPlanDatabase, kPlanOptions);

std::string text_of(const JobShape& job, const plan::TopologyPlan& plan) {
  std::string out;
  if (plan.moves.empty())
    out = "Leave the ranks where they are\n";
  else
    out = fmt::format("{} ranks change places\n", plan.moves.size());
  out += fmt::format("  {}\n  {} ranks, layout {}\n\n", report::wrapped(plan.why, 76, 2),
                     job.shape.ranks(), report::visible(job.source));
  if (!plan.stages_before.empty()) {
    out += fmt::format(
        "  slow stages   {} -> {}; {} needed, as tensor-parallel groups stay whole\n               "
        " ({} by GPUs alone)\n",
        to_ranges(plan.stages_before), to_ranges(plan.stages_after), plan.needed_stages,
        plan.least_stages);
    out += fmt::format(
        "  step time     {:.3f} -> {:.3f} times the healthy one, if all replicas wait for\n        "
        "        the slowest of a stage\n",
        plan.stage_before, plan.stage_after);
    out += fmt::format(
        "                {:.3f} -> {:.3f}, if replicas meet at the end of the step only\n",
        plan.replica_before, plan.replica_after);
  }
  if (plan.link_before)
    out += fmt::format(
        "  link, a step  {:g} -> {:g} MB of data parallelism, {:g} -> {:g} MB between stages\n",
        plan.link_before->dp_mb, plan.link_after->dp_mb, plan.link_before->pp_mb,
        plan.link_after->pp_mb);
  if (plan.moves.empty()) return out;
  out += "\n  rank  takes the place of\n";
  for (std::size_t i = 0; i < std::min(kMostLinesOfPlanTopology, plan.moves.size()); ++i) {
    const auto& m = plan.moves[i];
    out += fmt::format("  {:>4}  {:>4}   {} on {} -> {}\n", m.rank, m.place, job.place_of(m.rank),
                       report::visible(job.host_of(m.rank)), job.place_of(m.place));
  }
  if (plan.moves.size() > kMostLinesOfPlanTopology)
    out += fmt::format("  and {} more: --format json has all\n",
                       plan.moves.size() - kMostLinesOfPlanTopology);
  return out;
}

std::string json_of(const JobShape& job, const plan::TopologyPlan& plan) {
  ordered_json out{{"plan", "topology"},
                   {"version", 1},
                   {"ranks", job.shape.ranks()},
                   {"layout_from", job.source},
                   {"why", plan.why},
                   {"stages_before", plan.stages_before},
                   {"stages_after", plan.stages_after},
                   {"least_stages", plan.least_stages},
                   {"needed_stages", plan.needed_stages},
                   {"step_by_stage", {plan.stage_before, plan.stage_after}},
                   {"step_by_replica", {plan.replica_before, plan.replica_after}}};
  if (plan.link_before)
    out["link"] = {{"dp_mb", {plan.link_before->dp_mb, plan.link_after->dp_mb}},
                   {"pp_mb", {plan.link_before->pp_mb, plan.link_after->pp_mb}}};
  out["moves"] = ordered_json::array();
  for (const auto& m : plan.moves) out["moves"].push_back({{"rank", m.rank}, {"place", m.place}});
  return json_text(out) + "\n";
}

Result<Exit> run_plan_topology(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanTopologyOptions));
  CULPRIT_TRY(job, job_shape(input, arguments));
  static constexpr const char* kColumns[] = {"rank", "slowdown"};
  CULPRIT_TRY(rows, input.table("straggler", kColumns, 0, 1e8, 1u << 20));
  std::vector<plan::SlowRank> slow;
  for (const auto& row : rows) {
    if (row[0] != static_cast<double>(static_cast<std::int64_t>(row[0])))
      return input.complaint("straggler",
                             fmt::format("names ranks by whole numbers, not {}", row[0]));
    slow.push_back({Rank(static_cast<std::int64_t>(row[0])), row[1]});
  }
  std::optional<plan::CongestedLink> link;
  CULPRIT_TRY(ends, input.names("congested", 2));
  if (input.has("congested")) {
    if (ends.size() != 2 || ends[0] == ends[1])
      return input.complaint("congested", "takes two different hosts");
    std::int32_t found[2] = {-1, -1};
    for (std::int64_t r = 0; r < job.shape.ranks(); ++r)
      for (int e = 0; e < 2; ++e)
        if (found[e] < 0 && job.host_of(Rank(r)) == ends[static_cast<std::size_t>(e)])
          found[e] = job.shape.host.empty() ? static_cast<std::int32_t>(r)
                                            : job.shape.host[static_cast<std::size_t>(r)];
    for (int e = 0; e < 2; ++e)
      if (found[e] < 0)
        return input
            .complaint("congested", fmt::format("names '{}', which is not a host of the job",
                                                ends[static_cast<std::size_t>(e)]))
            .hint("hosts without a name are host0, host1, ...");
    link = plan::CongestedLink{found[0], found[1]};
  }
  if (slow.empty() && !link)
    return usage_error("plan topology needs slow ranks or a congested link")
        .hint("--straggler 3,1.5 or --congested host2,host3");
  plan::TopologyParams p;
  CULPRIT_CHECK(input.set("micro-batches", p.micro_batches, 1, 1'000'000'000));
  CULPRIT_CHECK(input.set("end-load", p.end_load, 0.01, 100));
  CULPRIT_CHECK(input.set("dp-mb", p.dp_mb, 0, 1e12));
  CULPRIT_CHECK(input.set("pp-mb", p.pp_mb, 0, 1e12));
  CULPRIT_TRY(plan, plan::plan_topology(job.shape, slow, link, p));
  print(input.wants_json() ? identified(json_of(job, plan)) : text_of(job, plan));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanTopology{
    "plan topology",
    "which ranks change places around slow GPUs or a congested link",
    "plan topology [BUNDLE...] [options]",
    "  culprit plan topology --pp 4 --dp 4 --gpus-per-host 1 --straggler 0,1.6 --straggler 13,1.6\n"
    "  culprit plan topology --tp 8 --pp 4 --dp 16 --congested host2,host3\n"
    "  culprit plan topology -d incident.db --straggler 42,1.3\n\n"
    "  Slow ranks go into the fewest pipeline stages; a congested link goes from the rings of "
    "data\n"
    "  parallelism to the pipeline. Tensor-parallel groups stay on their hosts.\n",
    kPlanTopologyOptions,
    run_plan_topology};

}  // namespace culprit::cli
