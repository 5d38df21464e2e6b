// Any bytes, as any file of a bundle, through the whole of `culprit diagnose`. The first byte
// chooses what they are: a letter of kNames the file of that name, '=' a folder of several files:
// "\x1e" and a letter begin the next one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "whole_path.hpp"

namespace {

struct Name {
  char letter;
  const char* path;
  bool typed;  // the file itself is the bundle, not the folder around it
};

constexpr Name kNames[] = {
    {'d', "node-01/dmesg.txt", false},
    {'e', "logs/0/stderr.log", false},
    {'j', "attempt_0/3/error.json", false},
    {'m', "job.json", false},
    {'p', "pods.json", false},
    {'n', "gpu-a17/nvidia-smi.txt", false},
    {'s', "gpu-a17/sel.txt", false},
    {'t', "bundle.tar", true},
    {'g', "x.tar.gz", true},
    {'z', "x.zip", true},
    {'v', "rank_3/env.txt", false},
    {'o', "slurm-41207.out", false},
    {'b', "nvidia-bug-report.log", true},
    {'k', "kubectl-dump.txt", true},
    {'c', "rank_0.log.gz", false},
    {'x', "logs/archive.tar", false},
    {'y', "pystack-rank_3.txt", false},
    {'f', "nccl_trace_rank_0", false},
    {'h', "fabricmanager.log", false},
    {'i', "gpu-a17/ibstat.txt", false},
    {'w', "journal.json", false},
    {'q', "gpu-a18/dmesg_T.txt", false},
    {'r', "train.log", true},
    {'a', "containers/0.log", false},
    {'l', "events.jsonl", false},
    {'u', "ps.txt", false},
    {'D', "gpu-a17/dmesg_T.txt", false},
    {'G', "dcgm-diag.txt", false},
    {'X', "x.tar.xz", true},
    {'Z', "x.tar.zst", true},
};

const Name& named(std::uint8_t byte) {
  for (const Name& name : kNames)
    if (name.letter == static_cast<char>(byte)) return name;
  return kNames[byte % std::size(kNames)];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const culprit::test::Scratch scratch;
  scratch.clear();
  std::string bundle = scratch.path();
  if (size > 0 && data[0] == '=') {
    std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    for (int files = 0; !rest.empty() && files < 8; ++files) {
      const Name& name = named(static_cast<std::uint8_t>(rest[0]));
      rest.remove_prefix(1);
      const std::string_view bytes = rest.substr(0, rest.find('\x1e'));
      scratch.write(name.path, bytes.data(), bytes.size());
      rest.remove_prefix(std::min(rest.size(), bytes.size() + 1));
    }
  } else {
    const Name& name = named(size > 0 ? data[0] : 0);
    scratch.write(name.path, size > 0 ? data + 1 : nullptr, size > 0 ? size - 1 : 0);
    if (name.typed) bundle += std::string("/") + name.path;
  }
  const auto outcome = culprit::test::diagnose(bundle);
  for (const std::string& broken : outcome.broken)
    std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
  if (!outcome.broken.empty()) std::abort();
  return 0;
}
