#include "plan/replay_solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::size_t kMostPairs =
    4'000'000;  // looked at; beyond that only single machines are weighed

const char* s(std::size_t n) { return n == 1 ? "" : "s"; }

class Solver {
 public:
  Solver(const ReplayPlan& plan, const std::vector<ReplayOutcome>& outcomes,
         const SolveParams& params)
      : plan_(plan), outcomes_(outcomes), params_(params) {
    out_.shows = plan.params.shows;
    for (std::uint32_t i = 0; i < outcomes.size(); ++i) {
      const ReplayOutcome& o = outcomes[i];
      Phase& phase = phases_[phase_of(i)];
      ++phase.tests;
      if (o.runs > 0) ++phase.told;
      if (o.failures > 0) {
        failing_.push_back(i);
        ++phase.failing;
      }
    }
  }

  ReplaySolution solve() {
    if (failing_.empty()) {
      nothing_failed();
      return std::move(out_);
    }
    mixed_outcomes();
    weigh();
    // Two groups a phase or fewer that all fail: nothing passed that could say the replay itself
    // works.
    if (failing_.size() == outcomes_.size() && phases_[1].tests <= 2 && phases_[2].tests <= 2) {
      everything_failed(1);
      return std::move(out_);
    }
    for (const int phase : {1, 2})
      if (const Phase& p = phases_[phase];
          !singles_ && !pairs_ && p.failing == p.tests && p.failing > 2) {
        everything_failed(phase);
        return std::move(out_);
      }
    if (contradicts()) {
      contradiction();
      return std::move(out_);
    }
    conclude();
    return std::move(out_);
  }

 private:
  struct Phase {
    std::size_t tests = 0, told = 0, failing = 0;
  };

  std::size_t phase_of(std::uint32_t test) const {
    return static_cast<std::size_t>(std::clamp(plan_.tests[test].phase, 1, 3));
  }
  std::string names(const std::vector<std::uint32_t>& tests) const {
    std::string out;
    for (std::size_t i = 0; i < tests.size() && i < 8; ++i)
      out += (i == 0 ? "" : i + 1 == tests.size() ? " and " : ", ") + plan_.tests[tests[i]].name;
    if (tests.size() > 8) out += fmt::format(" and {} more", tests.size() - 8);
    return out;
  }

  // A group that passed and failed: the fault does not always show. How often, the failing groups
  // tell.
  void mixed_outcomes() {
    std::int64_t runs = 0, failures = 0;
    for (const std::uint32_t i : failing_) {
      runs += outcomes_[i].runs;
      failures += outcomes_[i].failures;
    }
    if (out_.shows >= 1 && failures < runs) {
      out_.shows = static_cast<double>(failures) / static_cast<double>(runs);
      out_.shows_from_outcomes = true;
      out_.why.push_back(
          fmt::format("the failing groups failed in {} of {} runs: the fault does not always show, "
                      "and is taken to show with {:.0f} %",
                      failures, runs, 100 * out_.shows));
    }
  }

  // Log of the probability of the outcomes of the tests that hold x, or x or y, over what they are
  // when neither is faulty; tests that fail must be covered by the caller.
  double passed(const std::vector<std::uint32_t>& tests,
                const std::vector<std::uint32_t>* besides = nullptr) const {
    double sum = 0;
    for (const std::uint32_t t : tests) {
      if (besides != nullptr && std::ranges::binary_search(*besides, t)) continue;
      const ReplayOutcome& o = outcomes_[t];
      const std::int64_t passes = o.runs - o.failures;
      if (passes > 0)
        sum += out_.shows >= 1 ? -INFINITY : static_cast<double>(passes) * std::log1p(-out_.shows);
      if (o.failures > 0) sum += static_cast<double>(o.failures) * std::log(out_.shows);
    }
    return sum;
  }

