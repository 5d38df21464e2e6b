#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_dump;
using test::spell;
using namespace std::string_literals;

TEST(Pyspy, ThreadsOfAProcess) {
  const std::string text =
      "Process 4100: python3 -u train.py --steps 5\nPython v3.11.2 (/usr/bin/python3.11)\n\n"
      "Thread 4100 (active+gil): \"MainThread\"\n    all_reduce "
      "(torch/distributed/distributed_c10d.py:2501)\n    train_step (train.py:40)\n    <module> "
      "(train.py:90)\n"
      "Thread 4177 (idle): \"Thread-1 (_serve)\"\n    accept (socket.py:294)\n    _bootstrap "
      "(threading.py:995)\n";
  const auto rows = read_dump(text);
  test::check_places(rows, text);
  ASSERT_EQ(rows.stacks.size(), 2u);
  const StackRow& main = rows.stacks[0];
  EXPECT_EQ(main.source, "pyspy");
  EXPECT_EQ(main.pid, 4100);
  EXPECT_EQ(main.tid, 4100);
  EXPECT_TRUE(main.main);
  EXPECT_EQ(main.thread, "MainThread");
  EXPECT_EQ(main.state, "active+gil");
  EXPECT_EQ(main.command, "python3 -u train.py --steps 5");
  EXPECT_EQ(spell(main.frames),
            "all_reduce@torch/distributed/distributed_c10d.py:2501 train_step@train.py:40 "
            "<module>@train.py:90");
  EXPECT_EQ(main.place.line, 5u);  // the frame it is in, not the head
  EXPECT_EQ(text.substr(main.place.offset, main.place.length).substr(0, 14), "    all_reduce");
  EXPECT_TRUE(text.substr(main.place.offset, main.place.length).ends_with("(train.py:90)"));
  EXPECT_EQ(rows.stacks[1].tid, 4177);
  EXPECT_EQ(rows.stacks[1].pid, 4100);
  EXPECT_EQ(rows.stacks[1].thread, "Thread-1 (_serve)");
  EXPECT_FALSE(rows.stacks[1].main);
  ASSERT_EQ(rows.processes.size(), 1u);
  EXPECT_EQ(rows.processes[0].source, "stack");
  EXPECT_EQ(rows.processes[0].pid, 4100);
  EXPECT_EQ(rows.members[0].used, 10u);
}

// What a collection of garbage stopped has a frame that is none, or a word behind its state.
TEST(Pyspy, AMainThreadThatCollectsGarbage) {
  const auto events = [](const std::string& state, const std::string& behind,
                         const std::string& frame) {
    return read_dump(
               "Process 7: python3 fit.py\nPython v3.11.8 (/usr/bin/python3)\n\n"
               "Thread 7 (" +
               state + "): \"MainThread\"" + behind + "\n" + frame +
               "    step (fit.py:7)\n    <module> (fit.py:9)\n")
        .events.size();
  };
  EXPECT_EQ(events("active+gil", "", ""), 0u);
  EXPECT_EQ(events("active+gil+gc", "", ""), 1u);
  EXPECT_EQ(events("active+gil", "", "    <garbage collection>\n"), 1u);
  EXPECT_EQ(events("active+gil", "  <garbage collection>", ""), 1u);
}

// Ranks of nodes and groups, and prose, name no rank; and a heading is of one process.
TEST(Pyspy, HeadingsOfOtherThings) {
  const auto ranks = [](const std::string& heading) {
    const std::string dump =
        "Process 7: python3 fit.py\nPython v3.11.8 (/usr/bin/python3)\n\n"
        "Thread 7 (active): \"MainThread\"\n    step (fit.py:7)\n    <module> (fit.py:9)\n\n";
    std::string other = dump;
    for (std::size_t at; (at = other.find(" 7")) != std::string::npos;) other.replace(at, 2, " 8");
    std::vector<std::optional<Rank>> out;
    for (const StackRow& row : read_dump(heading + "\n" + dump + other).stacks)
      out.push_back(row.rank);
    return out;
  };
  using Ranks = std::vector<std::optional<Rank>>;
  EXPECT_EQ(ranks("=== rank 5"), (Ranks{Rank(5), std::nullopt}));
  EXPECT_EQ(ranks("=== tp rank 0 pp rank 1 global_rank 12"), (Ranks{Rank(12), std::nullopt}));
  EXPECT_EQ(ranks("### node rank 0, local rank 3"), (Ranks{std::nullopt, std::nullopt}));
  EXPECT_EQ(ranks("# dump of all ranks; compare with rank 0"), (Ranks{std::nullopt, std::nullopt}));
  EXPECT_EQ(ranks("rank 5 reported the timeout first, so dump all"),
            (Ranks{std::nullopt, std::nullopt}));
}

