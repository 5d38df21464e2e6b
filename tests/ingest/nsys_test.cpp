// Exports of Nsight Systems, made here with SQLite: what they say of each process, and files that
// try to do more than be read.
#include <random>

#include <fmt/format.h>

#include "kit.hpp"
#include "support/nsys.hpp"

namespace culprit::ingest {
namespace {

using namespace test;
using culprit::test::database_of;
using culprit::test::kNsysTables;
using culprit::test::with_log;

constexpr std::int64_t kFirst = 1000LL << 24, kSecond = 1001LL << 24;  // processes

std::string kernel(std::int64_t process, int device, std::int64_t start_us, std::int64_t took_us,
                   int name) {
  return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, 7, {}, {}, {});\n",
                     start_us * 1000, (start_us + took_us) * 1000, device, process, name, name);
}
std::string range(std::int64_t process, std::int64_t start_us, std::int64_t took_us,
                  const std::string& text) {
  return fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, {}, {}, {});\n", start_us * 1000,
                     (start_us + took_us) * 1000, text, process + 12,
                     text == "NULL" ? "3" : "NULL");
}
// The steps of a process: 7 and 8, of a millisecond each.
std::string two_steps(std::int64_t process, int device, std::int64_t gemm_us) {
  return range(process, 1000, 900, "'step 7'") + range(process, 2000, 1000, "NULL") +
         range(process, 1010, 20, "'forward'") + kernel(process, device, 1100, gemm_us, 1) +
         kernel(process, device, 1400, 400, 2) + kernel(process, device, 2100, gemm_us, 1) +
         kernel(process, device, 2600, 2000, 2) +
         fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2000000, 2100000, {}, {});\n",
                     device, process);
}

