// Shards that somebody hands over, damaged: the input is a list of changes, three bytes where and
// one byte what, to one of two shards that this target makes of a small bundle. Nothing may crash:
// the shard is named and refused, or the merged database is sound.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "any_rows.hpp"
#include "diagnose/shard.hpp"
#include "store/database.hpp"
#include "whole_path.hpp"

namespace {

using namespace culprit;
using test::hold;

constexpr char kKernel[] =
    "Nov 03 07:00:01 gpu-u01 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=811, GPU has fallen off "
    "the bus.\nNov 03 07:00:02 gpu-u01 kernel: NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery "
    "action changed from 0x0 (None) to 0x2 (Node Reboot Required)\n";
constexpr char kRank[] =
    "[2026-11-03 07:00:03] iteration 12/ 500 | elapsed time per iteration (ms): 410.2 | lm loss: "
    "2.1\n[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/w/run.py\", line 9, in "
    "<module>\n[rank1]: RuntimeError: CUDA error: unspecified launch failure\n";
constexpr char kStack[] =
    "Process 71: python run.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread 71 (idle): "
    "\"MainThread\"\n    step (run.py:7)\n    <module> (run.py:9)\n";
constexpr char kMetrics[] =
    "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"gpu-u01\"} 71\n"
    "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",Hostname=\"gpu-u01\"} 72\n";

std::string path_of(const test::Scratch& scratch, int shard) {
  return scratch.path() + "/" + std::to_string(shard) + ".db";
}

// The bytes of the first shard.
std::string made(const test::Scratch& scratch) {
  scratch.write("b/gpu-u01/dmesg", kKernel, sizeof kKernel - 1);
  scratch.write("b/gpu-u01/metrics.prom", kMetrics, sizeof kMetrics - 1);
  scratch.write("b/rank_1.log", kRank, sizeof kRank - 1);
  scratch.write("b/rank_1.pyspy", kStack, sizeof kStack - 1);
  scratch.write("b/rank_2.pyspy", kStack, sizeof kStack - 1);
  auto pack = rules::RulePack::built_in();
  hold(static_cast<bool>(pack), "rules");
  diagnose::ReadRequest request;
  request.sources = {scratch.path() + "/b"};
  request.tool = "test";
  request.options.threads = 1;
  for (std::uint32_t k = 1; k <= 2; ++k)
    hold(static_cast<bool>(diagnose::read_shard(request, {k, 2, ""}, *pack,
                                                path_of(scratch, static_cast<int>(k)))),
         "a shard");
  std::ifstream file(path_of(scratch, 1), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::Scratch scratch;
  static const std::string sound = made(scratch);
  std::string bytes = sound;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const std::size_t where = (static_cast<std::size_t>(data[at]) << 16 |
                               static_cast<std::size_t>(data[at + 1]) << 8 | data[at + 2]) %
                              bytes.size();
    bytes[where] = static_cast<char>(data[at + 3]);
  }
  for (const char* beside : {"-journal", "-wal", "-shm"})
    std::remove((path_of(scratch, 1) + beside).c_str());
  scratch.write("1.db", bytes.data(), bytes.size());
  const std::string merged = scratch.path() + "/merged.db";
  for (const bool partial : {false, true}) {
    std::remove(merged.c_str());
    const auto outcome =
        diagnose::merge({{path_of(scratch, 1), path_of(scratch, 2)}, partial, "test"}, merged);
    if (!outcome) {
      hold(!outcome.error().what.empty() && !outcome.error().help.empty(), "why, and what to do");
      hold(outcome.error().kind != ErrorKind::internal, "a fault of the shard, not of ours");
      continue;
    }
    auto db = store::Database::open(merged, store::Access::read);
    hold(db && db->check(), "a sound database");
    hold(partial || outcome->missing.empty(), "nothing is missing");
  }
  return 0;
}
