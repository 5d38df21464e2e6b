#include "ingest/engine/queued_sink.hpp"

#include <gtest/gtest.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

// Small members and large ones, rows of several kinds, ids asked for in between.
void put_rows(MemberSink& sink, std::vector<std::int64_t>& ids) {
  for (int m = 0; m < 40; ++m) {
    MemberRow member;
    member.path = fmt::format("member-{}", m);
    member.id = sink.begin_member(member);
    ids.push_back(member.id);
    const int rows = m % 10 == 9 ? 5'000 : m;
    for (int i = 0; i < rows; ++i) {
      const Place place{member.id, static_cast<std::uint64_t>(i + 1), 0, 0};
      if (i % 7 == 0) {
        sink.put(RejectRow{place, "code", fmt::format("text {}", i)});
      } else {
        ProgressRow row;
        row.place = place;
        row.framework = "generic";
        row.iteration = i;
        sink.put(row);
      }
      if (i % 1000 == 500)
        ids.push_back(
            static_cast<std::int64_t>(sink.group({fmt::format("group-{}", i), "", {}, 8})));
    }
    sink.end_member(member);
    if (m % 13 == 0) sink.problem(member.path, "code", "reason");
  }
}

TEST(QueuedSink, TheSameRowsInTheSameOrder) {
  test::Rows direct, behind;
  std::vector<std::int64_t> ids, ids_behind;
  put_rows(direct, ids);
  {
    QueuedSink queued(behind);
    put_rows(queued, ids_behind);
  }
  EXPECT_EQ(ids, ids_behind);
  EXPECT_EQ(direct.log, behind.log);
  EXPECT_EQ(direct.progress.size(), behind.progress.size());
  EXPECT_EQ(direct.members.size(), 40u);
  EXPECT_EQ(behind.members.size(), 40u);
  EXPECT_EQ(direct.problems, behind.problems);
}

TEST(QueuedSink, WhatIsThrownBehindReachesWhoeverPuts) {
  struct Full : test::Rows {
    using Rows::put;
    void put(const RejectRow& row) override {
      if (rejects.size() == 1'000) throw std::runtime_error("full");
      Rows::put(row);
    }
  } behind;
  QueuedSink queued(behind);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100'000; ++i) queued.put(RejectRow{});
        queued.flush();
      },
      std::runtime_error);
  EXPECT_EQ(behind.rejects.size(), 1'000u) << "nothing after what is missing";
}

TEST(QueuedSink, AFlushLeavesNothingBehind) {
  test::Rows behind;
  QueuedSink queued(behind);
  for (std::size_t i = 1; i <= 300; ++i) {
    queued.put(RejectRow{});
    if (i % 100 == 0) {
      queued.flush();
      EXPECT_EQ(behind.rejects.size(), i);
    }
  }
}

}  // namespace
}  // namespace culprit::ingest
