// From dumps to processes: whose each dump is, in which order they were made, and which of them
// speaks for the process.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/hang/stacks.hpp"

namespace culprit::analyze {

// One dump of one process: its main thread.
struct Dump {
  std::size_t sample = 0;  // index into Facts.samples
  std::size_t stack = 0;   // of that: index into StackTable.stacks
  std::string series;      // folder and tool: dumps of one series compare
  std::string stem;        // of the file: rank0.txt and rank0.json are one look
  std::size_t repeat = 0;  // the how manieth dump of the process in its file
  std::size_t round = 0;
};

struct DumpedProcess {
  StackProcess shown;
  std::vector<Dump> dumps;  // in order; series, stem and round where there are several
};

struct DumpedProcesses {
  std::vector<DumpedProcess> all;  // by rank, pid, host, role
  std::size_t failed = 0;          // trainers without a stack of their main thread
};

// host_of: where ranks run, as far as the topology knows.
DumpedProcesses dumped_processes(const Facts& facts, const NormalStacks& normal,
                                 const std::map<Rank, Host>& host_of, const StackParams& params);

// Of the file that a sample stands in; "" not known.
std::string_view path_of(const Facts& facts, std::size_t sample);

// "round10" after "round9".
bool natural_less(std::string_view a, std::string_view b);

}  // namespace culprit::analyze
