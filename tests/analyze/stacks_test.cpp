#include "analyze/hang/stacks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/ranges.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"

namespace culprit::analyze {
namespace {

Frame python(std::string function, std::string file, std::int64_t line = 1) {
  return {std::move(function), std::move(file), "", line, false};
}
Frame native(std::string function) { return {std::move(function), "", "libc.so.6", 0, true}; }

// Facts made by hand: one file a process, frames innermost first.
struct Kit {
  Facts facts;
  std::int32_t stack(const std::vector<Frame>& frames) {
    std::vector<std::uint32_t> ids;
    for (const Frame& f : frames) {
      auto at = std::find(facts.stacks.frames.begin(), facts.stacks.frames.end(), f);
      if (at == facts.stacks.frames.end()) at = facts.stacks.frames.insert(at, f);
      ids.push_back(static_cast<std::uint32_t>(at - facts.stacks.frames.begin()));
    }
    auto at = std::find(facts.stacks.stacks.begin(), facts.stacks.stacks.end(), ids);
    if (at == facts.stacks.stacks.end()) at = facts.stacks.stacks.insert(at, ids);
    return static_cast<std::int32_t>(at - facts.stacks.stacks.begin());
  }
  StackSample& add(std::int64_t rank, const std::vector<Frame>& frames, std::string path = "",
                   std::string source = "pyspy", std::string role = "trainer") {
    MemberRow member;
    member.id = static_cast<MemberId>(facts.members.size()) + 1;
    member.path = path.empty() ? "stacks/rank" + std::to_string(rank) + ".txt" : path;
    facts.members.push_back(member);
    StackSample s;
    s.row.place = {member.id, 4, 100, 300};
    s.row.source = std::move(source);
    s.row.rank = Rank(rank);
    s.row.pid = s.row.tid = 1000 + rank + (role == "trainer" ? 0 : 500);
    s.row.thread = "MainThread";
    s.row.main = true;
    s.stack = stack(frames);
    s.role = std::move(role);
    facts.samples.push_back(std::move(s));
    return facts.samples.back();
  }
};

// Parallel groups of tp x pp x dp, the axes in the order they are given, the fastest first.
Topology topology(const std::string& order, std::map<char, std::int64_t> size,
                  const std::function<std::string(std::int64_t)>& host) {
  Topology t;
  std::map<std::string, std::map<std::int64_t, Ranks>> groups;
  const std::int64_t world = size['t'] * size['p'] * size['d'];
  for (std::int64_t r = 0; r < world; ++r) {
    std::map<char, std::int64_t> at, stride;
    std::int64_t rest = r, step = 1;
    for (const char axis : order) {
      at[axis] = rest % size[axis];
      stride[axis] = step;
      rest /= size[axis];
      step *= size[axis];
    }
    for (const auto& [axis, s] : size)
      if (s > 1) groups[std::string(1, axis) + "p"][r - at[axis] * stride[axis]].push_back(Rank(r));
    t.host_of[Rank(r)] = Host(host(r));
  }
  for (const auto& [dimension, all] : groups) {
    int n = 0;
    for (const auto& [first, ranks] : all)
      t.groups.push_back({dimension, dimension + "/" + std::to_string(n++), ranks});
  }
  return t;
}

const std::string kC10d = "torch/distributed/distributed_c10d.py";
std::vector<Frame> in_main(std::vector<Frame> frames) {
  frames.push_back(python("main", "pretrain.py", 92));
  frames.push_back(
      python("wrapper", "torch/distributed/elastic/multiprocessing/errors/__init__.py", 346));
  frames.push_back(python("<module>", "pretrain.py", 126));
  return frames;
}
const auto kDataParallel =
    in_main({python("all_reduce", kC10d, 1541), python("all_reduce", "parallel.py", 85),
             python("allreduce_gradients", "schedules.py", 42)});
const auto kTensor =
    in_main({python("all_reduce", kC10d, 1541), python("all_reduce", "parallel.py", 85),
             python("tp_forward_all_reduce", "schedules.py", 13),
             python("forward_backward", "schedules.py", 26)});
const auto kRecv = in_main({python("recv", kC10d, 1205), python("recv", "parallel.py", 98),
                            python("forward_backward", "schedules.py", 32)});
const auto kSend = in_main({python("send", kC10d, 1162), python("send", "parallel.py", 92),
                            python("forward_backward", "schedules.py", 31)});
const auto kRefresh =
    in_main({python("refresh", "data.py", 27), python("get_batch", "pretrain.py", 29)});
const auto kCompute = in_main({python("compute", "pretrain.py", 18)});
const HangWord kHang{true, Text(std::string("7 ranks reported a time-out"))};

// ByteRobust, figure 7: TP=2, PP=4, DP=4, two GPUs a machine. The last pipeline hangs in the
// backward pass.
Kit figure7(const std::map<std::int64_t, std::int64_t>& machine_of) {
  const auto megatron = [](std::vector<Frame> frames) {
    frames.push_back(python("train_step", "megatron/training/training.py", 10));
    return in_main(std::move(frames));
  };
  const auto sync = megatron(
      {python("finish_grad_sync", "megatron/core/distributed/param_and_grad_buffer.py", 300),
       python("finalize_model_grads", "megatron/core/distributed/finalize_model_grads.py", 1)});
  const auto irecv =
      megatron({python("irecv", kC10d, 1),
                python("_communicate", "megatron/core/pipeline_parallel/p2p_communication.py", 2),
                python("forward_backward_pipelining", "schedules.py", 3)});
  const auto isend =
      megatron({python("isend", kC10d, 1),
                python("_communicate", "megatron/core/pipeline_parallel/p2p_communication.py", 2),
                python("forward_backward_pipelining", "schedules.py", 3)});
  const auto gather = megatron(
      {python("all_gather_into_tensor", kC10d, 1), python("backward_step", "schedules.py", 5)});
  Kit kit;
  for (const auto& [rank, machine] : machine_of)
    kit.add(rank, machine < 12 ? sync : machine < 14 ? irecv : machine == 14 ? isend : gather);
  return kit;
}

void check_figure7(const std::string& order) {
  // The figure numbers machines along the pipeline: machine = stage + 4 * replica. With the ranks
  // in tp-pp-dp order that is rank / 2; in tp-dp-pp order a pipeline's ranks lie 8 apart, and the
  // machines of one are the same four names.
  const std::map<char, std::int64_t> size{{'t', 2}, {'p', 4}, {'d', 4}};
  std::map<std::int64_t, std::int64_t> machine_of;
  for (std::int64_t r = 0; r < 32; ++r) {
    const std::int64_t stage = order == "tpd" ? r / 2 % 4 : r / 8,
                       replica = order == "tpd" ? r / 8 : r / 2 % 4;
    machine_of[r] = stage + 4 * replica;
  }
  const Topology t = topology(
      order, size, [&](std::int64_t r) { return "machine-" + std::to_string(machine_of[r]); });
  const Kit kit = figure7(machine_of);
  for (const bool known : {false, true}) {
    const StackReport report = aggregate_stacks(kit.facts, t, known ? kHang : HangWord{});
    Ranks outliers, last;
    for (const auto& [rank, machine] : machine_of) {
      if (machine >= 12) outliers.push_back(Rank(rank));
      if (machine == 15) last.push_back(Rank(rank));
    }
    EXPECT_EQ(report.outliers, outliers);
    ASSERT_TRUE(report.cover);
    EXPECT_TRUE(report.cover->shared);
    EXPECT_EQ(report.cover->dimension, "pp");
    EXPECT_EQ(report.cover->groups.size(),
              2u);  // one pipeline for each tensor rank, on the same machines
    EXPECT_EQ(report.cover->hosts, Hosts({"machine-12", "machine-13", "machine-14", "machine-15"}));
    ASSERT_EQ(report.sinks.size(), 1u);
    EXPECT_EQ(report.sinks[0].ranks, last);
    EXPECT_EQ(report.sinks[0].hosts, Hosts({"machine-15"}));
    EXPECT_EQ(report.sinks[0].stage.operation, "all_gather");
    EXPECT_EQ(report.sinks[0].waiting, 30u);
    const auto findings = stack_findings(report, kit.facts, t);
    EXPECT_EQ(std::any_of(findings.begin(), findings.end(),
                          [](const Finding& f) { return f.outcome == Outcome::fired; }),
              known);
  }
}
TEST(Stacks, FigureSevenWithPipelinesInside) { check_figure7("tpd"); }
TEST(Stacks, FigureSevenWithPipelinesOutside) { check_figure7("tdp"); }

// TP=2, DP=2, PP=2 on one machine; rank 5 is blocked in open(2), everybody else waits for it.
const Topology kEight =
    topology("tdp", {{'t', 2}, {'p', 2}, {'d', 2}}, [](std::int64_t) { return "gpu-a17"; });
Kit hang_a() {
  Kit kit;
  for (const std::int64_t r : {2, 3, 6, 7}) kit.add(r, kDataParallel);
  kit.add(4, kTensor);
  kit.add(0, kRecv);
  kit.add(1, kSend);
  kit.add(5, kRefresh);
  return kit;
}
void add_native(Kit& kit) {
  // gdb knows processes, not ranks.
  for (const std::int64_t r : {4, 5}) {
    auto& s = kit.add(
        r,
        {native(r == 5 ? "__libc_open64" : "__futex_abstimed_wait_common64"),
         native(r == 5 ? "os_open_impl"
                       : "c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >)"),
         native("_PyEval_EvalFrameDefault"), native("_start")},
        "gdb/" + std::to_string(1000 + r) + ".txt", "gdb");
    s.row.rank.reset();
  }
}

TEST(Stacks, TheRankInNoCollectiveIsTheCause) {
  Kit kit = hang_a();
  add_native(kit);
  const StackReport report = aggregate_stacks(kit.facts, kEight, kHang);
  EXPECT_EQ(report.trainers, 8u);
  ASSERT_EQ(report.sinks.size(), 1u);
  const StackSink& sink = report.sinks[0];
  EXPECT_EQ(sink.ranks, Ranks{5});
  EXPECT_TRUE(sink.elsewhere);
  EXPECT_EQ(sink.stage.doing, Doing::storage);
  EXPECT_EQ(sink.stage.operation, "open");
  EXPECT_EQ(sink.function, "refresh");
  EXPECT_EQ(sink.file, "data.py");
  EXPECT_EQ(sink.line, 27);
  EXPECT_EQ(sink.native_reason, "__libc_open64");
  // 4 in the tensor group, 0 and 1 along the pipeline, and the gradient all-reduce of 2, 3, 6, 7
  // for all of those.
  EXPECT_EQ(sink.waiting, 7u);
  EXPECT_EQ(report.outliers, (Ranks{0, 1, 4, 5}));
  const auto wait = std::find_if(report.waits.begin(), report.waits.end(),
                                 [](const StackWait& w) { return w.from == Ranks({4}); });
  ASSERT_NE(wait, report.waits.end());
  EXPECT_EQ(wait->to, Ranks{5});
  const auto findings = stack_findings(report, kit.facts, kEight);
  const auto fired = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.id == "stacks/sink/rank/5"; });
  ASSERT_NE(fired, findings.end());
  EXPECT_EQ(fired->outcome, Outcome::fired);
  EXPECT_EQ(fired->subject, (Subject{SubjectKind::rank, "5"}));
  EXPECT_GE(fired->confidence, 0.65);
  ASSERT_FALSE(fired->evidence.empty());
  EXPECT_EQ(fired->evidence[0].path, "stacks/rank5.txt");
  EXPECT_EQ(fired->evidence[0].excerpt, "refresh (data.py:27)");
}

