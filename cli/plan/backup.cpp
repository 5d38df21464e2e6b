#include <algorithm>

#include <fmt/format.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "plan/backup.hpp"
#include "plan/blast_radius.hpp"
#include "shape.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostLinesOfPlanBackup = 64;  // of ranks, for people

constexpr auto kPlanBackupOptions = joined(
    kShapeOptions,
    {{"evict", "NAMES", "hosts, ranks or groups (pp/3) that are evicted, with their machines"},
     {"guilty", "NAMES", "which of them are at fault: what evicting the others costs"},
     {"spares", "N", "machines that can take their place (default 0)"},
     {"out-h", "HOURS", "until an evicted machine is back (default 24)"}},
    kPlanDatabase, kPlanOptions);

std::string headline(const plan::BackupPlan& plan, const plan::Survival& survival, bool evicted) {
  if (evicted && survival.lost.empty())
    return fmt::format(
        "Every shard survives: {} ranks are evicted, and others keep all of their copies\n",
        survival.evicted.size());
  if (evicted)
    return fmt::format("{} shard{} lost: both copies are on evicted machines\n",
                       survival.lost.size(), survival.lost.size() == 1 ? " is" : "s are");
  switch (plan.placement) {
    case plan::Placement::cross_group:
      return plan.same_host.empty()
                 ? "Every rank has a keeper that shares no group and no machine with it\n"
                 : fmt::format(
                       "Every rank has a keeper outside of its groups, but {} on the same "
                       "machine\n",
                       plan.same_host.size());
    case plan::Placement::neighbours:
      return "There is one parallel group only: copies go to the next machine\n";
    case plan::Placement::none: break;
  }
  return "There is no placement\n";
}

std::string text_of(const JobShape& job, const plan::BackupPlan& plan,
                    const std::vector<plan::GroupRisk>& risks, const plan::Survival& survival,
                    const plan::BlastRadius& blast, bool evicted) {
  std::string out = headline(plan, survival, evicted);
  out += fmt::format("  {}\n  {} ranks, layout {}\n", report::wrapped(plan.why, 76, 2),
                     job.shape.ranks(), report::visible(job.source));
  if (evicted) {
    out += fmt::format("  evicted: {}\n", to_ranges(survival.evicted));
    if (!survival.lost.empty())
      out += fmt::format("  lost:    {}\n  The last checkpoint on storage is needed.\n",
                         to_ranges(survival.lost));
    out += report::paragraph(
        "  ",
        fmt::format("the job {}: {}",
                    blast.going_on == plan::GoingOn::on_spares ? "goes on at full size"
                    : blast.going_on == plan::GoingOn::smaller ? "can go on smaller"
                                                               : "waits for machines",
                    blast.why),
        76, 4);
    out +=
        report::paragraph("  ",
                          fmt::format("cost: {} machine{} with {} GPUs are out for {:g} GPU-hours; "
                                      "restarting takes {:.1f} GPU-hours of the whole job",
                                      blast.hosts.size(), blast.hosts.size() == 1 ? "" : "s",
                                      blast.gpus, blast.out_gpu_h, blast.standstill_gpu_h),
                          76, 4);
    if (!blast.needless.empty())
      out += fmt::format("  of this {:g} GPU-hours for {} machine{} not at fault\n",
                         blast.needless_gpu_h, blast.needless.size(),
                         blast.needless.size() == 1 ? "" : "s");
  }
  if (!risks.empty()) out += "\n  Evicting the machines of one group:\n";
  for (const auto& risk : risks)
    out += risk.losing == 0 ? fmt::format("    {:<4} no shard is lost ({} groups)\n",
                                          risk.dimension, risk.groups)
                            : fmt::format("    {:<4} {} of {} groups would lose shards\n",
                                          risk.dimension, risk.losing, risk.groups);
  if (plan.keeper.empty() || (evicted && survival.from_copy.empty())) return out;
  out += evicted ? "\n  rank  read from\n" : "\n  rank  kept by\n";
  std::vector<Rank> shown = survival.from_copy;
  if (!evicted)
    for (std::int64_t r = 0; r < std::min(kMostLinesOfPlanBackup, job.shape.ranks()); ++r)
      shown.push_back(Rank(r));
  std::int64_t lines = 0;
  for (const Rank r : shown) {
    if (++lines > kMostLinesOfPlanBackup) break;
    const Rank k{plan.keeper[index_of(r)]};
    out += fmt::format("  {:>4}  {:>4}   {} on {} -> {} on {}\n", r, k, job.place_of(r),
                       report::visible(job.host_of(r)), job.place_of(k),
                       report::visible(job.host_of(k)));
  }
  const auto all =
      evicted ? static_cast<std::int64_t>(survival.from_copy.size()) : job.shape.ranks();
  if (all > kMostLinesOfPlanBackup)
    out += fmt::format("  and {} more: --format json has all\n", all - kMostLinesOfPlanBackup);
  return out;
}

