#include "ingest/engine/series_book.hpp"

#include <cmath>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

TEST(SeriesBook, SamplesOfOneKeyAreOneSeriesInOrder) {
  test::Rows rows;
  Reading reading{rows, test::pack(), "data", {}, {}, "m"};
  SeriesBook book;
  SeriesRow key;
  key.name = "temp";
  key.gpu = "0";
  const auto zero = book.series(key);
  key.gpu = "1";
  const auto one = book.series(key);
  EXPECT_NE(zero, one);
  for (int i = 0; i < 10'000; ++i) {
    book.add(zero, i, kNoValue, i * 0.5,
             {1, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i * 10), 9},
             reading);
    if (i % 2 == 0)
      book.add(one, i, i < 5 ? kNoValue : i, 1,
               {1, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i * 10), 9},
               reading);
  }
  book.finish(reading);
  const SeriesPoints points = rows.points("temp", "0");
  ASSERT_EQ(points.size(), 10'000u);
  EXPECT_EQ(points.values[9'999], 4'999.5);
  EXPECT_EQ(points.steps[9'999], 9'999);
  EXPECT_EQ(points.lines[9'999], 10'000);
  EXPECT_TRUE(points.times.empty());
  const SeriesPoints other = rows.points("temp", "1");
  ASSERT_EQ(other.size(), 5'000u);
  EXPECT_EQ(other.times[0], kNoValue);
  EXPECT_EQ(other.times[4'999], 9'998);
}

TEST(MetricNumber, ReadsWhatToolsPrint) {
  struct {
    std::string_view cell;
    bool given;
    double value;
    std::string_view rest;
  } const cases[] = {
      {"98", true, 98, ""},
      {" 98 % ", true, 98, "%"},
      {"592.74 W", true, 592.74, "W"},
      {"1e+09", true, 1e9, ""},
      {"+Inf", true, INFINITY, ""},
      {"-inf", true, -INFINITY, ""},
      {"\"0.2\"", true, 0.2, ""},
      {"-", false, 0, ""},
      {"", false, 0, ""},
      {"[N/A]", false, 0, ""},
      {"N/A", false, 0, ""},
      {"[Not Supported]", false, 0, ""},
      {"[Unknown Error]", false, 0, ""},
      {"9223372036854775794", false, 0, ""},
      {"2147483632", false, 0, ""},
      {"infra", false, 0, ""},
      {"nana", false, 0, ""},
      {"1486 MiB\r", true, 1486, "MiB"},
  };
  for (const auto& c : cases) {
    double value = 0;
    std::string_view rest;
    ASSERT_EQ(metric_number(c.cell, value, rest), c.given) << c.cell;
    if (!c.given) continue;
    EXPECT_EQ(value, c.value) << c.cell;
    EXPECT_EQ(rest, c.rest) << c.cell;
  }
  double value = 0;
  std::string_view rest;
  ASSERT_TRUE(metric_number("NaN", value, rest));
  EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace culprit::ingest
