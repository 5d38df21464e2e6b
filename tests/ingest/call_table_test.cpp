#include "ingest/table/call_table.hpp"

#include <gtest/gtest.h>

namespace culprit::ingest {
namespace {

Result<CallTable> read(const std::string& text) {
  auto table = read_bare_table(text, "calls.csv");
  if (!table) return table.error();
  return read_call_table(*table, "calls.csv");
}

bool looks(const std::string& text) {
  const auto table = read_bare_table(text, "calls.csv");
  return table && is_call_table(*table);
}

TEST(CallTable, RanksCommunicatorsAndSizes) {
  const auto log = read(
      "timestamp,op,rank,comm,count\n1700000000.5,all_reduce,10,dp,100\n1700000000.6,all_gather,2,"
      "tp,7\n1700000001.5,all_reduce,10,dp,200\n");
  ASSERT_TRUE(log) << log.error().what;
  ASSERT_EQ(log->callers.size(), 2u);
  EXPECT_EQ(log->callers[0].name, "rank 2");  // numbers in their order
  EXPECT_EQ(log->callers[1].name, "rank 10");
  ASSERT_EQ(log->callers[1].calls.size(), 2u);
  EXPECT_EQ(log->callers[1].calls[1].time - log->callers[1].calls[0].time, kSecond);
  EXPECT_EQ(log->callers[1].calls[1].size, 200u);
  EXPECT_EQ(log->operations[log->callers[0].calls[0].operation], "all_gather");
  EXPECT_EQ(log->communicators[log->callers[1].calls[0].communicator], "dp");
  EXPECT_FALSE(log->since_start);
}

TEST(CallTable, TimesSinceAStartInTheUnitOfTheirName) {
  for (const auto& [column, unit] : {std::pair{"time_us", 1'000},
                                     {"time_ms", 1'000'000},
                                     {"ts_ns", 1},
                                     {"time", 1'000'000'000}}) {
    const auto log = read(std::string(column) + ",operation\n5,a\n7,a\n");
    ASSERT_TRUE(log) << column;
    EXPECT_EQ(log->callers[0].calls[1].time - log->callers[0].calls[0].time, 2 * unit) << column;
    EXPECT_TRUE(log->since_start);
    EXPECT_EQ(log->callers[0].name, "");
  }
  // The unit of the name holds whatever the size: 300 s in microseconds are no moment since 1970.
  const auto late = read("call_time_us,operation\n299800000,a\n300000000,a\n");
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->since_start);
  EXPECT_EQ(late->callers[0].calls[1].time - late->callers[0].calls[0].time, 200'000'000);
  const auto epoch = read("time_us,operation\n1700000000000000,a\n1700000000200000,a\n");
  ASSERT_TRUE(epoch);
  EXPECT_FALSE(epoch->since_start);
  EXPECT_EQ(epoch->callers[0].calls[1].time - epoch->callers[0].calls[0].time, 200'000'000);
}

TEST(CallTable, JsonLinesAndDamage) {
  const auto log = read(
      "{\"time\": 1700000000, \"operation\": \"all_reduce\", \"pid\": 45}\n{\"time\": 1700000001, "
      "\"pid\": 45}\n{\"operation\": \"x\", \"pid\": 45}\n{\"time\": 1700000002, \"operation\": "
      "\"all_reduce\"}\n");
  ASSERT_TRUE(log) << log.error().what;
  ASSERT_EQ(log->callers.size(), 1u);
  EXPECT_EQ(log->callers[0].name, "pid 45");
  EXPECT_EQ(log->callers[0].calls.size(), 1u);
  EXPECT_EQ(log->left_out, 3u);
  EXPECT_FALSE(read("time,operation\n,a\n,b\n"));
  EXPECT_FALSE(read("time,value\n1,2\n3,4\n"));
}

TEST(CallTable, OtherTablesAreNone) {
  EXPECT_TRUE(looks("time,operation\n1,a\n2,b\n"));
  EXPECT_FALSE(looks("iteration,time,operation,iter_ms\n1,1,a,800\n2,2,a,810\n3,3,a,820\n"));
  EXPECT_FALSE(looks("time,host,metric,value\n1,a,b,2\n2,a,b,2\n"));
  EXPECT_FALSE(looks("operation,rank\na,1\nb,2\n"));
}

}  // namespace
}  // namespace culprit::ingest
