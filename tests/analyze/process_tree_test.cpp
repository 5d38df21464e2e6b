#include "analyze/facts/process_tree.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

struct Scene {
  Facts facts;
  void process(std::int64_t pid, std::optional<std::int64_t> parent, const std::string& command,
               std::optional<Rank> rank = {}, const std::string& host = "") {
    ProcessRow row;
    row.pid = pid;
    row.parent = parent;
    row.command = command;
    row.rank = rank;
    if (!host.empty()) row.host = Host(host);
    facts.processes.push_back(row);
  }
  void stack(std::optional<std::int64_t> pid, bool main, const std::vector<Frame>& frames) {
    std::vector<std::uint32_t> ids;
    for (const Frame& frame : frames) {
      ids.push_back(static_cast<std::uint32_t>(facts.stacks.frames.size()));
      facts.stacks.frames.push_back(frame);
    }
    facts.stacks.stacks.push_back(ids);
    StackSample sample;
    sample.row.pid = pid;
    sample.row.main = main;
    sample.stack = static_cast<std::int32_t>(facts.stacks.stacks.size()) - 1;
    facts.samples.push_back(sample);
  }
  std::string role(std::int64_t pid, const std::string& host = "") {
    for (const ProcessRow& row : facts.processes)
      if (row.pid == pid && name_of(row.host) == host) return row.role;
    return "?";
  }
};

TEST(ProcessTree, Commands) {
  struct Case {
    const char* command;
    const char* role;
  };
  for (const Case& c :
       {Case{"/usr/bin/python3 -m torch.distributed.run --nnodes 1 train.py", "agent"},
        {"python -u -X dev -m torch.distributed.launch t.py", "agent"},
        {"/opt/conda/bin/python /opt/conda/bin/torchrun t.py", "agent"},
        {"torchrun t.py", "agent"},
        {"accelerate launch t.py", "agent"},
        {"accelerate config", ""},
        {"/usr/bin/python3 /usr/local/bin/deepspeed t.py", "agent"},
        {"python -u t.py --deepspeed ds.json", ""},
        {"bash -c torchrun t.py", ""},
        {"python3 -B -c from multiprocessing.resource_tracker import main;main(43)", "noise"},
        {"python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=4)", ""},
        {"nvidia-smi -q", "noise"},
        {"/usr/local/cuda/bin/ptxas -v", "noise"},
        {"ft_launcher --x", "agent"},
        {"dlrover-run t.py", "agent"},
        {"python3 t.py", ""},
        {"", ""},
        {"python3", ""},
        {"python3 -m", ""},
        {"-c", ""}})
    EXPECT_EQ(role_of_command(c.command), c.role) << c.command;
}

TEST(ProcessTree, ChildrenOfAnAgent) {
  Scene s;
  s.process(10, 1, "python3 -m torch.distributed.run t.py");
  s.process(11, 10, "/usr/bin/python3 -u t.py --lr 1", Rank(0));
  s.process(12, 10, "sh -c numactl python3 -u t.py", Rank(1));
  s.process(13, 12, "python3 -u t.py", Rank(1));
  s.process(21, 11, "python3 -u t.py --lr 1",
            Rank(0));  // the same command line, as pstree prints it
  s.process(22, 11,
            "python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=44, "
            "pipe_handle=46) --multiprocessing-fork",
            Rank(0));
  s.process(23, 11, "python3 -c from multiprocessing.resource_tracker import main;main(43)",
            Rank(0));
  s.process(24, 11, "[python3] <defunct>");
  s.process(25, 11, "git rev-parse HEAD", Rank(0));
  s.process(27, 10, "[python3] <defunct>");  // a trainer that died and was not reaped
  s.process(28, 10, "[nvidia-smi] <defunct>");
  s.process(26, 11,
            "python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=44) "
            "--multiprocessing-fork",
            Rank(0));
  s.stack(26, true,
          {{"get", "multiprocessing/queues.py", "", 1, false},
           {"_worker_loop", "torch/utils/data/_utils/worker.py", "", 2, false}});
  assign_roles(s.facts);
  EXPECT_EQ(s.role(10), "agent");
  EXPECT_EQ(s.role(11), "trainer");
  EXPECT_EQ(s.role(12), "");
  EXPECT_EQ(s.role(13), "trainer");
  EXPECT_EQ(s.role(21), "dataloader");
  EXPECT_EQ(s.role(22), "checkpoint");
  EXPECT_EQ(s.role(23), "noise");
  EXPECT_EQ(s.role(24), "noise");
  EXPECT_EQ(s.role(25), "");
  EXPECT_EQ(s.role(26), "dataloader");
  EXPECT_EQ(s.role(27), "trainer");
  EXPECT_EQ(s.role(28), "noise");
}

