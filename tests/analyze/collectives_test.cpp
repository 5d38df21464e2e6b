// Wait-for graphs over simulated jobs: the frontiers are the consequence of a schedule and of one
// fault.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analyze/hang/collectives.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

struct Step {
  std::size_t group;
  std::string operation;
};

// A job of tp x dp x pp ranks, each a program of collectives on one stream. The host runs `ahead`
// launches before the device; 0 waits for each.
struct Job {
  std::int64_t tp = 2, dp = 2, pp = 2;
  std::size_t ahead = 0;
  std::vector<std::vector<Rank>> groups;
  std::vector<std::string> names;
  std::vector<std::vector<Step>> programs;
  std::vector<std::size_t> launched, finished;  // steps of the program

  std::int64_t world() const { return tp * dp * pp; }

  void build(int iterations) {
    const auto rank = [&](std::int64_t t, std::int64_t d, std::int64_t p) {
      return Rank(t + tp * (d + dp * p));
    };
    std::vector<std::size_t> tp_of(static_cast<std::size_t>(world())), dp_of(tp_of), mp_of(tp_of);
    const auto add = [&](std::string name, std::vector<Rank> ranks, std::vector<std::size_t>& of) {
      std::sort(ranks.begin(), ranks.end());
      for (const Rank r : ranks) of[index_of(r)] = groups.size();
      groups.push_back(std::move(ranks));
      names.push_back(std::move(name));
    };
    for (std::int64_t p = 0; p < pp; ++p)
      for (std::int64_t d = 0; d < dp; ++d) {
        std::vector<Rank> g;
        for (std::int64_t t = 0; t < tp; ++t) g.push_back(rank(t, d, p));
        add("TENSOR_MODEL_PARALLEL_GROUP", g, tp_of);
      }
    for (std::int64_t p = 0; p < pp; ++p)
      for (std::int64_t t = 0; t < tp; ++t) {
        std::vector<Rank> g;
        for (std::int64_t d = 0; d < dp; ++d) g.push_back(rank(t, d, p));
        add("DATA_PARALLEL_GROUP", g, dp_of);
      }
    for (std::int64_t d = 0; d < dp; ++d) {
      std::vector<Rank> g;
      for (std::int64_t t = 0; t < tp; ++t)
        for (std::int64_t p = 0; p < pp; ++p) g.push_back(rank(t, d, p));
      add("MODEL_PARALLEL_GROUP", g, mp_of);
    }
    programs.assign(static_cast<std::size_t>(world()), {});
    for (std::size_t r = 0; r < programs.size(); ++r)
      for (int i = 0; i < iterations; ++i) {
        for (int layer = 0; layer < 3; ++layer) programs[r].push_back({tp_of[r], "all_reduce"});
        programs[r].push_back({dp_of[r], "_reduce_scatter_base"});
        programs[r].push_back({mp_of[r], "all_reduce"});
        programs[r].push_back({dp_of[r], "_all_gather_base"});
      }
    launched.assign(programs.size(), 0);
    finished.assign(programs.size(), 0);
  }

