#include "model/figure.hpp"

#include <gtest/gtest.h>

#include "model/csv.hpp"

namespace culprit {
namespace {

TEST(Figure, IsANumberWhereItIsOne) {
  EXPECT_EQ(figure(Analysis::slow, "factor", "1.250").dump(), "1.25");
  EXPECT_EQ(figure(Analysis::classify, "code", "79").dump(), "79");
  EXPECT_EQ(figure(Analysis::slow, "cost_s", "-3").dump(), "-3");
}

TEST(Figure, StaysAWordWhereItMeansAName) {
  for (const char* name : {"message", "group", "peer"})
    EXPECT_EQ(figure(Analysis::classify, name, "12").dump(), "\"12\"");
  EXPECT_EQ(figure(Analysis::collectives, "ranks", "3").dump(), "\"3\"");
  for (const char* value : {"", "0x1f", "007", "1.", "0-3", "nan", "12 hosts", "1e999"})
    EXPECT_TRUE(figure(Analysis::classify, "hosts", value).is_string()) << value;
}

TEST(CsvCell, IsNoFormula) {
  EXPECT_EQ(csv_cell("node-07"), "node-07");
  EXPECT_EQ(csv_cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  EXPECT_EQ(csv_cell("@a,\"b\""), "\"'@a,\"\"b\"\"\"");
  EXPECT_EQ(csv_cell("\tx"), "'\tx");
  EXPECT_EQ(csv_cell(""), "");
}

}  // namespace
}  // namespace culprit
