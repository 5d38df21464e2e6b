#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace std::string_literals;

test::Rows list(std::string_view text) { return test::read_dump(text, "host/ps.txt", "process"); }

const ProcessRow& of(const test::Rows& rows, std::int64_t pid) {
  for (const auto& row : rows.processes)
    if (row.pid == pid) return row;
  ADD_FAILURE() << "no process " << pid;
  static const ProcessRow kNone;
  return kNone;
}

TEST(Ps, ForestTellsParents) {
  const std::string text =
      "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
      "root         1  0.0  0.0   1000   500 ?        Ss   Nov20   0:01 /sbin/init\n"
      "root       100  0.0  0.0   1000   500 ?        Sl   03:42   0:01  \\_ torchrun --nproc 2 "
      "train.py\n"
      "root       101 99.0  1.0   1000   500 ?        Rl   03:42   0:01  |   \\_ python -u "
      "train.py\n"
      "root       103  0.0  0.0      0     0 ?        Z    03:42   0:00  |   |   \\_ [python] "
      "<defunct>\n"
      "root       102 99.0  1.0   1000   500 ?        D    03:42   0:01  |   \\_ python -u "
      "train.py\n"
      "root       200  0.0  0.0   1000   500 ?        S    2025    0:01  \\_ sshd\n";
  const auto rows = list(text);
  test::check_places(rows, text);
  ASSERT_EQ(rows.processes.size(), 6u);
  EXPECT_EQ(of(rows, 1).parent, std::nullopt);
  EXPECT_EQ(of(rows, 100).parent, 1);
  EXPECT_EQ(of(rows, 101).parent, 100);
  EXPECT_EQ(of(rows, 103).parent, 101);
  EXPECT_EQ(of(rows, 102).parent, 100);
  EXPECT_EQ(of(rows, 200).parent, 1);
  EXPECT_EQ(of(rows, 102).state, "D");
  EXPECT_EQ(of(rows, 101).command, "python -u train.py");
  EXPECT_EQ(of(rows, 101).source, "ps");
}

TEST(Ps, OrphansOfAnotherScriptAreBusyBesideTheJob) {
  const std::string trainer =
      "ml 101 90 99.0 Rl python -u train.py\nml 102 90 99.0 Rl python train.py\n";
  std::string orphans, children;
  for (int pid = 201; pid < 209; ++pid) {
    orphans += fmt::format("kc {} 1 95.0 R python3 /home/kc/tokenize.py --shard {}\n", pid, pid);
    children += fmt::format("kc {} 7 95.0 R python3 /home/kc/tokenize.py --shard {}\n", pid, pid);
  }
  const std::string heading = "USER PID PPID %CPU STAT COMMAND\n";
  const auto said = [](const test::Rows& rows) {
    return std::ranges::any_of(rows.events, [](const EventRow& row) {
      return row.message.find("busy program tokenize.py takes 7.6 cores in 8") != std::string::npos;
    });
  };
  EXPECT_TRUE(said(list(heading + trainer + orphans)));
  // Whoever started them is there: their owner may want them.
  EXPECT_FALSE(said(list(heading + trainer + children)));
  // Trainers that somebody started and left.
  EXPECT_FALSE(said(list(heading + orphans)));
}