  std::vector<MachineIndex> holders(std::uint32_t test) const {
    std::vector<MachineIndex> out = plan_.tests[test].members;
    out.insert(out.end(), plan_.tests[test].borrowed.begin(), plan_.tests[test].borrowed.end());
    return out;
  }
  std::size_t failing_with(MachineIndex x) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        plan_.tests_of[x], [&](std::uint32_t t) { return outcomes_[t].failures > 0; }));
  }

  void weigh() {
    weights_.clear();
    singles_ = pairs_ = false;
    const double z = static_cast<double>(plan_.params.machines);
    const double single = (1 - params_.pair_prior) / z,
                 pair = z < 2 ? 0 : params_.pair_prior * 2 / (z * (z - 1));
    // Relative to the mean, so that the weights of all singles and of all pairs stay what they are.
    double sum = 0;
    for (const double p : params_.priors) sum += p;
    const auto prior = [&](MachineIndex x) {
      return x < params_.priors.size() && sum > 0 ? params_.priors[x] * z / sum : 1.0;
    };
    std::vector<MachineIndex> all;
    for (const std::uint32_t t : failing_)
      for (const MachineIndex x : holders(t)) all.push_back(x);
    sort_unique(all);
    // What the outcomes of its groups say of each, alone; when the fault always shows, a group that
    // passed clears it.
    struct Suspect {
      MachineIndex machine;
      double log_weight;
      std::size_t covers;
    };
    std::vector<Suspect> suspects;
    for (const MachineIndex x : all)
      if (const double part = passed(plan_.tests_of[x]); !std::isinf(part))
        suspects.push_back({x, part, failing_with(x)});
    double total = 0;
    explaining_ = 0;
    for (const Suspect& x : suspects) {
      if (x.covers < failing_.size()) continue;
      ++explaining_;
      const double weight = single * prior(x.machine) * std::exp(x.log_weight);
      if (!(weight > 0)) continue;
      singles_ = true;
      weights_[x.machine] += weight;
      total += weight;
    }
    const auto holds_first = [&](const Suspect& x) {
      const auto& tests = plan_.tests_of[x.machine];
      return std::ranges::binary_search(tests, failing_.front());
    };
    const auto first = static_cast<std::size_t>(std::ranges::count_if(suspects, holds_first));
    if (pair > 0 && first * suspects.size() <= kMostPairs)
      for (const Suspect& x : suspects) {
        if (!holds_first(x)) continue;
        const auto& of_x = plan_.tests_of[x.machine];
        for (const Suspect& y : suspects) {
          if (y.machine == x.machine || (y.machine < x.machine && holds_first(y)))
            continue;  // each pair once
          const auto& of_y = plan_.tests_of[y.machine];
          std::size_t covered = x.covers;
          for (const std::uint32_t t : of_y)
            covered += outcomes_[t].failures > 0 && !std::ranges::binary_search(of_x, t);
          if (covered < failing_.size()) continue;
          const double weight = pair * prior(x.machine) * prior(y.machine) *
                                std::exp(x.log_weight + passed(of_y, &of_x));
          if (!(weight > 0)) continue;
          pairs_ = true;
          weights_[x.machine] += weight;
          weights_[y.machine] += weight;
          total += weight;
        }
      }
    if (total > 0)
      for (auto& [x, weight] : weights_) weight /= total;
    else
      product(all);
  }

  // No one or two machines explain it: every machine with a failing group in each phase that has
  // one, and no group that passed. How many are faulty is at least the number of failing groups of
  // a phase.
  void product(const std::vector<MachineIndex>& all) {
    std::vector<MachineIndex> kept;
    for (const MachineIndex x : all) {
      bool in[4] = {false, false, false, false}, cleared = false;
      for (const std::uint32_t t : plan_.tests_of[x]) {
        if (outcomes_[t].failures > 0)
          in[phase_of(t)] = true;
        else if (outcomes_[t].runs > 0 && out_.shows >= 1)
          cleared = true;
      }
      bool everywhere = true;
      for (std::size_t phase = 1; phase <= 3; ++phase)
        everywhere = everywhere && (phases_[phase].failing == 0 || in[phase]);
      if (everywhere && !cleared) kept.push_back(x);
    }
    const double each =
        kept.empty()
            ? 0
            : std::min(1.0, static_cast<double>(least_faulty()) / static_cast<double>(kept.size()));
    for (const MachineIndex x : kept) weights_[x] = each;
  }

  std::size_t least_faulty() const {
    std::size_t least = 1;
    for (std::size_t number = 1; number <= 3; ++number) {
      std::size_t own = 0;
      for (const std::uint32_t t : failing_)
        own += phase_of(t) == number && plan_.tests[t].borrowed.empty();
      least = std::max(least, own);
    }
    return least;
  }

  // A phase that was run as a whole and passed, while another fails; or failing groups with no
  // machine in common that the other groups do not clear.
  bool contradicts() {
    silent_ = 0;
    for (std::size_t number = 1; number <= 3; ++number)
      if (const Phase& phase = phases_[number];
          phase.tests > 0 && phase.told == phase.tests && phase.failing == 0)
        silent_ = number;
    return weights_.empty() || (silent_ != 0 && plan_.params.shows >= 1);
  }

  void contradiction() {
    out_.answer = ReplayAnswer::contradiction;
    const std::string failing = names(failing_);
    if (silent_ != 0)
      out_.why.push_back(fmt::format(
          "{} failed and no {} group did, although every machine is in one of them", failing,
          silent_ == 1   ? "horizontal"
          : silent_ == 2 ? "vertical"
                         : "third-phase"));
    else
      out_.why.push_back(
          fmt::format("no machine is in groups {} without being in a group that passed", failing));
    out_.why.push_back(
        "either the fault does not always show, or it needs machines of this group together: the "
        "link or switch between them, or one pair of stages");
    if (out_.shows >= 1) {
      out_.shows = params_.flaky_shows;
      out_.shows_from_outcomes = true;
      weigh();
    }
    list();
    out_.found = 0;
    // The silent groups that hold a candidate, as often as a flaky fault needs; and the failing
    // ones, to see whether they still do.
    out_.run_next = silent_ != 0 ? tests_with_candidates(silent_) : std::vector<std::uint32_t>{};
    out_.run_next.insert(out_.run_next.end(), failing_.begin(), failing_.end());
    sort_rows(out_.run_next);
    out_.run_times = repeats_for(out_.shows, plan_.params.confidence, 2);
    out_.advice.push_back(
        fmt::format("run {} again, {} time{} each (enough for a fault that shows with {:.0f} %), "
                    "and give all outcomes",
                    names(out_.run_next), out_.run_times,
                    s(static_cast<std::size_t>(out_.run_times)), 100 * out_.shows));
    out_.advice.push_back(fmt::format(
        "if {} fail{} every time and the others never, no single machine is faulty: halve that "
        "group with `culprit plan isolate` and time its links with `culprit plan links`",
        failing, failing_.size() == 1 ? "s" : ""));
  }

  std::vector<std::uint32_t> tests_with_candidates(std::size_t phase) const {
    std::vector<std::uint32_t> out;
    for (const auto& [x, weight] : weights_)
      for (const std::uint32_t t : plan_.tests_of[x])
        if (phase_of(t) == phase) out.push_back(t);
    sort_unique(out);
    return out;
  }

  void nothing_failed() {
    std::vector<std::uint32_t> untold;
    for (std::uint32_t i = 0; i < outcomes_.size(); ++i)
      if (outcomes_[i].runs == 0) untold.push_back(i);
    if (!untold.empty()) {
      out_.answer = ReplayAnswer::more_runs;
      out_.why.push_back(fmt::format("no group failed, and {} of {} groups are not told",
                                     untold.size(), outcomes_.size()));
      out_.advice.push_back(
          "run the groups that are not told; with --rest pass they count as passed");
      out_.run_next = std::move(untold);
      out_.run_times = plan_.repeats;
      return;
    }
    out_.answer = ReplayAnswer::not_reproduced;
    const double missed =
        std::exp(passed(plan_.tests_of.empty() ? std::vector<std::uint32_t>{} : plan_.tests_of[0]));
    out_.why.push_back("no group failed: the fault does not show in a replay of this size");
    if (out_.shows < 1)
      out_.why.push_back(
          fmt::format("a machine whose fault shows with {:.0f} % passes all of its runs with a "
                      "probability of {:.2g}",
                      100 * out_.shows, missed));
    out_.advice.push_back(fmt::format(
        "repeat both phases: {} runs of each group find a fault that shows with {:.0f} %",
        repeats_for(params_.flaky_shows, plan_.params.confidence, 2), 100 * params_.flaky_shows));
    out_.advice.push_back(
        "replay on all machines: if it fails there and in no group, look at what only the whole "
        "job uses: aggregation and core switches, the data-parallel size, storage (`culprit plan "
        "isolate`)");
  }

  void everything_failed(int phase) {
    const std::size_t tests = phases_[static_cast<std::size_t>(phase)].tests;
    out_.answer = ReplayAnswer::no_machine;
    out_.why.push_back(
        tests == 1 ? std::string(
                         "every replay failed, and there is none without a suspect to compare with")
                   : fmt::format("all {} {} groups failed: that is no faulty machine but something "
                                 "all replays share",
                                 tests, phase == 1 ? "horizontal" : "vertical"));
    out_.advice.push_back(
        "look at the code, the data, the configuration, the image and the storage; replay a known "
        "good version on one group");
  }

  void list() {
    out_.candidates.clear();
    for (const auto& [x, weight] : weights_) out_.candidates.push_back({x, std::min(1.0, weight)});
    // Sums of equal weights differ in the last bits; those are equal here.
    sort_rows(out_.candidates, [](const ReplayCandidate& a, const ReplayCandidate& b) {
      const auto step = [](double p) { return std::llround(p * 1e9); };
      return step(a.probability) != step(b.probability) ? a.probability > b.probability
                                                        : a.machine < b.machine;
    });
  }

  void conclude() {
    list();
    const double confidence = plan_.params.confidence;
    double rest = 0;
    for (const ReplayCandidate& c : out_.candidates) {
      if (c.probability >= confidence && out_.found < out_.candidates.size())
        ++out_.found;
      else
        rest += c.probability;
    }
    const bool two = !singles_ && pairs_, many = !singles_ && !pairs_;
    if (out_.found > 0 && rest <= 1 - confidence + 1e-9) {
      out_.answer = ReplayAnswer::found;
      const std::string failing = names(failing_);
      out_.why.push_back(
          out_.found == 1 && explaining_ == 1
              ? fmt::format("{} failed, and only this machine is in {}", failing,
                            failing_.size() == 1   ? "it"
                            : failing_.size() == 2 ? "both"
                                                   : "all of them")
          : out_.found == 1
              ? fmt::format("{} failed, and this machine fits all outcomes best", failing)
              : fmt::format("{} failed, which takes {} faulty machines, and only these are in them",
                            failing,
                            two ? std::string("two") : fmt::format("at least {}", least_faulty())));
      if (passed_tests() == 0)
        out_.why.push_back(
            "no group is told to have passed: that the replay works without this machine is taken "
            "for granted");
      if (const std::size_t told = told_tests(); told < outcomes_.size())
        out_.why.push_back(
            fmt::format("{} of {} groups are not told; a second faulty machine in one of them "
                        "would not be seen",
                        outcomes_.size() - told, outcomes_.size()));
    } else {
      out_.answer = ReplayAnswer::candidates;
      out_.found = 0;
      if (two) out_.why.push_back("no single machine explains it: two are faulty");
      if (many)
        out_.why.push_back(fmt::format(
            "no two machines explain it: at least {} are faulty, or what fails is not a machine",
            least_faulty()));
      next_runs();
    }
    if (out_.answer == ReplayAnswer::candidates) third_phase();
    if (out_.candidates.size() > params_.most_shown) {
      out_.left_out = out_.candidates.size() - params_.most_shown;
      out_.candidates.resize(std::max(params_.most_shown, out_.found));
    }
  }

  std::size_t passed_tests() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        outcomes_, [](const ReplayOutcome& o) { return o.runs > 0 && o.failures == 0; }));
  }
  std::size_t told_tests() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(outcomes_, [](const ReplayOutcome& o) { return o.runs > 0; }));
  }

  // Groups of the plan that are not run yet and hold a candidate come before new groups.
  void next_runs() {
    for (std::size_t phase = 1; phase <= 3; ++phase)
      for (const std::uint32_t t :
           phases_[phase].tests == 0 ? std::vector<std::uint32_t>{} : tests_with_candidates(phase))
        if (outcomes_[t].runs == 0) out_.run_next.push_back(t);
    if (out_.run_next.empty()) return;
    out_.answer = ReplayAnswer::more_runs;
    out_.run_times = plan_.repeats;
    out_.why.push_back(fmt::format("{} failed, and {} machine{} can be the reason", names(failing_),
                                   out_.candidates.size(), s(out_.candidates.size())));
    out_.advice.push_back(fmt::format(
        "run {}: only groups that hold a candidate matter now ({} of {} that are not told)",
        names(out_.run_next), out_.run_next.size(), outcomes_.size() - told_tests()));
  }

  // Each candidate in a group of its own, filled with machines that are none.
  void third_phase() {
    std::vector<MachineIndex> chosen;
    double sum = 0, all = 0;
    for (const ReplayCandidate& c : out_.candidates) all += c.probability;
    for (const ReplayCandidate& c :
         out_.candidates) {  // the likeliest, until the confidence is reached
      if (chosen.size() >= 2 && sum >= all * plan_.params.confidence &&
          c.probability < out_.candidates.front().probability * 0.5)
        break;
      chosen.push_back(c.machine);
      sum += c.probability;
    }
    std::vector<MachineIndex> good;
    for (MachineIndex x = 0; x < plan_.tests_of.size(); ++x)
      if (weights_.count(x) == 0) good.push_back(x);
    const auto suspects = static_cast<MachineIndex>(plan_.params.machines);
    // Spares first, which are known to be good; then machines with few failing groups.
    sort_rows(good, [&](MachineIndex x, MachineIndex y) {
      return std::pair(x < suspects, failing_with(x)) < std::pair(y < suspects, failing_with(y));
    });
    const auto replica = static_cast<std::size_t>(plan_.replica_machines),
               group = static_cast<std::size_t>(plan_.group);
    const std::size_t size = (group - 1) * chosen.size() <= good.size() ? group : replica;
    if (size - 1 > good.size() || (good.empty() && chosen.size() > 1 && size > 1)) {
      out_.advice.push_back(fmt::format(
          "{} machines are candidates and only {} are not, which does not fill a replica of {}: "
          "add good machines as --spares, or halve the candidates with `culprit plan isolate`",
          chosen.size(), good.size(), replica));
      return;
    }
    const std::size_t at_once = size == 1 ? chosen.size() : good.size() / (size - 1);
    std::size_t number = phases_[3].tests;
    bool unproven = false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ReplayGroup g{
          .name = fmt::format("T{}", number++), .phase = 3, .wave = static_cast<int>(i / at_once)};
      g.members.push_back(chosen[i]);
      for (std::size_t j = 0; j + 1 < size; ++j) {
        const MachineIndex x = good[(i % at_once) * (size - 1) + j];
        // Machines of groups that passed are good enough when the fault always shows; otherwise
        // their part counts.
        if (x >= suspects || (out_.shows >= 1 && passed_somewhere(x)))
          g.spares.push_back(x);
        else {
          g.borrowed.push_back(x);
          unproven = true;
        }
      }
      sort_rows(g.borrowed);
      g.dp = static_cast<std::int64_t>(g.size()) * plan_.params.gpus_per_machine /
             (plan_.params.tp * plan_.params.pp * plan_.params.cp);
      out_.third_phase.push_back(std::move(g));
    }
    const std::size_t waves = (chosen.size() + at_once - 1) / at_once;
    out_.run_times = repeats_for(out_.shows, plan_.params.confidence, 1);
    out_.advice.push_back(fmt::format(
        "third phase: {} replays of {} machine{} with one candidate each, {}, {} time{} each; the "
        "rest of a group is filled with machines that are no candidates",
        out_.third_phase.size(), size, s(size),
        waves == 1 ? std::string("at the same time") : fmt::format("in {} waves", waves),
        out_.run_times, s(static_cast<std::size_t>(out_.run_times))));
    if (unproven)
      out_.advice.push_back(
          "some of the machines that fill up are not proven good: the outcome counts for them too");
  }

  bool passed_somewhere(MachineIndex x) const {
    return std::ranges::any_of(plan_.tests_of[x], [&](std::uint32_t t) {
      return outcomes_[t].runs > 0 && outcomes_[t].failures == 0;
    });
  }

  const ReplayPlan& plan_;
  const std::vector<ReplayOutcome>& outcomes_;
  const SolveParams& params_;
  ReplaySolution out_;
  std::array<Phase, 4> phases_{};  // by number
  std::vector<std::uint32_t> failing_;
  std::map<MachineIndex, double> weights_;
  bool singles_ = false, pairs_ = false;
  std::size_t silent_ = 0, explaining_ = 0;
};

}  // namespace

Result<ReplaySolution> solve_replay(const ReplayPlan& plan,
                                    const std::vector<ReplayOutcome>& outcomes,
                                    const SolveParams& params) {
  if (outcomes.size() != plan.tests.size())
    return usage_error(
        fmt::format("{} outcomes for a plan of {} groups", outcomes.size(), plan.tests.size()));
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].failures < 0 || outcomes[i].failures > outcomes[i].runs)
      return usage_error(fmt::format("{} failed in {} of {} runs", plan.tests[i].name,
                                     outcomes[i].failures, outcomes[i].runs));
  return Solver(plan, outcomes, params).solve();
}

}  // namespace culprit::plan
