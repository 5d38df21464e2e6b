// What logs said last beside answers that leave the cause open, and what takes part in none.
#include <algorithm>

#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class LastLines : public SmallBundle {
 protected:
  // "path:line text" of each line shown.
  static std::vector<std::string> shown(const Answer& a) {
    std::vector<std::string> out;
    for (const Finding& f : a.findings)
      if (f.analysis == Analysis::last_lines)
        for (const Evidence& e : f.evidence)
          out.push_back(fmt::format("{}:{} {}", e.path, e.line, e.excerpt));
    return out;
  }
};

TEST_F(LastLines, StandBeforeTheTroubleThatAnOpenAnswerQuotes) {
  write("train.log",
        "INFO loading tokenizer\n"
        "INFO saving full state dict\n"
        "\n"
        "INFO gathering optimizer state took 118 s\n"
        "INFO writing shards\n"
        "[rank4]:[E430 05:09:48.828088908 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=9387, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600005 milliseconds before timing out.\n");
  const Answer a = diagnose();
  EXPECT_EQ(shown(a),
            (std::vector<std::string>{"train.log:2 INFO saving full state dict",
                                      "train.log:4 INFO gathering optimizer state took 118 s",
                                      "train.log:5 INFO writing shards"}))
      << report::words(a.verdict.summary);
}

TEST_F(LastLines, StandAtTheEndOfALogThatNoRuleKnows) {
  write("driver.log", "starting\nUsage: fabricmanager-start.sh [options]\n  -h, --help\n");
  EXPECT_EQ(shown(diagnose()),
            (std::vector<std::string>{"driver.log:1 starting",
                                      "driver.log:2 Usage: fabricmanager-start.sh [options]",
                                      "driver.log:3   -h, --help"}));
}

// What was collected of a machine beside it is longer, and says nothing of the job.
TEST_F(LastLines, AreNoneOfToolsThatTellOfAMachine) {
  write("hosts/n1/meminfo.txt", "MemTotal: 9 kB\nMemFree: 8 kB\nDirectMap1G: 7 kB\n");
  write("hosts/n1/snapshot-1/ss.txt", "State Recv-Q\nESTAB 0\nTIME-WAIT 0\n");
  EXPECT_EQ(shown(diagnose()), std::vector<std::string>{});
  write("driver.log", "starting\n");
  EXPECT_EQ(shown(diagnose()), std::vector<std::string>{"driver.log:1 starting"});
}

TEST_F(LastLines, AreLeftOutWhereTheCauseIsKnown) {
  write("train.log",
        "step: 1/9 loss: 2.0\nTraceback (most recent call last):\n"
        "  File \"/app/train.py\", line 8, in main\n    loss = model(x)\n"
        "TypeError: forward() takes 1 positional argument but 2 were given\n");
  EXPECT_TRUE(shown(diagnose()).empty());
}

TEST_F(LastLines, ATypedCommandIsNoEventOfItsWords) {
  write("dmesg.txt",
        "# dmesg | grep -iE \"xid|nvidia|GPU has fallen off the bus\" | tail -30\n"
        "[ 3629.021460] usb 1-1: new high-speed USB device number 4\n");
  const Answer a = diagnose();
  EXPECT_TRUE(std::ranges::none_of(
      a.findings, [](const Finding& f) { return f.event_class == "gpu_off_bus"; }));
}

TEST_F(LastLines, CardsThatFailAlikeAreNotAccused) {
  const std::string fails = "] NVRM: GPU 0000:04:0{}.0: RmInitAdapter failed! (0x11:0x45:2525)\n";
  write("dmesg.txt", "[ 1097.650222" + fmt::format(fmt::runtime(fails), 1) + "[ 1102.469870" +
                         fmt::format(fmt::runtime(fails), 2));
  EXPECT_EQ(diagnose().verdict.action, Action::checks);
  rewrite("dmesg.txt", "[ 1097.650222" + fmt::format(fmt::runtime(fails), 1));
  EXPECT_EQ(diagnose().verdict.action, Action::isolate);
}

// Errors of processes that are being stopped.
TEST_F(LastLines, WhatComesUpWhileTheJobIsStoppedDoesNotStopIt) {
  const std::string asked =
      "W0203 20:10:12.500000 1 torch/distributed/elastic/agent/server/api.py:719] Received 15 "
      "death signal, shutting down workers\n";
  const std::string error =
      "[rank9]:[E0203 20:10:{}.226354727 ProcessGroupNCCL.cpp:1896] [PG ID 0 PG GUID "
      "0(default_pg) Rank 9] Process group watchdog thread terminated with exception: CUDA error: "
      "unspecified launch failure\n"
      "[rank12]:[E0203 20:10:{}.894062987 ProcessGroupNCCL.cpp:1896] [PG ID 0 PG GUID "
      "0(default_pg) Rank 12] Process group watchdog thread terminated with exception: CUDA "
      "error: unspecified launch failure\n";
  write("w-0.log", asked + fmt::format(fmt::runtime(error), 15, 15));
  EXPECT_EQ(diagnose().verdict.action, Action::none);
  rewrite("w-0.log", fmt::format(fmt::runtime(error), 10, 10) + asked);
  EXPECT_NE(diagnose().verdict.action, Action::none);
}

TEST_F(LastLines, AFileThatOneMachineCouldNotReadBearsOutItsDisk) {
  const std::string eio =
      "OSError: [Errno 5] Input/output error: '/raid/cache/c4/train.array_record-00118'\n";
  write("hosts/n-21/dmesg",
        "[4410221.100120] nvme nvme3: I/O 211 QID 14 timeout, aborting\n"
        "[4410282.100901] nvme nvme3: Removing after probe failure status: -19\n"
        "[4410282.140112] blk_update_request: I/O error, dev nvme3n1, sector 884102144 op 0x0\n");
  write("hosts/n-21/task2.log",
        "I0709 05:10:01.728461  2202 train.py:81] step 40\nTraceback (most recent call last):\n"
        "  File \"/opt/data.py\", line 321, in read\n    return self._reader.read(p)\n" +
            eio);
  write("hosts/n-17/task0.log", "I0709 05:10:01.728461  2202 train.py:81] step 40\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  write("hosts/n-17/task0.log",
        "Traceback (most recent call last):\n"
        "  File \"/opt/data.py\", line 321, in read\n    return self._reader.read(p)\n" +
            eio);
  EXPECT_NE(diagnose().verdict.action, Action::isolate) << "both could not read it";
}

}  // namespace
}  // namespace culprit::diagnose::test