TEST(Ps, ThreadsFoldIntoTheirProcess) {
  const auto rows = list(
      "  PID  PPID   TID NLWP STAT WCHAN                                     STARTED ELAPSED     "
      "TIME COMMAND         COMMAND\n"
      "  500   400   500    3 Sl   futex_do_wait            Sat Nov 21 03:34:37 2026     516 "
      "00:00:00 python3         /usr/bin/python3 -u a.py\n"
      "  500   400   501    3 Sl   hrtimer_nanosleep        Sat Nov 21 03:34:37 2026     516 "
      "00:00:00 NCCL Progress 3 /usr/bin/python3 -u a.py\n"
      "  600   400   600    2 Sl   futex_do_wait            Sat Nov 21 03:34:37 2026 1-02:03:04 "
      "00:00:00 python3         /usr/bin/python3 -u b.py\n"
      "  600   400   601    2 Dl   rpc_wait_bit_killable    Sat Nov 21 03:34:37 2026     516 "
      "00:00:00 python3         /usr/bin/python3 -u b.py\n");
  ASSERT_EQ(rows.processes.size(), 2u);
  EXPECT_EQ(rows.processes[0].state, "Sl");
  EXPECT_EQ(rows.processes[0].wait, "futex_do_wait");
  EXPECT_EQ(rows.processes[0].name, "python3");
  EXPECT_EQ(rows.processes[0].command, "/usr/bin/python3 -u a.py");
  EXPECT_EQ(rows.processes[0].threads, 3);
  EXPECT_EQ(rows.processes[1].state, "Dl");
  EXPECT_EQ(rows.processes[1].wait, "rpc_wait_bit_killable");
  EXPECT_EQ(rows.processes[1].place.line, 5u);
  EXPECT_EQ(rows.processes[1].parent, 400);
}

TEST(Ps, AnyColumns) {
  EXPECT_EQ(list("UID          PID    PPID     LWP  C NLWP STIME TTY          TIME CMD\nroot       "
                 "    7       1       7  0    2 Nov20 ?        00:00:00 python a.py\nroot          "
                 " 7       1       8  0    2 Nov20 ?        00:00:00 python a.py\n")
                .processes.at(0)
                .threads,
            2);
  EXPECT_EQ(list("    PID COMMAND\n      9 python a.py\n").processes.at(0).command, "python a.py");
  EXPECT_EQ(list("    PID   SPID TTY          TIME CMD\n      9      9 ?        00:00:00 python3\n "
                 "     9     10 ?        00:00:00 python3\n")
                .processes.at(0)
                .threads,
            2);
  EXPECT_EQ(list("    PID S WCHAN  COMMAND\n      9 D -      python3\n").processes.at(0).wait, "");
  EXPECT_EQ(list("  PID STARTED COMMAND\n    9  Nov 21 python3 x\n").processes.at(0).command,
            "python3 x");
  // nvidia-smi's table is none
  EXPECT_TRUE(
      test::read_text("|  GPU   GI   CI        PID   Type   Process name                  GPU "
                      "Memory |\n|    0   N/A  N/A      1234      C   python3    10MiB |\n")
          .processes.empty());
  // within a log
  const auto log = test::read_text(
      "snapshot\n    PID    PPID STAT COMMAND\n     10       1 Ds   python\nRuntimeError: CUDA "
      "error: an illegal memory access was encountered\n");
  EXPECT_EQ(log.processes.size(), 1u);
  EXPECT_FALSE(log.events.empty());
}

// grep took the heading away; pdsh puts the machine before each line.
TEST(Ps, ColumnsOfTheCommand) {
  const auto rows = list(
      "# pdsh -w qd-[1-2] ps -eo pid,ppid,stat,user,wchan:22,lstart,cmd | grep python    16:24\n"
      "qd-1: 18000 17990 Rl   ada      -                      Tue Jun  3 09:02:10 2025 python -u "
      "train.py\n"
      "qd-2: 18000 17990 tl   ada      ptrace_stop            Tue Jun  3 09:02:13 2025 python -u "
      "train.py  # LOCAL_RANK=1 RANK=9\n");
  ASSERT_EQ(rows.processes.size(), 2u);
  EXPECT_EQ(rows.processes[0].host, Host("qd-1"));
  EXPECT_EQ(rows.processes[0].rank, std::nullopt);
  EXPECT_EQ(rows.processes[1].host, Host("qd-2"));
  EXPECT_EQ(rows.processes[1].pid, 18000);
  EXPECT_EQ(rows.processes[1].state, "tl");
  EXPECT_EQ(rows.processes[1].wait, "ptrace_stop");
  EXPECT_EQ(rows.processes[1].rank, Rank{9});
}