// What a collector's loop prints above each dump is all that ties it to a rank.
TEST(Pyspy, HeadingsNameTheRank) {
  const auto rows = read_dump(
      "# cx-07  all ranks, 07:48\n=== rank 9 (local 1) pid 609\n"
      "Process 609: python3 fit.py\nPython v3.11.8 (/usr/bin/python3)\n\n"
      "Thread 609 (active): \"MainThread\"\n    step (fit.py:7)\n    <module> (fit.py:9)\n\n"
      "### cx-07 local_rank 2\n"
      "Thread 0x7F4A (active): \"MainThread\"\n    step (fit.py:7)\n    <module> (fit.py:9)\n");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].rank, Rank(9));
  EXPECT_EQ(rows.stacks[0].local_rank, LocalRank(1));
  EXPECT_EQ(rows.stacks[1].rank, std::nullopt);
  EXPECT_EQ(rows.stacks[1].local_rank, LocalRank(2));
  ASSERT_EQ(rows.processes.size(), 1u);
  EXPECT_EQ(rows.processes[0].rank, Rank(9));
}

// PyTorch's debug server asks every rank, and one may not answer.
TEST(Pyspy, HeadingsOfTheDebugServerNameTheMachineToo) {
  const auto rows = read_dump(
      "=== Rank 0: http://cx-07.site:42151/handler/dump_traceback? ===\n"
      "Thread 0x00007fe081a22740 (most recent call first):\n"
      "  File \"/home/u/fit.py\", line 7 in step\n  File \"/home/u/fit.py\", line 9 in <module>\n\n"
      "=== Rank 1: http://cx-07.site:42152/handler/dump_traceback? ===\nError: 500\n"
      "=== Rank 2: http://cx-08.site:42151/handler/dump_traceback? ===\n"
      "Thread 0x00007fe081a22740 (most recent call first):\n"
      "  File \"/home/u/fit.py\", line 7 in step\n  File \"/home/u/fit.py\", line 9 in <module>\n");
  ASSERT_EQ(rows.stacks.size(), 3u);
  EXPECT_EQ(rows.stacks[0].rank, Rank(0));
  EXPECT_FALSE(rows.stacks[0].host) << "it may be a proxy";
  EXPECT_EQ(rows.stacks[1].rank, Rank(1));
  EXPECT_EQ(rows.stacks[1].problem, "500");
  EXPECT_EQ(rows.stacks[2].rank, Rank(2));
  ASSERT_EQ(rows.identities.size(), 3u);
  EXPECT_EQ(rows.identities[2].host, Host("cx-08.site"));
  EXPECT_EQ(rows.identities[2].rank, 2);
}

TEST(Pyspy, NativeFramesAndLocals) {
  const auto rows = read_dump(
      "Process 7: python a.py\nPython v3.12.0 (/usr/bin/python3)\n\nThread 7 (active): "
      "\"MainThread\"\n    __poll (libc.so.6)\n    0x7caaa50b1a9b (?)\n    std::function<void "
      "(int)>::operator()(int) const (libtorch.so)\n"
      "    run_loop (loop.cpp:88)\n    wait (threading.py:320)\n        Arguments:\n            "
      "self: <Event at 0x7f>\n            text: 'a\nThread of thought'\n        Locals:\n          "
      "  n: 3\n    <module> (<string>:1)\n    _run_code (<frozen runpy>)\n");
  ASSERT_EQ(rows.stacks.size(), 1u);
  EXPECT_EQ(
      spell(rows.stacks[0].frames),
      "!__poll[libc.so.6] !? !std::function<void (int)>::operator()(int) const[libtorch.so] "
      "!run_loop@loop.cpp:88 wait@threading.py:320 <module>@<string>:1 _run_code@<frozen runpy>");
}

TEST(Pyspy, ChildrenAndConcatenatedDumps) {
  const auto rows = read_dump(
      "Process 10: python t.py\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 10 (idle): "
      "\"MainThread\"\n    f (t.py:1)\n\n"
      "--------------------------------------------------------------------------------\n"
      "Process 11: python t.py\nPython v3.11.2 (/usr/bin/python3.11)\nParent Process 10: python "
      "t.py\n\nThread 11 (idle): \"MainThread\"\n    _worker_loop "
      "(torch/utils/data/_utils/worker.py:269)\n"
      "Process 20: ray::TrainWorker\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 20 (idle): "
      "\"MainThread\"\n    g (t.py:2)\n");
  ASSERT_EQ(rows.stacks.size(), 3u);
  EXPECT_EQ(rows.stacks[1].pid, 11);
  EXPECT_EQ(rows.stacks[2].pid, 20);
  ASSERT_EQ(rows.processes.size(), 3u);
  EXPECT_EQ(rows.processes[1].parent, 10);
  EXPECT_EQ(rows.processes[2].command, "ray::TrainWorker");
}

