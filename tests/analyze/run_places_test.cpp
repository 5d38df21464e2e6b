// Where a rank of a run stood: by its log, by what lies beside it, and by the order of a host file.
#include "analyze/facts/run_places.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

MemberRow log_at(MemberId id, const char* path) {
  MemberRow m;
  m.id = id;
  m.path = path;
  return m;
}

std::string host_of(const std::optional<RunPlaces::Seat>& seat) {
  return seat ? std::string(seat->host) : "none";
}

TEST(RunPlaces, ALogHoldsForItsOwnLinesFromThereOn) {
  RunPlaces places;
  places.add_of_log(1, 10, Rank(3), {Host("n1"), {}});
  places.add_of_log(1, 900, Rank(3), {Host("n2"), {}});
  EXPECT_EQ(host_of(places.in_log(1, 5, Rank(3))), "n1");  // nothing stands before it
  EXPECT_EQ(host_of(places.in_log(1, 899, Rank(3))), "n1");
  EXPECT_EQ(host_of(places.in_log(1, 901, Rank(3))), "n2");
  EXPECT_EQ(host_of(places.in_log(2, 901, Rank(3))), "none");
  EXPECT_TRUE(places.moved(Rank(3)));
  EXPECT_FALSE(places.moved(Rank(4)));
}

TEST(RunPlaces, AFolderHoldsForTheLogsInIt) {
  RunPlaces places;
  places.add_of_folder("a", Rank(0), {Host("n1"), LocalRank(0)});
  places.add_of_folder("b", Rank(0), {Host("n2"), LocalRank(0)});
  EXPECT_EQ(host_of(places.in_run(log_at(1, "a/out.log"), 1, Rank(0))), "n1");
  EXPECT_EQ(host_of(places.in_run(log_at(2, "b/out.log"), 1, Rank(0))), "n2");
  EXPECT_EQ(host_of(places.in_run(log_at(3, "c/out.log"), 1, Rank(0))), "none");
  places.add_of_folder("a", Rank(0), {Host("n3"), LocalRank(0)});  // two files that differ
  EXPECT_EQ(host_of(places.in_run(log_at(1, "a/out.log"), 1, Rank(0))), "none");
}

TEST(RunPlaces, AnOrderIsAskedLast) {
  RunPlaces places;
  places.add_order("a", {{Host("n1"), 1}, {Host("n2"), 1}});
  const MemberRow log = log_at(1, "a/out.log");
  EXPECT_EQ(host_of(places.in_run(log, 1, Rank(1))), "none");
  EXPECT_EQ(host_of(places.by_order(log, 1, Rank(1))), "n2");
  EXPECT_EQ(host_of(places.by_order(log, 1, Rank(2))), "none");
  EXPECT_EQ(places.ranks_beside(log), 2u);
  places.add_of_log(1, 1, Rank(1), {Host("n9"), {}});
  EXPECT_EQ(host_of(places.by_order(log, 1, Rank(1))), "n9");
}

}  // namespace
TEST(RunPlaces, AnOrderOfALogIsAskedBeforeThatOfItsFolder) {
  RunPlaces places;
  places.add_order("a", {{Host("n1"), 1}, {Host("n2"), 1}});
  places.add_order("a/out.log", {{Host("n2"), 1}, {Host("n1"), 1}});
  EXPECT_EQ(host_of(places.by_order(log_at(1, "a/out.log"), 1, Rank(1))), "n1");
  EXPECT_EQ(host_of(places.by_order(log_at(2, "a/err.log"), 1, Rank(1))), "n2");
}

}  // namespace culprit::analyze