  // Runs until nothing moves. host_stops / device_stops: the step at which `who` stops, or -1.
  void run(std::int64_t who, std::ptrdiff_t host_stops, std::ptrdiff_t device_stops) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < programs.size(); ++r) {
        const bool stopped = static_cast<std::int64_t>(r) == who && host_stops >= 0 &&
                             launched[r] >= static_cast<std::size_t>(host_stops);
        if (!stopped && launched[r] < programs[r].size() && launched[r] <= finished[r] + ahead) {
          ++launched[r];
          moved = true;
        }
      }
      for (std::size_t r = 0; r < programs.size(); ++r) {
        if (finished[r] >= launched[r]) continue;
        const bool dead = static_cast<std::int64_t>(r) == who && device_stops >= 0 &&
                          finished[r] >= static_cast<std::size_t>(device_stops);
        if (dead) continue;
        // Every member's stream must have come to this operation; a dead device has given its part
        // of the step it died in.
        const std::size_t group = programs[r][finished[r]].group;
        const auto number = sequence(r, finished[r]);
        const bool all = std::all_of(groups[group].begin(), groups[group].end(), [&](Rank m) {
          const auto other = static_cast<std::size_t>(m);
          const std::size_t step = step_of(other, group, number);
          return launched[other] > step && finished[other] >= step;
        });
        if (all) {
          ++finished[r];
          moved = true;
        }
      }
    }
  }

  std::int64_t sequence(std::size_t rank, std::size_t step) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i <= step; ++i)
      n += programs[rank][i].group == programs[rank][step].group;
    return n;
  }
  std::size_t step_of(std::size_t rank, std::size_t group, std::int64_t number) const {
    for (std::size_t i = 0; i < programs[rank].size(); ++i)
      if (programs[rank][i].group == group && --number == 0) return i;
    return programs[rank].size();
  }

  Facts facts(unsigned seed) const {
    Facts f;
    std::vector<std::size_t> order(programs.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::minstd_rand(seed));
    f.world_size = world();
    std::vector<std::size_t> ids(groups.size());
    std::iota(ids.begin(), ids.end(), 0u);
    std::shuffle(ids.begin(), ids.end(), std::minstd_rand(seed + 1));
    std::vector<GroupId> id_of(groups.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      id_of[ids[i]] = group_at(i);
      f.groups.push_back({std::to_string(ids[i]), names[ids[i]], groups[ids[i]],
                          static_cast<std::int64_t>(groups[ids[i]].size())});
    }
    for (const std::size_t r : order) {
      MemberRow m;
      m.id = static_cast<MemberId>(f.members.size()) + 1;
      m.path = "dump_" + std::to_string(r);
      m.rank = Rank(static_cast<std::int64_t>(r));
      f.members.push_back(m);
      RecorderRow d;
      d.place.member = m.id;
      d.source = CollectiveSource::recorder;
      d.rank = Rank(static_cast<std::int64_t>(r));
      d.entries = static_cast<std::int64_t>(launched[r]);
      d.has_status = true;
      f.recorders.push_back(d);
      std::map<std::size_t, FrontierRow> rows;
      for (std::size_t i = 0; i < launched[r]; ++i) {
        FrontierRow& row = rows[programs[r][i].group];
        row.enqueued = sequence(r, i);
        if (i < finished[r]) row.completed = row.enqueued;
        if (row.completed == kUnknownSequence) row.completed = kNoSequence;
        if (i + 4 < finished[r]) continue;
        CollectiveSample c;
        c.row.place.member = m.id;
        c.row.source = CollectiveSource::recorder;
        c.row.rank = Rank(static_cast<std::int64_t>(r));
        c.row.group = id_of[programs[r][i].group];
        c.row.record = static_cast<std::int64_t>(i);
        c.row.sequence = row.enqueued;
        c.row.operation = programs[r][i].operation;
        c.row.state = i < finished[r] ? "completed" : "scheduled";
        c.row.sizes = "in [[16]] out [[16]]";
        f.collectives.push_back(c);
      }
      for (auto& [group, row] : rows) {
        row.place.member = m.id;
        row.source = CollectiveSource::recorder;
        row.rank = Rank(static_cast<std::int64_t>(r));
        row.group = id_of[group];
        f.frontiers.push_back(row);
      }
    }
    return f;
  }
};

std::string told(const CollectiveReport& report) {
  std::string out = report.moving ? "moving " : "";
  for (const Leaf& l : report.leaves) {
    out += std::string(name(l.kind)) + ":";
    for (const Rank r : l.ranks) out += " " + std::to_string(number_of(r));
    out += "; ";
  }
  return out;
}

Job random_job(int iterations, std::int64_t least = 2) {
  Job job;
  job.tp = *rc::gen::inRange<std::int64_t>(1, 5);
  job.dp = *rc::gen::inRange<std::int64_t>(1, 5);
  job.pp = *rc::gen::inRange<std::int64_t>(1, 5);
  if (job.world() < least) job.dp = least;
  job.ahead = *rc::gen::inRange<std::size_t>(0, 8);
  job.build(iterations);
  return job;
}

RC_GTEST_PROP(Collectives, OneStalledHostIsFound, ()) {
  Job job = random_job(4);
  const auto who = *rc::gen::inRange<std::int64_t>(0, job.world());
  const auto at =
      *rc::gen::inRange<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(job.programs[0].size()) - 7);
  job.run(who, at, -1);
  const CollectiveReport report = wait_for(job.facts(*rc::gen::inRange(0u, 1000u)), {});
  RC_LOG() << told(report);
  // A member of groups of one has nobody who could wait for it in them; with tp = dp = pp = 1 left
  // out, somebody does.
  RC_ASSERT(report.leaves.size() == 1u);
  RC_ASSERT(report.leaves[0].ranks == Ranks({who}));
  RC_ASSERT(report.leaves[0].kind == StopKind::host_stopped);
}

