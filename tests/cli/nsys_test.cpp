// A job that became slow, with exports of Nsight Systems of its four machines: which rank it was.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/nsys.hpp"
#include "support/printed.hpp"

namespace {

using namespace culprit::test;

constexpr int kSteps = 600, kSlowFrom = 300, kTraced = 60;

// Two ranks of a machine, a process each: gemm, then NCCL until 950 ms of each second are over.
// gemm takes 500 ms, on the second GPU of gpu-02, which is rank 5, 900.
std::string machine(int number) {
  std::string sql = kNsysTables + "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);";
  sql += fmt::format("UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'gpu-0{}' WHERE name = 'Hostname';",
                     number);
  sql += "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = 1764237781000000000;";  // 10:03:01
  const std::string seconds = fmt::format(
      "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < {}) SELECT i * "
      "1000000000",
      kTraced - 1);
  for (int device = 0; device < 2; ++device) {
    const std::int64_t process = (1000LL + device) << 24;
    const std::int64_t gemm = number == 2 && device == 1 ? 900'000'000 : 500'000'000;
    sql += fmt::format("INSERT INTO MPI_RANKS VALUES ({}, {});", process + 5, 2 * number + device);
    sql += fmt::format(
        "INSERT INTO NVTX_EVENTS {0}, i * 1000000000 + 990000000, 59, 'iteration ' || (i + {1}), "
        "{2}, NULL FROM s;"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL {0}, i * 1000000000 + {3}, {4}, 7, {5}, 1, 1 FROM "
        "s;"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL {0} + {3}, i * 1000000000 + 950000000, {4}, 7, "
        "{5}, 2, 2 FROM s;",
        seconds, kSlowFrom, process + 5, gemm, device, process);
  }
  return database_of(sql);
}

std::string training_log() {
  std::string out;
  std::int64_t ms = 0;  // since 10:00
  for (int step = 0; step < kSteps; ++step) {
    const int took = (step < kSlowFrom ? 600 : 1000) + step * 37 % 11;
    ms += took;
    out += fmt::format(
        "[2025-11-27 10:{:02}:{:02}.{:03}] iteration {:8}/ 5000 | elapsed time per iteration "
        "(ms): {}.0 | global batch size: 64 | lm loss: 2.1E+00 |\n",
        ms / 60'000, ms / 1000 % 60, ms % 1000, step, took);
  }
  return out;
}

TEST(Nsys, OfASlowJobTheRankWhoseKernelsTakeLonger) {
  if (std::string(CULPRIT_BINARY).empty()) GTEST_SKIP() << "no program";
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("nsys-{}", getpid());
  std::filesystem::create_directories(folder / "bundle");
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / "bundle" / name, std::ios::binary) << bytes;
  };
  write("train.log", training_log());
  for (int number = 0; number < 4; ++number)
    write(fmt::format("gpu-0{}.sqlite", number), machine(number));
  write("torn.sqlite", machine(3).substr(0, 20'000));
  const std::string culprit = CULPRIT_BINARY, bundle = (folder / "bundle").string();
  const std::string report = printed(culprit + " diagnose -q --json " + bundle).text;
  EXPECT_NE(report.find("slow since iteration 300"), std::string::npos) << report.substr(0, 2000);
  EXPECT_NE(report.find("rank 5 100 %, compute 100 % alone"), std::string::npos);
  // The one that breaks off is named, and all others are used.
  const std::string ledger =
      printed(culprit + " ingest " + bundle + " -d " + (folder / "x.db").string()).text;
  EXPECT_NE(ledger.find("torn.sqlite  nsys-export"), std::string::npos) << ledger;
  EXPECT_NE(ledger.find("1 rejected"), std::string::npos) << ledger;
  const std::string placed =
      printed(
          culprit + " sql -d " + (folder / "x.db").string() +
          " \"SELECT DISTINCT host, rank FROM series WHERE name = 'kernel_time' ORDER BY rank\"")
          .text;
  EXPECT_NE(placed.find("gpu-02"), std::string::npos) << placed;
  std::filesystem::remove_all(folder);
}

}  // namespace
