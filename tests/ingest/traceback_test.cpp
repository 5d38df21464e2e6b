#include "ingest/logs/traceback.hpp"

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using Raised = std::vector<std::string>;

constexpr std::string_view kHead = "Traceback (most recent call last):\n";

TEST(Traceback, Plain) {
  const std::string text =
      std::string(kHead) +
      "  File \"/work/train.py\", line 9, in <module>\n    main()\n  File \"/work/train.py\", line "
      "5, in main\n    loss = step(x)\n           ^^^^^^^\n"
      "  File \"/usr/lib/python3.11/site-packages/torch/nn/m.py\", line 77, in forward\n    y\n  "
      "[Previous line repeated 995 more times]\nTypeError: bad operand\nnext line\n";
  const auto rows = read_text("before\n" + text);
  ASSERT_EQ(rows.raised(), (Raised{"TypeError: bad operand"}));
  const TracebackRow& t = rows.tracebacks[0];
  EXPECT_EQ(t.file, "/work/train.py");
  EXPECT_EQ(t.file_line, 5);
  EXPECT_EQ(t.function, "main");
  EXPECT_EQ(t.place.line, 11u) << "the line that names the exception";
  EXPECT_EQ(t.last_line, 11u);
  EXPECT_EQ(t.source, "log");
  test::check_places(rows, "before\n" + text);
}

// A parent prints what its child wrote to stderr.
TEST(Traceback, IndentedAsAWhole) {
  const std::string frames =
      "    File \"/app/eval.py\", line 40, in <module>\n      model = model.cuda()\n              "
      "^^^^^^^^^^^^\n";
  const std::string text =
      "2025-02-19T06:32:02Z child 37770 stderr:\n  " + std::string(kHead) + frames +
      "  RuntimeError: first\n\n  During handling of the above exception, another exception "
      "occurred:\n\n  " +
      std::string(kHead) + frames + "  KeyError: second\n2025-02-19T06:32:03Z parent goes on\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.raised(), (Raised{"RuntimeError: first"}));
  EXPECT_EQ(rows.tracebacks[0].file_line, 40);
  EXPECT_EQ(rows.tracebacks[0].place.line, 6u);
  test::check_places(rows, text);
}

TEST(Traceback, WhatPythonIgnoresIsNoException) {
  const std::string ignored =
      "4: Exception ignored in: <function Loader.__del__ at 0x7f11d8a7c040>\n4: " +
      std::string(kHead) +
      "4:   File \"/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py\", line 1604, "
      "in __del__\n4:     self._shutdown_workers()\n4: AssertionError: can only test a child "
      "process\n";
  const std::string raised = "4: " + std::string(kHead) +
                             "4:   File \"/work/train.py\", line 9, in <module>\n4:     "
                             "main()\n4: ValueError: bad batch\n";
  EXPECT_TRUE(read_text(ignored).raised().empty());
  EXPECT_EQ(read_text(ignored + raised).raised(), (Raised{"ValueError: bad batch"}));
  EXPECT_EQ(read_text(raised + ignored).raised(), (Raised{"ValueError: bad batch"}));
}

// "Training failed due to worker errors:" says below what failed.
TEST(Traceback, AMessageThatAnnouncesTakesTheErrorBelow) {
  const std::string outer = std::string(kHead) +
                            "  File \"/work/fit.py\", line 88, in <module>\n    fit()\n"
                            "x.WorkerGroupError: failed due to worker errors:\n";
  EXPECT_EQ(read_text(outer + "[Rank 0]\ny.RayTaskError(ArrowInvalid): bad footer\n").raised(),
            (Raised{"x.WorkerGroupError: failed due to worker errors: "
                    "y.RayTaskError(ArrowInvalid): bad footer"}));
  const Raised alone{"x.WorkerGroupError: failed due to worker errors:"};
  EXPECT_EQ(read_text(outer + "Epoch: 3 out of memory\n").raised(), alone);
  EXPECT_EQ(read_text(outer + "2026-11-20 03:00:01 OSError: of a logger\n").raised(), alone);
  EXPECT_EQ(read_text(outer + "ok\nValueError: of somebody else\n").raised(), alone);
}

TEST(Traceback, OnlyLibrariesGiveTheInnermost) {
  const auto rows = read_text(std::string(kHead) +
                              "  File \"/usr/lib/python3.11/threading.py\", line 1, in a\n  File "
                              "\"/x/site-packages/torch/b.py\", line 2, in b\nValueError\n");
  ASSERT_EQ(rows.raised(), (Raised{"ValueError: "}));
  EXPECT_EQ(rows.tracebacks[0].file, "/x/site-packages/torch/b.py");
}

