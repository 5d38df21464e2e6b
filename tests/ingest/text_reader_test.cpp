#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;

const char* const kXid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1812, GPU has fallen off the bus.";

std::uint64_t total(const Rows& rows, const std::string& event_class = "") {
  std::uint64_t n = 0;
  for (const auto& e : rows.events)
    if (event_class.empty() || e.event_class == event_class) n += e.count;
  return n;
}

// Lines that speak of an error in words that no rule knows.
std::size_t unknown_errors(const std::string& line) {
  const Rows rows = read_text("start\n" + line + "\nend\n");
  return static_cast<std::size_t>(std::ranges::count_if(
      rows.events, [](const EventRow& e) { return e.event_class.starts_with("error_line/"); }));
}

TEST(ErrorLine, AReadingOfACounterIsNone) {
  EXPECT_EQ(unknown_errors("frobnicator error: the spline could not be reticulated"), 1u);
  EXPECT_EQ(unknown_errors("Link Error Recovery Counter        : 0"), 0u);
  EXPECT_EQ(unknown_errors("Error Information Log Entries:      2"), 0u);
}

// Lines that cannot hold a time are not taken apart to look for one.
TEST(Edges, EveryFormOfATimeIsTheFirstAndTheLastOfAText) {
  for (const char* time :
       {"2026-11-21T03:19:38.1Z", "2026-11-21 03:19:38", "[2026-11-21 03:19:38,123]",
        "20261121T031938Z", "21.11.2026 03:19:38", "11/21/2026 03:19:38", "Nov 21 03:19:38",
        "Sat Nov 21 03:19:38 2026", "I1121 03:19:38.123456 4711 a.cc:12]", "[1795231178.250]",
        "1795231178", "1795231178123", "20261121_031938", "2026-11-21_03-19-38",
        "21/Nov/2026:03:19:38", "time=\"2026-11-21 03:19:38\"",
        "\x1b[32m2026-11-21 03:19:38\x1b[0m", "Sat, 21 Nov 2026 03:19:38 GMT",
        "{\"time\":\"2026-11-21T03:19:38Z\",\"msg\":\"a\"}"}) {
    std::string text = "loaded 12 of 400 shards (v1.2)\n";
    const bool record = time[0] == '{';
    for (int i = 0; i < 8; ++i)
      text += std::string(time) + (record ? "\n" : " loaded 12 of 400 shards\n");
    text += "    wait (threading.py:320)\n";
    const auto rows = read_text(text);
    std::vector<std::uint64_t> lines;
    for (const auto& c : rows.clocks) lines.push_back(c.place.line);
    EXPECT_EQ(lines.size(), 2u) << time;
    if (!lines.empty()) { EXPECT_EQ(lines.front(), 2u) << time; }
  }
}

TEST(Storm, FoldsAfterTheFirstFew) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("[{:5}.{:06}] NVRM: Xid (PCI:0000:3b:00): 45, pid=7, Ch {:08x}\n",
                        100 + i / 50, i, i);
  text += fmt::format(
      "[  900.000000] NVRM: Xid (PCI:0000:3b:00): 45, pid=7, Ch 5\n[  900.000001] NVRM: Xid "
      "(PCI:0000:5e:00): 45, pid=7, Ch 5\n");
  const auto rows = read_text(text, "kernel");
  EXPECT_EQ(total(rows), 1002u);
  EXPECT_EQ(rows.events.size(), 10u);  // seven, the storm, one after a pause, one of another GPU
  std::uint64_t most = 0;
  for (const auto& e : rows.events)
    if (e.count > most) {
      most = e.count;
      EXPECT_LE(e.place.line, e.last_line);
    }
  EXPECT_EQ(most, 993u);
  EXPECT_EQ(rows.members[0].used, 1002u);
  test::check_places(rows, text);
}

// A message that came in two records stands where its first one does, and is known only behind
// lines of the same storm.
TEST(Storm, BeginsAtItsFirstLineInWhateverOrderItsLinesAreRead) {
  const std::string at = "2026-11-21T03:19:38.000000000Z ";
  const std::string fault =
      "n1:4100:4188 [0] NCCL WARN NET/IB : Got completion from peer n2<41021> with status=12 "
      "opcode=0 len=0 vendor err 129 (Recv)";
  std::string text = at + "stdout P " + fault.substr(0, 62) + "\n";
  for (int i = 0; i < 20; ++i) text += at + "stderr F " + fault + "\n";
  text += at + "stdout F " + fault.substr(62) + "\n";
  const auto rows = read_text(text, "");
  EXPECT_EQ(total(rows), 21u);
  std::uint64_t first = 99, last = 0;
  for (const auto& e : rows.events) {
    EXPECT_LE(e.place.line, e.last_line);
    first = std::min(first, e.place.line);
    last = std::max(last, e.last_line);
  }
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(last, 22u);
  test::check_places(rows, text);
}

