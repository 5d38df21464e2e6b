// `culprit plan topology` of an incident: slow rank and congested link out of files.
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "support/printed.hpp"

namespace {

using nlohmann::json;

// Eight machines with a GPU each: rank r is replica r % 2 of stage r / 2.
class PlanTopology : public testing::Test {
 protected:
  static constexpr int kWorld = 8;
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty() || !std::filesystem::exists(CULPRIT_BINARY))
      GTEST_SKIP() << "there is no program";
    folder_ =
        std::filesystem::temp_directory_path() / fmt::format("culprit_plan_topology_{}", getpid());
    std::filesystem::create_directories(folder_ / "logs");
    put("job.json",
        R"({"job": "slow-8", "world_size": 8, "gpus_per_node": 1,
            "hosts": ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"],
            "parallelism": {"tp": 1, "pp": 4, "dp": 2}})");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / "logs" / name) << text;
  }
  // From step 201 on rank 0 computes 1200 ms instead of 800, and all steps take 1250 ms instead of
  // 850.
  void slow_rank() const {
    for (int r = 0; r < kWorld; ++r) {
      std::string text;
      for (int i = 1; i <= 400; ++i) {
        const int step = i > 200 ? 1250 : 850, own = i > 200 && r == 0 ? 1200 : 800;
        text += fmt::format(
            "{{\"rank\": {}, \"iteration\": {}, \"iter_ms\": {}, \"compute_ms\": {}, "
            "\"grad_sync_ms\": {}}}\n",
            r, i, step + i * 5 % 7, own + (i * 7 + r * 3) % 9, step - own);
      }
      put(fmt::format("rank{}.jsonl", r), text);
    }
  }
  // Requests go from each rank to the next; those of `slow` take three times as long.
  void counters(const std::set<int>& slow) const {
    std::string text = "communicator,rank,host,CL,WR,WC,bytes,time_ms,peer\n";
    for (int k = 1; k <= 6; ++k)
      for (int r = 0; r < kWorld; ++r)
        text += fmt::format("c1,{},n{},{},{},{},4000000,{},{}\n", r, r, k, k * 6, k * 6,
                            slow.contains(r) ? 12 : 4, (r + 1) % kWorld);
    put("counters.csv", text);
  }
  culprit::test::Printed run(const std::string& command) const {
    return culprit::test::printed("cd '" + folder_.string() +
                                  "'; PATH=\"$(dirname '" CULPRIT_BINARY "'):$PATH\"; " + command +
                                  " 2>stderr");
  }
  json plan(const std::string& arguments = "logs") const {
    const auto got = run("culprit plan topology --json " + arguments);
    EXPECT_EQ(got.status, 0);
    return json::parse(got.text, nullptr, false);
  }
  static bool notes(const json& plan, const std::string& words) {
    for (const auto& note : plan.value("notes", json::array()))
      if (note.get<std::string>().find(words) != std::string::npos) return true;
    return false;
  }

  std::filesystem::path folder_;
};

// By hand: the levels are medians of 850..856 and 1250..1256, so the slowdown f is 1253 / 853 =
// 1.469. Stage 0 has a load of 1.2: a step of 8 micro-batches takes 4.4 + 7 * 1.2 = 12.8 when all
// are well, 1.2 f + 3.2 + 7 * 1.2 f = 17.30 before and 3.4 + f + 7 f = 15.15 after rank 0 went to
// stage 1. There it takes the place of rank 2; rank 4 leaves the ring that it shares with rank 5.
TEST_F(PlanTopology, TakesSlowRankAndCongestedLinkFromAnIncident) {
  slow_rank();
  counters({4});
  ASSERT_EQ(run("culprit diagnose -q logs -d incident.db").status, 0);
  for (const char* incident : {"logs", "-d incident.db"}) {
    const json p = plan(std::string("--end-load 1.2 ") + incident);
    ASSERT_TRUE(p.is_object()) << incident;
    ASSERT_EQ(p["straggler"].size(), 1u) << p;
    EXPECT_EQ(p["straggler"][0]["rank"], 0);
    EXPECT_NEAR(p["straggler"][0]["slowdown"], 1253.0 / 853, 1e-3);
    EXPECT_EQ(p["congested"], json({"n4", "n5"}));
    EXPECT_NEAR(p["step_by_stage"][0], 17.30 / 12.8, 1e-3);
    EXPECT_NEAR(p["step_by_stage"][1], 15.15 / 12.8, 1e-3);
    EXPECT_EQ(p["link"]["dp_mb"], json({10000.0, 0.0}));
    EXPECT_EQ(p["link"]["pp_mb"], json({0.0, 100.0}));
    EXPECT_EQ(p["moves"], json::parse(R"([{"rank": 0, "place": 2}, {"rank": 2, "place": 0},
                                          {"rank": 3, "place": 4}, {"rank": 4, "place": 3}])"));
    EXPECT_TRUE(notes(p, "slow ranks: 0, because of rank 0: steps took 1.47 times as long")) << p;
    EXPECT_TRUE(notes(p, "the link n4 - n5 is congested: rank 4")) << p;
  }
}

