// What host files of the bundle say: machines in node order, and how many ranks each has.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

struct HostFile {
  std::vector<Host> hosts;          // as printed, in node order
  std::vector<std::int64_t> slots;  // of each host; 0: the file does not say
};

std::map<MemberId, HostFile> host_files(const Facts& facts);

}  // namespace culprit::analyze
