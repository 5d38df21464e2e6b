// Switches without what RoCE needs, in the ways in which they show it.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

std::string said(const std::string& text, const std::string& name = "switch/leaf-2.txt") {
  const Folder folder;
  folder.write(name, text);
  std::string out;
  for (const EventRow& e : read_folder(folder.path()).events)
    if (e.event_class == "switch_flow_control_off") out += e.message + "\n";
  return out;
}

const std::string kHeading =
    "Interface    Lossless priorities\n-----------  ---------------------\n";

TEST(SwitchFlowControl, ATableWithoutAnyPriority) {
  EXPECT_EQ(said(kHeading + "Ethernet0\nEthernet8    N/A\n"),
            "flow control: no lossless priority on any of 2 ports\n");
  EXPECT_EQ(said(kHeading + "Ethernet0    3\nEthernet8\n"), "");
  EXPECT_EQ(said(kHeading), "");
}

TEST(SwitchFlowControl, TakenOutAndNotMovedNorSetOtherwise) {
  EXPECT_EQ(said(" interface Ethernet1/14\n-  priority-flow-control mode on\n   no shutdown\n"),
            "flow control: taken out of the configuration: priority-flow-control mode on\n");
  EXPECT_EQ(said("+  priority-flow-control mode on\n-  priority-flow-control mode on\n"), "");
  EXPECT_EQ(said("-  priority-flow-control mode auto\n+  priority-flow-control mode on\n"), "");
  EXPECT_EQ(said("-\"pfc_enable\": \"3\",\n+\"pfc_enable\": \"3,4\",\n"), "");
  EXPECT_EQ(said("+  priority-flow-control mode on\n"), "");
}

TEST(SwitchFlowControl, OffOnAllPorts) {
  EXPECT_EQ(said("Ethernet0..252: dscp_to_tc_map=AZURE   pfc_enable=(none)\n"),
            "flow control: PFC is enabled on no port\n");
  EXPECT_EQ(said("Ethernet0: pfc_enable=(none)\nEthernet4: pfc_enable=3,4\n"), "");
  EXPECT_EQ(said("Ethernet0: pfc_enable=(none)\n"), "");
}

// A machine's own log, and what people wrote.
TEST(SwitchFlowControl, OnlyOfSwitches) {
  EXPECT_EQ(said("driver option pfc_enable=none ignored\ndriver option pfc_enable=none ignored\n",
                 "node-1/app.log"),
            "");
  EXPECT_EQ(said("- pfc enable\n- qos roce lossless\n", "NOTES.md"), "");
}

TEST(NvLinks, ErrorsOfEachLinkAreCounters) {
  const Rows rows = read_text(
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-aaaa-bbbb-cccc-1234567890ab)\n"
      "\t Link 0: Replay Errors: 2\n\t Link 0: CRC Errors: 0\n\t Link 11: CRC FLIT Errors: 7\n");
  std::string out;
  for (const SeriesRow& s : rows.series_rows)
    out += fmt::format("{} {} {};", s.name, s.gpu.value_or("-"), s.labels);
  EXPECT_EQ(out,
            "nvlink_replay_errors 0 link=0;nvlink_crc_errors 0 link=0;"
            "nvlink_crc_flit_errors 0 link=11;");
  EXPECT_TRUE(read_text("\t Link 0: Replay Errors: 2\n").series_rows.empty());
}

// Links of NVLink as nvidia-smi prints them, GPU by GPU.
TEST(NvLinks, CountsThoseThatAreUp) {
  const Rows rows = read_text(
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-aaaa-bbbb-cccc-1234567890ab)\n"
      "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
      "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-aaaa-bbbb-cccc-1234567890ab)\n"
      "\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
      "GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-00000002-aaaa-bbbb-cccc-1234567890ab)\n"
      "\t NVML: Unable to retrieve NVLink information as all links are inActive\n");
  std::string out;
  for (const ConfigRow& c : rows.configs)
    if (c.name.starts_with("gpu.nvlinks")) out += c.name + "=" + c.value + " ";
  EXPECT_EQ(out, "gpu.nvlinks[0]=1 gpu.nvlinks[1]=2 gpu.nvlinks[2]=0 ");
  EXPECT_TRUE(read_text("\t Link 0: <inactive>\n").configs.empty());
  const std::string one =
      "GPU 0: NVIDIA H100 (UUID: GPU-00000000-aaaa-bbbb-cccc-1234567890ab)\n"
      "\t Link 0: 26.562 GB/s\n";
  const Rows twice = read_text(one + one);  // before and after
  ASSERT_EQ(std::ranges::count_if(
                twice.configs,
                [](const ConfigRow& c) { return c.name == "gpu.nvlinks[0]" && c.value == "1"; }),
            1);
}

}  // namespace
}  // namespace culprit::ingest
