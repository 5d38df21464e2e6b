// The age of dumps as the proof of a hang, and what is no proof.
#include <gtest/gtest.h>

#include "analyze/hang/hang.hpp"
#include "analyze/hang/standstill.hpp"
#include "report/phrases.hpp"
#include "support/dumps.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kLaunched = 1'795'000'000 * kSecond;

// Dumps of `ranks`, each with an operation of a minute's time-out that was launched and not
// finished, written `age` later.
Facts dumps(std::int64_t ranks, Nanoseconds age, bool unfinished = true) {
  Facts facts;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const MemberId dump = add_dump(facts, r, age < 0 ? 0 : (kLaunched + age) / kSecond);
    for (const bool last : {false, true}) {
      CollectiveSample c;
      c.row.place.member = dump;
      c.row.source = CollectiveSource::recorder;
      c.row.rank = Rank(r);
      c.row.time = {Clock::utc, kLaunched - (last ? 0 : 3 * kSecond), 1};
      c.row.state = last && unfinished ? "scheduled" : "completed";
      c.row.timeout_ms = 60'000;
      facts.collectives.push_back(c);
    }
  }
  return facts;
}

TEST(Standstill, TheKernelsWordOfATrainersProcess) {
  Facts facts;
  ProcessRow p;
  p.host = Host("cx-7");
  p.pid = 17790;
  p.rank = Rank(5);
  facts.processes.push_back(p);
  EventRow e;
  e.event_class = "os_hung_task";
  e.traits.add(Trait::hung_task);
  e.host = Host("cx-7");
  e.pid = 17790;
  facts.events.push_back(e);
  EXPECT_TRUE(standstill(facts).proven);
  facts.events[0].pid = 17791;
  EXPECT_FALSE(standstill(facts).proven) << "another process";
  facts.events[0].pid = 17790;
  facts.events[0].host = Host("cx-8");
  EXPECT_FALSE(standstill(facts).proven) << "another machine";
}

TEST(Standstill, FilesYoungerThanTheTimeOutProveIt) {
  const Standstill late = standstill(dumps(8, 61 * kSecond));
  EXPECT_TRUE(late.proven);
  EXPECT_EQ(late.quiet, 61 * kSecond);
  EXPECT_FALSE(standstill(dumps(8, 59 * kSecond)).proven);
  EXPECT_EQ(standstill(dumps(8, 59 * kSecond)).quiet, 59 * kSecond);
  EXPECT_FALSE(standstill(dumps(8, 61 * kSecond, false)).proven) << "nothing is unfinished";
  EXPECT_FALSE(standstill(dumps(8, -1)).quiet) << "no file has a time";
}

TEST(Standstill, CopiesAreNotBelieved) {
  const Standstill copied = standstill(dumps(8, 7 * 3600 * kSecond));
  EXPECT_FALSE(copied.proven);
  EXPECT_FALSE(copied.quiet);
}

TEST(Standstill, AMomentThatTheDumpTellsItselfNeedsNoFileTime) {
  Facts facts = dumps(4, -1);
  for (RecorderRow& r : facts.recorders) r.time = {Clock::utc, kLaunched + 90 * kSecond, kSecond};
  EXPECT_TRUE(standstill(facts).proven);
}

TEST(Standstill, LaunchesThatGoOnBesideAnOldOneAreNoProof) {
  // Another group's operations, up to the moment of the dump; the old one may be a barrier that
  // waits for a checkpoint.
  Facts facts = dumps(4, 80 * kSecond);
  for (std::int64_t r = 0; r < 4; ++r) {
    CollectiveSample c;
    c.row.place.member = r + 1;
    c.row.source = CollectiveSource::recorder;
    c.row.time = {Clock::utc, kLaunched + 50 * kSecond, 1};
    c.row.completed_ns = kLaunched + 55 * kSecond;
    c.row.state = "completed";
    facts.collectives.push_back(c);
  }
  EXPECT_FALSE(standstill(facts).proven);
  // Past its time-out it is one, whatever else goes on: the watchdog would have ended it.
  for (CollectiveSample& c : facts.collectives)
    if (c.row.state == "completed" && c.row.completed_ns)
      c.row.completed_ns = kLaunched + 61 * kSecond;
  EXPECT_TRUE(standstill(facts).proven);
}

TEST(Standstill, OneOldDumpAmongManyIsNoProof) {
  Facts facts = dumps(8, 10 * kSecond);
  facts.members[3].mtime_s += 300;
  EXPECT_FALSE(standstill(facts).proven);
  EXPECT_EQ(standstill(facts).quiet, 10 * kSecond);
}

TEST(Standstill, ASendThatWasLeftBehindIsNoProof) {
  Facts facts = dumps(4, 61 * kSecond);
  for (CollectiveSample& c : facts.collectives) c.row.p2p = true;
  EXPECT_FALSE(standstill(facts).proven);
}