RC_GTEST_PROP(Collectives, OneDeadDeviceIsFound, ()) {
  Job job = random_job(5);
  job.ahead = *rc::gen::inRange<std::size_t>(3, 9);
  const auto who = *rc::gen::inRange<std::int64_t>(0, job.world());
  const auto at = *rc::gen::inRange<std::ptrdiff_t>(
      1, static_cast<std::ptrdiff_t>(job.programs[0].size()) - 10);
  // The step it dies in must have peers, or nobody could have finished it.
  RC_PRE(job.groups[job.programs[static_cast<std::size_t>(who)][static_cast<std::size_t>(at)].group]
             .size() > 1);
  job.run(who, -1, at);
  const CollectiveReport report = wait_for(job.facts(*rc::gen::inRange(0u, 1000u)), {});
  RC_LOG() << told(report);
  RC_ASSERT(report.leaves.size() == 1u);
  RC_ASSERT(report.leaves[0].ranks == Ranks({who}));
  RC_ASSERT(report.leaves[0].kind == StopKind::device_stopped);
}

RC_GTEST_PROP(Collectives, OrderOfFilesChangesNothing, ()) {
  Job job = random_job(4);
  const auto who = *rc::gen::inRange<std::int64_t>(0, job.world());
  job.run(who, 9, -1);
  RC_ASSERT(told(wait_for(job.facts(1), {})) ==
            told(wait_for(job.facts(*rc::gen::inRange(2u, 1000u)), {})));
}

RC_GTEST_PROP(Collectives, HealthyRanksChangeNothing, ()) {
  Job job = random_job(4);
  const auto who = *rc::gen::inRange<std::int64_t>(0, job.world());
  job.run(who, *rc::gen::inRange<std::ptrdiff_t>(1, 14), -1);
  Facts facts = job.facts(2);
  const std::string before = told(wait_for(facts, {}));
  const auto more = *rc::gen::inRange<std::int64_t>(1, 9);
  GroupRow group{"healthy", "DATA_PARALLEL_GROUP", {}, more};
  for (std::int64_t i = 0; i < more; ++i) group.ranks.push_back(Rank(job.world() + i));
  facts.groups.push_back(group);
  for (const Rank r : group.ranks) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = "dump_" + std::to_string(number_of(r));
    m.rank = r;
    facts.members.push_back(m);
    RecorderRow d;
    d.place.member = m.id;
    d.source = CollectiveSource::recorder;
    d.rank = r;
    d.has_status = true;
    facts.recorders.push_back(d);
    FrontierRow f;
    f.place.member = m.id;
    f.source = CollectiveSource::recorder;
    f.rank = r;
    f.group = group_at(facts.groups.size() - 1);
    f.enqueued = f.completed = 7;
    facts.frontiers.push_back(f);
  }
  RC_ASSERT(told(wait_for(facts, {})) == before);
}