TEST(Stacks, WithoutGroupsTheRankInNoCollectiveIsStillFound) {
  const Kit kit = hang_a();
  const StackReport report = aggregate_stacks(kit.facts, {}, kHang);
  EXPECT_FALSE(report.topology);
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_EQ(report.sinks[0].ranks, Ranks{5});
  EXPECT_EQ(report.sinks[0].waiting, 7u);
}

// Eight ranks that all wait, of a job whose size nothing tells, without those in `missing`.
Kit all_wait(const Ranks& missing, std::int64_t world = 16,
             const std::function<std::string(std::int64_t)>& host = {}) {
  Kit kit;
  for (std::int64_t r = 0; r < world; ++r)
    if (std::find(missing.begin(), missing.end(), Rank(r)) == missing.end()) {
      auto& s = kit.add(r, r % 2 == 0 ? kDataParallel : kRecv);
      if (host) s.row.host = Host(host(r));
    }
  return kit;
}

TEST(Stacks, WhereAllWaitTheRankLeftOutIsWhomTheyWaitFor) {
  const StackReport report = aggregate_stacks(all_wait({8}).facts, {}, kHang);
  EXPECT_EQ(report.unheard, Ranks{8});
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_TRUE(report.sinks[0].unheard);
  EXPECT_EQ(report.sinks[0].ranks, Ranks{8});
  EXPECT_EQ(report.sinks[0].waiting, 15u);
}

