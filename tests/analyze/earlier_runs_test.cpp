// Which output is of runs before the one in question: hand-made facts.
#include "analyze/facts/earlier_runs.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

MemberRow file(MemberId id, const std::string& path) {
  MemberRow m;
  m.id = id;
  m.path = path;
  m.order = id;
  return m;
}

EventRow event(MemberId member, std::uint64_t line, std::optional<Nanoseconds> time) {
  EventRow e;
  e.place = {member, line, line * 100, 80};
  e.time_ns = time;
  return e;
}

TEST(EarlierRuns, AnUndatedLineIsNoLaterThanTheDatedOneBehindIt) {
  Facts facts;
  facts.members = {file(1, "out/node-1.log")};
  facts.start_is_known = true;
  facts.job_start = 2 * kHour;
  facts.events = {event(1, 10, {}), event(1, 20, kHour), event(1, 30, {})};
  find_earlier_runs(facts, {});
  EXPECT_EQ(facts.events[0].time_ns, kHour);
  EXPECT_FALSE(facts.events[2].time_ns) << "nothing dated behind it";
  facts.events = {event(1, 10, {}), event(1, 20, 3 * kHour)};
  find_earlier_runs(facts, {});
  EXPECT_FALSE(facts.events[0].time_ns) << "it may be of this run";
}

// A pod's log of the run before, ten minutes before the run that is asked about.
Facts restarted(bool well) {
  Facts facts;
  facts.members = {file(1, "pods/worker-0-previous.log"), file(2, "pods/worker-0.log")};
  facts.events = {event(1, 90, 50 * kMinute), event(2, 90, 3 * kHour)};
  if (well) facts.events[1].traits.add(Trait::launcher_completed);
  return facts;
}

TEST(EarlierRuns, WhyItWasStartedAgainIsTheQuestionUnlessItEndedWell) {
  const std::vector<OutputSpan> output{{1, 0, 50 * kMinute, true}, {2, kHour, 3 * kHour, true}};
  Facts well = restarted(true), not_told = restarted(false);
  find_earlier_runs(well, output);
  EXPECT_EQ(well.earlier_output.count(1), 1u);
  find_earlier_runs(not_told, output);
  EXPECT_TRUE(not_told.earlier_output.empty());
}

}  // namespace
}  // namespace culprit::analyze