RC_GTEST_PROP(Collectives, AMissingDumpAccusesNobodyElse, ()) {
  Job job = random_job(4, 3);
  const auto who = *rc::gen::inRange<std::int64_t>(0, job.world());
  const auto lost = *rc::gen::inRange<std::int64_t>(0, job.world());
  job.run(who, *rc::gen::inRange<std::ptrdiff_t>(1, 14), -1);
  Facts facts = job.facts(3);
  const bool cut = *rc::gen::arbitrary<bool>();
  if (cut) {
    for (RecorderRow& d : facts.recorders)
      if (d.rank == Rank(lost)) d.truncated = true;
    const bool status = *rc::gen::arbitrary<bool>();  // pg_status stands before the entries
    const bool tail = *rc::gen::arbitrary<bool>();
    std::int64_t n = 0;
    for (const CollectiveSample& c : facts.collectives) n += c.row.rank == Rank(lost);
    std::int64_t at = 0;
    std::erase_if(facts.collectives, [&](const CollectiveSample& c) {
      return c.row.rank == Rank(lost) && (tail ? at++ >= n / 2 : at++ < n / 2);
    });
    if (!status)
      for (FrontierRow& f : facts.frontiers) {
        if (f.rank != Rank(lost)) continue;
        f.enqueued = f.completed = kNoSequence;
        for (const CollectiveSample& c : facts.collectives) {
          if (c.row.rank != Rank(lost) || c.row.group != f.group) continue;
          f.enqueued = std::max(f.enqueued, c.row.sequence);
          if (c.row.state == "completed") f.completed = std::max(f.completed, c.row.sequence);
        }
      }
  } else {
    std::erase_if(facts.recorders, [&](const RecorderRow& d) { return d.rank == Rank(lost); });
    std::erase_if(facts.frontiers, [&](const FrontierRow& f) { return f.rank == Rank(lost); });
    std::erase_if(facts.collectives,
                  [&](const CollectiveSample& c) { return c.row.rank == Rank(lost); });
  }
  const CollectiveReport report = wait_for(facts, {});
  RC_LOG() << "lost " << lost << (cut ? " (cut)" : "") << ", culprit " << who << ": "
           << told(report);
  for (const Leaf& l : report.leaves) {
    if (l.kind == StopKind::no_dump)
      RC_ASSERT(l.ranks == Ranks({lost}));
    else if (l.kind == StopKind::host_stopped)
      RC_ASSERT(l.ranks == Ranks({who}));
    else
      RC_FAIL("another kind");
  }
  if (lost != who && !cut) RC_ASSERT(!report.leaves.empty());
}

RC_GTEST_PROP(Collectives, AHealthyRunAccusesNobody, ()) {
  Job job = random_job(3);
  job.run(-1, -1, -1);
  const CollectiveReport report = wait_for(job.facts(5), {});
  RC_ASSERT(report.leaves.empty());
  RC_ASSERT(report.pending == 0u);
}

TEST(Collectives, DumpsOfDifferentMomentsAreNoHang) {
  Job job;
  job.build(4);
  job.run(3, 9, -1);
  Job later = job;
  later.run(-1, -1, -1);
  Facts facts = job.facts(1);
  const Facts rest = later.facts(1);
  // Rank 0 was dumped after the others had gone on.
  std::erase_if(facts.frontiers, [](const FrontierRow& f) { return f.rank == Rank(0); });
  std::erase_if(facts.collectives, [](const CollectiveSample& c) { return c.row.rank == Rank(0); });
  for (const auto& f : rest.frontiers)
    if (f.rank == Rank(0)) facts.frontiers.push_back(f);
  for (const auto& c : rest.collectives)
    if (c.row.rank == Rank(0)) facts.collectives.push_back(c);
  const CollectiveReport report = wait_for(facts, {});
  EXPECT_TRUE(report.moving);
  EXPECT_TRUE(report.leaves.empty());
}

TEST(Collectives, MismatchNamesTheMinority) {
  Job job;
  job.tp = 4;
  job.dp = job.pp = 1;
  job.build(2);
  job.run(-1, -1, -1);
  Facts facts = job.facts(1);
  for (FrontierRow& f : facts.frontiers)
    if (f.group == group_at(0) || true) f.completed = std::min(f.completed, f.enqueued - 1);
  std::erase_if(facts.frontiers, [&](const FrontierRow& f) {
    return facts.groups[index_of(f.group)].description != "TENSOR_MODEL_PARALLEL_GROUP";
  });
  std::erase_if(facts.collectives, [&](const CollectiveSample& c) {
    return facts.groups[index_of(c.row.group)].description != "TENSOR_MODEL_PARALLEL_GROUP";
  });
  for (CollectiveSample& c : facts.collectives) {
    if (c.row.sequence != 6) continue;
    c.row.state = "scheduled";
    if (c.row.rank == Rank(2)) c.row.sizes = "in [[17]] out [[17]]";
  }
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].kind, StopKind::mismatch);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({2}));
  EXPECT_FALSE(report.leaves[0].tie);
  ASSERT_EQ(report.leaves[0].places.size(), 2u);  // the minority first
  const std::string& odd = report.leaves[0].places[0].reading;
  EXPECT_TRUE(odd.starts_with("rank 2: ")) << odd;
  EXPECT_NE(odd.find(", scheduled, in [[17]] out [[17]]"), std::string::npos) << odd;
  EXPECT_EQ(report.leaves[0].places[1].reading.find("[[17]]"), std::string::npos);
}