TEST(Traceback, InterleavedByRank) {
  std::string text;
  for (const char* line : {"Traceback (most recent call last):", "  File \"/w/a.py\", line %, in f",
                           "    x", "RuntimeError: lost %"})
    for (const char rank : {'3', '5', '7'}) {
      std::string one = line;
      if (const auto at = one.find('%'); at != std::string::npos) one[at] = rank;
      text += std::string("[rank") + rank + "]: " + one + "\n";
    }
  const auto rows = read_text(text);
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> got;
  for (const auto& t : rows.tracebacks)
    got[number_of(t.rank).value_or(-1)] = {t.file_line, t.message};
  EXPECT_EQ(got, (std::map<std::int64_t, std::pair<std::int64_t, std::string>>{
                     {3, {3, "lost 3"}}, {5, {5, "lost 5"}}, {7, {7, "lost 7"}}}));
  EXPECT_EQ(rows.members[0].used, 12u);
  test::check_places(rows, text);
}

TEST(Traceback, PrefixesOfEveryKind) {
  for (const char* prefix : {"[default2]:", "  2: ", "[1,2]<stderr>:", "(W pid=7, ip=10.0.0.1) ",
                             "[2026-11-21 03:19:38,601] ", "2026-11-21T03:19:38.1Z stderr F ",
                             "Nov 21 03:19:38 n1 python[7]: ", "[80746] "}) {
    std::string text;
    for (const char* line : {"Traceback (most recent call last):",
                             "  File \"/w/a.py\", line 4, in f", "    x", "KeyError: 'k'", "other"})
      text += std::string(prefix) + line + "\n";
    const auto rows = read_text(text);
    EXPECT_EQ(rows.raised(), (Raised{"KeyError: 'k'"})) << prefix;
    EXPECT_EQ(rows.members[0].used, 4u) << prefix;
  }
}

TEST(Traceback, DockerRecords) {
  std::string text;
  for (const char* line : {"Traceback (most recent call last):",
                           "  File \\\"/w/a.py\\\", line 4, in f", "KeyError: 'k'"})
    text += std::string(R"({"log":")") + line +
            R"(\n","stream":"stderr","time":"2026-11-21T03:19:38.5Z"})" + "\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.raised(), (Raised{"KeyError: 'k'"}));
  EXPECT_EQ(rows.tracebacks[0].file, "/w/a.py");
}

// Loggers keep it beside the message, as one text or as a list of lines.
TEST(Traceback, FieldsOfAJsonRecord) {
  const std::string text =
      R"("Traceback (most recent call last):\n  File \"/w/a.py\", line 4, in f\nKeyError: 'k'")";
  const std::string list =
      R"(["Traceback (most recent call last):", "  File \"/w/a.py\", line 4, in f", "KeyError: 'k'"])";
  for (const std::string& field :
       {"\"message\": " + text, "\"message\": \"gave up\", \"exc_info\": " + text,
        "\"message\": \"gave up\", \"traceback\": " + list,
        "\"msg\": \"gave up\", \"error\": {\"kind\": \"KeyError\", \"stack\": " + text + "}",
        "\"event\": \"exception\", \"trace\": " + list}) {
    const auto rows = read_text(R"({"time":"2026-11-21T03:19:38.5Z","rank":5,)" + field + "}\n");
    ASSERT_EQ(rows.raised(), (Raised{"KeyError: 'k'"})) << field;
    EXPECT_EQ(rows.tracebacks[0].file, "/w/a.py") << field;
    EXPECT_EQ(rows.tracebacks[0].rank, Rank(5)) << field;
    EXPECT_EQ(rows.tracebacks[0].time.clock, Clock::utc) << field;
  }
}

TEST(Traceback, ChainsKeepTheFirst) {
  for (const char* connector :
       {"During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:"})
    for (const char* more : {"",
                             "CUDA kernel errors might be reported later, so the stack may be "
                             "wrong.\nFor debugging pass a flag.\n"}) {
      const std::string text = std::string(kHead) +
                               "  File \"/w/first.py\", line 1, in f\nRuntimeError: first\n" +
                               more + "\n" + connector + "\n\n" + std::string(kHead) +
                               "  File \"/w/second.py\", line 2, in g\nOSError: second\nafter\n";
      const auto rows = read_text(text);
      ASSERT_EQ(rows.raised(), (Raised{"RuntimeError: first"})) << more;
      EXPECT_EQ(rows.tracebacks[0].file, "/w/first.py");
      EXPECT_EQ(rows.tracebacks[0].last_line,
                static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n') - 1));
    }
}

TEST(Traceback, TwoInARowAreTwo) {
  const std::string one = std::string(kHead) + "  File \"/w/a.py\", line 1, in f\nValueError: ";
  EXPECT_EQ(read_text(one + "a\n" + one + "b\n").raised(),
            (Raised{"ValueError: a", "ValueError: b"}));
  EXPECT_EQ(read_text(one + "a\nmore of a\n\n" + one + "b\n").raised(),
            (Raised{"ValueError: a", "ValueError: b"}));
}

TEST(Traceback, ExceptionGroups) {
  const auto rows = read_text(
      "  + Exception Group Traceback (most recent call last):\n  |   File \"/w/g.py\", line 3, in "
      "go\n  |     async with\n  | ExceptionGroup: unhandled errors in a TaskGroup (2 "
      "sub-exceptions)\n  +-+---------------- 1 ----------------\n"
      "    | Traceback (most recent call last):\n    |   File \"/w/h.py\", line 8, in h\n    |     "
      "x\n    | ValueError: the cause\n    +---------------- 2 ----------------\n"
      "    | Traceback (most recent call last):\n    |   File \"/w/i.py\", line 9, in i\n    | "
      "KeyError: 'other'\n    +------------------------------------\nafter\n");
  ASSERT_EQ(rows.raised(), (Raised{"ValueError: the cause"}));
  EXPECT_EQ(rows.tracebacks[0].file, "/w/h.py");
  EXPECT_EQ(rows.tracebacks[0].last_line, 14u);
}

TEST(Traceback, TornAndCut) {
  const std::string start = std::string(kHead) + "  File \"/w/a.py\", line 1, in f\n    x\n";
  for (const char* end :
       {"", "Killed\n", "WARNING: something\n", "NVRM: Xid\n",
        "[E ProcessGroupNCCL.cpp:458] [Rank 0] x\n", "lower: case\n", "  File \"/w/b"}) {
    const auto rows = read_text(start + end);
    EXPECT_TRUE(rows.tracebacks.empty()) << end;
    EXPECT_EQ(rows.reasons(), "1:traceback.unfinished") << end;
  }
  EXPECT_EQ(read_text(start + "module.sub.CustomError: x").raised(),
            (Raised{"module.sub.CustomError: x"}));
}

TEST(Traceback, AForeignEventIsNotSwallowed) {
  const auto rows = read_text(std::string(kHead) +
                              "  File \"/w/a.py\", line 1, in f\nNVRM: Xid (PCI:0000:3b:00): 79, "
                              "pid=1812, GPU has fallen off the bus.\n");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].place.line, 3u);
  EXPECT_EQ(rows.events[0].gpu, "0000:3b:00");
}

