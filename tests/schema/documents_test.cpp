// What the commands of slowness print as JSON satisfies the schemas that `culprit schema` prints.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"
#include "support/printed.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Documents : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty()) GTEST_SKIP() << "no program in this build";
    char name[] = "/tmp/culprit-documents-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override {
    if (!folder.empty()) fs::remove_all(folder);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  }

  json printed(const std::string& arguments) const {
    const culprit::test::Printed out =
        culprit::test::printed(std::string(CULPRIT_BINARY) + " " + arguments + " --json -q");
    EXPECT_EQ(out.status, 0) << arguments;
    return json::parse(out.text, nullptr, false);
  }

  static void check(const json& document, const std::string& schema) {
    ASSERT_TRUE(document.is_object());
    const std::string_view text = culprit::schema::text(schema);
    ASSERT_FALSE(text.empty()) << schema;
    const json rules = json::parse(text);
    for (const auto& violation : culprit::schema::validate(document, rules))
      ADD_FAILURE() << schema << " " << violation.path << ": " << violation.reason;
    json broken = document;
    broken["nobody_knows_this_key"] = 1;
    EXPECT_FALSE(culprit::schema::validate(broken, rules).empty()) << schema << " forbids nothing";
  }

  // Iterations of 800 ms, 1200 from 120 to 179.
  static std::string steps() {
    std::string out = "iteration,time,iter_ms,loss,grad_norm\n";
    double now = 1'700'000'000;
    for (int i = 0; i < 300; ++i) {
      const double ms = (i >= 120 && i < 180 ? 1200 : 800) + (i * 7919 % 11) - 5;
      now += ms / 1e3;
      out += std::to_string(i) + "," + std::to_string(now) + "," + std::to_string(ms) + "," +
             (i == 250 ? "nan" : "2.5") + ",1.0\n";
    }
    return out;
  }

  fs::path folder;
};

TEST_F(Documents, Changepoints) {
  const json one = printed("changepoints --column iter_ms " + write("steps.csv", steps()));
  check(one, "changepoints-v1.json");
  ASSERT_EQ(one["intervals"].size(), 1u);
  EXPECT_NEAR(one["intervals"][0]["start"].get<int>(), 120, 2);
  check(printed("changepoints " + write("all.csv", steps())),
        "changepoints-v1.json");  // several columns
  std::string calls = "time_us,operation,rank,communicator,elements\n";
  for (int i = 0, now = 0; i < 100; ++i) {
    for (int layer = 0; layer < 6; ++layer)
      calls += std::to_string(now += 1000) + ",all_gather,0,dp,1000000\n";
    calls += std::to_string(now += 1000) + ",all_reduce,0,world,1\n";
    now += 100'000;
  }
  const json counted = printed("changepoints " + write("calls.csv", calls));
  check(counted, "changepoints-v1.json");
  EXPECT_EQ(counted["calls"]["period"], 7);
}

TEST_F(Documents, Efficiency) {
  const json document = printed("efficiency --gpus 8 " + write("steps.csv", steps()));
  check(document, "efficiency-v1.json");
  EXPECT_EQ(document["slow_intervals"].size(), 1u);
  EXPECT_EQ(document["not_finite"]["iteration"], 250);
  check(printed("efficiency " + write("short.csv", "iteration,iter_ms\n1,2\n2,2\n")),
        "efficiency-v1.json");
}

TEST_F(Documents, Outliers) {
  std::string table = "time,host,metric,value\n";
  for (int t = 0; t < 60; ++t)
    for (int h = 0; h < 8; ++h)
      table += std::to_string(1'700'000'000 + 30 * t) + ",node-" + std::to_string(h) +
               ",gpu_temperature," +
               std::to_string(60 + (t * 31 + h * 17) % 3 + (h == 5 && t > 20 ? 25 : 0)) + "\n";
  const json document = printed("outliers " + write("hot.csv", table));
  check(document, "outliers-v1.json");
  ASSERT_EQ(document["outliers"].size(), 1u);
  EXPECT_EQ(document["outliers"][0]["entity"], "node-5");
  check(printed("outliers " +
                write("few.csv", "time,host,gpu_temperature\n1700000000,a,60\n1700000030,a,61\n")),
        "outliers-v1.json");
}

TEST_F(Documents, ExplainFormatsAndShow) {
  for (const char* query : {"xid 79", "exit -9", "nccl remote error", "79",
                            "--line 'rank 3: NVRM: Xid (PCI:0000:3b:00): 63, pid=1'"})
    check(printed(std::string("explain ") + query), "explain-v1.json");
  check(printed("formats"), "formats-v1.json");
  const std::string db = (folder / "incident.db").string(),
                    sample = CULPRIT_SAMPLES_DIR "/gpu-off-bus";
  check(printed("diagnose " + sample + " -d " + db), "diagnosis-v1.json");
  check(printed("show -d " + db), "show-v1.json");
  check(printed("classify -d " + db), "classify-v1.json");
  const json one = printed("show gpu_xid/79 -d " + db + " --bundle " + sample);
  check(one, "show-v1.json");
  EXPECT_FALSE(one["findings"][0]["evidence"][0]["lines"].empty());
}

TEST_F(Documents, Compare) {
  const std::string samples = CULPRIT_SAMPLES_DIR;
  check(printed("compare " + samples + "/clean-run " + samples + "/gpu-off-bus"),
        "compare-v1.json");
  check(printed("compare " + samples + "/clean-run " + samples + "/clean-run"), "compare-v1.json");
}

}  // namespace