TEST(Collectives, WatchdogCountersAloneNameTheRankBehind) {
  Facts facts;
  facts.groups.push_back({"0", "default_pg", {}, 4});
  for (std::int64_t r = 0; r < 4; ++r) {
    MemberRow m;
    m.id = r + 1;
    m.path = "err" + std::to_string(r);
    m.rank = Rank(r);
    facts.members.push_back(m);
    FrontierRow f;
    f.place.member = r + 1;
    f.source = CollectiveSource::watchdog;
    f.group = group_at(0);
    f.enqueued = r == 2 ? 95 : 97;
    f.completed = 95;
    facts.frontiers.push_back(f);
  }
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({2}));
  EXPECT_EQ(report.leaves[0].kind, StopKind::host_stopped);
  ASSERT_FALSE(report.leaves[0].places.empty());
  EXPECT_EQ(report.leaves[0].places.back().reading,
            "rank 2 on default_pg 0: 95 enqueued, 95 completed");
}

// Releases that print no counters: the operation that each rank gave up is all there is.
TEST(Collectives, WatchdogLinesWithoutCountersTellWhoCalledAnother) {
  const auto leaves = [](std::int64_t odd, std::int64_t silent) {
    Facts facts;
    facts.world_size = 16;
    facts.groups.push_back({"", "default_pg?", {}, 0});
    for (std::int64_t r = 0; r < 16; ++r) {
      MemberRow m;
      m.id = r + 1;
      m.rank = Rank(r);
      facts.members.push_back(m);
      CollectiveSample c;
      c.row.place.member = r + 1;
      c.row.source = CollectiveSource::watchdog;
      c.row.rank = Rank(r);
      c.row.group = group_at(0);
      c.row.sequence = 44802;
      c.row.operation = r == odd ? "all_gather" : "all_reduce";
      c.row.sizes = "numel in 72 out 72";
      c.row.state = "timeout";
      if (r != silent) facts.collectives.push_back(c);
    }
    return wait_for(facts, {}).leaves;
  };
  const auto other = leaves(5, -1);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].kind, StopKind::mismatch);
  EXPECT_EQ(other[0].ranks, Ranks({5}));
  const auto silent = leaves(-1, 7);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].kind, StopKind::no_dump);
  EXPECT_EQ(silent[0].ranks, Ranks({7}));
}

FrontierRow counted(MemberId member, std::size_t group, std::int64_t enqueued,
                    std::int64_t completed, std::uint64_t line = 1) {
  FrontierRow f;
  f.place = {member, line, line * 100, 10};
  f.source = CollectiveSource::watchdog;
  f.group = group_at(group - 1);
  f.enqueued = enqueued;
  f.completed = completed;
  return f;
}

Facts logs(std::int64_t ranks) {
  Facts facts;
  facts.world_size = ranks;
  for (std::int64_t r = 0; r < ranks; ++r) {
    MemberRow m;
    m.id = r + 1;
    m.order = r;
    m.path = "rank" + std::to_string(r) + ".log";
    m.rank = Rank(r);
    facts.members.push_back(m);
  }
  return facts;
}

TEST(Collectives, WhatStandsInADumpIsTold) {
  Facts facts = logs(4);
  RecorderRow dump;
  dump.place = {3, 0, 17, 5};
  dump.entries = 150;
  EXPECT_EQ(cited(facts, dump).reading, "dump of rank 2: 150 operations, all completed");
  dump.pending = 1;
  dump.entries = 1;
  dump.rank = Rank(1);
  EXPECT_EQ(cited(facts, dump).reading, "dump of rank 1: 1 operation, 1 not completed");
  const Evidence shown = evidence_of(facts, cited(facts, dump));
  EXPECT_EQ(shown.path, "rank2.log");
  EXPECT_EQ(shown.offset, 17u);
  EXPECT_EQ(shown.reading, "dump of rank 1: 1 operation, 1 not completed");
}

// A log runs through a restart; counters begin anew and the earlier incident is over.
TEST(Collectives, OfTwoAttemptsInOneLogTheLastCounts) {
  Facts facts = logs(8);
  facts.groups.push_back({"0", "default_pg", {}, 8});
  for (std::int64_t r = 0; r < 8; ++r) {
    facts.frontiers.push_back(counted(r + 1, 1, r == 5 ? 498 : 500, 498, 10));
    facts.frontiers.push_back(counted(r + 1, 1, r == 2 ? 298 : 300, 298, 90));
  }
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({2}));
}