TEST(ProcessTree, TheInnermostMarkerDecides) {
  Scene s;
  const Frame main{"main", "pretrain.py", "", 83, false};
  s.stack(31, true,
          {{"poll", "connection.py", "", 1, false},
           {"_worker_loop", "torch/utils/data/_utils/worker.py", "", 269, false},
           {"_launch", "multiprocessing/popen_fork.py", "", 71, false},
           main});
  s.stack(
      32, true,
      {{"refresh", "data.py", "", 27, false}, {"get_batch", "pretrain.py", "", 29, false}, main});
  s.stack(33, true,
          {{"sleep", "", "", 0, true},
           {"_invoke_run", "torch/distributed/elastic/agent/server/api.py", "", 1, false},
           {"main", "torch/distributed/run.py", "", 9, false}});
  s.stack(32, false,
          {{"do_one_step", "torch/utils/data/_utils/pin_memory.py", "", 1, false},
           {"_pin_memory_loop", "torch/utils/data/_utils/pin_memory.py", "", 5, false}});
  s.stack({}, false, {{"wait", "threading.py", "", 1, false}});
  s.stack({}, true, {main});
  assign_roles(s.facts);
  std::string told;
  for (const StackSample& sample : s.facts.samples) told += sample.role + "|";
  EXPECT_EQ(told, "dataloader|trainer|agent|trainer||trainer|");
}

TEST(ProcessTree, WithoutAnAgent) {
  Scene s;
  s.process(41, 5, "python t.py", Rank(3), "a");
  s.process(42, 41, "python t.py", Rank(3), "a");
  s.process(41, 5, "cat", {}, "b");
  assign_roles(s.facts);
  EXPECT_EQ(s.role(41, "a"), "trainer");
  EXPECT_EQ(s.role(42, "a"), "dataloader");
  EXPECT_EQ(s.role(41, "b"), "");
}

TEST(ProcessTree, CyclesAndRepeats) {
  Scene s;
  s.process(1, 2, "a");
  s.process(2, 1, "b");
  s.process(3, 3, "torchrun x");
  for (std::int64_t pid = 10; pid < 2'000; ++pid) s.process(pid, pid + 1, "python x");
  assign_roles(s.facts);
  EXPECT_EQ(s.role(3), "agent");
  const auto first = s.facts.processes;
  assign_roles(s.facts);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(s.facts.processes[i].role, first[i].role);
}

TEST(ProcessTree, SiblingsOfATrainerWithItsCommandAreTrainersInTheOrderOfRanks) {
  Scene s;
  for (std::int64_t r = 8; r < 12; ++r) {
    RankRow rank;
    rank.rank = Rank(r);
    rank.host = Host("cx-2");
    if (r == 8) rank.pid = 501;
    s.facts.ranks.push_back(rank);
  }
  for (std::int64_t pid = 501; pid < 505; ++pid)
    s.process(pid, 400, "python -u train.py --config a.toml",
              pid == 501 ? std::optional(Rank(8)) : std::nullopt, "cx-2");
  s.process(505, 400, "python -u serve.py", {}, "cx-2");
  assign_roles(s.facts);
  EXPECT_EQ(s.role(503, "cx-2"), "trainer");
  EXPECT_EQ(s.role(505, "cx-2"), "") << "another program of the same parent";
  EXPECT_EQ(s.facts.processes[2].rank, Rank(10));
  s.facts.ranks[0].pid = 504;
  s.facts.processes[2].rank.reset();
  assign_roles(s.facts);
  EXPECT_FALSE(s.facts.processes[2].rank) << "the one that is known does not stand in that order";
}

}  // namespace
}  // namespace culprit::analyze
