#include "ingest/engine/recorded_rows.hpp"

#include <gtest/gtest.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

// Small members and large ones, rows of several kinds, ids asked for in between.
void put_rows(MemberSink& sink) {
  for (int m = 0; m < 40; ++m) {
    MemberRow member;
    member.path = fmt::format("member-{}", m);
    member.id = sink.begin_member(member);
    const int rows = m % 10 == 9 ? 5'000 : m;
    for (int i = 0; i < rows; ++i) {
      const Place place{member.id, static_cast<std::uint64_t>(i + 1), 0, 0};
      if (i % 7 == 0) {
        sink.put(RejectRow{place, "code", fmt::format("text {}", i)});
      } else if (i % 7 == 1) {
        SeriesRow series;
        series.member = member.id;
        series.name = fmt::format("series {}", i);
        sink.put(ChunkRow{.series = sink.series(series), .place = place, .data = {}});
      } else if (i % 7 == 2) {
        // Every second member speaks of a group that an earlier one named.
        FrontierRow row;
        row.place = place;
        row.group = sink.group({fmt::format("group-{}", i + m % 2), "", {}, 8});
        sink.put(row);
      } else {
        ProgressRow row;
        row.place = place;
        row.framework = "generic";
        row.iteration = i;
        sink.put(row);
      }
    }
    sink.end_member(member);
    if (m % 13 == 0) sink.problem(member.path, "code", "reason");
  }
}

void expect_equal(const test::Rows& direct, const test::Rows& behind) {
  EXPECT_EQ(direct.log, behind.log);
  EXPECT_EQ(direct.progress.size(), behind.progress.size());
  EXPECT_EQ(behind.members.size(), 40u);
  EXPECT_EQ(direct.problems, behind.problems);
  ASSERT_EQ(direct.frontiers.size(), behind.frontiers.size());
  for (std::size_t i = 0; i < direct.frontiers.size(); ++i) {
    EXPECT_EQ(direct.frontiers[i].group, behind.frontiers[i].group);
    EXPECT_EQ(direct.frontiers[i].place.member, behind.frontiers[i].place.member);
  }
  ASSERT_EQ(direct.chunks.size(), behind.chunks.size());
  for (std::size_t i = 0; i < direct.chunks.size(); ++i)
    EXPECT_EQ(direct.chunks[i].series, behind.chunks[i].series);
}

TEST(RecordedRows, TheSameRowsInTheSameOrderWithTheSameIds) {
  test::Rows direct, handed, taken;
  put_rows(direct);
  {
    RowWriter writer(handed);
    RowRecorder recorder(&writer);
    put_rows(recorder);
    recorder.hand_over();
  }
  expect_equal(direct, handed);
  {
    RowWriter writer(taken);
    RowRecorder recorder;
    put_rows(recorder);
    writer.put(recorder.take());
    writer.flush();
    expect_equal(direct, taken);
  }
}

TEST(RecordedRows, WhatIsThrownBehindReachesWhoeverPuts) {
  struct Full : test::Rows {
    using Rows::put;
    void put(const RejectRow& row) override {
      if (rejects.size() == 1'000) throw std::runtime_error("full");
      Rows::put(row);
    }
  } behind;
  RowWriter writer(behind);
  RowRecorder recorder(&writer);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100'000; ++i) recorder.put(RejectRow{});
        recorder.hand_over();
        writer.flush();
      },
      std::runtime_error);
  EXPECT_EQ(behind.rejects.size(), 1'000u) << "nothing after what is missing";
}

TEST(RecordedRows, AFlushLeavesNothingBehind) {
  test::Rows behind;
  RowWriter writer(behind);
  RowRecorder recorder(&writer);
  for (std::size_t i = 1; i <= 300; ++i) {
    recorder.put(RejectRow{});
    if (i % 100 == 0) {
      recorder.hand_over();
      writer.flush();
      EXPECT_EQ(behind.rejects.size(), i);
    }
  }
}

}  // namespace
}  // namespace culprit::ingest
