#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_dump;
using test::spell;

TEST(Faulthandler, Dump) {
  const std::string text =
      "Thread 0x00007f870ffff6c0 [QueueFeeder] (most recent call first):\n  File "
      "\"/usr/lib/python3.11/threading.py\", line 320 in wait\n  File "
      "\"/usr/lib/python3.11/threading.py\", line 995 in _bootstrap\n\n"
      "Current thread 0x00007f8742276040 (most recent call first):\n  File \"/w/data.py\", line 27 "
      "in refresh\n  File \"/w/train.py\", line 126 in <module>\n";
  const auto rows = read_dump(text, "faulthandler/rank5_pid99.txt");
  test::check_places(rows, text);
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].thread, "QueueFeeder");
  EXPECT_EQ(rows.stacks[0].thread_id, "0x00007f870ffff6c0");
  EXPECT_EQ(rows.stacks[0].pid, 99);
  EXPECT_FALSE(rows.stacks[0].main);
  EXPECT_TRUE(rows.stacks[1].main);
  EXPECT_EQ(spell(rows.stacks[1].frames), "refresh@/w/data.py:27 <module>@/w/train.py:126");
  EXPECT_TRUE(rows.tracebacks.empty());
}

TEST(Faulthandler, FatalErrorTimeoutAndMachineFrames) {
  const auto rows = read_dump(
      "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007fb899f39700 (most recent "
      "call first):\n  File \"<stdin>\", line 1 in <module>\n\nCurrent thread's C stack trace "
      "(most recent call first):\n  Binary file \"/opt/python\", at _Py_DumpStack+0x42 [0x5b27]\n"
      "  Binary file \"/lib/libc.so.6\", at +0x3def0 [0x77b7]\n\nExtension modules: torch._C, "
      "numpy.core._multiarray_umath (total: 2)\n");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(spell(rows.stacks[1].frames), "!_Py_DumpStack[/opt/python] !?[/lib/libc.so.6]");
  EXPECT_EQ(rows.stacks[1].thread_id, "0x00007fb899f39700");
  const auto late = read_dump(
      "Timeout (0:00:30)!\nThread 0x00007fb899f39700 (most recent call first):\n  <no Python "
      "frame>\n");
  ASSERT_EQ(late.stacks.size(), 1u);
  EXPECT_EQ(late.stacks[0].problem, "no Python frame");
  const auto deep = read_dump(
      "Current thread 0x00007fb899f39700 (most recent call first):\n  File \"a.py\", line 1 in f\n "
      " File ???, line ??? in ???\n  ...\n");
  EXPECT_TRUE(deep.stacks.at(0).main);
  EXPECT_EQ(spell(deep.stacks[0].frames), "f@a.py:1 ?");
}

TEST(Faulthandler, AmongTheLinesOfALog) {
  const std::string text =
      "[default3]:Fatal Python error: Segmentation fault\n[default3]:\n[default3]:Current thread "
      "0x00007fb899f39700 (most recent call first):\n[default2]:step 5\n[default3]:  File "
      "\"/w/a.py\", line 4 in f\n[default3]:  File \"/w/a.py\", line 9 in <module>\n"
      "[default3]:RuntimeError: CUDA error: an illegal memory access was encountered\nTraceback "
      "(most recent call last):\n  File \"/w/b.py\", line 5, in g\n    h()\nValueError: x\n";
  const auto rows = test::read_text(text);
  ASSERT_EQ(rows.stacks.size(), 1u);
  EXPECT_EQ(rows.stacks[0].local_rank, LocalRank(3));
  EXPECT_EQ(rows.stacks[0].frames.size(), 2u);
  ASSERT_EQ(rows.tracebacks.size(), 1u);
  EXPECT_EQ(rows.tracebacks[0].file, "/w/b.py");
  bool fault = false;
  for (const auto& event : rows.events) fault = fault || event.place.line == 7;
  EXPECT_TRUE(fault);
  test::check_places(rows, text);
  // A traceback that a fault interrupts, and one that a fault follows.
  const auto torn = test::read_text(
      "Traceback (most recent call last):\n  File \"/w/b.py\", line 5, in g\nThread "
      "0x00007fb899f39700 (most recent call first):\n  File \"/w/a.py\", line 4 in f\n");
  EXPECT_EQ(torn.stacks.size(), 1u);
  EXPECT_EQ(torn.reasons(), "1:traceback.unfinished");
}