TEST(Pyspy, WithoutAHead) {
  const std::string text =
      "Thread 0x7F6D3C29D740 (idle): \"MainThread\"\n    f (a.py:1)\nThread 0x7F6CF5FFB700 "
      "(idle)\n    _bootstrap (threading.py:9)\n";
  const auto rows = read_dump(text, "stacks/pyspy/rank5_pid31446.txt");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].thread_id, "0x7F6D3C29D740");
  EXPECT_EQ(rows.stacks[0].tid, std::nullopt);
  EXPECT_EQ(rows.stacks[0].pid, 31446);
  EXPECT_TRUE(rows.stacks[0].main);
  EXPECT_EQ(rows.stacks[1].pid, 31446);
  EXPECT_EQ(read_dump(text, "node01/pyspy/1234.txt").stacks[0].pid, 1234);
  EXPECT_EQ(read_dump(text, "pyspy/all.txt").stacks[0].pid, std::nullopt);
  // On Linux the main thread has the number of its process.
  const auto pasted = read_dump(
      "Thread 835995 (active): \"MainThread\"\n    broadcast (c.py:1)\nThread 836001 (idle): "
      "\"x\"\n    g (c.py:2)\nThread 900 (active): \"MainThread\"\n    f (c.py:1)\n",
      "pasted.txt");
  ASSERT_EQ(pasted.stacks.size(), 3u);
  EXPECT_EQ(pasted.stacks[1].pid, 835995);
  EXPECT_EQ(pasted.stacks[2].pid, 900);
}

TEST(Pyspy, AnErrorIsARowWithItsReason) {
  const auto rows =
      read_dump("Error: Failed to suspend process\nReason: EPERM: Operation not permitted\n",
                "stacks/pyspy/rank3_pid88.txt");
  ASSERT_EQ(rows.stacks.size(), 1u);
  EXPECT_EQ(rows.stacks[0].problem, "Failed to suspend process: EPERM: Operation not permitted");
  EXPECT_EQ(rows.stacks[0].pid, 88);
  EXPECT_TRUE(rows.stacks[0].frames.empty());
  EXPECT_EQ(rows.members[0].used, 2u);
}

TEST(Pyspy, InALogItTakesItsOwnLinesOnly) {
  const std::string text =
      "2026-11-21 03:00:00,000 step 4\n[rank3]: Thread 4100 (idle): \"MainThread\"\n[rank3]:     f "
      "(a.py:1)\n[rank3]:     <module> (a.py:9)\n[rank3]: RuntimeError: CUDA error: an illegal "
      "memory access was encountered\n"
      "    torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const auto rows = test::read_text(text);
  ASSERT_EQ(rows.stacks.size(), 1u);
  EXPECT_EQ(rows.stacks[0].rank, Rank(3));
  EXPECT_EQ(rows.stacks[0].pid, 4100);
  EXPECT_EQ(rows.stacks[0].frames.size(), 2u);
  EXPECT_FALSE(rows.events.empty());
  test::check_places(rows, text);
}

