// How one test came out on every device.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

std::string told(const std::string& text, const std::string& path = "check.txt") {
  return told_by_document("tested-devices", path, text);
}

// hosts x 4 GPUs; what `row` makes of a device and of whether it is odd.
template <class Row>
std::string table(int hosts, const std::string& odd, Row row, const std::string& heading = "") {
  std::string out = heading;
  for (int host = 1; host <= hosts; ++host)
    for (int gpu = 0; gpu < 4; ++gpu)
      out += row(host, gpu,
                 fmt::format("n0{} {}", host, gpu) == odd || odd == "n0" + std::to_string(host));
  return out;
}

std::string counted(int host, int gpu, bool odd) {
  return fmt::format("n0{} gpu{} mismatches={}/2000 temp=51\n", host, gpu, odd ? 17 : 0);
}
std::string replayed(int host, int gpu, bool odd) {
  return fmt::format("rep=0 host=n0{0} gpu={1} grad_sha={0}{1}377 {2}\n", host, gpu,
                     odd ? "DIFFERS" : "same");
}
std::string diagnosed(int host, int gpu, bool odd) {
  return fmt::format("n0{},{},diagnostic,{},\n", host, gpu, odd ? "Fail" : "Pass");
}

TEST(TestedDevices, OneThatFailsAlone) {
  EXPECT_EQ(
      told("# 2000 GEMMs\n" + table(8, "n03 2", counted)),
      "12:computes_other_results same work, other result: GPU 2 of n03 differs from 31 others "
      "in 1 of 1 checks\n");
  EXPECT_EQ(
      told(table(8, "n03 2", replayed) + table(8, "n03 2", replayed)),
      "11:computes_other_results same work, other result: GPU 2 of n03 differs from 31 others "
      "in 2 of 2 checks\n");
  EXPECT_EQ(told(table(8, "n03 2", diagnosed, "host,gpu,test,result,detail\n"), "diag.csv"),
            "12:dcgm_diag_fail test diagnostic failed on GPU 2 of n03 alone: 1 of 1, 31 others "
            "passed\n");
}

// What stands behind the figures of a row may hold commas.
TEST(TestedDevices, ARowWithARemark) {
  const auto row = [](int host, int gpu, bool odd) {
    return fmt::format("n0{} gpu{}  iters=41720  mismatches={}\n", host, gpu,
                       odd ? "17   first at iter 2206 (bit 21, SM 63)" : "0");
  };
  EXPECT_EQ(told(table(8, "n03 2", row)),
            "11:computes_other_results same work, other result: GPU 2 of n03 differs from 31 "
            "others in 1 of 1 checks\n");
}

TEST(TestedDevices, CellsMayHoldBlanks) {
  const auto row = [](int host, int gpu, bool odd) {
    return fmt::format("gemm replay,n0{},gpu{},{}\n", host, gpu, odd ? "FAIL" : "PASS");
  };
  EXPECT_NE(told(table(8, "n03 2", row, "test run,host,gpu,result\n"), "diag.csv"), "");
}

TEST(TestedDevices, FirmwareThatDiffersIsNoWrongResult) {
  const auto row = [](int host, int gpu, bool odd) {
    return fmt::format("n0{} gpu{} firmware status={}\n", host, gpu, odd ? "mismatch" : "ok");
  };
  EXPECT_EQ(told(table(8, "n03 2", row), "firmware_check.txt"), "read as text");
}

TEST(TestedDevices, NobodyWhereAllPassOrManyFail) {
  EXPECT_EQ(told(table(8, "", counted)), "");
  EXPECT_EQ(told(table(8, "n03", counted)), "") << "all of a machine: its driver";
  EXPECT_EQ(told(table(1, "n01 2", counted) + table(1, "n01 2", counted)), "") << "one of four";
  EXPECT_EQ(told("# nothing said\n"), "read as text");
}

// Of several tests one that always fails is no accident.
TEST(TestedDevices, OneTestOfSeveral) {
  std::string text = "host,gpu,test,result,info\n";
  for (const char* test : {"memory", "pcie", "diagnostic"})
    for (int host = 1; host < 9; ++host)
      text += fmt::format("nx{},gpu0,{},{},\n", host, test,
                          host == 4 && std::string(test) == "diagnostic" ? "FAIL" : "PASS");
  EXPECT_EQ(told(text, "diag.csv"),
            "21:dcgm_diag_fail test diagnostic failed on GPU 0 of nx4 alone: 1 of 1, 7 others "
            "passed\n");
}

}  // namespace
}  // namespace culprit::ingest
