#include "ingest/table/metric_table.hpp"

#include <gtest/gtest.h>

namespace culprit::ingest {
namespace {

Result<MetricTable> read(const std::string& text, const MetricTableOptions& options = {}) {
  auto table = read_bare_table(text, "t.csv");
  if (!table) return table.error();
  return read_metric_table(*table, "t.csv", options);
}

std::string shape(const MetricTable& t) {
  std::string out = t.form;
  for (const MetricSeries& m : t.metrics) {
    out += " | " + m.name + ":";
    for (const auto& e : m.entities)
      out += " " + e.name + (e.role.empty() ? "" : "@" + e.role) + "x" +
             std::to_string(e.values.size());
  }
  return out;
}

struct Case {
  const char* name;
  const char* text;
  const char* shape;
};
class MetricTables : public testing::TestWithParam<Case> {};

TEST_P(MetricTables, AreUnderstood) {
  const auto t = read(GetParam().text);
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(shape(*t), GetParam().shape);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, MetricTables,
    testing::Values(
        Case{"long_form",
             "time,host,metric,value\n1795232400,a,gtemp,60\n1795232400,b,gtemp,61\n1795232430,a,"
             "gtemp,62\n1795232430,b,pwr,300\n",
             "long | gtemp: ax2 bx1 | pwr: bx1"},
        Case{"gpus_and_roles",
             "time,host,gpu,role,metric,value\n1795232400,a,0,first,gtemp,60\n1795232400,a,GPU "
             "1,last,gtemp,61\n",
             "long | gtemp: a/gpu0@firstx1 a/gpu1@lastx1"},
        Case{"adapters",
             "time,host,nic,metric,value\n1795232400,a,mlx5_0,out_of_sequence,1\n1795232400,a,mlx5_"
             "1,out_of_sequence,2\n",
             "long | out_of_sequence: a/mlx5_0x1 a/mlx5_1x1"},
        Case{"rows_of_ranks",
             "{\"ts\": 1795232510.78, \"rank\": 3, \"iteration\": 1, \"iter_ms\": 400.5}\n{\"ts\": "
             "1795232510.91, \"rank\": 4, \"iteration\": 1, \"iter_ms\": 125.8}\n{\"ts\": "
             "1795232511.91, \"rank\": 4, \"iteration\": 2, \"iter_ms\": 125.8}\n",
             "rows | iter_ms: rank 3x1 rank 4x2"},
        Case{"wide", "time,n1,n2\n1795232400,1,2\n1795232430,3,\n1795232460,3,4\n",
             "wide | value: n1x3 n2x2"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(MetricTable, TimesInAnyUnit) {
  for (const char* time :
       {"1795232400", "1795232400.0", "1795232400000", "1795232400000000", "1795232400000000000",
        "2026-11-21T03:40:00Z", "2026-11-21 03:40:00", "2026-11-21T04:40:00+01:00"}) {
    const auto t = read(std::string("time,host,metric,value\n") + time + ",a,gtemp,60\n" + time +
                        ",b,gtemp,60\n");
    ASSERT_TRUE(t) << time << ": " << t.error().what;
    EXPECT_EQ(t->metrics[0].entities[0].times[0], 1'795'232'400 * kSecond) << time;
    EXPECT_EQ(t->notes.size(), std::string(time) == "2026-11-21 03:40:00" ? 1u : 0u) << time;
  }
}

TEST(MetricTable, UnitsInCellsAreNoHindrance) {
  const auto t = read(
      "timestamp, host, power.draw [W], temperature.gpu\n2024/09/08 13:03:31.000, a, 592.74 W, "
      "60\n2024/09/08 13:03:32.000, a, 80.1 W, [N/A]\n2024/09/08 13:03:33.000, a, 81.5 W, 61\n");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(shape(*t), "rows | power.draw [W]: ax3 | temperature.gpu: ax2");
  EXPECT_DOUBLE_EQ(t->metrics[0].entities[0].values[0], 592.74);
}

TEST(MetricTable, RowsWithoutTimeOwnerOrValueAreCounted) {
  const auto t = read(
      "time,host,metric,value\n,a,gtemp,60\n1795232400,,gtemp,60\n1795232400,a,gtemp,\n1795232400,"
      "a,gtemp,60\nsoon,a,gtemp,60\n");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->left_out, 4u);
  EXPECT_EQ(t->rows, 5u);
}

TEST(MetricTable, WhatCannotBeReadSaysWhatIsMissing) {
  EXPECT_EQ(read("host,metric,value\na,gtemp,60\nb,gtemp,60\n").error().what,
            "it has no time column");
  EXPECT_EQ(read("time,metric,value\n1795232400,gtemp,60\n1795232430,gtemp,61\n").error().what,
            "no column says whose the values are");
  MetricTableOptions options;
  options.known_metric = [](const std::string& name) { return name == "gtemp"; };
  EXPECT_EQ(read("time,gtemp,pwr\n1795232400,60,300\n1795232430,61,300\n", options).error().what,
            "'gtemp' is a metric, and no column says whose the values are");
  EXPECT_EQ(read("time,host,metric,value\n1795232400,a,gtemp,x\n").error().what,
            "it has no value with a time and an owner");
}

}  // namespace
}  // namespace culprit::ingest