TEST(Stacks, BeyondTheNumbersSeenNobodyIsMissed) {
  // 22 ranks on machines of eight, eight and six; and ranks that are counted from 1.
  EXPECT_TRUE(
      aggregate_stacks(
          all_wait({}, 22, [](std::int64_t r) { return "m" + std::to_string(r / 8); }).facts, {},
          kHang)
          .unheard.empty());
  EXPECT_TRUE(aggregate_stacks(all_wait({0}, 9).facts, {}, kHang).unheard.empty());
}

TEST(Stacks, AFewRanksStacksAreNotThoseThatAreThere) {
  // Somebody dumped one rank of each machine: nobody is missing.
  const StackReport report =
      aggregate_stacks(all_wait({1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15}).facts, {}, kHang);
  EXPECT_TRUE(report.unheard.empty());
  for (const StackSink& s : report.sinks) EXPECT_FALSE(s.unheard);
}

TEST(Stacks, OneSnapshotAccusesNobody) {
  Kit kit;
  kit.add(0, kTensor);
  kit.add(1, kTensor);
  kit.add(2, kCompute);
  kit.add(3, kRecv);
  kit.add(4, kTensor);
  kit.add(5, in_main({python("all_reduce", kC10d, 1536), python("all_reduce", "parallel.py", 85),
                      python("tp_backward_all_reduce", "schedules.py", 17)}));
  kit.add(6, in_main({python("end", "parallel.py", 41), python("all_reduce", "parallel.py", 86),
                      python("tp_forward_all_reduce", "schedules.py", 13)}));
  kit.add(7, kRecv);
  const StackReport report = aggregate_stacks(kit.facts, kEight);
  EXPECT_FALSE(report.hang);
  EXPECT_LE(report.confidence, 0.2);
  for (const StackProcess& p : report.processes)
    if (p.rank == Rank(6)) { EXPECT_EQ(p.stage.doing, Doing::compute); }
  const auto findings = stack_findings(report, kit.facts, kEight);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "stacks/mixture");
  EXPECT_EQ(findings[0].outcome, Outcome::not_enough_evidence);
  EXPECT_EQ(findings[0].severity, Severity::info);
}

