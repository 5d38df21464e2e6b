#include "analyze/pace/checkpoints.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace culprit::analyze {
namespace {

// Steps 1 to 30 and, after a restart, 21 to 40 on the lines 10, 20 ... of member 1, a step a
// second.
JobSteps thirty_and_twenty() {
  JobSteps steps;
  for (std::size_t i = 0; i < 50; ++i) {
    steps.iteration.push_back(static_cast<std::int64_t>(i < 30 ? i + 1 : i - 9));
    steps.time.push_back(static_cast<Nanoseconds>(i + 1) * kSecond);
    steps.ms.push_back(1000);
    steps.attempt.push_back(i < 30 ? 0 : 1);
    steps.place.push_back({1, (i + 1) * 10, 0, 0});
  }
  return steps;
}

Facts two_members() {
  Facts facts;
  for (MemberId id = 1; id <= 2; ++id) {
    MemberRow m;
    m.id = id;
    facts.members.push_back(m);
  }
  return facts;
}

CheckpointRow row(CheckpointEvent event, std::uint64_t line, std::optional<std::int64_t> iteration,
                  MemberId member = 1) {
  CheckpointRow r;
  r.place.member = member;
  r.place.line = line;
  r.event = event;
  r.iteration = iteration;
  return r;
}

std::string found(std::initializer_list<CheckpointRow> rows) {
  const Facts facts = two_members();
  const JobSteps steps = thirty_and_twenty();
  JobCheckpoints checkpoints(facts, steps);
  for (const CheckpointRow& r : rows) checkpoints.take(r);
  std::string out;
  for (const JobCheckpoint& c : checkpoints.found())
    out += fmt::format("{} {} at {}; ", name(c.event), c.iteration.value_or(-1), c.row);
  return out;
}

TEST(JobCheckpoints, BeginAndEndOfOneAreOne) {
  using enum CheckpointEvent;
  EXPECT_EQ(found({row(saving, 101, 10), row(saved, 102, 10)}), "saved 10 at 9; ");
  EXPECT_EQ(found({row(saving, 101, 10), row(saved, 135, 10)}), "saved 10 at 9; ")
      << "written beside the training";
  EXPECT_EQ(found({row(saving, 101, {}), row(saved, 103, {}), row(saving, 201, {})}),
            "saved -1 at 9; saving -1 at 19; ");
}

TEST(JobCheckpoints, ALoadStandsAtTheFirstStepAfterIt) {
  using enum CheckpointEvent;
  EXPECT_EQ(found({row(saved, 201, 20), row(loading, 305, 20), row(loaded, 306, 20)}),
            "saved 20 at 19; loaded 20 at 30; ");
  EXPECT_EQ(found({row(loaded, 2, 0)}), "loaded 0 at 0; ");
  EXPECT_EQ(found({row(loaded, 505, 40)}), "") << "no step came after it";
}

TEST(JobCheckpoints, TheSameStepOfTwoAttemptsIsTwo) {
  using enum CheckpointEvent;
  EXPECT_EQ(found({row(saved, 251, 25), row(saved, 351, 25)}), "saved 25 at 24; saved 25 at 34; ");
}

TEST(JobCheckpoints, AnotherFileWithoutTimesGoesByTheNumber) {
  using enum CheckpointEvent;
  EXPECT_EQ(found({row(saved, 7, 10, 2)}), "saved 10 at 9; ");
  EXPECT_EQ(found({row(saved, 7, {}, 2)}), "") << "nothing says when";
  EXPECT_EQ(found({row(loaded, 7, 10, 2)}), "") << "nothing says which attempt";
}

}  // namespace
}  // namespace culprit::analyze