// A log whose last step was `before` the stacks that were taken at kLaunched.
Facts logged(Nanoseconds before, Nanoseconds log_written, bool printed) {
  Facts facts;
  MemberRow log;
  log.id = 1;
  log.path = "train.log";
  log.mtime_s = (kLaunched - before + log_written) / kSecond;
  facts.members.push_back(log);
  ProgressSpan p;
  p.member = 1;
  p.framework = "megatron";
  p.last.time_ns = kLaunched - before;
  p.first.time_ns = kLaunched - before - 90 * kSecond;
  p.first.iteration = 10;
  p.last.iteration = 100;
  facts.progress.push_back(p);
  for (std::int64_t r = 0; r < 4; ++r) {
    MemberRow m;
    m.id = r + 2;
    m.path = "stacks/rank_" + std::to_string(r);
    m.text_kind = "stack";
    m.mtime_s = kLaunched / kSecond;
    facts.members.push_back(m);
    StackSample s;
    s.row.place.member = m.id;
    s.row.source = "pyspy";
    if (printed) s.row.time = {Clock::utc, kLaunched, kSecond};
    facts.samples.push_back(s);
  }
  return facts;
}

TEST(Standstill, StacksLongAfterTheLastStepProveIt) {
  EXPECT_TRUE(standstill(logged(700 * kSecond, 0, true)).proven);
  EXPECT_TRUE(standstill(logged(700 * kSecond, 0, false)).proven)
      << "by their files, since the log's file kept its time";
  EXPECT_FALSE(standstill(logged(700 * kSecond, 700 * kSecond, false)).proven)
      << "all files were copied at once";
  EXPECT_FALSE(standstill(logged(300 * kSecond, 0, true)).proven);
  Facts ended = logged(700 * kSecond, 0, true);
  ended.exits.emplace_back();
  EXPECT_FALSE(standstill(ended).proven) << "it had ended";
}

std::vector<Finding> stuck_within(const Facts& facts) {
  CollectiveReport report;
  report.source = CollectiveSource::recorder;
  report.pending = 4;
  Leaf leaf;
  leaf.kind = StopKind::network;
  leaf.ranks = Ranks({4, 5, 6, 7});
  leaf.waiting = 12;
  leaf.confidence = 0.88;
  leaf.within = Host("node-b");
  report.leaves.push_back(leaf);
  Topology topology;
  for (std::int64_t r = 0; r < 16; ++r)
    topology.host_of[Rank(r)] = Host(r / 4 == 1 ? "node-b" : "node-" + std::to_string(r / 4));
  return hang(facts, topology, {}, report, {}, {});
}

TEST(Standstill, AnOperationThatAllJoinedStandsAfterAMinute) {
  const auto standing = [](const Finding& f) { return std::get<HangFacts>(f.facts).standing; };
  Facts facts = dumps(16, 200 * kSecond);
  for (CollectiveSample& c : facts.collectives) c.row.timeout_ms = 600'000;
  const auto proven = stuck_within(facts);
  ASSERT_EQ(proven.size(), 1u);
  EXPECT_EQ(proven[0].subject, (Subject{SubjectKind::host, "node-b"}));
  EXPECT_TRUE(standing(proven[0]));
  EXPECT_GT(proven[0].confidence, 0.8);
  EXPECT_NE(report::words(proven[0].why).find("made 3 min after"), std::string::npos)
      << report::words(proven[0].why);
  const auto open = stuck_within(dumps(16, -1));
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].subject, (Subject{SubjectKind::host, "node-b"}));
  EXPECT_FALSE(standing(open[0]));
}

// Tables of a server that looks at all recorders all the time, a file a look; rank 1 is behind.
Facts looks(std::initializer_list<std::int64_t> seconds, std::int64_t step = 0) {
  Facts facts;
  for (const std::int64_t at : seconds) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = "fr_trace_" + std::to_string(m.id) + ".txt";
    m.format = "recorder-tables";
    facts.members.push_back(m);
    for (std::int64_t r = 0; r < 4; ++r) {
      FrontierRow f;
      f.place.member = m.id;
      f.source = CollectiveSource::recorder;
      f.time = {Clock::local, kLaunched + at * kSecond, 1};
      f.rank = Rank(r);
      f.group = group_at(0);
      f.completed = 7 + step * m.id;
      f.enqueued = f.completed + (r == 1 ? 0 : 1);
      facts.frontiers.push_back(f);
    }
  }
  return facts;
}

TEST(Standstill, LooksProveItWhereNothingChangesBetweenThem) {
  EXPECT_TRUE(standstill(looks({0, 60, 240})).proven);
  EXPECT_FALSE(standstill(looks({0, 60, 240}, 1)).proven) << "it goes on";
  EXPECT_FALSE(standstill(looks({0, 60})).proven) << "a checkpoint may take as long";
  const Standstill one = standstill(looks({0}));
  EXPECT_FALSE(one.proven);
  EXPECT_TRUE(one.periodic);
  EXPECT_FALSE(standstill(dumps(4, -1)).periodic);
}

}  // namespace
}  // namespace culprit::analyze
