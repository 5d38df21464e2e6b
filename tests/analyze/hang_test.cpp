// The joined answer: what proves that nothing stood still, and what absence tells.
#include <gtest/gtest.h>

#include "analyze/hang/hang.hpp"
#include "analyze/faults/silence.hpp"
#include "model/confidence.hpp"
#include "support/dumps.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kDumped = 1'795'000'000 * kSecond;

// A dump in which rank 1 has not finished what its peers have, and a log with a line every `pace`,
// that ends `after` the dump.
Facts dumped_and_logged(Nanoseconds pace, Nanoseconds after) {
  Facts facts;
  CollectiveSample sample;
  sample.row.time = {Clock::utc, kDumped, 0};
  facts.collectives.push_back(sample);
  ProgressSpan span;
  span.framework = "megatron";
  span.rows = 31;
  span.first.iteration = 100;
  span.last.iteration = 130;
  span.last.time_ns = kDumped + after;
  span.first.time_ns = *span.last.time_ns - 30 * pace;
  facts.progress.push_back(span);
  return facts;
}

std::vector<Finding> judged(const Facts& facts) {
  CollectiveReport report;
  report.source = CollectiveSource::recorder;
  report.pending = 1;
  Leaf leaf;
  leaf.kind = StopKind::device_stopped;
  leaf.ranks = Ranks({1});
  leaf.waiting = 7;
  leaf.confidence = 0.7;
  report.leaves.push_back(leaf);
  return hang(facts, {}, {}, report, {}, {});
}

TEST(Hang, StepsAfterTheDumpsSayThatTheJobMoved) {
  const auto outcome = [](Nanoseconds pace, Nanoseconds after) {
    return judged(dumped_and_logged(pace, after)).at(0).outcome;
  };
  EXPECT_EQ(outcome(1500 * kSecond / 1000, 40 * kSecond), Outcome::ruled_out);
  EXPECT_EQ(outcome(1500 * kSecond / 1000, 20 * kSecond), Outcome::fired)
      << "clocks of machines differ";
  EXPECT_EQ(outcome(1500 * kSecond / 1000, -900 * kSecond), Outcome::fired);
  EXPECT_EQ(outcome(20 * kSecond, 50 * kSecond), Outcome::fired) << "two steps of a slow job";
  EXPECT_EQ(outcome(20 * kSecond, 90 * kSecond), Outcome::ruled_out);
  EXPECT_EQ(outcome(600 * kSecond, 130 * kSecond), Outcome::ruled_out);
  // Eight ranks that print the same step.
  Facts facts = dumped_and_logged(20 * kSecond, 50 * kSecond);
  facts.progress[0].rows *= 8;
  EXPECT_EQ(judged(facts).at(0).outcome, Outcome::fired);
}

// Seven of eight ranks dumped `age` after the last launch and wait for rank 7, whose stack is all
// there is of it.
Finding waited_for(Doing doing, std::string_view operation, Nanoseconds age) {
  Facts facts;
  CollectiveReport report;
  report.source = CollectiveSource::recorder;
  report.pending = 7;
  for (std::int64_t r = 0; r < 7; ++r) {
    CollectiveSample c;
    c.row.place.member = add_dump(facts, r, (kDumped + age) / kSecond);
    c.row.source = CollectiveSource::recorder;
    c.row.rank = Rank(r);
    c.row.time = {Clock::utc, kDumped, 1};
    c.row.state = "scheduled";
    c.row.timeout_ms = 600'000;
    facts.collectives.push_back(c);
    report.seen.push_back(Rank(r));
  }
  Leaf leaf;
  leaf.kind = StopKind::no_dump;
  leaf.ranks = Ranks({7});
  leaf.waiting = 7;
  leaf.confidence = 0.5;
  report.leaves.push_back(leaf);
  facts.samples.emplace_back();
  facts.samples.back().row.place.member = 1;
  StackReport stacks;
  StackProcess process;
  process.rank = Rank(7);
  process.role = "trainer";
  process.stage.doing = doing;
  process.stage.operation = operation;
  stacks.processes.push_back(process);
  return hang(facts, {}, {}, report, stacks, {}).at(0);
}