std::string json_of(const JobShape& job, const plan::BackupPlan& plan,
                    const std::vector<plan::GroupRisk>& risks, const plan::Survival& survival,
                    const plan::BlastRadius& blast, bool evicted) {
  ordered_json out{{"plan", "backup"},
                   {"version", 1},
                   {"ranks", job.shape.ranks()},
                   {"layout_from", job.source},
                   {"placement", plan::name(plan.placement)},
                   {"why", plan.why},
                   {"keeper", plan.keeper},
                   {"same_host", to_ranges(plan.same_host)},
                   {"groups", ordered_json::array()}};
  for (const auto& risk : risks)
    out["groups"].push_back(
        {{"dimension", risk.dimension}, {"groups", risk.groups}, {"losing", risk.losing}});
  if (evicted)
    out["eviction"] = {{"evicted", to_ranges(survival.evicted)},
                       {"lost", to_ranges(survival.lost)},
                       {"from_copy", to_ranges(survival.from_copy)},
                       {"going_on", plan::name(blast.going_on)},
                       {"why", blast.why},
                       {"machines", blast.hosts.size()},
                       {"spares_missing", blast.spares_missing},
                       {"replicas", blast.replicas},
                       {"whole_replicas", blast.whole_replicas},
                       {"out_gpu_hours", blast.out_gpu_h},
                       {"standstill_gpu_hours", blast.standstill_gpu_h},
                       {"needless_machines", blast.needless.size()},
                       {"needless_gpu_hours", blast.needless_gpu_h}};
  return json_text(out, -1) + "\n";
}

Result<Exit> run_plan_backup(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanBackupOptions));
  CULPRIT_TRY(job, job_shape(input, arguments));
  CULPRIT_TRY(evicted, ranks_named(input, "evict", job));
  CULPRIT_TRY(plan, plan::plan_backup(job.shape));
  const auto survival = plan::after_eviction(job.shape, plan, evicted);
  const auto risks = plan::group_risks(job.shape, plan);
  CULPRIT_TRY(guilty, ranks_named(input, "guilty", job));
  plan::BlastParams costs;
  CULPRIT_CHECK(input.set("spares", costs.spares, 0, 1'000'000'000));
  CULPRIT_CHECK(input.set("out-h", costs.out_h, 0, 1e6));
  CULPRIT_TRY(blast, plan::blast_radius(job.shape, plan, evicted, guilty, costs));
  print(input.wants_json()
            ? identified(json_of(job, plan, risks, survival, blast, !evicted.empty()))
            : text_of(job, plan, risks, survival, blast, !evicted.empty()));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanBackup{
    "plan backup",
    "which rank keeps a copy of whose checkpoint, and what an eviction loses",
    "plan backup [BUNDLE...] [options]",
    "  culprit plan backup --tp 2 --pp 4 --dp 2 --gpus-per-host 2\n"
    "  culprit plan backup --tp 8 --pp 4 --dp 16 --evict pp/3\n"
    "  culprit plan backup -d incident.db --evict node-07,node-08\n\n"
    "  The keeper of a rank shares no tensor-, pipeline- or data-parallel group with it, so that\n"
    "  evicting a whole group leaves one of the two.\n",
    kPlanBackupOptions,
    run_plan_backup};

}  // namespace culprit::cli