TEST(Proc, StatesBehindTheirCommand) {
  const auto rows = test::read_dump(
      "$ for p in 41 43; do egrep 'Name|State|TracerPid' /proc/$p/status; cat /proc/$p/wchan; "
      "done\n"
      "Name:\tpython\nState:\tR (running)\nTracerPid:\t0\n0\n"
      "Name:\tpython\nState:\tt (tracing stop)\nTracerPid:\t77\nptrace_stop\n"
      "$ grep State /proc/45/status\nState:\tT (stopped)\n",
      "host/proc.txt", "text");
  ASSERT_EQ(rows.processes.size(), 3u);
  EXPECT_EQ(of(rows, 41).state, "R");
  EXPECT_EQ(of(rows, 43).state, "t");
  EXPECT_EQ(of(rows, 43).name, "python");
  EXPECT_EQ(of(rows, 45).state, "T");
}

TEST(Ps, Hostile) {
  EXPECT_TRUE(list("    PID COMMAND\n 99999999999999999999 x\n -1 y\n").processes.empty());
  EXPECT_EQ(list("    PID COMMAND\n 5 " + std::string(1'000'000, 'x') + "\n 6 y").processes.size(),
            2u);
  EXPECT_EQ(list("    PID COMMAND\n\0\0\0 5 a\0b\n"s).members[0].lines, 2u);
}

TEST(Pstree, GlyphsTellParents) {
  const auto rows = list(
      "torchrun,100 --nproc 2 train.py\n  |-python3,101 -u train.py\n  |   |-python3,103 -u "
      "train.py\n  |   |   `-{python3},104\n  |   |-{python3},105\n  |   `-{python3},106\n  "
      "`-python3,102 -u train.py\nsshd,300\n  `--bash,301\n");
  ASSERT_EQ(rows.processes.size(), 6u);
  EXPECT_EQ(of(rows, 101).parent, 100);
  EXPECT_EQ(of(rows, 101).threads, 3);
  EXPECT_EQ(of(rows, 101).command, "python3 -u train.py");
  EXPECT_EQ(of(rows, 103).parent, 101);
  EXPECT_EQ(of(rows, 103).threads, 2);
  EXPECT_EQ(of(rows, 102).parent, 100);
  EXPECT_EQ(of(rows, 300).parent, std::nullopt);
  const auto boxes = list(
      "init,1\n  \xE2\x94\x9C\xE2\x94\x80python3,5 a.py\n  \xE2\x94\x82   "
      "\xE2\x94\x94\xE2\x94\x80{python3},6\n  \xE2\x94\x94\xE2\x94\x80sh,7\n");
  EXPECT_EQ(of(boxes, 5).threads, 2);
  EXPECT_EQ(of(boxes, 7).parent, 1);
}

TEST(Proc, DumpsOfProcesses) {
  const test::Folder folder;
  folder.write("proc/all.txt",
               "== pid 31\npython -u t.py \nName:\tpython3\nState:\tD (disk "
               "sleep)\nTgid:\t31\nPid:\t31\nPPid:\t30\nThreads:\t15\nwchan: "
               "rpc_wait_bit_killable\nstack:\n[<0>] rpc_wait_bit_killable+0x1/0x2 [sunrpc]\n[<0>] "
               "vfs_open+0x2c/0x100\nRANK=5\nLOCAL_RANK=1\n"
               "== pid 32\npython -m torch.distributed.run t.py\nName:\tpython3\nState:\tS "
               "(sleeping)\nTgid:\t32\nPid:\t32\nPPid:\t1\nThreads:\t2\nwchan: 0\n");
  const auto rows = test::read_folder(folder.path());
  ASSERT_EQ(rows.processes.size(), 2u);
  EXPECT_EQ(rows.processes[0].rank, Rank(5));
  EXPECT_EQ(rows.processes[0].state, "D");
  EXPECT_EQ(rows.processes[0].parent, 30);
  EXPECT_EQ(rows.processes[0].threads, 15);
  EXPECT_EQ(rows.processes[0].wait, "rpc_wait_bit_killable");
  EXPECT_EQ(rows.processes[0].kernel_stack, "rpc_wait_bit_killable;vfs_open");
  EXPECT_EQ(rows.processes[0].command, "python -u t.py");
  EXPECT_EQ(rows.processes[1].rank, std::nullopt);
  EXPECT_EQ(rows.processes[1].wait, "");
  EXPECT_EQ(rows.processes[1].place.line, 15u);
  ASSERT_EQ(rows.identities.size(), 1u);
  EXPECT_EQ(rows.identities[0].pid, 31);
}

