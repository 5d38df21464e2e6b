#include "plan/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::int64_t kMostSize = 1 << 20;  // of a parallel dimension
constexpr std::int64_t kMostRepeats = 1000;

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
const char* s(std::int64_t n) { return n == 1 ? "" : "s"; }

Result<> check(const ReplayParams& p) {
  const auto within = [](std::int64_t value, std::int64_t low, std::int64_t high) {
    return value >= low && value <= high;
  };
  if (!within(p.machines, 1, kMostMachines))
    return usage_error(
        fmt::format("a replay takes 1 to {} machines, not {}", kMostMachines, p.machines));
  if (!within(p.spares, 0, kMostMachines))
    return usage_error(
        fmt::format("a replay takes 0 to {} spares, not {}", kMostMachines, p.spares));
  if (!within(p.gpus_per_machine, 1, 1024))
    return usage_error(fmt::format("a machine has 1 to 1024 GPUs, not {}", p.gpus_per_machine));
  for (const std::int64_t size : {p.pp, p.cp, p.min_dp})
    if (!within(size, 1, kMostSize))
      return usage_error(
          fmt::format("sizes of parallel dimensions are 1 to {}, not {}", kMostSize, size));
  for (const std::int64_t size : {p.tp, p.dp, p.k})
    if (!within(size, 0, kMostSize))
      return usage_error(
          fmt::format("sizes of parallel dimensions are 1 to {}, not {}", kMostSize, size));
  if (!(p.shows > 0 && p.shows <= 1))
    return usage_error(
        fmt::format("a fault shows with a probability above 0 and up to 1, not {}", p.shows));
  if (!(p.confidence > 0 && p.confidence < 1))
    return usage_error(fmt::format("a confidence lies between 0 and 1, not {}", p.confidence));
  if (!within(p.repeats, 0, kMostRepeats))
    return usage_error(
        fmt::format("a replay is repeated 1 to {} times, not {}", kMostRepeats, p.repeats));
  if (!(p.minutes > 0 && p.minutes <= 1e6))
    return usage_error(fmt::format("a replay takes up to 1e6 minutes, not {}", p.minutes));
  return {};
}