// Two tensor groups and the world group, none of them named: counters that never meet are not of
// one group.
TEST(Collectives, UnnamedGroupsAreNotMixed) {
  Facts facts = logs(4);
  facts.groups.push_back({"", "default_pg?", {}, 0});
  for (std::int64_t r = 0; r < 2; ++r) facts.frontiers.push_back(counted(r + 1, 1, 9001, 8999));
  for (std::int64_t r = 2; r < 4; ++r) facts.frontiers.push_back(counted(r + 1, 1, 300, 299));
  EXPECT_TRUE(wait_for(facts, {}).leaves.empty());
}

TEST(Collectives, ADumpOfAnotherDayIsLeftOut) {
  Job job;
  job.build(4);
  job.run(3, 9, -1);
  Facts facts = job.facts(1);
  for (CollectiveSample& c : facts.collectives) {
    c.row.time = {Clock::utc, 100 * kDay - (c.row.rank == Rank(6) ? 3 * kDay : 0), 1};
    if (c.row.rank == Rank(6)) c.row.state = "completed";
  }
  for (FrontierRow& f : facts.frontiers)
    if (f.rank == Rank(6)) f.enqueued = f.completed = 1;
  const CollectiveReport report = wait_for(facts, {});
  EXPECT_FALSE(report.moving) << report::words(report.moving_why);
  for (const Leaf& l : report.leaves) {
    if (l.kind != StopKind::no_dump) { EXPECT_EQ(l.ranks, Ranks({3})); }
  }
}

TEST(Collectives, TwoFilesThatClaimOneRankAreNotBelieved) {
  Job job;
  job.build(4);
  job.run(3, 9, -1);
  Facts facts = job.facts(1);
  MemberRow m = facts.members.front();
  m.id = static_cast<MemberId>(facts.members.size()) + 1;
  m.path = "other";
  m.rank = Rank(3);
  facts.members.push_back(m);
  RecorderRow d = facts.recorders.front();
  d.place.member = m.id;
  d.rank = Rank(3);
  d.entries = 12345;
  facts.recorders.push_back(d);
  const CollectiveReport report = wait_for(facts, {});
  for (const Leaf& l : report.leaves) EXPECT_NE(l.kind, StopKind::host_stopped) << told(report);
  EXPECT_FALSE(report.notes.empty());
}

// Several that did not finish what the others did: one link can hold up all of them.
TEST(Collectives, SeveralBehindInOneOperationAreDoubtful) {
  Facts facts = logs(8);
  facts.groups.push_back({"0", "default_pg", Ranks({0, 1, 2, 3, 4, 5, 6, 7}), 8});
  for (std::int64_t r = 0; r < 8; ++r) {
    RecorderRow d;
    d.place.member = r + 1;
    d.source = CollectiveSource::recorder;
    d.rank = Rank(r);
    facts.recorders.push_back(d);
    FrontierRow f = counted(r + 1, 1, 50, r >= 5 ? 49 : 50);
    f.source = CollectiveSource::recorder;
    f.rank = Rank(r);
    facts.frontiers.push_back(f);
    if (r < 5) continue;
    CollectiveSample c;
    c.row.place.member = r + 1;
    c.row.source = CollectiveSource::recorder;
    c.row.rank = Rank(r);
    c.row.group = group_at(0);
    c.row.sequence = 50;
    c.row.operation = "all_reduce";
    c.row.state = "scheduled";
    facts.collectives.push_back(c);
  }
  for (const Leaf& l : wait_for(facts, {}).leaves) EXPECT_LT(l.confidence, 0.7);
}

// torch compares fingerprints before a collective starts; what differs is the program's.
TEST(Collectives, FingerprintsThatDifferAreAMismatch) {
  Facts facts = logs(4);
  facts.groups.push_back({"0", "default_pg", {}, 0});
  const auto calls = [&](std::int64_t rank, const std::string& operation,
                         const std::string& sizes) {
    FrontierRow f = counted(rank + 1, 1, 9, 8);
    f.source = CollectiveSource::fingerprint;
    f.rank = Rank(rank);
    facts.frontiers.push_back(f);
    CollectiveSample c;
    c.row.place = f.place;
    c.row.source = CollectiveSource::fingerprint;
    c.row.rank = Rank(rank);
    c.row.group = group_at(0);
    c.row.sequence = 9;
    c.row.operation = operation;
    c.row.sizes = sizes;
    c.row.state = "scheduled";
    facts.collectives.push_back(c);
  };
  calls(0, "all_gather", "[64]");
  calls(1, "all_gather", "[65]");
  calls(2, "all_gather", "[64]");
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].kind, StopKind::mismatch);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({1}));
}