TEST(Faulthandler, WhatIsNoHead) {
  EXPECT_TRUE(test::read_text("Exception raised from checkTimeout at x.cpp:609 (most recent call "
                              "first):\nframe #0: c10::Error\nThread 12 (most recent call "
                              "first):\nThread 0xzz (most recent call first):\n")
                  .stacks.empty());
  EXPECT_EQ(read_dump("Current thread 0x00007fb899f39700 (most recent call first):\n  File \"" +
                      std::string(1'000'000, 'a') + "\", line 1 in f\n")
                .stacks.size(),
            1u);
  EXPECT_EQ(read_dump("Current thread 0x00007fb899f39700 (most recent call first):\n  File "
                      "\"a.py\", line 99999999999999999999 in f\n")
                .stacks.at(0)
                .problem,
            "no frames");
}

test::Rows dot(const std::string& bytes) {
  const test::Folder folder;
  folder.write("stat/00_run.0001.3D.dot", bytes);
  return test::read_folder(folder.path());
}

TEST(StatDot, RanksStopWhereNoEdgeGoesOn) {
  const std::string head =
      "digraph G {\n\tgraph [type=\"stat_4_1\"];\n\tnode [shape=record];\n\t0 [pos=\"0,0\", "
      "label=\"/\", function=\"/\"];\n\t1 [pos=\"0,0\", label=\"\\<module\\>@a.py:9\", "
      "function=\"<module>\", source=\"a.py\", line=\"9\"];\n"
      "\t2 [pos=\"0,0\", label=\"wait@work.cpp:3\"];\n\t3 [pos=\"0,0\", "
      "label=\"refresh@data.py:27\", function=\"refresh\", source=\"data.py\", line=\"27\"];\n";
  const auto rows = dot(head +
                        "\t0 -> 1 [label=\"8:[0-7]\", bv=\"[0-7]\", count=\"8\"]\n\t1 -> 2 "
                        "[label=\"6(12):[0-3,6,7]\"]\n\t1 -> 3 [label=\"1:[5]\"]\n}\n");
  ASSERT_EQ(rows.stacks.size(), 3u);
  EXPECT_EQ(rows.members[0].format, "stat-dot");
  EXPECT_EQ(rows.stacks[0].ranks, "4");
  EXPECT_EQ(spell(rows.stacks[0].frames), "<module>@a.py:9");
  EXPECT_EQ(rows.stacks[1].ranks, "0-3,6,7");
  EXPECT_EQ(spell(rows.stacks[1].frames), "!wait@work.cpp:3 <module>@a.py:9");
  EXPECT_EQ(rows.stacks[2].ranks, "5");
  EXPECT_EQ(rows.stacks[2].place.line, 10u);
  EXPECT_TRUE(rows.rejects.empty());
  const auto cut = dot(head + "\t0 -> 1 [label=\"8:[0-7]\"]\n\t1 -> 2 [label=\"6:[0-");
  EXPECT_EQ(cut.rejects.at(0).reason, "stat.cut");
  EXPECT_EQ(dot(head + "}\n").reasons(), "0:stat.no_edges");
  EXPECT_EQ(
      dot(head + "\t1 -> 2 [label=\"1:[0]\"]\n\t2 -> 1 [label=\"2:[0,1]\"]\n}\n").members[0].lines,
      1u);  // a graph that bites its tail
}

}  // namespace
}  // namespace culprit::ingest
