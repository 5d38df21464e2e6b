// What a machine's controller recorded, with commas, and what a diagnostic printed as JSON.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

TEST(SelRows, TellWhatIpmitoolPrintsWithBars) {
  const std::string text =
      "id,utc,sensor,event,dir\n"
      "201,2026-09-03 17:18:21,Memory #0x87 CPU2_DIMM_B2,Uncorrectable ECC,Asserted\n";
  const Head head{"gx-4.sel.csv", text, true};
  EXPECT_EQ(detect(head).format, "word-table");
  const auto rows = read_text(text, "words");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "host_mem_uncorrectable");
  EXPECT_EQ(rows.events[0].time.clock, Clock::local);
  EXPECT_EQ(rows.events[0].message, "| Memory #0x87 CPU2_DIMM_B2 | Uncorrectable ECC | Asserted");
}

TEST(SelRows, DateAndTimeMayStandApart) {
  const auto rows =
      read_text("1f,09/03/2026,17:18:21,Memory #0x87,Uncorrectable ECC,Asserted\n", "bmc");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].time.clock, Clock::local);
  const auto later =
      read_text("1f,09/03/2026,05:18:21 PM UTC,Memory #0x87,Uncorrectable ECC,Asserted\n", "bmc");
  ASSERT_EQ(later.events.size(), 1u);
  EXPECT_EQ(later.events[0].time.ns, rows.events[0].time.ns);
}

std::string report(const std::string& result) {
  return R"({"DCGM Diagnostic": {"test_categories": [{"category": "Stress", "tests": [)"
         R"({"name": "Diagnostic", "results": [{"gpu_id": "0", "status": "Pass"}, )" +
         result + "]}]}]}}";
}

TEST(DcgmDiagJson, TestsThatFailedWithTheirGpu) {
  const auto told = [](const std::string& text) {
    return told_by_document("dcgm-diag-json", "dcgm.json", text);
  };
  EXPECT_EQ(told(report(R"({"gpu_id": "5", "status": "Fail", "warnings": [)"
                        R"({"warning": "12 miscompares", "error_id": 21}]})")),
            "1:dcgm_diag_fail dcgm diag: test Diagnostic failed on GPU 5: 12 miscompares\n");
  EXPECT_EQ(told(report(R"({"entity_group": "GPU", "entity_id": 6, "status": "FAIL"})")),
            "1:dcgm_diag_fail dcgm diag: test Diagnostic failed on GPU 6\n");
  EXPECT_EQ(told(report(R"({"gpu_id": "5", "status": "Skip"})")), "");
  // What keeps a test from being run, and the processor's own.
  EXPECT_EQ(told(report(R"({"gpu_id": "5", "status": "Fail", "warnings": ["in use by another"]})")),
            "");
  EXPECT_EQ(told(report(R"({"entity_group": "CPU", "entity_id": 0, "status": "Fail"})")), "");
  EXPECT_EQ(told(report(R"({"gpu_ids": "0,1", "status": "Fail", "warnings": ["GPU 1: wrong"]})")),
            "1:dcgm_diag_fail dcgm diag: test Diagnostic failed on GPU 1: GPU 1: wrong\n");
}

}  // namespace
}  // namespace culprit::ingest