TEST(Hang, NoGPUIsWaitedForForMinutes) {
  const auto sure = [](Doing doing, std::string_view operation, Nanoseconds age) {
    return waited_for(doing, operation, age).confidence;
  };
  EXPECT_GE(sure(Doing::gpu, "cudaStreamSynchronize", 200 * kSecond), confidence::kExactWait);
  EXPECT_LT(sure(Doing::gpu, "cudaStreamSynchronize", 100 * kSecond), confidence::kExactWait);
  EXPECT_LT(sure(Doing::gpu, "item", 200 * kSecond), confidence::kExactWait)
      << "it may be one of many";
  EXPECT_LT(sure(Doing::compile, "", 200 * kSecond), confidence::kExactWait)
      << "compiling takes minutes";
}

Signal timed_out(Rank rank) {
  Signal s;
  s.meaning.symptom = Symptom::job_hang;
  s.meaning.role = Role::cascade;
  s.rank = rank;
  s.start = kDumped;
  return s;
}

std::vector<Finding> absence(const Ranks& heard, std::int64_t world, const Ranks& silent = {}) {
  Facts facts;
  facts.world_size = world;
  std::vector<Signal> signals;
  for (const Rank r : heard) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.kind = "file";
    m.rank = r;
    m.lines = 10;
    facts.members.push_back(m);
    RankRow row;
    row.rank = r;
    facts.ranks.push_back(row);
    if (std::find(silent.begin(), silent.end(), r) == silent.end()) signals.push_back(timed_out(r));
  }
  std::vector<Finding> found = silence(facts, signals);
  std::vector<Finding> all = hang(facts, {}, signals, {}, {}, found);
  return all.empty() ? found : all;
}

TEST(Hang, ASilentRankStoppedAndAnUnheardOneMayNotHaveBeenCollected) {
  const Ranks seven{0, 1, 2, 3, 4, 6, 7};
  const auto unheard = absence(seven, 8);
  ASSERT_EQ(unheard.size(), 1u);
  EXPECT_EQ(unheard[0].event_class, "hang/no_dump");
  EXPECT_EQ(unheard[0].ranks, Ranks({5}));
  EXPECT_LT(unheard[0].confidence, 0.5);
  EXPECT_EQ(absence(seven, 0).at(0).ranks, Ranks({5})) << "numbers are given without gaps";
  const auto silent = absence({0, 1, 2, 3, 4, 5, 6, 7}, 8, {5});
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].event_class, "hang/host_stopped");
  EXPECT_GT(silent[0].confidence, unheard[0].confidence);
}

TEST(Hang, ARankOneThatTimedOutHadARankZero) {
  const auto zero = absence({1}, 0);
  ASSERT_EQ(zero.size(), 1u);
  EXPECT_EQ(zero[0].event_class, "hang/no_dump");
  EXPECT_EQ(zero[0].ranks, Ranks({0}));
  EXPECT_LT(zero[0].confidence, 0.5);
  for (const Finding& f : absence({8, 9, 10, 11, 12, 13, 14, 15}, 0))
    EXPECT_NE(f.outcome, Outcome::fired) << "one machine of two";
}

// Two machines with three trainers each, as ps shows them, of a job whose ranks timed out.
std::vector<Finding> listed(const std::vector<std::string>& states, bool timeouts = true) {
  Facts facts;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i % 3 == 0) {
      MemberRow m;
      m.id = static_cast<MemberId>(facts.members.size()) + 1;
      m.kind = "file";
      m.host = Host("node-" + std::to_string(i / 3));
      facts.members.push_back(m);
    }
    ProcessRow p;
    p.place = {facts.members.back().id, i + 1, 0, 10};
    p.pid = 500 + static_cast<std::int64_t>(i % 3);
    p.state = states[i];
    p.role = "trainer";
    facts.processes.push_back(p);
  }
  std::vector<Signal> signals;
  if (timeouts) signals = {timed_out(Rank(0)), timed_out(Rank(1))};
  return hang(facts, {}, signals, {}, {}, {});
}

