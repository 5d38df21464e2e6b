// Precision and recall of the search for broken relations between metrics, beside that of the
// search metric by metric, on simulated clusters.
//   relation_accuracy [SEEDS] [-v]     (default 10 of each model; -v: every scenario)
#include <chrono>
#include <cstdlib>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "relation_scenarios.hpp"

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
  for (const bool curved : {false, true}) {
    std::map<std::string, Score> total;
    double seconds = 0;
    for (const RelationPlan& plan : relation_plans()) {
      std::map<std::string, Score> here;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const RelationCluster cluster = make(plan, curved ? seed + 5000 : seed, curved);
        const auto bands = named_by_bands(cluster);
        const auto begin = std::chrono::steady_clock::now();
        auto relations = named_by_relations(cluster);
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        here["1 metric by metric"].add(bands, cluster.bad);
        here["2 relations alone"].add(relations, cluster.bad);
        relations.insert(bands.begin(), bands.end());
        here["3 both"].add(relations, cluster.bad);
      }
      for (const auto& [rule, score] : here) {
        total[rule].right += score.right;
        total[rule].wrong += score.wrong;
        total[rule].missed += score.missed;
        if (verbose && score.wrong + score.missed > 0)
          fmt::print("  {:<40} {:<20} {:3} right {:3} wrong {:3} missed\n", plan.name,
                     rule.substr(2), score.right, score.wrong, score.missed);
      }
    }
    fmt::print(
        "{}, {} scenarios x {} seeds, {:.2f} s for the relations\n",
        curved ? "held out: curved, heavy-tailed, two hidden causes" : "developed on: linear",
        relation_plans().size(), seeds, seconds);
    for (const auto& [rule, score] : total)
      fmt::print("  {:<22} precision {:.3f}  recall {:.3f}   ({} right, {} wrong, {} missed)\n",
                 rule.substr(2), score.precision(), score.recall(), score.right, score.wrong,
                 score.missed);
    good = good && total["3 both"].precision() >= 0.95;
  }
  return good ? 0 : 1;
}