TEST(Stacks, TextAndJsonOfOneLookAreOneSnapshot) {
  Kit kit = hang_a();
  const Kit again = hang_a();
  for (const StackSample& s : again.facts.samples) {
    auto frames = std::vector<Frame>();
    for (const std::uint32_t f : again.facts.stacks.stacks[static_cast<std::size_t>(s.stack)])
      frames.push_back(again.facts.stacks.frames[f]);
    const std::int64_t rank = number_of(*s.row.rank);
    kit.add(rank, frames, "stacks/rank" + std::to_string(rank) + ".json");
  }
  EXPECT_EQ(aggregate_stacks(kit.facts, kEight).motion, Motion::unknown);
}

Kit rounds(int count, const std::function<std::vector<Frame>(std::int64_t rank, int round)>& frames,
           std::int64_t ranks = 8) {
  Kit kit;
  for (int round = 0; round < count; ++round)
    for (std::int64_t r = 0; r < ranks; ++r) {
      auto& s = kit.add(r, frames(r, round),
                        "round" + std::to_string(round) + "/rank" + std::to_string(r) + ".txt");
      s.row.time = {Clock::utc, (1000 + 10 * round) * kSecond + r, 1};
    }
  return kit;
}

TEST(Stacks, SnapshotsThatStayTheSameMakeAHang) {
  const Kit kit = rounds(2, [](std::int64_t r, int) {
    return r == 5 ? kRefresh : r == 4 ? kTensor : r == 0 ? kRecv : r == 1 ? kSend : kDataParallel;
  });
  const StackReport report = aggregate_stacks(kit.facts, kEight);
  EXPECT_EQ(report.motion, Motion::standing);
  EXPECT_TRUE(report.hang);
  const auto findings = stack_findings(report, kit.facts, kEight);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.id == "stacks/sink/rank/5" && f.outcome == Outcome::fired;
  }));
}