Rows read_export(const std::string& bytes, const std::string& path = "node.sqlite") {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const Detected detected =
      detect({member.path, std::string_view(bytes).substr(0, 65536), bytes.size() <= 65536});
  EXPECT_EQ(detected.format, "nsys-export");
  if (detected.document == nullptr) return rows;
  Reading reading{rows, pack(), "", {}, {}, path};
  const std::string reason = detected.document->read(bytes, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  if (!reason.empty()) rows.put(RejectRow{{member.id, 0, 0, 0}, reason, {}});
  return rows;
}

// Of one rank of the machine: points() gives the first series of a name.
SeriesPoints points_of(Rows rows, LocalRank local, std::string_view name,
                       std::string_view labels = "") {
  for (SeriesRow& row : rows.series_rows)
    if (row.local_rank != local) row.name.clear();
  return rows.points(name, labels);
}

TEST(Nsys, EachProcessOfAMachineIsCutByItsSteps) {
  const Rows rows = read_export(
      database_of(kNsysTables + two_steps(kFirst, 0, 300) + two_steps(kSecond, 1, 500)));
  EXPECT_EQ(rows.reasons(), "");
  // Step 7 lasts until step 8 begins: 1000 us, with 300 of gemm and 400 of NCCL; in step 8 a copy
  // takes 100 more. In the second process gemm takes 500, 200 of them beside NCCL.
  using Values = std::vector<double>;
  const LocalRank first{0}, second{1};
  EXPECT_EQ(points_of(rows, first, "step_ms").values, (Values{1, 1}));
  EXPECT_EQ(points_of(rows, first, "gpu_compute_ms").values, (Values{0.3, 0.4}));
  EXPECT_EQ(points_of(rows, first, "exposed_nccl_ms").values, (Values{0.4, 0.4}));
  EXPECT_EQ(points_of(rows, first, "cpu_only_ms").values, (Values{0.3, 0.2}));
  EXPECT_EQ(points_of(rows, first, "kernel_time", "kernel=gemm").values, (Values{0.3}));
  EXPECT_EQ(points_of(rows, second, "step_ms").values, (Values{1, 1}));
  EXPECT_EQ(points_of(rows, second, "gpu_compute_ms").values, (Values{0.5, 0.6}));
  EXPECT_EQ(points_of(rows, second, "exposed_nccl_ms").values, (Values{0.2, 0.4}));
  EXPECT_EQ(points_of(rows, second, "cpu_only_ms").values, (Values{0.3, 0}));
  EXPECT_EQ(points_of(rows, second, "kernel_time", "kernel=gemm").values, (Values{0.5}));
  EXPECT_EQ(points_of(rows, second, "kernel_launches", "kernel=gemm").values, (Values{1}));
  EXPECT_EQ(rows.series_rows[0].host, Host("gpu-07"));
  EXPECT_EQ(rows.points("step_ms").steps, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(rows.points("step_ms").times[0], 1764201600'001000000);
  EXPECT_EQ(rows.log.find("hunter2"), std::string::npos);
}

TEST(Nsys, TheOnlyProcessHasTheRankOfItsFileOrOfMpi) {
  const std::string one = kNsysTables + two_steps(kFirst, 5, 300);
  EXPECT_FALSE(read_export(database_of(one)).series_rows[0].local_rank) << "5 of its own devices";
  EXPECT_FALSE(read_export(database_of(one)).series_rows[0].rank);
  const std::string with_mpi = one + "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);" +
                               fmt::format("INSERT INTO MPI_RANKS VALUES ({}, 9);", kFirst + 12);
  EXPECT_EQ(read_export(database_of(with_mpi)).series_rows[0].rank, Rank(9));
}

TEST(Nsys, WhatARangeOfAStepIsCalled) {
  for (const char* name : {"'step_7'", "'Iteration: 7'", "'ProfilerStep#7'", "'iter7'"}) {
    const Rows rows = read_export(database_of(kNsysTables + range(kFirst, 1000, 500, name) +
                                              kernel(kFirst, 0, 1000, 100, 1)));
    EXPECT_EQ(rows.points("step_ms").steps, (std::vector<std::int64_t>{7})) << name;
  }
  for (const char* name : {"'layer 7'", "'step'", "'7'", "'step 99999999999999999999'"})
    EXPECT_EQ(read_export(database_of(kNsysTables + range(kFirst, 1000, 500, name) +
                                      kernel(kFirst, 0, 1000, 100, 1)))
                  .reasons(),
              "0:nsys.no_step")
        << name;
  // Iterations within a step are not steps.
  const Rows rows = read_export(database_of(kNsysTables + range(kFirst, 1000, 500, "'step 7'") +
                                            range(kFirst, 1000, 100, "'iteration 0'") +
                                            kernel(kFirst, 0, 1000, 100, 1)));
  EXPECT_EQ(rows.points("step_ms").steps, (std::vector<std::int64_t>{7}));
}

TEST(Nsys, WhatIsMissing) {
  EXPECT_EQ(read_export(database_of(kNsysTables)).reasons(), "0:nsys.no_kernel");
  EXPECT_EQ(read_export(database_of("CREATE TABLE other (a);")).reasons(), "0:nsys.not_an_export");
  // An old version: no processes, names in the rows, no start.
  const Rows rows = read_export(
      database_of("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, name TEXT);"
                  "CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, globalTid INT);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000000, 1500000, 'gemm');"
                  "INSERT INTO NVTX_EVENTS VALUES (1000000, 2000000, 'step 1', 99999999999);"));
  EXPECT_EQ(rows.points("kernel_time", "kernel=gemm").values, (std::vector<double>{0.5}));
  EXPECT_EQ(rows.series_rows[0].clock, Clock::none);
}

// Whoever opened the export may have left it in WAL mode. What is in the log is told, not lost: one
// that was merged is there as an empty file, or as a header.
TEST(Nsys, BesideAWriteAheadLog) {
  const std::string bytes = database_of(kNsysTables + two_steps(kFirst, 0, 300));
  const Rows rows = read_export(with_log(bytes));
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.points("step_ms").values, read_export(bytes).points("step_ms").values);
  EXPECT_EQ(read_export(with_log(bytes).substr(0, 50)).reasons(), "0:nsys.damaged");
  const std::string header = std::string("\x37\x7f\x06\x82", 4) + std::string(28, '\0');
  const Folder folder;
  folder.write("rank_0.sqlite", with_log(bytes));
  folder.write("rank_0.sqlite-shm", std::string(32768, '\0'));
  folder.write("rank_0.sqlite-wal", "");
  folder.write("rank_1.sqlite-wal", header);
  EXPECT_EQ(read_folder(folder.path()).reasons(), "");
  folder.write("rank_0.sqlite-wal", header + std::string(4120, 'x'));
  const Rows beside = read_folder(folder.path());
  EXPECT_EQ(beside.reasons(), "0:nsys.log_not_merged");
  EXPECT_FALSE(beside.points("step_ms").values.empty());
}

// Nothing in a schema runs: a view that never ends is no table, and a value is no number.
TEST(Nsys, HostileSchemas) {
  const std::string endless =
      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i + 1 "
      "AS end, 0 AS globalPid FROM n)";
  EXPECT_EQ(
      read_export(database_of("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM " + endless))
          .reasons(),
      "0:nsys.not_an_export");
  EXPECT_EQ(read_export(database_of("PRAGMA writable_schema = 1; INSERT INTO sqlite_schema VALUES "
                                    "('table', 'NVTX_EVENTS', 'NVTX_EVENTS', 0, 'CREATE VIRTUAL "
                                    "TABLE NVTX_EVENTS USING fts5(start, end, text)');"))
                .reasons(),
            "0:nsys.not_an_export");
  const Rows rows = read_export(database_of(
      kNsysTables +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', 5, 0, 0, 0, 0, 0), (-5, 5, 0, 0, 0, 0, "
      "0), (5, 1, 0, 0, 0, 0, 0), (0, 9223372036854775807, 0, 0, 0, 1, 1), (0, "
      "9223372036854775807, 0, 0, 0, 1, 1);"
      "INSERT INTO NVTX_EVENTS VALUES (0, 9223372036854775807, 59, 'step 1', 0, NULL);"));
  EXPECT_EQ(rows.points("gpu_compute_ms").values, (std::vector<double>{9223372036854.775807}));
}

TEST(Nsys, DamagedFilesEndInARejectAndTheRestIsRead) {
  std::string sql = kNsysTables + two_steps(kFirst, 0, 300);
  for (int i = 0; i < 3000; ++i) sql += kernel(kFirst, 0, 10'000 + i, 1, 1);
  const std::string whole = database_of(sql);
  EXPECT_NE(read_export(whole.substr(0, whole.size() / 2)).reasons().find("nsys.damaged"),
            std::string::npos);
  EXPECT_EQ(read_export(whole.substr(0, 50)).reasons(), "0:nsys.damaged");
  std::mt19937 dice(7);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 20; ++k)
      bytes[16 + dice() % (bytes.size() - 16)] = static_cast<char>(dice());
    static_cast<void>(read_export(bytes));  // whatever it says, it ends
  }
}

TEST(Nsys, OneThatCannotBeReadLeavesTheOthers) {
  const Folder folder;
  folder.write("rank_0.sqlite", database_of(kNsysTables + two_steps(kFirst, 0, 300)));
  folder.write("rank_1.sqlite",
               database_of(kNsysTables + two_steps(kFirst, 0, 300)).substr(0, 5000));
  const Rows rows = read_folder(folder.path());
  EXPECT_NE(rows.reasons().find("nsys.damaged"), std::string::npos);
  EXPECT_FALSE(rows.points("step_ms").values.empty());
}

}  // namespace
}  // namespace culprit::ingest