TEST(Storm, RepeatsThatTheLoggerLeftOut) {
  const std::string fault = "Nov 21 03:19:38 n1 kernel: " + std::string(kXid) + "\n";
  EXPECT_EQ(total(read_text(
                fault + "Nov 21 03:19:40 n1 rsyslogd: message repeated 5 times: [ " + kXid + "]\n",
                "kernel")),
            6u);
  EXPECT_EQ(
      total(read_text(fault + "Nov 21 03:19:40 n1 last message repeated 5 times\n", "kernel")), 6u);
  const auto far = read_text(
      fault + "ordinary\nordinary\nNov 21 03:19:40 n1 last message repeated 5 times\n", "kernel");
  EXPECT_EQ(total(far, far.events.at(0).event_class), 1u);  // that was another message
}

TEST(Storm, SkippedSimilarMessagesCountForTheirFunction) {
  const std::string lustre =
      "Nov 21 03:19:38 n1 kernel: LustreError: 11-0: lfs-OST0001-osc-ffff: operation ost_write to "
      "node 10.0.0.1@o2ib failed: rc = -107\n"
      "Nov 21 03:19:38 n1 kernel: Lustre: 1234:0:(client.c:2141:ptlrpc_expire_one_request()) @@@ "
      "Request sent has timed out for slow reply: [sent 1/real 1]\n"
      "Nov 21 03:19:39 n1 kernel: ordinary\nNov 21 03:19:40 n1 kernel: Lustre: "
      "1234:0:(client.c:2141:ptlrpc_expire_one_request()) Skipped 24 previous similar messages\n";
  const auto rows = read_text(lustre, "kernel");
  std::uint64_t expired = 0;
  for (const auto& e : rows.events)
    if (e.message.find("ptlrpc_expire_one_request") != std::string::npos) expired += e.count;
  EXPECT_EQ(expired, 25u);
}

TEST(Cri, JoinsPartialRecords) {
  const std::string head = "2026-11-21T03:19:38.123456789Z ";
  const std::string text = head + "stderr F before\n" + head +
                           "stderr P NVRM: Xid (PCI:0000:3b:00): 79, \n" + head +
                           "stdout F something else\n" + head + "stderr P pid=1812, GPU has fal\n" +
                           head + "stderr F len off the bus.\nafter\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].message, kXid);
  EXPECT_EQ(rows.events[0].place.line, 2u);
  EXPECT_EQ(rows.events[0].last_line, 5u);
  EXPECT_EQ(rows.events[0].time.clock, Clock::utc);
  EXPECT_EQ(rows.members[0].used, 3u);
  // cut before the end of the message
  EXPECT_EQ(read_text(head + "stderr P " + kXid + "\n").events.size(), 1u);
}

TEST(Words, BrokenByColoursAndNuls) {
  using namespace std::string_literals;
  for (const std::string& broken :
       {"NVRM: X\0\0\0id (PCI:0000:3b:00): 79, GPU has fallen off the bus"s,
        "NVRM: \x1b[31mXid\x1b[0m (PCI:0000:3b:00): 79, GPU has \x1b[1mfallen\x1b[0m off the bus"s,
        "\0\0\0\0NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus"s}) {
    const std::string text = "first\n" + broken + "\nlast\n";
    const auto rows = read_text(text);
    ASSERT_EQ(rows.events.size(), 1u);
    EXPECT_EQ(rows.events[0].place.line, 2u);
    EXPECT_EQ(rows.events[0].gpu, "0000:3b:00");
    test::check_places(rows, text);
  }
}