TEST(Collectives, ADesynchronisationReportNamesTheRankThatDidNotJoin) {
  Facts facts = logs(4);
  facts.groups.push_back({"0", "default_pg", {}, 0});
  for (std::int64_t r = 0; r < 4; ++r) {
    FrontierRow f = counted(1, 1, kUnknownSequence, 11);
    f.source = CollectiveSource::desync;
    f.group_rank = r;
    f.started = r == 3 ? 11 : 12;
    if (r == 3) f.enqueued = 11;
    facts.frontiers.push_back(f);
  }
  for (MemberRow& m : facts.members) m.rank.reset();
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].kind, StopKind::host_stopped);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({3}));
}

// A call log tells launches: who launched one less has stopped on its host, whatever became of its
// last one.
TEST(Collectives, OfLaunchesAloneTheOneBehindStoppedOnItsHost) {
  Facts facts = logs(4);
  facts.groups.push_back({"0xabc", "", Ranks({0, 1, 2, 3}), 4});
  for (std::int64_t r = 0; r < 4; ++r) {
    const std::int64_t launched = r == 2 ? 19 : 20;
    FrontierRow f = counted(r + 1, 1, launched, kUnknownSequence);
    f.source = CollectiveSource::nccl_call;
    facts.frontiers.push_back(f);
    CollectiveSample c;
    c.row.place = f.place;
    c.row.source = CollectiveSource::nccl_call;
    c.row.rank = Rank(r);
    c.row.group = group_at(0);
    c.row.sequence = launched;
    c.row.operation = "all_reduce";
    c.row.state = "scheduled";
    facts.collectives.push_back(c);
  }
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({2}));
  EXPECT_EQ(report.leaves[0].kind, StopKind::host_stopped);
}

// A pipeline of two stages with two ranks each; what every rank has in flight, in order of launch.
struct Launched {
  std::int64_t rank;
  std::size_t group;  // counted from 1
  std::int64_t sequence;
  std::string operation;
  std::int64_t peer = kUnknownSequence;
};

Facts in_flight(const std::vector<GroupRow>& groups, const std::vector<Launched>& launched) {
  Facts facts;
  facts.groups = groups;
  std::int64_t record = 0;
  for (const Launched& l : launched) {
    if (facts.members.empty() || facts.members.back().rank != Rank(l.rank)) {
      MemberRow m;
      m.id = static_cast<MemberId>(facts.members.size()) + 1;
      m.path = "dump_" + std::to_string(l.rank);
      m.rank = Rank(l.rank);
      facts.members.push_back(m);
      RecorderRow d;
      d.place.member = m.id;
      d.source = CollectiveSource::recorder;
      d.rank = Rank(l.rank);
      d.entries = 8;
      facts.recorders.push_back(d);
    }
    CollectiveSample c;
    c.row.place.member = facts.members.back().id;
    c.row.source = CollectiveSource::recorder;
    c.row.rank = Rank(l.rank);
    c.row.group = group_at(l.group - 1);
    c.row.record = record++;
    c.row.sequence = l.sequence;
    c.row.operation = l.operation;
    c.row.p2p = l.peer >= 0;
    c.row.peer = Rank(l.peer);
    c.row.state = "scheduled";
    facts.collectives.push_back(c);
  }
  return facts;
}