TEST(Stacks, SnapshotsThatDifferRuleItOut) {
  const Kit kit = rounds(2, [](std::int64_t r, int round) {
    return (r + round) % 3 == 0 ? kCompute : (r + round) % 3 == 1 ? kTensor : kRecv;
  });
  const StackReport report = aggregate_stacks(kit.facts, kEight);
  EXPECT_EQ(report.motion, Motion::moving);
  const auto findings = stack_findings(report, kit.facts, kEight);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].outcome, Outcome::ruled_out);
}

// Rank 5 computes longer than the others: in most rounds its tensor group is the exception.
TEST(Stacks, FiveRoundsNameTheSlowGroup) {
  const Kit kit = rounds(5, [](std::int64_t r, int round) {
    return r == 5 || (r == 4 && round != 2) ? kCompute
           : r == (round == 2 ? 0 : 99)     ? kSend
           : round % 2 == 0                 ? kDataParallel
                                            : kTensor;
  });
  const StackReport report = aggregate_stacks(kit.facts, kEight);
  ASSERT_EQ(report.rounds.size(), 5u);
  EXPECT_EQ(report.degrader, "tp/2");
  EXPECT_GE(report.degrader_flags, 4u);
  const auto findings = stack_findings(report, kit.facts, kEight);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.id == "stacks/slow/tp/2" && f.ranks == Ranks({4, 5});
  }));
}

// Four processes dump twice into one console: no rank, no process number, but each its own main
// thread.
TEST(Stacks, ProcessesOfOneConsoleAreToldApartByTheirMainThreads) {
  Kit kit;
  std::uint64_t line = 0;
  for (int look = 0; look < 2; ++look)
    for (int process = 0; process < 4; ++process)
      for (const bool main : {false, true}) {
        StackSample& s = kit.add(0,
                                 main ? process == 2 ? kRefresh : kDataParallel
                                      : std::vector<Frame>{python("wait", "threading.py", 320)},
                                 "console.log", "faulthandler", "");
        s.row.rank.reset();
        s.row.pid.reset();
        s.row.tid.reset();
        s.row.place = {1, ++line, line * 100, 90};
        s.row.main = main;
        s.row.thread = "";
        s.row.thread_id = fmt::format("0x7f{}{}", process, main ? "740" : "6c0");
      }
  kit.facts.members.resize(1);
  const StackReport report = aggregate_stacks(kit.facts, {});
  EXPECT_EQ(report.trainers, 4u);
  EXPECT_EQ(report.motion, Motion::standing);
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_TRUE(report.sinks[0].ranks.empty());
  EXPECT_EQ(report.sinks[0].waiting, 3u);
  const auto findings = stack_findings(report, kit.facts, {});
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.id == "stacks/sink/process" && f.subject.kind == SubjectKind::code;
  }));
}