TEST(Pyspy, Hostile) {
  std::string deep = "Thread 5 (idle): \"MainThread\"\n";
  for (int i = 0; i < 20'000; ++i) deep += "    f (a.py:" + std::to_string(i + 1) + ")\n";
  deep += "    <module> (a.py:7)\n";
  const auto rows = read_dump(deep);
  ASSERT_EQ(rows.stacks.size(), 1u);
  EXPECT_EQ(rows.stacks[0].frames.size(), 1'000u);
  EXPECT_EQ(rows.stacks[0].frames.back().function, "<module>");
  EXPECT_EQ(rows.members[0].used, 20'002u);

  const std::string wide = "Thread 5 (idle): \"MainThread\"\n    " + std::string(1'000'000, 'x') +
                           " (a.py:1)\n    g (b.py:2)\n";
  EXPECT_EQ(read_dump(wide).stacks.size(), 1u);
  EXPECT_EQ(
      read_dump("Thread 99999999999999999999999 (idle): \"x\"\n    f (a.py:1)\n").stacks.size(),
      0u);
  EXPECT_EQ(
      read_dump("Thread 5 (idle): \"MainThread\"\n    f (a.py:99999999999999999999999)\n    g (")
          .stacks.size(),
      1u);
  EXPECT_EQ(
      read_dump("Thread 5 (idle): \"Main\0Thread\"\n\0\0\0    f (a.py:1)\n"s).members[0].lines, 2u);
  EXPECT_EQ(read_dump("Thread 5 (idle): \"MainThread\"\n").stacks.at(0).problem, "no frames");
}

test::Rows json_dump(const std::string& bytes,
                     const std::string& name = "stacks/rank1_pid77.json") {
  const test::Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

std::string thread(int pid, const std::string& name, const std::string& frames,
                   const std::string& more = "") {
  return "{\n \"pid\": " + std::to_string(pid) +
         ",\n \"thread_id\": 140025704902720, \"thread_name\": \"" + name +
         "\", \"os_thread_id\": " + (more.empty() ? std::to_string(pid) : more) +
         ", \"active\": true, \"owns_gil\": false, \"frames\": [" + frames +
         "], \"process_info\": null}";
}
const std::string kFrame =
    R"({"name": "send", "filename": "/w/torch/c10d.py", "module": null, "short_filename": "torch/c10d.py", "line": 12, "locals": null})";

TEST(PyspyJson, Threads) {
  const auto rows = json_dump(
      "[" +
      thread(
          41, "MainThread",
          kFrame +
              R"(,{"name": "poll", "filename": "libc.so.6", "module": "libc.so.6", "short_filename": null, "line": 0})") +
      ",\n" + thread(41, "Feeder", kFrame, "null") + "]\n");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.members[0].format, "pyspy-json");
  EXPECT_EQ(rows.stacks[0].pid, 41);
  EXPECT_TRUE(rows.stacks[0].main);
  EXPECT_EQ(rows.stacks[0].state, "active");
  EXPECT_EQ(spell(rows.stacks[0].frames), "send@torch/c10d.py:12 !poll@libc.so.6[libc.so.6]");
  EXPECT_EQ(rows.stacks[0].place.line, 1u);
  EXPECT_EQ(rows.stacks[1].place.line, 4u);
  EXPECT_EQ(rows.stacks[1].thread_id, "0x7F5A46667040");
}

TEST(PyspyJson, SeveralArraysWrappersAndCutTails) {
  const std::string one = thread(41, "MainThread", kFrame);
  EXPECT_EQ(json_dump("[" + one + "]\n[" + thread(42, "MainThread", kFrame) + "]").stacks.size(),
            2u);
  const auto wrapped =
      json_dump(R"({"Ok":{"pid":55,"binary":"python","stack_traces":[)" + one + "]}}");
  ASSERT_EQ(wrapped.stacks.size(), 1u);
  EXPECT_EQ(wrapped.stacks[0].pid, 41);
  const std::string text = "[" + one + ",\n" + one;
  const auto cut = json_dump(text.substr(0, text.size() - 40));
  EXPECT_EQ(cut.stacks.size(), 1u);
  EXPECT_EQ(cut.reasons(), "4:pyspy.cut");
  EXPECT_EQ(json_dump(("[" + one).substr(0, 190)).reasons(), "0:pyspy.cut");
}

TEST(PyspyCorpus, EveryFileTellsItsProcess) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/bundles/hang-a/bundle/stacks";
  if (std::string(CULPRIT_SHARED_DIR).empty() || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "no samples here";
  const auto rows = test::read_folder(folder);
  std::map<MemberId, std::vector<const StackRow*>> of_member;
  for (const auto& row : rows.stacks) of_member[row.place.member].push_back(&row);
  for (std::size_t i = 0; i < rows.members.size(); ++i) {
    const std::string& path = rows.members[i].path;
    if (rows.members[i].lines == 0) continue;
    const auto& stacks = of_member[static_cast<MemberId>(i + 1)];
    ASSERT_FALSE(stacks.empty()) << path;
    const std::size_t dot = path.rfind('.');
    const std::string pid = path.substr(dot - 5, 5);
    int mains = 0;
    for (const StackRow* row : stacks) {
      EXPECT_EQ(std::to_string(row->pid.value_or(0)), pid) << path;
      mains += row->main;
    }
    EXPECT_EQ(mains, 1) << path;
    EXPECT_EQ(rows.members[i].rejected, 0u) << path;
  }
  int seen = 0;
  for (const auto& row : rows.stacks) {
    if (row.pid != 31446 || !row.main) continue;
    ++seen;
    const auto python = std::find_if(row.frames.begin(), row.frames.end(),
                                     [](const Frame& f) { return !f.native; });
    if (row.source == "gdb") {
      EXPECT_EQ(row.frames.at(0).function, "__libc_open64");
    } else if (row.source == "eu-stack") {
      EXPECT_EQ(row.frames.at(0).function, "__open");
    } else {
      ASSERT_NE(python, row.frames.end()) << row.source;
      EXPECT_EQ(python->function, "refresh") << row.source;
      EXPECT_TRUE(python->file.ends_with("data.py")) << row.source;
      EXPECT_EQ(python->line, 27) << row.source;
    }
  }
  EXPECT_EQ(seen, 6);  // py-spy twice, gdb, gdb-py, eu-stack, faulthandler
}

}  // namespace
}  // namespace culprit::ingest
