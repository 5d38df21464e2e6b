#include <fmt/format.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

Rows read_trace_file(const std::string& bytes, const std::string& path = "trace_rank_3.json") {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const Detected detected =
      detect({member.path, std::string_view(bytes).substr(0, 65536), bytes.size() <= 65536});
  EXPECT_EQ(detected.format, "torch-trace");
  if (detected.document == nullptr) return rows;
  Reading reading{rows, pack(), "", {}, {}, path};
  const std::string reason = detected.document->read(bytes, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  if (!reason.empty()) rows.put(RejectRow{{member.id, 0, 0, 0}, reason, {}});
  return rows;
}

std::string trace_event(std::string_view category, std::string_view name, double ts, double dur) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 3, \"tid\": 7,\n"
      "    \"ts\": {:.3f}, \"dur\": {:.3f},\n    \"args\": {{\"External id\": 4, \"deep\": "
      "[[1]]}}\n  }}",
      category, name, ts, dur);
}

std::string trace_of(const std::vector<std::string>& events,
                     std::string_view head = "\"baseTimeNanoseconds\": 1764201600000000000,") {
  return fmt::format(
      "{{\n \"schemaVersion\": 1,\n \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 3, "
      "\"world_size\": 8}},\n {}\n \"traceEvents\": [\n{}\n ]\n}}\n",
      head, fmt::join(events, ",\n"));
}

TEST(TorchTrace, CutsTheTimeOfTheGpuByStepsAndUnitesWhatRunsAtOnce) {
  const Rows rows = read_trace_file(trace_of({
      trace_event("user_annotation", "ProfilerStep#7", 1000, 900),
      trace_event("cpu_op", "aten::mm", 1000, 800),
      trace_event("kernel", "gemm", 1100, 300),
      trace_event("kernel", "relu", 1300, 200),  // of another stream: 100 of it beside gemm
      trace_event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 1400, 400),
      trace_event("user_annotation", "ProfilerStep#8", 2000, 1000),
      trace_event("gpu_memcpy", "Memcpy HtoD", 2000, 100),
      trace_event("kernel", "gemm", 2100, 500),
      trace_event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 2600, 2000),
  }));
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.points("step_ms").steps, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(rows.points("step_ms").values, (std::vector<double>{1, 1}));
  EXPECT_EQ(rows.points("gpu_compute_ms").values, (std::vector<double>{0.4, 0.6}));
  EXPECT_EQ(rows.points("exposed_nccl_ms").values, (std::vector<double>{0.3, 0.4}));
  EXPECT_EQ(rows.points("cpu_only_ms").values, (std::vector<double>{0.3, 0}));
  EXPECT_EQ(rows.points("step_ms").times[0], 1764201600'001000000);
  EXPECT_EQ(rows.series_rows[0].rank, Rank(3));
  EXPECT_EQ(rows.series_rows[0].clock, Clock::utc);
  // Of kernels, for a step: time and launches.
  EXPECT_EQ(rows.points("kernel_time", "kernel=gemm").values, (std::vector<double>{0.4}));
  EXPECT_EQ(rows.points("kernel_launches", "kernel=gemm").values, (std::vector<double>{1}));
}

TEST(TorchTrace, TheStepsOfTheGpuCountWhereTheTraceHasThem) {
  const Rows rows = read_trace_file(trace_of({
      trace_event("user_annotation", "ProfilerStep#7", 1000, 10),
      trace_event("gpu_user_annotation", "ProfilerStep#7", 5000, 1000),
      trace_event("gpu_user_annotation", "ProfilerStep#7", 5200, 1800),
      trace_event("kernel", "gemm", 5000, 2000),
  }));
  EXPECT_EQ(rows.points("step_ms").values, (std::vector<double>{2}));
  EXPECT_EQ(rows.points("gpu_compute_ms").values, (std::vector<double>{2}));
}

TEST(TorchTrace, OlderTracesCountFromTheEpoch) {
  const Rows rows = read_trace_file(
      trace_of({trace_event("user_annotation", "ProfilerStep#7", 1682725898236567, 1000),
                trace_event("kernel", "gemm", 1682725898236600, 2000)},
               ""));
  EXPECT_EQ(rows.points("step_ms").times[0], 1682725898'236567000);
  // Since the machine started: no moment.
  const Rows boot =
      read_trace_file(trace_of({trace_event("user_annotation", "ProfilerStep#7", 1000, 1000),
                                trace_event("kernel", "gemm", 1000, 10)},
                               ""));
  EXPECT_EQ(boot.series_rows[0].clock, Clock::none);
}

TEST(TorchTrace, TheNameThatTensorBoardsHandlerMakesNamesTheMachine) {
  const std::string text = trace_of({trace_event("user_annotation", "ProfilerStep#7", 1000, 1000),
                                     trace_event("kernel", "gemm", 1000, 10)});
  EXPECT_EQ(read_trace_file(text, "tb/gpu_a-12_4711.1764201600123456789.pt.trace.json")
                .series_rows[0]
                .host,
            Host("gpu_a-12"));
  EXPECT_FALSE(
      read_trace_file(text, "tb/rank-0.Apr_03_18_51_38.1102.pt.trace.json").series_rows[0].host);
}

TEST(TorchTrace, SaysWhatItCouldNotRead) {
  const std::string whole =
      trace_of({trace_event("user_annotation", "ProfilerStep#7", 1000, 1000),
                trace_event("kernel", "gemm", 1000, 10), trace_event("kernel", "gemm", 1100, 10)});
  const Rows torn = read_trace_file(whole.substr(0, whole.rfind("\"dur\"")));
  EXPECT_EQ(torn.reasons(), "0:torch_trace.torn");
  EXPECT_EQ(torn.points("gpu_compute_ms").values, (std::vector<double>{0.01}));
  EXPECT_EQ(read_trace_file(trace_of({trace_event("kernel", "gemm", 1000, 10)})).reasons(),
            "0:torch_trace.no_step");
  EXPECT_EQ(
      read_trace_file(trace_of({trace_event("user_annotation", "ProfilerStep#7", 1000, 1000)}))
          .reasons(),
      "0:torch_trace.no_kernel");
  // Numbers that no clock shows.
  const Rows odd = read_trace_file(trace_of({
      trace_event("user_annotation", "ProfilerStep#7", 9e15, 9e15),
      trace_event("user_annotation", "ProfilerStep#8", -5, 3),
      trace_event("kernel", "gemm", 8.9e15, 8.9e15),
  }));
  EXPECT_LE(odd.points("step_ms").values.size(), 1u);
}

}  // namespace
}  // namespace culprit::ingest