// Five looks, in every way in which collectors lay them out.
TEST(Stacks, RoundsAreFoundInEveryLayout) {
  const auto frames = [](std::int64_t r, int round) {
    return r == 5 || (r == 4 && round != 2) ? kCompute
           : r == (round == 2 ? 0 : 99)     ? kSend
           : round % 2 == 0                 ? kDataParallel
                                            : kTensor;
  };
  for (const char* layout : {"snap{1}/rank_{0}.txt", "node{2}/snap{1}/rank_{0}.txt",
                             "snap{1}/node{2}/rank_{0}.txt", "node{2}/rank_{0}.t{1}.txt",
                             "node{2}/rank_{0}.t{1}", "node{2}/1{1}:{2}7:0{0}/rank_{0}.txt"}) {
    Kit kit;
    for (int round = 8; round < 13; ++round)
      for (std::int64_t r = 0; r < 8; ++r)
        kit.add(r, frames(r, round), fmt::format(fmt::runtime(layout), r, round, r / 2));
    const StackReport report = aggregate_stacks(kit.facts, kEight);
    EXPECT_EQ(report.rounds.size(), 5u) << layout;
    EXPECT_EQ(report.degrader, "tp/2") << layout;
  }
}

TEST(Stacks, StorageOnManyHostsIsTheStorage) {
  const Topology t = topology("tdp", {{'t', 2}, {'p', 1}, {'d', 8}},
                              [](std::int64_t r) { return "node-" + std::to_string(r / 2); });
  Kit kit;
  for (std::int64_t r = 0; r < 16; ++r)
    kit.add(r, r == 2 || r == 7 || r == 12
                   ? in_main({python("save", "torch/serialization.py", 1),
                              python("save_checkpoint", "checkpointing.py", 44)})
                   : kDataParallel);
  const StackReport report = aggregate_stacks(kit.facts, t, kHang);
  EXPECT_EQ(report.storage_hosts, Hosts({"node-1", "node-3", "node-6"}));
  const auto findings = stack_findings(report, kit.facts, t);
  const auto storage = std::find_if(findings.begin(), findings.end(), [](const Finding& f) {
    return f.subject.kind == SubjectKind::storage;
  });
  ASSERT_NE(storage, findings.end());
  EXPECT_EQ(storage->subject.id, "torch.save in save_checkpoint (checkpointing.py:44)");
  for (const Finding& f : findings) EXPECT_NE(f.subject.kind, SubjectKind::rank) << f.id;
}