// The most machines that the same tests hold, so that no outcome tells them apart. ceil(m/n) when
// nobody borrows.
std::int64_t most_alike(const ReplayPlan& plan) {
  std::vector<const std::vector<std::uint32_t>*> tests;
  for (std::size_t x = 0; x < static_cast<std::size_t>(plan.params.machines); ++x)
    tests.push_back(&plan.tests_of[x]);
  sort_by(tests, [](const auto* a) { return *a; });
  std::int64_t most = 1, run = 1;
  for (std::size_t i = 1; i < tests.size(); ++i) {
    run = *tests[i] == *tests[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

// How well a k does: how many candidates it leaves, then how many machines fill up groups. Smaller
// k win a tie: the cost of both phases does not depend on k.
struct Choice {
  std::int64_t k = 1, candidates = 1, missing = 0;
  auto key() const { return std::tuple(candidates, missing, k); }
};

Choice judge(std::int64_t k, std::int64_t machines, std::int64_t replica) {
  const std::int64_t m = k * replica, n = up(machines, m);
  return {k, m <= n ? 1 : up(m, n), n * m - machines};
}

// Fills the groups of one phase: spares, then whole replicas only, then suspects of other groups.
class Filler {
 public:
  Filler(ReplayPlan& plan, std::size_t first)
      : plan_(plan), first_(first), next_spare_(plan.params.machines) {}

  void fill() {
    const auto end = plan_.tests.size();
    // Whole replicas first, so that as many groups as possible can run at all; what is left makes
    // them as large as the others.
    for (const std::int64_t unit : {plan_.replica_machines, plan_.group})
      for (std::size_t i = first_; i < end; ++i) add_spares(plan_.tests[i], unit);
    for (std::size_t i = first_; i < end; ++i) borrow(i, end);
    if (borrowed > 0) set_waves(end);
    for (std::size_t i = first_; i < end; ++i) {
      ReplayGroup& g = plan_.tests[i];
      g.dp = static_cast<std::int64_t>(g.size()) / plan_.replica_machines *
             plan_.params.gpus_per_machine * plan_.replica_machines / replica_gpus();
    }
  }
  std::int64_t spares_used() const { return next_spare_ - plan_.params.machines; }
  std::int64_t borrowed = 0, short_groups = 0;
  int waves = 1;

 private:
  std::int64_t replica_gpus() const { return plan_.params.tp * plan_.params.pp * plan_.params.cp; }

  void add_spares(ReplayGroup& g, std::int64_t unit) {
    while (static_cast<std::int64_t>(g.size()) % unit != 0 &&
           next_spare_ < plan_.params.machines + plan_.params.spares)
      g.spares.push_back(static_cast<MachineIndex>(next_spare_++));
  }

  void borrow(std::size_t i, std::size_t end) {
    ReplayGroup& g = plan_.tests[i];
    const std::int64_t replica = plan_.replica_machines;
    if (const std::int64_t over = static_cast<std::int64_t>(g.size()) % replica; over != 0) {
      // From the groups that follow, one machine of each in turn, so that no two groups become
      // alike.
      std::int64_t missing = replica - over;
      const std::size_t n = end - first_;
      for (std::size_t row = 0; missing > 0 && row < static_cast<std::size_t>(kMostMachines); ++row)
        for (std::size_t step = 1; step < n && missing > 0; ++step) {
          const ReplayGroup& other = plan_.tests[first_ + (i - first_ + step) % n];
          if (row >= other.members.size()) continue;
          g.borrowed.push_back(other.members[(row + i) % other.members.size()]);
          --missing;
          ++borrowed;
        }
      sort_rows(g.borrowed);
    }
    if (static_cast<std::int64_t>(g.size()) < plan_.group) ++short_groups;
  }

  // Groups that borrow come after all that do not, each in the first wave in which none of its
  // machines is busy.
  void set_waves(std::size_t end) {
    std::vector<std::vector<int>> busy(static_cast<std::size_t>(plan_.params.machines));
    for (const bool borrows : {false, true})
      for (std::size_t i = first_; i < end; ++i) {
        ReplayGroup& g = plan_.tests[i];
        if (g.borrowed.empty() == borrows) continue;
        const auto taken = [&](int wave) {
          for (const auto* part : {&g.members, &g.borrowed})
            for (const MachineIndex x : *part)
              if (contains(busy[x], wave)) return true;
          return false;
        };
        while (taken(g.wave)) ++g.wave;
        waves = std::max(waves, g.wave + 1);
        for (const auto* part : {&g.members, &g.borrowed})
          for (const MachineIndex x : *part) busy[x].push_back(g.wave);
      }
  }

  ReplayPlan& plan_;
  std::size_t first_;
  std::int64_t next_spare_;
};

// Rounds of halving until one of `machines` is left.
std::int64_t halvings(std::int64_t machines) {
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < machines) ++rounds;
  return rounds;
}

void add_costs(ReplayPlan& plan, int waves) {
  const ReplayParams& p = plan.params;
  const double hours = p.minutes / 60, gpus = static_cast<double>(p.gpus_per_machine);
  const double z = static_cast<double>(p.machines),
               replica = static_cast<double>(plan.replica_machines);
  const double repeats = static_cast<double>(plan.repeats);

  double machines_run = 0;
  for (const ReplayGroup& g : plan.tests) machines_run += static_cast<double>(g.size());
  ReplayCost dual{"dual-phase",
                  waves * plan.repeats,
                  plan.repeats,
                  0,
                  machines_run * gpus * hours * repeats,
                  0};
  if (!plan.unique()) {  // each candidate once more, in a group of its own
    dual.rounds += plan.repeats;
    dual.gpu_hours += static_cast<double>(plan.most_candidates) * replica * gpus * hours * repeats;
  }
  dual.hours = static_cast<double>(dual.rounds) * hours;
  dual.held_gpu_hours = z * gpus * dual.hours;

  // Both halves at once; the one that passes goes back to service. Never fewer machines in a replay
  // than a replica.
  const std::int64_t levels = halvings(p.machines);
  ReplayCost halving{
      "bisection", 0, repeats_for(p.shows, p.confidence, std::max<std::int64_t>(1, levels)),
      0,           0, 0};
  double left = z;
  for (std::int64_t i = 0; i < levels; ++i) {
    const double each = static_cast<double>(halving.repeats) * hours * gpus;
    halving.gpu_hours += std::max(left, 2 * replica) * each;
    halving.held_gpu_hours += left * each;
    left = std::ceil(left / 2);
  }
  halving.rounds = levels * halving.repeats;
  halving.hours = static_cast<double>(halving.rounds) * hours;

  // Each in turn in a replay of the smallest size, until it shows: at worst the last but one.
  ReplayCost single{"one-by-one", 0, repeats_for(p.shows, p.confidence, 1), 0, 0, 0};
  single.rounds = std::max<std::int64_t>(0, p.machines - 1) * single.repeats;
  single.hours = static_cast<double>(single.rounds) * hours;
  single.gpu_hours = static_cast<double>(single.rounds) * replica * gpus * hours;
  single.held_gpu_hours = z * gpus * single.hours;
  plan.costs = {dual, halving, single};
}

}  // namespace

std::int64_t repeats_for(double shows, double confidence, std::int64_t tests) {
  if (!(shows < 1)) return 1;
  if (!(shows > 0) || !(confidence < 1)) return kMostRepeats;
  const double each =
      std::pow(confidence, 1 / static_cast<double>(std::max<std::int64_t>(1, tests)));
  double missed = 1;
  for (std::int64_t r = 1; r < kMostRepeats; ++r) {
    missed *= 1 - shows;
    if (1 - missed >= each) return r;
  }
  return kMostRepeats;
}

void index_tests(ReplayPlan& plan) {
  plan.tests_of.assign(static_cast<std::size_t>(plan.params.machines + plan.params.spares), {});
  for (std::size_t i = 0; i < plan.tests.size(); ++i)
    for (const auto* part : {&plan.tests[i].members, &plan.tests[i].borrowed})
      for (const MachineIndex x : *part)
        if (x < plan.tests_of.size()) plan.tests_of[x].push_back(static_cast<std::uint32_t>(i));
}

namespace {

// How many replicas a group holds, and with that groups and repeats.
Result<> choose_groups(ReplayPlan& plan, std::int64_t replica_gpus) {
  ReplayParams& p = plan.params;
  const std::int64_t replica = plan.replica_machines;
  if (replica > p.machines + p.spares)
    return usage_error(
               fmt::format(
                   "TP {} x PP {} x CP {} on {} GPUs a machine fills {} machines, and there are {}",
                   p.tp, p.pp, p.cp, p.gpus_per_machine, replica, p.machines + p.spares))
        .hint(
            "a replay keeps TP and PP, so it needs at least the machines of one replica; --spares "
            "adds good ones");

  const std::int64_t most_k = std::max<std::int64_t>(1, p.machines / replica);
  if (p.k == 0) {
    // A machine alone shows no fault of communication, so two at least.
    Choice best = judge(most_k, p.machines, replica);
    for (std::int64_t k = 1; k < most_k; ++k) {
      if (k * replica * p.gpus_per_machine / replica_gpus < p.min_dp ||
          (k * replica == 1 && p.machines > 3))
        continue;
      const Choice one = judge(k, p.machines, replica);
      if (one.key() < best.key()) best = one;
    }
    p.k = best.k;
  } else if (p.k > most_k) {
    return usage_error(fmt::format("k = {} makes groups of {} machines out of {}", p.k,
                                   p.k * replica, p.machines))
        .hint(fmt::format("k is at most {}", most_k));
  }
  plan.group = p.k * replica;
  plan.groups = up(p.machines, plan.group);
  plan.repeats = p.repeats > 0 ? p.repeats : repeats_for(p.shows, p.confidence, 2);
  return {};
}

struct TestsMade {
  int waves = 0;
  std::int64_t spares_used = 0;
};

// The groups of both phases, filled up.
TestsMade make_tests(ReplayPlan& plan) {
  const ReplayParams& p = plan.params;
  const auto m = static_cast<std::size_t>(plan.group), n = static_cast<std::size_t>(plan.groups),
             z = static_cast<std::size_t>(p.machines);
  TestsMade made;
  for (int phase = 1; phase <= 2; ++phase) {
    const std::size_t first = plan.tests.size();
    for (std::size_t i = 0; i < n; ++i) {
      ReplayGroup g{.name = fmt::format("{}{}", phase == 1 ? 'H' : 'V', i), .phase = phase};
      if (phase == 1)
        for (std::size_t x = i * m; x < std::min(z, (i + 1) * m); ++x)
          g.members.push_back(static_cast<MachineIndex>(x));
      else
        for (std::size_t x = i; x < z; x += n) g.members.push_back(static_cast<MachineIndex>(x));
      plan.tests.push_back(std::move(g));
    }
    Filler filler(plan, first);
    filler.fill();
    made.waves += filler.waves;
    made.spares_used = std::max(made.spares_used, filler.spares_used());
    const char* which = phase == 1 ? "horizontal" : "vertical";
    if (filler.borrowed > 0)
      plan.notes.push_back(fmt::format(
          "{} groups: {} do not divide {} machines evenly; {} seat{} filled with suspects of other "
          "groups, which takes {} more replay{} one after the other ({:.1f} hours). {} spare{} "
          "would save that",
          which, plan.group, p.machines, filler.borrowed, filler.borrowed == 1 ? " is" : "s are",
          (filler.waves - 1) * plan.repeats, s((filler.waves - 1) * plan.repeats),
          static_cast<double>((filler.waves - 1) * plan.repeats) * p.minutes / 60,
          plan.groups * plan.group - p.machines - p.spares,
          s(plan.groups * plan.group - p.machines - p.spares)));
    if (filler.short_groups > 0) {
      std::int64_t smallest = plan.tests[first].dp;
      for (std::size_t i = first; i < plan.tests.size(); ++i)
        smallest = std::min(smallest, plan.tests[i].dp);
      plan.notes.push_back(fmt::format(
          "{} groups: {} of {} {} smaller than the others, with data-parallel size {} at the "
          "least: a fault that needs the larger size shows less surely there",
          which, filler.short_groups, n, filler.short_groups == 1 ? "is" : "are", smallest));
    }
  }
  return made;
}

// What whoever runs the plan should know of it.
void add_remarks(ReplayPlan& plan, std::int64_t spares_used, std::int64_t replica_gpus) {
  const ReplayParams& p = plan.params;
  const std::int64_t replica = plan.replica_machines;
  if (spares_used > 0)
    plan.notes.push_back(fmt::format(
        "{} spare{} groups up: {} good, or the outcome accuses the wrong machine", spares_used,
        spares_used == 1 ? " fills" : "s fill", spares_used == 1 ? "it must be" : "they must be"));
  const std::int64_t job_machines = p.dp == 0 ? 0 : up(p.dp * replica_gpus, p.gpus_per_machine);
  if (p.dp > 0 && job_machines != p.machines)
    plan.notes.push_back(fmt::format("DP {} of the job fills {} machines; this plan is for {}",
                                     p.dp, job_machines, p.machines));
  if (p.tp != p.gpus_per_machine)
    plan.notes.push_back(fmt::format(
        "a stage is {} GPUs on machines of {}: a group is a multiple of {} machine{}, not of PP",
        p.tp, p.gpus_per_machine, replica, s(replica)));
  if (plan.group * p.gpus_per_machine / replica_gpus == 1)
    plan.notes.push_back(fmt::format(
        "each replay has one replica, so no data-parallel communication: a fault that only shows "
        "there needs larger groups{}",
        plan.group * 2 <= plan.groups * 2 && judge(2 * p.k, p.machines, replica).candidates == 1
            ? fmt::format(" (--k {} is still unique)", 2 * p.k)
            : " (--k)"));
  if (plan.groups == 1)
    plan.notes.push_back(
        "one group holds all machines, so the phases tell nothing apart; add good machines with "
        "--spares, or halve them with `culprit plan isolate`");
  else if (!plan.unique())
    plan.notes.push_back(
        fmt::format("groups of {} and {} of them: up to {} candidates are left, and a third phase "
                    "tells them apart",
                    plan.group, plan.groups, plan.most_candidates));
}

}  // namespace

Result<ReplayPlan> plan_replay(const ReplayParams& params) {
  CULPRIT_CHECK(check(params));
  ReplayPlan plan;
  plan.params = params;
  ReplayParams& p = plan.params;
  if (p.tp == 0) p.tp = p.gpus_per_machine;
  // 2^60 at most, by the limits above.
  const std::int64_t replica_gpus = p.tp * p.pp * p.cp;
  plan.replica_machines = replica_gpus / std::gcd(replica_gpus, p.gpus_per_machine);
  CULPRIT_CHECK(choose_groups(plan, replica_gpus));
  const TestsMade made = make_tests(plan);
  index_tests(plan);
  plan.most_candidates = most_alike(plan);
  add_remarks(plan, made.spares_used, replica_gpus);
  add_costs(plan, made.waves);
  return plan;
}

}  // namespace culprit::plan
