#include "plan/survival.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/contains.hpp"

namespace culprit::plan {

namespace {

using Why = SurvivalAnswer::Why;

SurvivalAnswer answer(Survived survived, Why why, std::size_t count = 0, std::size_t of = 0) {
  return {survived, why, count, of, {}};
}

SurvivalAnswer with_spares(const SurvivalQuestion& q) {
  if (q.cause == FailureCause::program) return answer(Survived::no, Why::program);
  if (q.cause == FailureCause::transient) return answer(Survived::yes, Why::nothing_to_do);
  if (q.cause == FailureCause::unknown || q.machines == 0)
    return answer(Survived::unknown, Why::cause_unknown);
  const auto spares = static_cast<std::size_t>(std::max<std::int64_t>(0, q.spares));
  return q.machines <= spares ? answer(Survived::yes, Why::spares_enough, q.machines)
                              : answer(Survived::no, Why::spares_short, q.machines - spares);
}

Result<SurvivalAnswer> in_memory(const Shape& shape, const SurvivalQuestion& q) {
  if (q.cause == FailureCause::program) return answer(Survived::no, Why::program);
  if (q.evicted.empty())
    return q.cause == FailureCause::transient ? answer(Survived::yes, Why::nothing_to_do)
                                              : answer(Survived::unknown, Why::cause_unknown);
  CULPRIT_TRY(copies, plan_backup(shape));
  const Survival left = after_eviction(shape, copies, q.evicted);
  return left.lost.empty() ? answer(Survived::yes, Why::copies_left, left.from_copy.size())
                           : answer(Survived::no, Why::copies_lost, left.lost.size());
}

SurvivalAnswer with_replicas(const Shape& shape, const SurvivalQuestion& q) {
  const auto at = static_cast<std::size_t>(
      std::ranges::find(shape.dimensions, q.replicas, &Dimension::name) - shape.dimensions.begin());
  const std::int64_t all = at < shape.dimensions.size() ? shape.dimensions[at].size : 1;
  if (all < 2) return answer(Survived::no, Why::one_replica, 0, 1);
  if (q.cause == FailureCause::program)
    return answer(Survived::no, Why::program, 0, static_cast<std::size_t>(all));
  if (q.evicted.empty())
    return answer(Survived::unknown, Why::cause_unknown, 0, static_cast<std::size_t>(all));
  std::set<std::int64_t> hit;
  for (const Rank rank : q.evicted) hit.insert(shape.coordinate(rank, at));
  SurvivalAnswer out =
      answer(Survived::yes, Why::replicas_left, static_cast<std::size_t>(all) - hit.size(),
             static_cast<std::size_t>(all));
  if (out.count == 0) {
    out.survived = Survived::no;
    out.why = Why::all_replicas;
    return out;
  }
  for (const SurvivorError& e : q.errors)
    if (!e.recoverable && hit.count(shape.coordinate(e.rank, at)) == 0) out.fatal.push_back(e);
  if (!out.fatal.empty()) {
    out.survived = Survived::no;
    out.why = Why::fatal_error;
  }
  return out;
}

SurvivalAnswer with_torchft(const Shape& shape, const SurvivalQuestion& q,
                            const SurvivalAnswer& replicas) {
  if (replicas.why != Why::replicas_left && replicas.why != Why::fatal_error) return replicas;
  const auto at = static_cast<std::size_t>(
      std::ranges::find(shape.dimensions, q.replicas, &Dimension::name) - shape.dimensions.begin());
  std::set<std::int64_t> quit;
  for (const SurvivorError& e : replicas.fatal) quit.insert(shape.coordinate(e.rank, at));
  const std::size_t left = replicas.count - quit.size();
  return left < static_cast<std::size_t>(std::max<std::int64_t>(1, q.min_replicas))
             ? answer(Survived::no, Why::too_few_replicas, left, replicas.of)
             : answer(Survived::yes, Why::from_next_step, left, replicas.of);
}

}  // namespace

Result<SurvivalReport> would_survive(const Shape& shape, const SurvivalQuestion& question) {
  const auto outside = [&](Rank rank) {
    return number_of(rank) < 0 || number_of(rank) >= shape.ranks();
  };
  for (const Rank rank : question.evicted)
    if (outside(rank))
      return usage_error(
                 fmt::format("rank {} is none of the {} ranks", number_of(rank), shape.ranks()))
          .hint("the layout (--tp, --pp, --dp) must be that of the job");
  SurvivalQuestion q = question;
  std::erase_if(q.errors, [&](const SurvivorError& e) {
    return outside(e.rank) || contains(q.evicted, e.rank);
  });
  SurvivalReport out;
  out.spare = with_spares(q);
  CULPRIT_TRY(memory, in_memory(shape, q));
  out.memory = memory;
  out.replicas = with_replicas(shape, q);
  out.torchft = with_torchft(shape, q, out.replicas);
  return out;
}

}  // namespace culprit::plan
