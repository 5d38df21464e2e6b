#include "analyze/pace/what_if.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "analyze/pace/pipeline_step.hpp"
#include "model/json.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

// Without imbalance, 1F1B takes (M + S - 1) times a forward and a backward (Narayanan et al. 2021,
// section 2.2).
TEST(PipelineStep, ClosedForm) {
  for (std::size_t stages = 1; stages <= 6; ++stages)
    for (std::size_t micros = 1; micros <= 9; ++micros) {
      const auto done = run_pipeline(stages, micros, [](std::size_t k, std::size_t, std::size_t) {
        return k == kForward ? 2.0 : k == kBackward ? 4.0 : 0.0;
      });
      EXPECT_DOUBLE_EQ(*std::max_element(done.begin(), done.end()),
                       6.0 * static_cast<double>(micros + stages - 1))
          << stages << " " << micros;
    }
}

struct Job {
  std::int64_t stages = 4, replicas = 4, micros = 8, steps = 6;
  std::vector<OperationTime> operations;
  std::vector<WorkerPlace> places;
  Rank rank(std::int64_t stage, std::int64_t replica) const {
    return Rank(stage * replicas + replica);
  }
};

// forward 10, backward 20, send 0.5, data 3, sync 15 ms with 2 % noise, times what `more` says.
template <class More>
Job make(std::int64_t stages, std::int64_t replicas, std::int64_t micros, More more,
         unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, 0.02);
  Job j{stages, replicas, micros, 6, {}, {}};
  for (std::int64_t s = 0; s < stages; ++s)
    for (std::int64_t r = 0; r < replicas; ++r) j.places.push_back({j.rank(s, r), s, r});
  for (std::int64_t step = 0; step < j.steps; ++step)
    for (const WorkerPlace& p : j.places) {
      const auto put = [&](OperationKind kind, std::int64_t m, double ms) {
        j.operations.push_back(
            {step, p.rank, kind, m, ms * noise(random) * more(step, p, kind, m)});
      };
      for (std::int64_t m = 0; m < micros; ++m) {
        put(OperationKind::forward, m, 10);
        put(OperationKind::backward, m, 20);
        put(OperationKind::send, m, 0.5);
      }
      put(OperationKind::data, 0, 3);
      put(OperationKind::sync, 0, 15);
    }
  return j;
}

bool computes(OperationKind k) {
  return k == OperationKind::forward || k == OperationKind::backward;
}

TEST(WhatIf, NothingToExplain) {
  const Job j = make(4, 4, 8, [](auto&&...) { return 1.0; });
  const WhatIf w = what_if(j.operations, j.places);
  EXPECT_EQ(w.answer, WhatIfAnswer::no_slowdown) << report::words(w.why);
  EXPECT_NEAR(w.ideal_ms, 3 + 30 * 11 + 6 * 0.5 + 15, 12);
}

TEST(WhatIf, OneSlowWorker) {
  const Job j =
      make(4, 4, 8, [](std::int64_t, const WorkerPlace& p, OperationKind k, std::int64_t) {
        return p.rank == Rank(9) && computes(k) ? 1.6 : 1.0;
      });
  const WhatIf w = what_if(j.operations, j.places);
  ASSERT_EQ(w.answer, WhatIfAnswer::few_workers) << report::words(w.why);
  EXPECT_EQ(w.few, Ranks({9}));
  EXPECT_EQ(w.workers[0].id, 9);
  EXPECT_GT(w.workers[0].explains, 0.85);
  EXPECT_LT(w.workers[1].explains, 0.3);
}

TEST(WhatIf, TwoSlowWorkers) {
  const Job j =
      make(4, 8, 8, [](std::int64_t, const WorkerPlace& p, OperationKind k, std::int64_t) {
        return (p.rank == Rank(9) || p.rank == Rank(22)) && computes(k) ? 1.6 : 1.0;
      });
  const WhatIf w = what_if(j.operations, j.places);
  ASSERT_EQ(w.answer, WhatIfAnswer::few_workers) << report::words(w.why);
  EXPECT_EQ(w.few, Ranks({9, 22}));
}

TEST(WhatIf, LastStageTooLong) {
  for (const std::int64_t stages : {2, 4, 8}) {
    const Job j =
        make(stages, 4, 8, [&](std::int64_t, const WorkerPlace& p, OperationKind k, std::int64_t) {
          return p.stage + 1 == stages && computes(k) ? 1.4 : 1.0;
        });
    const WhatIf w = what_if(j.operations, j.places);
    ASSERT_EQ(w.answer, WhatIfAnswer::stage_too_long) << stages << " " << report::words(w.why);
    EXPECT_TRUE(w.last_stage);
    EXPECT_EQ(w.stage, stages - 1);
  }
}

