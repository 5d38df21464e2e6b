// Parts of restarts out of logs that were written with known times, in the words of the programs.
#include "analyze/pace/restart_parts.hpp"

#include <random>

#include <fmt/format.h>

#include "bundle.hpp"
#include "diagnose/pace.hpp"

namespace culprit::diagnose::test {
namespace {

using analyze::PartState;
using analyze::Start;
using analyze::StartPart;

// Seconds since 2026-03-02 10:00:00, as the programs write them.
std::string stamp(double seconds, const char* separator = " ") {
  const auto ms = static_cast<std::int64_t>(seconds * 1000 + 0.5);
  return fmt::format("2026-03-02{}{:02}:{:02}:{:02}.{:03}", separator, 10 + ms / 3'600'000,
                     ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}
std::string klog(double seconds) { return "I0302 " + stamp(seconds).substr(11) + "000"; }

struct Truth {
  double allocation, container, rendezvous, nccl, checkpoint, first_step;
};

class RestartParts : public SmallBundle {
 protected:
  void SetUp() override {
    SmallBundle::SetUp();
    write("job.json", R"({"job": "llm", "job_id": "4711", "timezone": "UTC"})");
  }
  // The lines of one start and `steps` steps of 5 s; returns when its last step ended.
  double start(double t, const Truth& truth, int first, int steps) const {
    write("slurmctld.log", fmt::format("[{}] requeue JobId=4711 due to failure of node n1\n"
                                       "[{}] sched: Allocate JobId=4711 NodeList=n[1-2] #CPUs=64 "
                                       "Partition=gpu\n"
                                       "[{}] sched: Allocate JobId=4712 NodeList=n9 #CPUs=64 "
                                       "Partition=gpu\n",
                                       stamp(t, "T"), stamp(t + truth.allocation, "T"),
                                       stamp(t + truth.allocation + 1, "T")));
    t += truth.allocation;
    for (int node = 1; node <= 2; ++node) {
      const std::string pod = fmt::format("ml/llm-worker-{}", node);
      write(fmt::format("n{}/kubelet.log", node),
            fmt::format("{0}    2411 kubelet.go:2407] \"SyncLoop ADD\" source=\"api\" "
                        "pods=[\"{2}\"]\n"
                        "{1}    2411 kubelet.go:2439] \"SyncLoop (PLEG): event for pod\" "
                        "pod=\"{2}\" event={{\"ID\":\"8f\",\"Type\":\"ContainerStarted\","
                        "\"Data\":\"41\"}}\n",
                        klog(t), klog(t + truth.container - (node == 1 ? 0 : 1)), pod));
    }
    t += truth.container;
    const auto agent = [&](double at, const char* text) {
      write("n1/agent.log", fmt::format("{} 812 torch/distributed/elastic/agent/server/api.py:525] "
                                        "[default] {}\n",
                                        klog(at), text));
    };
    agent(t, "Rendezvous'ing worker group");
    agent(t + truth.rendezvous, "Rendezvous complete for workers. Result:");
    t += truth.rendezvous;
    for (int rank = 0; rank < 2; ++rank)
      for (const char* edge : {"START", "COMPLETE"}) {
        const double at = *edge == 'S' ? t + rank * 0.5 : t + truth.nccl - (1 - rank) * 0.5;
        write(fmt::format("n{}/rank{}.log", rank + 1, rank),
              fmt::format("[{}] n{}:811:900 [0] NCCL INFO comm 0x55d0c{} rank {} nranks 2 cudaDev "
                          "0 nvmlDev 0 busId 1b000 commId 0x9b11 - Init {}\n",
                          stamp(at), rank + 1, rank, rank, edge));
      }
    t += truth.nccl;
    write("train.log",
          fmt::format("[{}] loading checkpoint from /ckpt at iteration {}\n"
                      "[{}]   successfully loaded checkpoint from /ckpt at iteration {}\n"
                      "[before the start of training step] datetime: {} \n",
                      stamp(t), first - 1, stamp(t + truth.checkpoint), first - 1,
                      stamp(t + truth.checkpoint).substr(0, 19)));
    t += truth.checkpoint;
    for (int i = 0; i < steps; ++i) {
      const double ms = i == 0 ? truth.first_step * 1000 : 5000;
      t += ms / 1000;
      write("train.log",
            fmt::format(" [{}] iteration {:8}/  500000 | consumed samples: 1229824 | elapsed time "
                        "per iteration (ms): {:.1f} | global batch size:  1024 | lm loss: "
                        "2.318842E+00 | grad norm: 0.412 |\n",
                        stamp(t), first + i, ms));
    }
    return t;
  }

  std::vector<Start> found() const {
    const std::vector<std::string> sources{folder_};
    auto db = open_new(sources, "");
    ReadRequest request;
    request.sources = sources;
    request.options.threads = 1;
    if (!db || !read_bundles(request, pack(), *db)) return {};
    const auto resolved = resolve(*db, true);
    if (!resolved) return {};
    const Pace pace = pace_of(*db, resolved->facts);
    return analyze::restart_parts(resolved->facts, pace.steps, db->start_marks(), pace.loads);
  }
};

const StartPart& part(const Start& start, std::string_view name) {
  const auto it = std::ranges::find(start.parts, name, &StartPart::name);
  EXPECT_NE(it, start.parts.end());
  return *it;
}

TEST_F(RestartParts, WithinFivePercentOfTheTruth) {
  std::mt19937 random(7);
  const auto seconds = [&](int low, int high) {
    return static_cast<double>(low +
                               static_cast<int>(random() % static_cast<unsigned>(high - low)));
  };
  std::vector<Truth> truths;
  std::vector<double> began, trained;
  double t = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    truths.push_back({seconds(30, 300), seconds(20, 120), seconds(15, 60), seconds(17, 200),
                      seconds(20, 90), seconds(30, 200)});
    began.push_back(t);
    t = start(t, truths.back(), 1 + attempt * 20, 30) + 40;
    trained.push_back(t - 40);
  }
  const std::vector<Start> starts = found();
  ASSERT_EQ(starts.size(), truths.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Truth& truth = truths[i];
    for (const auto& [name, s] : {std::pair{"allocation", truth.allocation},
                                  {"container", truth.container},
                                  {"rendezvous", truth.rendezvous},
                                  {"nccl", truth.nccl},
                                  {"checkpoint", truth.checkpoint},
                                  {"first step", truth.first_step}}) {
      const StartPart& p = part(starts[i], name);
      ASSERT_EQ(p.state, PartState::timed) << i << ' ' << name;
      EXPECT_NEAR(static_cast<double>(*p.took) / 1e9, s, s * 0.05) << i << ' ' << name;
      ASSERT_TRUE(p.first && p.last) << name;
      EXPECT_FALSE(p.first->path.empty());
    }
    for (const char* name : {"framework", "data"}) {
      EXPECT_EQ(part(starts[i], name).state, PartState::not_seen) << name;
      EXPECT_FALSE(part(starts[i], name).took) << name;
    }
    EXPECT_EQ(starts[i].iteration, 1 + static_cast<int>(i) * 20);
    if (i > 0) {
      EXPECT_NEAR(static_cast<double>(*starts[i].took) / 1e9,
                  truth.allocation + truth.container + truth.rendezvous + truth.nccl +
                      truth.checkpoint + truth.first_step + 40,
                  1);
    }
  }
}

// Nothing is guessed: without times, without an end, without a line.
TEST_F(RestartParts, WhatNoLineBoundsHasNoDuration) {
  write("train.log",
        "n1:811:900 [0] NCCL INFO comm 0x55d0c8 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 "
        "commId 0x9b11 - Init START\n"
        "n1:811:900 [0] NCCL INFO comm 0x55d0c8 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 "
        "commId 0x9b11 - Init COMPLETE\n"
        "[2026-03-02 10:01:00.000] loading checkpoint from /ckpt at iteration 100\n"
        "time to initialize megatron (seconds): 23.500\n");
  for (int i = 1; i <= 20; ++i)
    write("train.log", fmt::format(" [{}] iteration {:8}/  500000 | elapsed time per iteration "
                                   "(ms): 5000.0 | lm loss: 2.3E+00 |\n",
                                   stamp(120 + 5 * i), 100 + i));
  const std::vector<Start> starts = found();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(part(starts[0], "nccl").state, PartState::no_time);
  EXPECT_EQ(part(starts[0], "nccl").lines, 2u);
  EXPECT_EQ(part(starts[0], "checkpoint").state, PartState::no_end);
  EXPECT_EQ(part(starts[0], "framework").state, PartState::printed);
  EXPECT_EQ(part(starts[0], "framework").took, 23'500'000'000);
  EXPECT_EQ(part(starts[0], "first step").state, PartState::printed);
  EXPECT_EQ(part(starts[0], "first step").took, 5'000'000'000);
  for (const char* name : {"allocation", "container", "rendezvous", "data"})
    EXPECT_EQ(part(starts[0], name).state, PartState::not_seen) << name;
  for (const StartPart& p : starts[0].parts)
    EXPECT_EQ(p.took.has_value(), p.state == PartState::timed || p.state == PartState::printed);
}

// What came after the last step is a start when ranks came together for it.
TEST_F(RestartParts, AStartThatReachedNoStep) {
  const double t = start(0, {60, 30, 20, 30, 40, 20}, 1, 30);
  write("n1/agent.log", klog(t + 60) +
                            " 812 torch/distributed/elastic/agent/server/api.py:525] "
                            "[default] Rendezvous'ing worker group\n");
  const std::vector<Start> starts = found();
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(part(starts[1], "rendezvous").state, PartState::no_end);
  EXPECT_FALSE(starts[1].iteration);
}

}  // namespace
}  // namespace culprit::diagnose::test