TEST(Hang, TheOneTrainerThatIsStoppedOrDeadIsWaitedFor) {
  for (const char* state : {"Tl", "Z", "Dl"}) {
    const auto found = listed({"Rl", "Sl", "Rl", "Rl", state, "Rl"});
    ASSERT_EQ(found.size(), 1u) << state;
    EXPECT_EQ(found[0].subject, (Subject{SubjectKind::host, "node-1"})) << state;
    EXPECT_EQ(found[0].event_class, "hang/host_stopped");
    EXPECT_LT(found[0].confidence, 0.7) << "one look at a process is one source";
    EXPECT_EQ(found[0].evidence.size(), 1u);
  }
  EXPECT_TRUE(listed({"Rl", "Sl", "Rl", "Rl", "Tl", "Rl"}, false).empty())
      << "nothing says that the job stood still";
  EXPECT_TRUE(listed({"Tl", "Tl", "Tl", "Tl", "Tl", "Tl"}).empty()) << "a dumper stopped them all";
  EXPECT_TRUE(listed({"Rl", "Sl", "Rl", "Rl", "Rl", "Rl"}).empty());
}

// All others wait for rank 1, of which there is no dump.
TEST(Hang, AProcessThatATracerStoppedNeedsNoDump) {
  const auto found = [](const char* state) {
    Facts facts;
    MemberRow m;
    m.id = 1;
    m.kind = "file";
    m.host = Host("node-0");
    facts.members.push_back(m);
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      ProcessRow p;
      p.place = {1, static_cast<std::uint64_t>(rank) + 1, 0, 10};
      p.pid = 500 + rank;
      p.rank = Rank(rank);
      p.host = Host("node-0");
      p.state = rank == 1 ? state : "Sl";
      p.role = "trainer";
      facts.processes.push_back(p);
    }
    CollectiveReport report;
    report.source = CollectiveSource::recorder;
    report.pending = 1;
    report.timed_out = 1;
    report.seen = {Rank(0), Rank(2), Rank(3)};
    Leaf leaf;
    leaf.kind = StopKind::no_dump;
    leaf.ranks = {Rank(1)};
    leaf.waiting = 3;
    leaf.confidence = 0.5;
    report.leaves.push_back(leaf);
    return hang(facts, {}, {}, report, {}, {}).at(0).event_class;
  };
  EXPECT_EQ(found("tl"), "hang/host_stopped");
  EXPECT_EQ(found("Zl"), "hang/host_stopped");
  EXPECT_EQ(found("Sl"), "hang/no_dump");
}

// No stack says its rank: one of five stands elsewhere, and so does one of five ranks.
TEST(Hang, TheOneOddStackIsTheOneOddRanks) {
  const auto found = [](std::size_t odd, Doing doing) {
    CollectiveReport report;
    report.source = CollectiveSource::recorder;
    report.pending = report.timed_out = 1;
    for (std::int64_t rank = 0; rank < 5; ++rank) report.seen.push_back(Rank(rank));
    Leaf leaf;
    leaf.kind = StopKind::host_stopped;
    leaf.ranks = {Rank(3)};
    leaf.waiting = 4;
    leaf.confidence = 0.8;
    report.leaves.push_back(leaf);
    StackReport stacks;
    stacks.trainers = 5;
    for (std::size_t i = 0; i < 5; ++i) {
      StackProcess p;
      p.role = "trainer";
      p.host = Host("node-" + std::to_string(i));
      p.sample = i;
      p.stack = i < odd ? static_cast<std::uint32_t>(i) + 1 : 0;
      p.stage.doing = i < odd ? doing : Doing::collective;
      stacks.processes.push_back(p);
    }
    for (std::size_t i = 0; i <= odd; ++i) {
      StackGroup g;
      g.role = "trainer";
      g.stack = static_cast<std::uint32_t>(i);
      g.processes = i == 0 ? 5 - odd : 1;
      stacks.groups.push_back(g);
    }
    Facts facts;
    facts.samples.resize(5);
    return std::get<HangFacts>(hang(facts, {}, {}, report, stacks, {}).at(0).facts).wait;
  };
  EXPECT_EQ(found(1, Doing::service), WaitKind::service);
  EXPECT_EQ(found(1, Doing::data), WaitKind::data);
  EXPECT_EQ(found(2, Doing::service), WaitKind::call) << "which of the two?";
}

TEST(Hang, WhereManyWereNotCollectedNobodyIsNamed) {
  for (const Finding& f : absence({0, 1, 8, 9}, 16)) EXPECT_NE(f.outcome, Outcome::fired);
  for (const Finding& f : absence({0, 1, 2, 3, 4, 5, 6, 7}, 16))
    EXPECT_NE(f.outcome, Outcome::fired) << "one of two machines";
}

}  // namespace
}  // namespace culprit::analyze