TEST(Collectives, ASendInFrontHoldsWhatWasLaunchedBehindIt) {
  // Ranks 2 and 3, the second stage, have sent back and gone on to their reduce-scatter with 6 and
  // 7; nobody takes what they sent, since 0 and 1 are stuck in an operation of their own.
  const std::vector<GroupRow> groups = {{"1", "TENSOR_MODEL_PARALLEL_GROUP", Ranks({0, 1}), 2},
                                        {"2", "DATA_PARALLEL_GROUP", Ranks({2, 6}), 2},
                                        {"3", "PIPELINE_MODEL_PARALLEL_GROUP", Ranks({0, 2}), 2},
                                        {"4", "DATA_PARALLEL_GROUP", Ranks({3, 7}), 2},
                                        {"5", "PIPELINE_MODEL_PARALLEL_GROUP", Ranks({1, 3}), 2}};
  const Facts facts = in_flight(groups, {{0, 1, 50, "all_gather"},
                                         {0, 3, 4, "recv", 2},
                                         {1, 1, 50, "all_gather"},
                                         {1, 5, 4, "recv", 3},
                                         {2, 3, 9, "send", 0},
                                         {2, 2, 7, "reduce_scatter"},
                                         {3, 5, 9, "send", 1},
                                         {3, 4, 7, "reduce_scatter"},
                                         {6, 2, 7, "reduce_scatter"},
                                         {7, 4, 7, "reduce_scatter"}});
  const CollectiveReport report = wait_for(facts, {});
  ASSERT_EQ(report.leaves.size(), 1u) << told(report);
  EXPECT_EQ(report.leaves[0].kind, StopKind::network);
  EXPECT_EQ(report.leaves[0].ranks, Ranks({0, 1}));
  EXPECT_TRUE(report.leaves[0].within.empty()) << "nobody knows where they run";
}

TEST(Collectives, AStuckGroupIsPlacedOnlyWhereAllOfItIsKnown) {
  std::vector<GroupRow> groups = {{"1", "TENSOR_MODEL_PARALLEL_GROUP", Ranks({0, 1}), 2},
                                  {"2", "DATA_PARALLEL_GROUP", Ranks({0, 2}), 2}};
  const std::vector<Launched> launched = {
      {0, 1, 50, "all_gather"}, {1, 1, 50, "all_gather"}, {2, 2, 7, "reduce_scatter"}};
  Topology topology;
  for (std::int64_t r = 0; r < 4; ++r) topology.host_of[Rank(r)] = Host(r < 2 ? "a" : "b");
  const auto within = [&] {
    const CollectiveReport r = wait_for(in_flight(groups, launched), topology);
    return r.leaves.empty() ? Host("no leaf") : r.leaves[0].within;
  };
  EXPECT_EQ(within(), "a");
  topology.host_of[Rank(1)] = Host("b");
  EXPECT_EQ(within(), "") << "two machines";
  topology.host_of.erase(Rank(1));
  EXPECT_EQ(within(), "");
  for (std::int64_t r = 0; r < 4; ++r) topology.host_of[Rank(r)] = Host("a");
  EXPECT_EQ(within(), "") << "the job has no other machine";
  topology.host_of[Rank(2)] = Host("b");
  groups[0].size = 4;
  EXPECT_EQ(within(), "") << "of two members nothing is known";
}

TEST(Collectives, AnAllToAllWhoseSplitsDoNotAgreeIsAMismatch) {
  const std::vector<GroupRow> groups = {{"1", "EXPERT_MODEL_PARALLEL_GROUP", Ranks({0, 1, 2}), 3}};
  const auto judged = [&](const char* last) {
    Facts facts = in_flight(
        groups, {{0, 1, 50, "all_to_all"}, {1, 1, 50, "all_to_all"}, {2, 1, 50, "all_to_all"}});
    const char* sizes[] = {"in [[10, 4]] out [[30]]", "in [[40]] out [[50]]", last};
    for (std::size_t i = 0; i < 3; ++i) facts.collectives[i].row.sizes = sizes[i];
    return wait_for(facts, {});
  };
  const CollectiveReport agree = judged("in [[8], [12]] out [[20]]");
  ASSERT_EQ(agree.leaves.size(), 1u) << told(agree);
  EXPECT_EQ(agree.leaves[0].kind, StopKind::network);
  const CollectiveReport differ = judged("in [[8], [12]] out [[21]]");
  ASSERT_EQ(differ.leaves.size(), 1u) << told(differ);
  EXPECT_EQ(differ.leaves[0].kind, StopKind::mismatch);
  EXPECT_TRUE(differ.leaves[0].tie);
  EXPECT_NE(report::words(differ.leaves[0].why).find("send 100 elements and expect 101"),
            std::string::npos)
      << report::words(differ.leaves[0].why);
}

}  // namespace
}  // namespace culprit::analyze
