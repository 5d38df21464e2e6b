// Load and use of the CPUs of a machine.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

TEST(LoadWords, TopStandsForTheMinutesThatItsAveragesCover) {
  const auto read = test::read_text(
      "top - 02:41:10 up 61 days,  2 users,  load average: 201.40, 196.00, 180.20\n"
      "%Cpu(s): 71.0 us, 20.1 sy,  0.0 ni,  1.1 id,  7.6 wa,  0.0 hi,  0.2 si,  0.0 st\n");
  const auto load = read.points("load_average").values;
  ASSERT_EQ(load.size(), 16u);
  EXPECT_EQ(load.front(), 180.2);
  EXPECT_EQ(load.back(), 201.4);
  EXPECT_EQ(read.points("cpu_system").values, std::vector<double>{20.1});
  EXPECT_EQ(read.points("cpu_iowait").values, std::vector<double>{7.6});
}

TEST(LoadWords, WithoutATimeItIsOneReading) {
  EXPECT_EQ(
      test::read_text("up 3 days, load average: 4.00, 3.00, 2.00\n").points("load_average").values,
      std::vector<double>{4.0});
  EXPECT_TRUE(test::read_text("high load average: 99 on all hosts\n").series_rows.empty());
}

}  // namespace
}  // namespace culprit::ingest