// What an option gives is the question: the incident tells the layout only.
TEST_F(PlanTopology, AnOptionWinsOverTheIncident) {
  slow_rank();
  counters({4});
  const json p = plan("logs --straggler 3,1.5");
  EXPECT_EQ(p["straggler"], json::parse(R"([{"rank": 3, "slowdown": 1.5}])"));
  EXPECT_FALSE(p.contains("congested"));
  EXPECT_EQ(p["layout_from"], "manifest");
}

// Requests from n3 to n4 and from n4 to n5 are slow: that is n4, and no link.
TEST_F(PlanTopology, AMachineThatIsSlowWithSeveralIsNoLink) {
  counters({3, 4});
  const json p = plan();
  EXPECT_FALSE(p.contains("congested")) << p;
  EXPECT_TRUE(p["moves"].empty());
  EXPECT_TRUE(notes(p, "n4 is slow with several machines")) << p;
}

// Twelve operations of each of four data-parallel groups; those of ranks 4 and 5 take twice as
// long.
TEST_F(PlanTopology, AProcessGroupOfTwoMachinesIsALink) {
  for (int r = 0; r < kWorld; ++r) {
    const int group = r / 2;
    json dump{{"version", "2.5"}, {"entries", json::array()}};
    dump["pg_config"][std::to_string(group + 1)] = {
        {"name", std::to_string(group + 1)},
        {"desc", "DATA_PARALLEL_GROUP"},
        {"ranks", fmt::format("[{}, {}]", group * 2, group * 2 + 1)}};
    for (int n = 1; n <= 12; ++n) {
      const std::int64_t created = 1'790'000'000'000'000'000 + n * 1'000'000'000LL;
      dump["entries"].push_back(
          {{"record_id", n},
           {"pg_id", group + 1},
           {"process_group", {std::to_string(group + 1), "DATA_PARALLEL_GROUP"}},
           {"collective_seq_id", n},
           {"p2p_seq_id", 0},
           {"op_id", n},
           {"profiling_name", "nccl:all_reduce"},
           {"time_created_ns", created},
           {"duration_ms", group == 2 ? 100.0 : 50.0},
           {"input_sizes", {{67108864}}},
           {"input_dtypes", {"BFloat16"}},
           {"output_sizes", {{67108864}}},
           {"output_dtypes", {"BFloat16"}},
           {"state", "completed"},
           {"time_discovered_started_ns", created},
           {"time_discovered_completed_ns", created + 200'000'000},
           {"retired", true},
           {"timeout_ms", 600000},
           {"is_p2p", false}});
    }
    put(fmt::format("nccl_trace_rank_{}.json", r), dump.dump());
  }
  const json p = plan();
  EXPECT_EQ(p["congested"], json({"n4", "n5"})) << p;
  EXPECT_EQ(p["link"]["dp_mb"], json({10000.0, 0.0}));
}

TEST_F(PlanTopology, AnIncidentWithoutEitherMovesNobody) {
  counters({});
  const auto got = run("culprit plan topology logs");
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(got.text.starts_with("Leave the ranks where they are\n")) << got.text;
  EXPECT_NE(got.text.find("no congested link"), std::string::npos) << got.text;
}

}  // namespace