TEST(LongLines, GiveEachFaultOnce) {
  std::string text = "start ";
  for (int i = 0; i < 20; ++i)
    text += std::string(20'000, static_cast<char>('a' + i)) + " " + (i % 5 == 0 ? kXid : "x");
  text += "\n" + std::string(kXid) + "\n";
  const auto rows = read_text(text);
  EXPECT_EQ(total(rows), 5u);
  EXPECT_EQ(rows.events.back().place.line, 2u);
  test::check_places(rows, text);
  EXPECT_EQ(rows.members[0].used, 2u);
}

TEST(Lines, EndsOfEveryKind) {
  for (const char* end : {"\n", "\r\n", "\r", ""}) {
    const auto rows = read_text(std::string("a") + (*end ? end : "\n") + kXid + end);
    ASSERT_EQ(rows.events.size(), 1u);
    EXPECT_EQ(rows.events[0].message, kXid);
  }
  EXPECT_EQ(read_text("").members[0].lines, 0u);
  EXPECT_EQ(read_text("\n\n\n").members[0].lines, 3u);
}

// A log with everything in it, mutated.
std::string noise(test::Random& random, std::size_t lines) {
  static const std::vector<std::string> kLines = {
      std::string("[  123.456789] ") + kXid,
      "[rank3]: Traceback (most recent call last):",
      "[rank3]:   File \"/w/a.py\", line 4, in f",
      "[rank3]: ValueError: x",
      "Traceback (most recent call last):",
      "  File \"/w/b.py\", line 5, in g",
      "RuntimeError: CUDA error: an illegal memory access was encountered",
      "During handling of the above exception, another exception occurred:",
      "",
      "gpu-a:1:1 [0] NCCL INFO comm 0x7f00 rank 1 nranks 8 cudaDev 1 busId 53000 commId 0xf9c2 - "
      "Init COMPLETE",
      "gpu-a:1:1 [0] NCCL INFO Init timings busId 5gpu-a:2:2 [1] NCCL INFO comm 0x7f00 rank 9 "
      "nranks 8 - Init COMPLETE",
      "000 commId 0x1 - Init COMPLETE",
      " 3%|#  | 1/50 [00:01<00:02,  1.2s/it]\r 5%|#  | 2/50 [00:01<00:02,  1.2s/it]",
      "iteration 5/ 9 | elapsed time per iteration (ms): 92.1 | lm loss: 1.0 |",
      "{'loss': 2.0, 'grad_norm': 1.5, 'epoch': 0.02}",
      "2026-11-21T03:19:38.5Z stderr P NVRM: Xid (PCI:0000:3b:00): ",
      "2026-11-21T03:19:38.5Z stderr F 79, GPU has fallen off the bus.",
      "Root Cause (first observed failure):",
      "[0]:",
      "  rank      : 8 (local_rank: 0)",
      "  exitcode  : 1 (pid: 499)",
      "  traceback : Traceback (most recent call last):",
      "==========================================================",
      "srun: error: n: task 0: Killed",
      "\x1b[31mNVRM: X\x1b[0mid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
      "Nov 21 03:19:40 n1 last message repeated 5 times",
      "plain words",
      "ordinary output of a program",
      "failed (exitcode: -9) local_rank: 4 (pid: 5) of binary: x",
      "failed (exitcode: "};
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string one = kLines[random.below(kLines.size())];
    if (random.below(12) == 0 && !one.empty())
      one[random.below(one.size())] = static_cast<char>(random.below(256));
    text += one;
    if (random.below(30) != 0) text += random.below(20) == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(Blocks, CutAnywhereGiveTheSameRows) {
  test::Random random;
  for (int round = 0; round < 60; ++round) {
    const std::string text = noise(random, 1 + random.below(150));
    const auto whole = read_text(text);
    test::check_places(whole, text);
    std::vector<std::size_t> ends;
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      if (random.below(6) == 0) ends.push_back(at + 1);
    const auto cut = read_text(text, "", ends);
    ASSERT_EQ(whole.log, cut.log) << "round " << round;
  }
}

TEST(Ingest, ThreadsGiveTheSameRows) {
  test::Random random;
  test::Folder folder;
  folder.write("node1/big.log", noise(random, 60'000));  // several blocks
  folder.write("node1/small.log", noise(random, 50));
  folder.write("node2/empty.log", "");
  folder.write(
      "node2/error.json",
      R"({"message": {"message": "ValueError: x", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"/w/a.py\", line 4, in f\nValueError: x\n", "timestamp": "1795231961"}}})");
  folder.write("node2/long.log", std::string(3 << 20, 'x') + "\n" + kXid + "\n");
  const auto one = test::read_folder(folder.path(), 1);
  EXPECT_EQ(one.members.size(), 5u);
  EXPECT_GT(one.events.size(), 100u);
  for (const int threads : {2, 4}) {
    const auto many = test::read_folder(folder.path(), threads);
    EXPECT_TRUE(many.log == one.log) << threads;
    EXPECT_TRUE(many.times == one.times) << threads;
  }
  const auto& xid = one.events.back();
  EXPECT_EQ(xid.place.offset, (3u << 20) + 1);
}

TEST(Ingest, TheLedgerHoldsForEveryRealSample) {
  const std::string folder = CULPRIT_SHARED_DIR;
  if (!std::filesystem::is_directory(folder + "/formats")) GTEST_SKIP() << "no samples here";
  for (const char* part : {"/formats", "/lines"}) {
    const auto rows = test::read_folder(folder + part, 2);
    EXPECT_GT(rows.members.size(), 10u);  // the sums are checked by the sink
    EXPECT_TRUE(rows.problems.empty());
    for (const auto& member : rows.members) {
      std::ifstream stream(folder + part + "/" + member.path, std::ios::binary);
      std::ostringstream bytes;
      bytes << stream.rdbuf();
      const std::string text = bytes.str();
      Rows own;
      const auto keep = [&](const auto& from, auto& to) {
        for (const auto& r : from)
          if (r.place.member == member.id) to.push_back(r);
      };
      keep(rows.events, own.events);
      if (member.format.find("json") == std::string::npos && member.format != "process-dump") {
        for (const auto& r : rows.tracebacks)
          if (r.place.member == member.id && r.source == "log") own.tracebacks.push_back(r);
        keep(rows.exits, own.exits);
        keep(rows.progress, own.progress);
        keep(rows.identities, own.identities);
        test::check_places(own, text);
      }
    }
  }
}

}  // namespace
}  // namespace culprit::ingest
