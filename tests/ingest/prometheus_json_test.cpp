#include <cmath>

#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_as_document;
using test::told;

using Values = std::vector<double>;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view kMatrix =
    R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","Hostname":"n\u00f61","gpu":"3","modelName":"H100"},"values":[[1670324477.542,"41"],[1670324492.542,"NaN"],[1670324507.5,"+Inf"],[1670324522,"9223372036854775794"]]}, {"metric":{},"values":[[1,"2"]]}]},"warnings":["a \"b\""],"infos":[]}
)";

TEST(PrometheusJson, Matrix) {
  const auto rows = read_as_document(kMatrix, "q/rate-of-x.json");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows), (std::vector<std::string>{"DCGM_FI_DEV_GPU_TEMP host=n\xC3\xB6"
                                                  "1 gpu=3",
                                                  "rate-of-x"}));
  const SeriesPoints points = rows.points("DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(points.times, (Integers{1'670'324'477'542'000'000, 1'670'324'492'542'000'000,
                                    1'670'324'507'500'000'000}));
  EXPECT_EQ(points.values[0], 41);
  EXPECT_TRUE(std::isnan(points.values[1]));
  EXPECT_TRUE(std::isinf(points.values[2]));
  ASSERT_EQ(points.offsets.size(), 3u);
  EXPECT_EQ(kMatrix.substr(static_cast<std::size_t>(points.offsets[1]), 24),
            "[1670324492.542,\"NaN\"],[");
  EXPECT_EQ(rows.series_rows[0].clock, Clock::utc);
}

TEST(PrometheusJson, VectorScalarPrettyAndSorted) {
  EXPECT_EQ(
      read_as_document(
          R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up","job":"prom"},"value":[1700000000,"1"]}]}})",
          "v.json")
          .points("up")
          .values,
      Values{1});
  EXPECT_EQ(
      read_as_document(
          R"({"status":"success","data":{"resultType":"scalar","result":[1700000000.5,"3"]}})",
          "v.json")
          .points("v")
          .times,
      Integers{1'700'000'000'500'000'000});
  EXPECT_TRUE(read_as_document(R"({"status":"success","data":{"resultType":"vector","result":[]}})",
                               "v.json")
                  .series_rows.empty());
  const auto sorted = read_as_document(
      "{\n  \"data\": {\n    \"result\": [\n      {\n        \"values\": [\n          [\n          "
      "  1700000000,\n            \"1\"\n          ],\n          [ 1700000001 , \"2\" ]\n        "
      "],\n        \"metric\": {\n"
      "          \"__name__\": \"up\"\n        }\n      }\n    ],\n    \"resultType\": "
      "\"matrix\"\n  },\n  \"status\": \"success\"\n}\n",
      "v.json");
  EXPECT_TRUE(sorted.rejects.empty()) << sorted.reasons();
  EXPECT_EQ(sorted.points("up").values, (Values{1, 2}));
  EXPECT_EQ(sorted.points("up").lines, (Integers{6, 10}));
}

TEST(PrometheusJson, WithoutAHostAUuidNamesTheGpu) {
  const auto rows = read_as_document(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"t","gpu":"0","UUID":"GPU-a"},"value":[1,"1"]},{"metric":{"__name__":"t","gpu":"0","UUID":"GPU-b"},"value":[1,"1"]},)"
      R"({"metric":{"__name__":"t","gpu":"0","UUID":"GPU-c","instance":"n1:9400"},"value":[1,"1"]}]}})",
      "v.json");
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{"t gpu=GPU-a", "t gpu=GPU-b", "t host=n1 gpu=0"}));
}

TEST(PrometheusJson, SeveralAnswersInOneFile) {
  const std::string one =
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1700000000,"1"]}]}})";
  const auto rows = read_as_document(
      one + "\n" + one + R"({"status":"error","errorType":"timeout","error":"query timed out"})" +
          one,
      "v.json");
  EXPECT_EQ(rows.points("up").size(), 3u);
  EXPECT_EQ(rows.points("up").lines, (Integers{1, 2, 2}));
  ASSERT_EQ(rows.reasons(), "2:prometheus_json.error");
  EXPECT_EQ(rows.rejects[0].excerpt.substr(0, 17), "\"query timed out\"");
}

TEST(PrometheusJson, ErrorsAndDamage) {
  EXPECT_EQ(read_as_document(R"({"status":"error","errorType":"bad_data","error":"parse error"})",
                             "v.json")
                .reasons(),
            "1:prometheus_json.error 0:prometheus_json.error");
  const auto odd = read_as_document(
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"a"},"values":[[1,"x"],[2,"3"],["4","5"],[6],7,[8,"9"x],[10,11]],"histograms":[[1,{"count":"3"}]]}]}})",
      "v.json");
  EXPECT_EQ(odd.points("a").values, (Values{3, 11}));
  EXPECT_EQ(odd.rejects.size(), 5u);
  EXPECT_EQ(odd.rejects.back().reason, "prometheus_json.native_histogram");
}

TEST(PrometheusJson, OfACutTailStaysWhatParses) {
  const Values whole = read_as_document(kMatrix, "q.json").points("DCGM_FI_DEV_GPU_TEMP").values;
  for (std::size_t end = kMatrix.find("resultType") + 12; end + 1 < kMatrix.size(); ++end) {
    const auto rows = read_as_document(kMatrix.substr(0, end), "q.json");
    EXPECT_FALSE(rows.rejects.empty()) << end;
    const Values values = rows.points("DCGM_FI_DEV_GPU_TEMP").values;
    ASSERT_LE(values.size(), whole.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(values[i] == whole[i] || std::isnan(whole[i])) << end;
  }
  EXPECT_EQ(read_as_document(kMatrix.substr(0, kMatrix.find(",[1670324507")), "q.json")
                .points("DCGM_FI_DEV_GPU_TEMP")
                .size(),
            2u);
}

TEST(PrometheusJson, DeepNestingCostsNothing) {
  const std::string deep = R"({"status":"success","resultType":0,"x":)" +
                           std::string(1 << 20, '[') + std::string(1 << 20, ']') +
                           R"(,"data":{"result":[{"metric":{"__name__":"a"},"value":[1,"2"]}]}})";
  EXPECT_EQ(read_as_document(deep, "v.json").points("a").values, Values{2});
}

}  // namespace
}  // namespace culprit::ingest