TEST(WhatIf, UnevenData) {
  std::mt19937_64 random(5);
  std::map<std::array<std::int64_t, 3>, double> length;
  const Job j =
      make(4, 4, 8, [&](std::int64_t step, const WorkerPlace& p, OperationKind k, std::int64_t m) {
        const auto [it, fresh] = length.try_emplace({step, p.replica, m}, 1.0);
        if (fresh) it->second = random() % 6 ? 0.8 : 2.2;  // a long document now and then
        return computes(k) ? it->second : 1.0;
      });
  const WhatIf w = what_if(j.operations, j.places);
  EXPECT_EQ(w.answer, WhatIfAnswer::uneven_data) << report::words(w.why);
  EXPECT_GT(w.data_explain, 0.7);
}

TEST(WhatIf, SlowSynchronisationIsNobodysFault) {
  const Job j =
      make(2, 4, 4, [&](std::int64_t step, const WorkerPlace&, OperationKind k, std::int64_t) {
        return k == OperationKind::sync && step < 2 ? 12.0 : 1.0;
      });
  const WhatIf w = what_if(j.operations, j.places);
  ASSERT_EQ(w.answer, WhatIfAnswer::one_kind) << report::words(w.why);
  EXPECT_EQ(w.kind, OperationKind::sync);
}

TEST(WhatIf, WaitingInCollectivesAccusesNobody) {
  // Everybody but one waits in the synchronisation for the one that computes slowly: its 15 ms are
  // the transfer.
  const Job j =
      make(1, 8, 1, [&](std::int64_t, const WorkerPlace& p, OperationKind k, std::int64_t) {
        if (k == OperationKind::sync) return p.rank == Rank(3) ? 1.0 : 3.0;
        return p.rank == Rank(3) && computes(k) ? 2.0 : 1.0;
      });
  const WhatIf w = what_if(j.operations, j.places);
  ASSERT_EQ(w.answer, WhatIfAnswer::few_workers) << report::words(w.why);
  EXPECT_EQ(w.few, Ranks({3}));
  EXPECT_LT(w.kinds[3].explains, 0.1);
}

TEST(WhatIf, NotEnough) {
  EXPECT_EQ(what_if({}, {}).answer, WhatIfAnswer::not_enough);
  Job j = make(4, 4, 8, [](auto&&...) { return 1.0; });
  EXPECT_EQ(what_if(j.operations, {}).answer, WhatIfAnswer::not_enough);
  for (OperationTime& o : j.operations) o.ms = std::nan("");
  EXPECT_EQ(what_if(j.operations, j.places).answer, WhatIfAnswer::not_enough);
  // A diagonal: a table of ten thousand to the third must not be made.
  std::vector<OperationTime> diagonal;
  std::vector<WorkerPlace> places;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    diagonal.push_back({i, Rank(i), OperationKind::forward, i, 1});
    places.push_back({Rank(i), i, i});
  }
  EXPECT_EQ(what_if(diagonal, places).answer, WhatIfAnswer::not_enough);
}

// Parts of the iterations of the corpus' jobs: own work as forward, the synchronisation as sync.
std::pair<std::vector<OperationTime>, std::vector<WorkerPlace>> read_bundle(const std::string& name,
                                                                            std::int64_t first,
                                                                            std::int64_t last) {
  std::vector<OperationTime> operations;
  std::vector<WorkerPlace> places;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    places.push_back({Rank(rank), 0, rank});
    std::ifstream in(std::filesystem::path(CULPRIT_SHARED_DIR) / "bundles" / name / "bundle" /
                     "metrics" / ("rank_" + std::to_string(rank) + ".jsonl"));
    for (std::string line; std::getline(in, line);) {
      const auto row = nlohmann::json::parse(line);
      const std::int64_t step = row["iteration"];
      if (step < first || step > last) continue;
      operations.push_back({step, Rank(rank), OperationKind::forward, 0, row["compute_ms"]});
      operations.push_back({step, Rank(rank), OperationKind::data, 0, row["data_ms"]});
      operations.push_back({step, Rank(rank), OperationKind::sync, 0, row["grad_sync_ms"]});
    }
  }
  return {operations, places};
}

TEST(WhatIf, TheSlowRankOfARealJob) {
  if (std::string(CULPRIT_SHARED_DIR).empty()) GTEST_SKIP();
  const auto [operations, places] = read_bundle("failslow-a", 150, 299);
  const WhatIf w = what_if(operations, places);
  ASSERT_EQ(w.answer, WhatIfAnswer::few_workers) << report::words(w.why);
  EXPECT_EQ(w.few, Ranks({6}));
  const auto [healthy, same] = read_bundle("clean-a", 20, 240);
  const WhatIf h = what_if(healthy, same);
  EXPECT_NE(h.answer, WhatIfAnswer::few_workers) << report::words(h.why);
  EXPECT_NE(h.answer, WhatIfAnswer::stage_too_long) << report::words(h.why);
}

RC_GTEST_PROP(WhatIf, NoiseBlamesNoWorker, (unsigned seed)) {
  const Job j = make(
      1 + seed % 4, 2 + seed % 5, 1 + seed % 8, [](auto&&...) { return 1.0; }, seed);
  const WhatIf w = what_if(j.operations, j.places);
  RC_ASSERT(w.answer != WhatIfAnswer::few_workers);
  RC_ASSERT(w.answer != WhatIfAnswer::stage_too_long);
}

}  // namespace
}  // namespace culprit::analyze
