// The log that the benchmarks read: made once a run by generate_log.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace culprit::bench {

inline std::string generated_log(int megabytes) {
  const std::string command = std::string(GENERATE_LOG) + " " + std::to_string(megabytes) + " 1";
  std::string log;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return log;
  std::string block(1 << 20, '\0');
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), pipe))
    log.append(block, 0, n);
  if (pclose(pipe) != 0) log.clear();
  return log;
}

}  // namespace culprit::bench
