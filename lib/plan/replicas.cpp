#include "plan/replicas.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace culprit::plan {

namespace {

constexpr double kMostMinutes = 1e9;
constexpr std::int64_t kMostReplicas = 1'000'000;

Result<> check(const ReplicaParams& p) {
  if (!(p.mtbf > 0 && p.mtbf <= kMostMinutes))
    return usage_error(
        fmt::format("the time between failures is more than 0 and at most {:g} minutes, not {}",
                    kMostMinutes, p.mtbf));
  if (!(p.stall >= 0 && p.stall <= kMostMinutes))
    return usage_error(
        fmt::format("a stall takes 0 to {:g} minutes, not {}", kMostMinutes, p.stall));
  if (!(p.repair >= p.stall && p.repair <= kMostMinutes))
    return usage_error(fmt::format(
        "a repair takes {} minutes, but it is no shorter than the stall of {} and at most {:g}",
        p.repair, p.stall, kMostMinutes));
  if (p.replicas < 1 || p.replicas > kMostReplicas)
    return usage_error(
        fmt::format("there are 1 to {} replicas, not {}", kMostReplicas, p.replicas));
  return {};
}

double at_random(const ReplicaParams& p, std::int64_t replicas, double stall) {
  return std::exp(-(stall + (p.repair - stall) / static_cast<double>(replicas)) / p.mtbf);
}

// Steele, Lea and Flood 2014; of our own, so that every platform gives the same numbers.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double unit() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }  // never 0 or 1

 private:
  std::uint64_t state_;
};

}  // namespace

ReplicaParams with_parts(ReplicaParams params, const FailureParts& p) {
  constexpr double kSecondsOfMinute = 60;
  params.stall = (p.detection + p.regroup + p.retry + p.catch_up) / kSecondsOfMinute;
  params.repair = std::max(
      params.stall,
      (p.detection + p.restart + p.rendezvous + p.init + p.load + p.catch_up) / kSecondsOfMinute);
  return params;
}

Result<EffectiveTime> effective_time(const ReplicaParams& p) {
  CULPRIT_CHECK(check(p));
  const auto n = static_cast<double>(p.replicas);
  return EffectiveTime{
      .synchronous = std::max(0.0, (p.mtbf - p.repair) / p.mtbf),
      .replicated = std::max(0.0, (p.mtbf - p.stall - (p.repair - p.stall) / n) / p.mtbf),
      .synchronous_random = at_random(p, 1, p.repair),
      .replicated_random = at_random(p, p.replicas, p.stall)};
}

Result<std::int64_t> enough_replicas(const ReplicaParams& p, double margin) {
  CULPRIT_CHECK(check(p));
  if (!(margin > 0 && margin < 1))
    return usage_error(fmt::format("a margin lies between 0 and 1, not at {}", margin));
  const double wanted = std::exp(-p.stall / p.mtbf) * (1 - margin);
  std::int64_t low = 1, high = kMostReplicas;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (at_random(p, middle, p.stall) >= wanted)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

Result<double> simulate_replicas(const ReplicaParams& p, std::int64_t failures,
                                 std::uint64_t seed) {
  CULPRIT_CHECK(check(p));
  if (failures < 1 || failures > 100'000'000)
    return usage_error(fmt::format("a simulation has 1 to 100000000 failures, not {}", failures));
  SplitMix random(seed);
  struct Back {
    double time;
    std::size_t replica;
  };
  // Repairs take equally long, so replicas come back in the order of their failures: a queue, no
  // heap.
  std::vector<double> away_until(static_cast<std::size_t>(p.replicas), -1.0);
  std::vector<Back> queue;
  std::size_t head = 0;
  double now = 0, stalled_until = 0, trained = 0;
  std::int64_t away = 0;
  const auto go_to = [&](double then) {
    const double from = std::max(now, stalled_until);
    if (then > from) trained += (then - from) * static_cast<double>(p.replicas - away);
    now = then;
  };
  for (std::int64_t i = 0; i < failures; ++i) {
    const double next = now - p.mtbf * std::log(random.unit());
    while (head < queue.size() && queue[head].time <= next) {
      const Back back = queue[head++];
      if (away_until[back.replica] > back.time)
        continue;  // it failed again meanwhile, and its repair began anew
      go_to(back.time);
      --away;
    }
    if (head > 4096 && head * 2 > queue.size()) {
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
    go_to(next);
    const auto replica =
        static_cast<std::size_t>(random.next() % static_cast<std::uint64_t>(p.replicas));
    if (away_until[replica] <= now) ++away;
    away_until[replica] = now + p.repair;
    stalled_until = now + p.stall;
    queue.push_back({now + p.repair, replica});
  }
  return now > 0 ? trained / (now * static_cast<double>(p.replicas)) : 0.0;
}

}  // namespace culprit::plan
