// Precision and recall of the outlier search and of the rules it competes with, on simulated
// clusters.
//   outlier_accuracy [SEEDS] [-v]     (default 10 of development, 10 held out; -v: every scenario)
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "outlier_scenarios.hpp"

int main(int argc, char** argv) {
  using namespace culprit::analyze;
  using namespace culprit::analyze::simulated;
  std::uint64_t seeds = 10;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-v")
      verbose = true;
    else
      seeds = std::strtoull(argv[i], nullptr, 10);
  }
  bool good = true;
  for (const auto& [set, first] :
       {std::pair{"development", std::uint64_t{1}}, {"held out", std::uint64_t{1001}}}) {
    std::map<std::string, Score> total;
    for (const Plan& plan : plans()) {
      std::map<std::string, Score> here;
      for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const Cluster cluster = make(plan, seed);
        OutlierParams published;
        published.rule = OutlierRule::published;
        const auto of = [&](bool roles, const OutlierParams& params) {
          return named(find_outliers(cluster.series(roles), cluster.metric, params));
        };
        here["1 mean + 2 sd, pooled over T"].add(plain_rule(cluster, true), cluster.bad);
        here["2 mean + 2 sd per instant, 90 %"].add(of(false, published), cluster.bad);
        here["3 leave-one-out z > 3"].add(plain_rule(cluster, false), cluster.bad);
        here["4 robust"].add(of(false, {}), cluster.bad);
        here["5 robust by role"].add(of(true, {}), cluster.bad);
      }
      for (const auto& [rule, score] : here) {
        total[rule].right += score.right;
        total[rule].wrong += score.wrong;
        total[rule].missed += score.missed;
      }
      if (verbose)
        for (const auto& [rule, score] : here)
          if (score.wrong + score.missed > 0)
            fmt::print("  {:<52} {:<34} {:3} right {:3} wrong {:3} missed\n", plan.name,
                       rule.substr(2), score.right, score.wrong, score.missed);
    }
    fmt::print("{}, {} scenarios x {} seeds\n", set, plans().size(), seeds);
    for (const auto& [rule, score] : total)
      fmt::print("  {:<34} precision {:.3f}  recall {:.3f}   ({} right, {} wrong, {} missed)\n",
                 rule.substr(2), score.precision(), score.recall(), score.right, score.wrong,
                 score.missed);
    const Score& ours = total["5 robust by role"];
    good = good && ours.precision() >= 0.95 && ours.recall() >= 0.99;
  }
  return good ? 0 : 1;
}