TEST(Proc, SingleFiles) {
  const test::Folder folder;
  folder.write("proc/1234/stack", "[<0>] fifo_open+0x2d9/0x330\n[<0>] vfs_open+0x2c/0x100\n");
  folder.write("proc/1234/wchan", "wait_for_partner");
  folder.write("proc/1234/cmdline", std::string_view("python\0-u\0t.py\0", 15));
  folder.write("proc/1234/environ", std::string_view("PATH=/bin\0RANK=3\0LOCAL_RANK=3\0", 30));
  folder.write(
      "proc/1234/status",
      "Name:\tpython3\nState:\tS (sleeping)\nTgid:\t1234\nPid:\t1234\nPPid:\t7\nThreads:\t2\n");
  folder.write("proc/1234/task/1240/status",
               "Name:\tpt_autograd\nState:\tD (disk "
               "sleep)\nTgid:\t1234\nPid:\t1240\nPPid:\t7\nThreads:\t2\n");
  folder.write("proc/1234/task/1241/wchan", "futex_do_wait");
  const auto rows = test::read_folder(folder.path());
  EXPECT_EQ(rows.processes.size(), 6u);
  std::string told;
  for (const auto& row : rows.processes) {
    EXPECT_EQ(row.pid, 1234);
    told += row.kernel_stack + row.wait + row.command +
            (row.rank ? "rank" + std::to_string(number_of(*row.rank)) : "") + row.state + " ";
  }
  EXPECT_EQ(told, "python -u t.py rank3 fifo_open;vfs_open S D wait_for_partner ");
  for (const auto& member : rows.members) EXPECT_EQ(member.rejected, 0u) << member.path;
}

TEST(ProcessCorpus, FourViewsOfOneMachine) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/bundles/hang-a/bundle";
  if (std::string(CULPRIT_SHARED_DIR).empty() || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "no samples here";
  const auto rows = test::read_folder(folder);
  std::map<std::string, std::map<std::int64_t, std::optional<std::int64_t>>> parents;
  std::map<MemberId, std::map<std::int64_t, std::optional<std::int64_t>>> by_member;
  for (const auto& row : rows.processes) {
    if (row.source == "stack") continue;
    parents[row.source][row.pid] = row.parent;
    by_member[row.place.member][row.pid] = row.parent;
    if (row.pid == 31446 && !row.wait.empty()) { EXPECT_EQ(row.wait, "wait_for_partner"); }
    if (row.pid == 31446 && row.source == "proc") { EXPECT_EQ(row.rank, Rank(5)); }
  }
  EXPECT_EQ(parents.size(), 3u);
  for (const auto& [source, of_source] : parents)
    for (const auto& [pid, parent] : of_source)
      if (const auto it = parents["proc"].find(pid); it != parents["proc"].end() && parent) {
        EXPECT_EQ(it->second, parent) << source << " " << pid;
      }
  EXPECT_EQ(parents["pstree"].size(), 21u);
}

}  // namespace
}  // namespace culprit::ingest