TEST(Stacks, ABusyWorkerIsTheCauseNotItsTrainer) {
  Kit kit;
  const auto forked = [](std::vector<Frame> frames) {
    for (const Frame& f : {python("_worker_loop", "torch/utils/data/_utils/worker.py", 269),
                           python("_launch", "multiprocessing/popen_fork.py", 71),
                           python("main", "pretrain.py", 83)})
      frames.push_back(f);
    return frames;
  };
  const auto idle = forked({python("select", "selectors.py", 415),
                            python("wait", "multiprocessing/connection.py", 930),
                            python("get", "multiprocessing/queues.py", 113)});
  for (std::int64_t r = 0; r < 8; ++r) {
    kit.add(r, r == 3
                   ? in_main({python("wait", "threading.py", 320), python("get", "queue.py", 180),
                              python("_try_get_data", "torch/utils/data/dataloader.py", 1),
                              python("_next_data", "torch/utils/data/dataloader.py", 2)})
                   : kDataParallel);
    kit.add(r,
            r == 3 ? forked({python("read_text", "pathlib.py", 1059),
                             python("__getitem__", "dataset.py", 88),
                             python("fetch", "torch/utils/data/_utils/fetch.py", 3)})
                   : idle,
            "stacks/rank" + std::to_string(r) + "_dlworker0.txt", "pyspy", "dataloader");
  }
  const StackReport report = aggregate_stacks(kit.facts, kEight, kHang);
  EXPECT_EQ(report.trainers, 8u);
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_EQ(report.sinks[0].ranks, Ranks{3});
  EXPECT_EQ(report.sinks[0].role, "dataloader");
  EXPECT_EQ(report.sinks[0].function, "__getitem__");
  const auto findings = stack_findings(report, kit.facts, kEight);
  const auto worker = std::find_if(findings.begin(), findings.end(),
                                   [](const Finding& f) { return f.id == "stacks/worker/rank/3"; });
  ASSERT_NE(worker, findings.end());
  EXPECT_EQ(worker->host, "gpu-a17");
  EXPECT_EQ(worker->evidence[0].path, "stacks/rank3_dlworker0.txt");
}

TEST(Stacks, PipelineStagesThatDifferAreHealthy) {
  // Two machines a stage; the first stage sends while the rest syncs.
  const Topology t = topology("tdp", {{'t', 2}, {'p', 4}, {'d', 4}},
                              [](std::int64_t r) { return "node-" + std::to_string(r / 4); });
  Kit kit;
  for (std::int64_t r = 0; r < 32; ++r) kit.add(r, r < 8 ? kRecv : kDataParallel);
  const StackReport report = aggregate_stacks(kit.facts, t);
  EXPECT_TRUE(report.outliers.empty());
  ASSERT_EQ(report.groups.size(), 2u);
  EXPECT_EQ(report::words(report.groups[1].why), "pipeline stage 0");
}

TEST(Stacks, AnAggregateSpeaksForItsRanks) {
  Kit kit;
  const auto stat = [&](const std::string& ranks, const std::vector<Frame>& frames) {
    auto& s = kit.add(0, frames, "stat.dot", "stat");
    s.row.rank.reset();
    s.row.pid.reset();
    s.row.tid.reset();
    s.row.ranks = ranks;
  };
  stat("0-4,6-7", kDataParallel);
  stat("5", kRefresh);
  const StackReport report = aggregate_stacks(kit.facts, kEight, kHang);
  EXPECT_EQ(report.trainers, 8u);
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_EQ(report.sinks[0].ranks, Ranks{5});
}

std::string digest(const StackReport& report, const Facts& facts, const Topology& t) {
  std::string out;
  for (const StackGroup& g : report.groups)
    out += g.role + " " + to_ranges(g.ranks) + (g.dominant ? " dominant" : "") + "\n";
  for (const StackWait& w : report.waits)
    out +=
        w.group + " " + w.operation + ": " + to_ranges(w.from) + " for " + to_ranges(w.to) + "\n";
  for (const Finding& f : stack_findings(report, facts, t))
    out += f.id + " " + report::words(f.why) + " " + std::to_string(f.confidence) + "\n";
  return out;
}

RC_GTEST_PROP(StacksProperty, TheOrderOfSamplesChangesNothing, ()) {
  Kit kit = hang_a();
  add_native(kit);
  const std::string expected =
      digest(aggregate_stacks(kit.facts, kEight, kHang), kit.facts, kEight);
  auto shuffled = kit.facts;
  std::shuffle(shuffled.samples.begin(), shuffled.samples.end(),
               std::mt19937(*rc::gen::arbitrary<unsigned>()));
  RC_ASSERT(digest(aggregate_stacks(shuffled, kEight, kHang), shuffled, kEight) == expected);
}

