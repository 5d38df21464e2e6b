// An incident as a trace viewer draws it: processes (the job, its hosts) with threads (machines,
// ranks and what they do), things on them, arrows between them, curves beside them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/time.hpp"

namespace culprit {

struct Trace {
  using Args = std::vector<std::pair<std::string, std::string>>;  // name, value; for people

  struct Process {
    std::string name;
  };
  struct Thread {
    std::size_t process = 0;
    std::string name;
  };
  // Something that lasts. Of one thread they nest: two either do not overlap, or one holds the
  // other. Times are UTC.
  struct Slice {
    std::size_t thread = 0;
    Nanoseconds begin = 0, end = 0;
    std::string name;
    const char* category = "";
    Args args;
  };
  struct Instant {
    std::size_t thread = 0;
    Nanoseconds time = 0;
    std::string name;
    const char* category = "";
    Args args;
  };
  // From the one slice to the other, both by index; cause first.
  struct Flow {
    std::size_t from = 0, to = 0;
  };
  struct Counter {
    std::size_t process = 0;
    std::string name;                                    // once in a process
    std::string unit;                                    // "" = not known
    std::vector<std::pair<Nanoseconds, double>> points;  // by time; finite
  };

  Args about;                      // of the whole: program, verdict, what is left out
  std::vector<Process> processes;  // in the order in which they are to be shown; so are threads
  std::vector<Thread> threads;
  std::vector<Slice> slices;
  std::vector<Instant> instants;
  std::vector<Flow> flows;
  std::vector<Counter> counters;
};

}  // namespace culprit
