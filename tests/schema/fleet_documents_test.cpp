// What `batch` and `fleet` print as JSON satisfies their schemas.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"
#include "support/printed.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class FleetDocuments : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty()) GTEST_SKIP() << "no program in this build";
    char name[] = "/tmp/culprit-fleet-documents-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override {
    if (!folder.empty()) fs::remove_all(folder);
  }
  std::string run(const std::string& arguments) const {
    const auto out = culprit::test::printed("cd " + folder.string() + " && " +
                                            std::string(CULPRIT_BINARY) + " " + arguments + " -q");
    EXPECT_EQ(out.status, 0) << arguments;
    return out.text;
  }
  static void check(const std::string& text, const std::string& schema) {
    const json document = json::parse(text, nullptr, false);
    ASSERT_TRUE(document.is_object());
    const json rules = json::parse(culprit::schema::text(schema));
    for (const auto& violation : culprit::schema::validate(document, rules))
      ADD_FAILURE() << schema << " " << violation.path << ": " << violation.reason;
    json broken = document;
    broken["nobody_knows_this_key"] = 1;
    EXPECT_FALSE(culprit::schema::validate(broken, rules).empty()) << schema << " forbids nothing";
  }
  fs::path folder;
};

TEST_F(FleetDocuments, Batch) {
  const std::string samples = CULPRIT_SAMPLES_DIR;
  check(run("batch " + samples + "/gpu-off-bus " + samples + "/crash-one-rank " + samples +
            "/clean-run -o out --json"),
        "batch-v1.json");
  check(run("fleet -d out/fleet.db --json"), "fleet-v1.json");
  check(run("fleet -d out/fleet.db --json --hosts 500 --gpus-per-host 8 --from 2026-10-01 --to "
            "2026-12-01"),
        "fleet-v1.json");
}

TEST_F(FleetDocuments, Events) {
  std::ofstream file(folder / "faults.csv");
  file << "host,start,end,class,description,kind\n";
  for (int i = 0; i < 60; ++i)
    file << "node-" << (i % 7 == 0 ? 3 : i) << "," << 1'767'225'600 + i * 86'400 << ","
         << (i % 9 == 0 ? "" : std::to_string(1'767'225'600 + i * 86'400 + 5'000)) << ",GPU,lost,"
         << (i == 30 ? "repair" : "") << "\n";
  file.close();
  run("fleet import faults.csv -d fleet.db --hosts 100 --gpus-per-host 8");
  check(run("fleet -d fleet.db --json"), "fleet-v1.json");
  check(run("plan standby --from fleet.db --json"), "plan-standby-v1.json");
  fs::create_directory(folder / "empty");
  run("fleet import faults.csv -d fleet2.db --hosts 100");
  check(run("fleet -d fleet2.db --json --from 2030-01-01 --to 2030-02-01"), "fleet-v1.json");
}

}  // namespace
