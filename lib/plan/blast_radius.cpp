#include "plan/blast_radius.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

Result<> check(const Shape& shape, const BackupPlan& backup, std::span<const Rank> isolated,
               std::span<const Rank> guilty, const BlastParams& p) {
  const std::int64_t ranks = shape.ranks();
  if (ranks < 1 || ranks > (1 << 24))
    return usage_error(fmt::format("a job has 1 to {} ranks", 1 << 24));
  if (!shape.host.empty() && static_cast<std::int64_t>(shape.host.size()) != ranks)
    return usage_error(fmt::format("{} hosts are told for {} ranks", shape.host.size(), ranks));
  if (!backup.keeper.empty() && static_cast<std::int64_t>(backup.keeper.size()) != ranks)
    return usage_error(
        fmt::format("the backup is of {} ranks, the job has {}", backup.keeper.size(), ranks));
  for (const auto list : {isolated, guilty})
    for (const Rank r : list)
      if (!is_rank_of(ranks, r))
        return usage_error(fmt::format("rank {} is none of the job: it has 0 to {}", r, ranks - 1));
  if (p.spares < 0 || p.spares > 1'000'000'000)
    return usage_error(fmt::format("there are 0 to 1000000000 spares, not {}", p.spares));
  const auto in = [](double v, double most) { return v >= 0 && v <= most; };
  if (!in(p.out_h, 1e6))
    return usage_error(fmt::format("a machine is out for 0 to 1e6 hours, not {}", p.out_h));
  if (!in(p.wake_s, 1e9) || !in(p.reschedule_s, 1e9))
    return usage_error("times of a restart are seconds from 0 to 1e9");
  return {};
}

std::int32_t host_of(const Shape& shape, Rank rank) {
  return shape.host.empty() ? static_cast<std::int32_t>(rank) : shape.host[index_of(rank)];
}

std::vector<std::int32_t> hosts_of(const Shape& shape, std::span<const Rank> ranks) {
  std::vector<std::int32_t> out;
  for (const Rank r : ranks) out.push_back(host_of(shape, r));
  sort_unique(out);
  return out;
}

}  // namespace

Result<BlastRadius> blast_radius(const Shape& shape, const BackupPlan& backup,
                                 std::span<const Rank> isolated, std::span<const Rank> guilty,
                                 const BlastParams& p) {
  CULPRIT_CHECK(check(shape, backup, isolated, guilty, p));
  BlastRadius out;
  const std::int64_t ranks = shape.ranks();
  const auto dp = static_cast<std::size_t>(
      std::ranges::find(shape.dimensions, "dp", &Dimension::name) - shape.dimensions.begin());
  const bool replicated = dp < shape.dimensions.size();
  out.replicas = out.whole_replicas = replicated ? shape.dimensions[dp].size : 1;
  if (isolated.empty()) {
    out.why = "nothing is isolated";
    return out;
  }
  out.hosts = hosts_of(shape, isolated);
  const Survival survival = after_eviction(shape, backup, isolated);
  out.gpus = static_cast<std::int64_t>(survival.evicted.size());
  out.lost_shards = survival.lost;

  std::vector<char> broken(static_cast<std::size_t>(out.replicas), 0);
  for (const Rank r : survival.evicted)
    broken[static_cast<std::size_t>(replicated ? shape.coordinate(r, dp) : 0)] = 1;
  out.whole_replicas = std::ranges::count(broken, 0);
  out.spares_missing =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(out.hosts.size()) - p.spares);
  out.going_on = out.spares_missing == 0  ? GoingOn::on_spares
                 : out.whole_replicas > 0 ? GoingOn::smaller
                                          : GoingOn::stopped;
  out.out_gpu_h = static_cast<double>(out.gpus) * p.out_h;
  out.standstill_gpu_h =
      static_cast<double>(ranks) * (out.spares_missing == 0 ? p.wake_s : p.reschedule_s) / 3600;

  if (!guilty.empty()) {
    const auto known = hosts_of(shape, guilty);
    std::set_difference(out.hosts.begin(), out.hosts.end(), known.begin(), known.end(),
                        std::back_inserter(out.needless));
    const auto gpus = std::ranges::count_if(survival.evicted, [&](Rank r) {
      return std::ranges::binary_search(out.needless, host_of(shape, r));
    });
    out.needless_gpu_h = static_cast<double>(gpus) * p.out_h;
  }

  switch (out.going_on) {
    case GoingOn::untouched: break;
    case GoingOn::on_spares:
      out.why = fmt::format("{} spare machine{} for {}", p.spares, p.spares == 1 ? "" : "s",
                            out.hosts.size());
      break;
    case GoingOn::smaller:
      out.why =
          fmt::format("{} machine{} missing; {} of {} replicas are whole", out.spares_missing,
                      out.spares_missing == 1 ? " is" : "s are", out.whole_replicas, out.replicas);
      break;
    case GoingOn::stopped:
      out.why = fmt::format("{} machine{} missing, and no replica is whole", out.spares_missing,
                            out.spares_missing == 1 ? " is" : "s are");
      break;
  }
  if (out.lost_shards.empty())
    out.why += "; every shard has a copy in memory";
  else if (backup.keeper.empty())
    out.why += "; no copies in memory are planned, so the checkpoint comes from storage";
  else
    out.why +=
        fmt::format("; both copies of {} shard{} are gone, so the checkpoint comes from storage",
                    out.lost_shards.size(), out.lost_shards.size() == 1 ? "" : "s");
  return out;
}

}  // namespace culprit::plan