// More replicas that stand where the healthy ones stand: the same sink.
RC_GTEST_PROP(StacksProperty, HealthyRanksChangeNothing, ()) {
  const auto more = *rc::gen::inRange<std::int64_t>(2, 12);
  const auto host = [](std::int64_t r) { return "node-" + std::to_string(r / 8); };
  // pp inside, so that ranks keep their numbers as replicas are added.
  const Topology t = topology("tpd", {{'t', 2}, {'p', 2}, {'d', more}}, host);
  Kit kit;
  for (std::int64_t r = 0; r < 4 * more; ++r)
    kit.add(r, r == 1 ? kRefresh : r == 0 ? kTensor : r == 2 || r == 3 ? kRecv : kDataParallel);
  const StackReport report = aggregate_stacks(kit.facts, t, kHang);
  RC_ASSERT(report.sinks.size() == 1u);
  RC_ASSERT(report.sinks[0].ranks == Ranks({1}));
  RC_ASSERT(report.sinks[0].waiting == static_cast<std::size_t>(4 * more - 1));
}

TEST(NormalFunction, DropsWhatDiffersBetweenRanksAndBuilds) {
  struct Case {
    const char* printed;
    bool native;
    const char* normal;
  };
  for (const Case& c : {
           Case{"c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >)", true,
                "c10d::Work::wait"},
           Case{"os_open.lto_priv.0", true, "os_open"},
           Case{"pthread_cond_wait@@GLIBC_2.3.2", true, "pthread_cond_wait"},
           Case{"std::vector<int, std::allocator<int> >::push_back", true,
                "std::vector::push_back"},
           Case{"void at::native::copy_<float>(at::Tensor&) [clone .isra.0]", true,
                "at::native::copy_"},
           Case{"(anonymous namespace)::run(int)", true, "(anonymous namespace)::run"},
           Case{"operator<<", true, "operator<<"},
           Case{"Foo::operator()(int) const", true, "Foo::operator()"},
           Case{"??", true, "??"},
           Case{"<module>", false, "<module>"},
           Case{"<built-in method open of module object at remote 0x7f87421c9d50>", false,
                "<built-in method open of module object>"},
           Case{"torch_dynamo_resume_in_forward_at_123", false,
                "torch_dynamo_resume_in_forward_at_"},
       })
    EXPECT_EQ(normal_function(c.printed, c.native), c.normal) << c.printed;
}

TEST(StackTree, NodesKnowWhoComesThroughAndWhoDoesNot) {
  const std::vector<std::vector<std::uint32_t>> stacks = {{0, 1, 2}, {0, 1}, {0, 3}};
  const StackTree tree(stacks, {{0, Ranks({0, 1, 2}), 3}, {1, Ranks({6}), 1}, {2, Ranks({3}), 1}});
  ASSERT_EQ(tree.nodes().size(), 5u);  // root, 0, 1, 2, 3
  EXPECT_EQ(to_ranges(tree.ranks(0)), "0-3,6");
  EXPECT_EQ(to_ranges(tree.ranks(2)), "0-2,6");
  EXPECT_EQ(to_ranges(tree.lacking(2)), "3");
  EXPECT_TRUE(tree.ends_here(2));
  EXPECT_FALSE(tree.ends_here(1));
  EXPECT_EQ(tree.nodes()[2].end, 4u);
}

TEST(SmallestCover, OneRankIsItsMachine) {
  const Topology t = topology("tpd", {{'t', 2}, {'p', 4}, {'d', 4}},
                              [](std::int64_t r) { return "m" + std::to_string(r / 2); });
  const StackCover cover = smallest_cover(Ranks({5}), t, 16);
  EXPECT_EQ(cover.hosts, Hosts({"m2"}));
  // Outliers all over the place: no group says more than the list of machines.
  const StackCover scattered = smallest_cover(Ranks({0, 11, 22}), t, 16);
  EXPECT_FALSE(scattered.shared);
  EXPECT_EQ(scattered.hosts.size(), 3u);
}

}  // namespace
}  // namespace culprit::analyze