TEST(Traceback, ThePlaceTellsWhatHasNoRoom) {
  const auto class_of = [](const std::string& frame) {
    const auto rows = read_text(
        "Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in main\n  File \"" +
        frame + "\nOSError: [Errno 28] No space left on device\n");
    return rows.tracebacks.empty() ? std::string("none") : rows.tracebacks[0].event_class;
  };
  EXPECT_EQ(class_of("/usr/lib/python3.11/multiprocessing/synchronize.py\", line 57, in __init__"),
            "semaphores_exhausted");
  EXPECT_EQ(class_of("/usr/lib/python3.11/multiprocessing/heap.py\", line 83, in __init__"),
            "shm_exhausted");
  EXPECT_EQ(
      class_of(
          "/opt/venv/lib/python3.11/site-packages/torch/serialization.py\", line 604, in _save"),
      "disk_full");
}

TEST(Traceback, ThroughEveryPrefix) {
  for (const char* prefix :
       {"(EngineCore_DP0 pid=81) ERROR 06-30 13:53:19 [core.py:515] ",
        "(RayTrainWorker pid=615, ip=10.72.7.6) ", "[pod/ddp-worker-0/trainer] ",
        "[1,3]<stderr>:", "Sat Nov 21 03:19:38 2026[1,3]<stderr>:",
        "2026-11-21T03:19:38.123Z: [1,3]<stderr>:", "[2026-11-21T03:19:38Z] fa88a9df || ",
        "2026-11-21 03:19:38.215 | ERROR    | app.train:main:12 - "}) {
    std::string text;
    for (const char* line : {"Traceback (most recent call last):",
                             "  File \"/w/a.py\", line 3, in f", "    go()", "KeyError: 'x'"})
      text += std::string(prefix) + line + "\n";
    const auto rows = read_text(text);
    EXPECT_EQ(rows.raised(), (std::vector<std::string>{"KeyError: 'x'"})) << prefix;
    if (!rows.tracebacks.empty()) { EXPECT_EQ(rows.tracebacks[0].file, "/w/a.py") << prefix; }
    // The last line alone says it, too.
    const auto bare =
        read_text(std::string(prefix) + "RuntimeError: the index of the shards is stale\n");
    ASSERT_EQ(bare.events.size(), 1u) << prefix;
    EXPECT_EQ(bare.events[0].event_class, "py_exception") << prefix;
  }
}

TEST(SplitException, KnowsTypes) {
  struct Case {
    const char* line;
    bool is;
    const char* type;
    const char* message;
  };
  for (const Case& c :
       {Case{"TypeError: bad", true, "TypeError", "bad"},
        {"torch.cuda.OutOfMemoryError: CUDA", true, "torch.cuda.OutOfMemoryError", "CUDA"},
        {"KeyboardInterrupt", true, "KeyboardInterrupt", ""},
        {"AssertionError: ", true, "AssertionError", ""},
        {"Exception: a: b", true, "Exception", "a: b"},
        {"lower: x", false, "", ""},
        {"Two words: x", false, "", ""},
        {"ERROR: x", false, "", ""},
        {"Killed", false, "", ""},
        {"", false, "", ""},
        {"a..B: x", false, "", ""}}) {
    std::string type, message;
    ASSERT_EQ(split_exception(c.line, type, message), c.is) << c.line;
    if (c.is) { EXPECT_EQ(type + "|" + message, std::string(c.type) + "|" + c.message); }
  }
}

}  // namespace
}  // namespace culprit::ingest
