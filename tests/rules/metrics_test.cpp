#include "rules/metrics.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "schema/embedded.hpp"

namespace culprit::rules {
namespace {

std::string catalogue_of(const std::string& metrics) {
  return R"({"about": "Test.", "metrics": [)" + metrics + "]}";
}
std::string entry(const std::string& name, const std::string& aliases, const std::string& more = "",
                  const std::string& unit = "W") {
  return fmt::format(
      R"({{"name": "{}", "aliases": {}, "unit": "{}", "bad": "high", "entity": "gpu", "points_to": "gpu", "symptom": "None", "meaning": "m", "advice": "a", "source": "s"{}}})",
      name, aliases, unit, more);
}
std::string trouble(const std::string& text) {
  const auto parsed = Catalogue::parse(text, "mine.json");
  if (parsed) return "";
  return parsed.error().where->file + ": " + parsed.error().what;
}

TEST(Metrics, TheBuiltInCatalogueIsStrictlyRight) {
  for (const EmbeddedFile& file : embedded_rules())
    if (std::string_view(file.name) == "tables/metrics.json") {
      EXPECT_EQ(trouble(std::string(file.text())), "");
    }
  EXPECT_GT(Catalogue::built_in().metrics().size(), 100u);
}

struct Known {
  const char* printed;
  const char* unit;
  const char* metric;
  MetricKind kind;
  double scale;
};
void PrintTo(const Known& k, std::ostream* out) { *out << k.printed; }
class MetricNames : public testing::TestWithParam<Known> {};

TEST_P(MetricNames, AreFound) {
  const Known& k = GetParam();
  const auto match = Catalogue::built_in().find(k.printed, k.unit);
  if (std::string_view(k.metric).empty()) {
    EXPECT_FALSE(match) << match->metric->name;
    return;
  }
  ASSERT_TRUE(match) << k.printed;
  EXPECT_EQ(match->metric->name, k.metric);
  EXPECT_EQ(match->kind, k.kind);
  EXPECT_NEAR(match->scale / k.scale, 1, 1e-12);
}

constexpr MetricKind kGauge = MetricKind::gauge, kCounter = MetricKind::counter;
INSTANTIATE_TEST_SUITE_P(
    Programs, MetricNames,
    testing::Values(
        Known{"DCGM_FI_DEV_GPU_TEMP", "", "gpu_temperature", kGauge, 1},
        Known{"gtemp", "", "gpu_temperature", kGauge, 1},
        Known{"utilization.gpu [%]", "", "gpu_utilization", kGauge, 1},
        Known{"power.draw [W]", "", "gpu_power", kGauge, 1},
        Known{"power.draw", "mW", "gpu_power", kGauge, 1e-3},
        Known{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "", "gpu_tensor_active", kGauge, 100},
        Known{"tensor_active", "ratio", "gpu_tensor_active", kGauge, 100},
        Known{"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L3", "", "gpu_nvlink_errors", kCounter, 1},
        Known{"DCGM_FI_DEV_POWER_VIOLATION", "", "gpu_power_violation", kCounter, 1e-7},
        Known{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "", "gpu_energy", kCounter, 1e-3},
        Known{"port_rcv_data", "", "nic_receive_bytes", kCounter, 4},
        Known{"node_infiniband_port_data_received_bytes_total", "", "nic_receive_bytes", kCounter,
              1},
        Known{"rx_bytes [MB/s]", "", "nic_receive_bytes", kGauge, 1e6},
        Known{"rx_prio3_pause", "", "nic_pfc_pause_received", kCounter, 1},
        Known{"rx_prio3_pause_duration", "", "nic_pfc_pause_time", kCounter, 1e-4},
        Known{"VL15_dropped", "", "nic_vl15_dropped", kCounter, 1},
        Known{"Retran", "", "nic_retransmissions", kGauge, 1},
        Known{"node_netstat_Tcp_RetransSegs", "", "tcp_retransmissions", kCounter, 1},
        Known{"node_pressure_io_waiting_seconds_total", "", "pressure_io", kCounter, 100},
        Known{"MemAvailable", "", "host_memory_available", kGauge, 1.0 / 1024},
        Known{"iter_ms", "", "iteration_time", kGauge, 1},
        Known{"step_time", "", "iteration_time", kGauge, 1000},
        Known{"elapsed time per iteration (ms)", "", "iteration_time", kGauge, 1},
        Known{"forward-backward", "", "forward_backward_time", kGauge, 1},
        Known{"gpu_temperature (mean)", "", "gpu_temperature", kGauge, 1},
        Known{"gpu_temp_max", "", "gpu_temperature", kGauge, 1},  // of a host over its GPUs
        Known{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS.hw_slowdown", "", "gpu_hw_slowdown", kGauge, 1},
        Known{"rx_discards_phy_delta", "", "nic_discards", kGauge, 1},  // since the row before
        Known{"ecn_marked_packets_per_second", "", "nic_ecn_marked", kGauge, 1},
        Known{"ecn_rate", "", "nic_ecn_marked", kGauge, 1},  // of a name that is a rate already
        Known{"cnp_pps", "", "nic_cnp_handled", kGauge, 1},
        Known{"gpu_temp_delta", "", "", kGauge, 1},  // no counter
        Known{"power.draw", "MHz", "", kGauge, 1},   // measures something else
        Known{"frobnication", "", "", kGauge, 1}, Known{"", "", "", kGauge, 1}));

TEST(Metrics, EveryNameFindsItsOwnMetricWithoutConversion) {
  for (const Metric& m : Catalogue::built_in().metrics()) {
    const auto match = Catalogue::built_in().find(m.name);
    ASSERT_TRUE(match) << m.name;
    EXPECT_EQ(match->metric->name, m.name);
    EXPECT_EQ(match->scale, 1) << m.name;
  }
}

TEST(Metrics, CountersThatStickSayWhere) {
  for (const auto& [alias, ceiling] : {std::pair{"link_downed", 255.0},
                                       {"excessive_buffer_overrun_errors", 15.0},
                                       {"symbol_error", 65535.0}})
    EXPECT_EQ(Catalogue::built_in().find(alias)->metric->ceiling, ceiling) << alias;
  EXPECT_TRUE(Catalogue::built_in().find("link_downed")->metric->zero_once);
  EXPECT_FALSE(Catalogue::built_in().find("out_of_sequence")->metric->zero_once);
}

TEST(Metrics, MistakesAreRefusedWithFileKeyAndReason) {
  EXPECT_EQ(trouble(catalogue_of(entry("power", R"(["pwr"])", R"(, "lowest": 1)"))),
            "mine.json: metrics[0]: unknown key 'lowest'");
  EXPECT_EQ(trouble(catalogue_of(entry("a", R"(["pwr"])") + "," + entry("b", R"(["PWR"])"))),
            "mine.json: metrics[1].aliases[0] of 'b': 'pwr' stands twice, also in 'a'");
  EXPECT_EQ(trouble(catalogue_of(entry("a", R"(["x_*"])") + "," + entry("b", R"(["X.*"])"))),
            "mine.json: metrics[1].aliases[0] of 'b': 'x_*' stands twice, also in 'a'");
  EXPECT_EQ(trouble(catalogue_of(entry("a", "[]") + "," + entry("a", "[]"))),
            "mine.json: metrics[1].name of 'a': it stands twice");
  EXPECT_EQ(trouble(catalogue_of(entry("a", R"(["**"])"))),
            "mine.json: metrics[0].aliases[0] of 'a': it would match any name");
  EXPECT_EQ(trouble(catalogue_of(entry("a", R"([{"name": "b", "unit": "MHz"}])"))),
            "mine.json: metrics[0].aliases[0] of 'a': 'MHz' of a gauge does not become 'W'");
  EXPECT_EQ(trouble(catalogue_of(entry("a", "[]", "", "furlong"))),
            "mine.json: metrics[0].unit of 'a': 'furlong' is not a unit");
  EXPECT_NE(trouble(catalogue_of(entry("a", "[]", R"(, "bad": "low")"))), "");  // duplicate key
  EXPECT_NE(trouble("[]"), "");
  EXPECT_NE(trouble("{"), "");
}

TEST(Metrics, PatternsPreferTheLongest) {
  const auto parsed = Catalogue::parse(
      catalogue_of(entry("a", R"(["rx_*"])") + "," + entry("b", R"(["rx_*_pause"])")), "f");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->find("rx_prio0_pause")->metric->name, "b");
  EXPECT_EQ(parsed->find("rx_other")->metric->name, "a");
}

}  // namespace
}  // namespace culprit::rules
