// Which GPU computes slowly, by matrix products that all GPUs run at the same time (GEMM
// validation, GREYHOUND sections 4.3 and 6): one number format after the other, each kernel with
// all SMs of its GPU, three times; the mean of the three counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct GemmParams {
  std::vector<std::string> types{"fp8e4m3", "fp16", "fp32"};  // one after the other
  std::int64_t m = 8192, n = 8192, k = 8192;
  std::int64_t repeats = 3, gpus_per_host = 8;
  // Of one GPU; prints m, n, k, batch, microseconds and TFLOP/s. SuperBench's program, whose
  // benchmarks the paper follows.
  std::string command = "cublaslt_gemm -t {type} -m {m} -n {n} -k {k} -w 20 -i 50";
  std::string via = "ssh {host}";  // how a command gets to a host
};

struct GemmRun {
  std::string type;
  std::string host;
  std::string command;  // prints a row for each GPU and repeat, with the columns below
};

inline constexpr const char* kGemmColumns = "host\tgpu\ttype\tm\tn\tk\tbatch\ttime_us\ttflops";

// By type, hosts in their order; runs of one type at the same time. Errors (usage): no hosts, a
// host twice, a type that is no word, a placeholder that is none.
Result<std::vector<GemmRun>> plan_gemm(const std::vector<std::string>& hosts,
                                       const GemmParams& params);

struct GemmTime {
  std::size_t gpu = 0, test = 0;  // positions; a test is a number format and a shape
  double time = 0;                // any unit, the same within a test
};

struct GemmTimeParams {
  double factor = 1.10;   // GREYHOUND section 4.3: slow is what exceeds the median by over 10 %
  double threshold = 4;   // and by so many deviations of healthy GPUs
  double unsteady = 1.5;  // repeats of which one takes so many times as long as another
  std::size_t least = 4;  // GPUs of a test, to compare them
};

struct SlowGpu {
  std::size_t gpu = 0;
  double factor = 1;                     // median of the tests in which it is slow
  std::vector<std::size_t> slow, usual;  // tests
};

struct UnsteadyGpu {
  std::size_t gpu = 0, test = 0;
  double factor = 1;  // the longest repeat over the shortest
};

struct GemmTimes {
  std::vector<SlowGpu> slow;  // worst first
  std::vector<UnsteadyGpu> unsteady;
  std::vector<std::size_t> few;  // tests that too few GPUs ran
  double spread = 0;             // relative, between healthy GPUs
  std::size_t unusable = 0;      // no positive number
};

// Repeats count with their mean, as published. Order does not matter.
GemmTimes compare_gemm_times(std::span<const GemmTime> times, const GemmTimeParams& params = {});

}  // namespace culprit::plan
