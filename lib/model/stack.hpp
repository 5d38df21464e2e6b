// Call stacks and the processes they were taken from: one struct per fact table of
// schemas/store.sql.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/rows.hpp"

namespace culprit {

struct Frame {
  std::string function;   // "?" = no symbol
  std::string file;       // as printed: short or full; "" not known
  std::string module;     // shared object, Python module; "" not known
  std::int64_t line = 0;  // 0 = not known
  bool native = false;    // machine code, not Python
  auto operator<=>(const Frame&) const = default;
};

// One thread at one moment, as a dumper printed it. A dump that failed is a row without frames and
// with a problem: "no stack because ..." is knowledge too.
struct StackRow {
  Place place;  // from the innermost frame (of some dumpers: the thread's head) to the last one
  Timestamp time;
  std::string source;  // pyspy gdb cuda-gdb eu-stack faulthandler gdb-py traceback stat recorder
  std::optional<Host> host;
  std::optional<Rank> rank;  // as printed, or from the file's name
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> tid;  // of the kernel
  std::string thread_id;            // as printed when it is no kernel id: a pthread id, 0x7F...
  std::string thread;               // name; "" not known
  std::string state;                // idle active active+gil; "" not printed
  std::string command;              // command line of the process, as the dump prints it
  bool main = false;                // the main thread of its process
  std::string ranks;    // an aggregate (STAT): "0-3,6" stand here; "" = one thread of one process
  std::string problem;  // why there are no frames
  std::vector<Frame> frames;  // innermost first
};

// One process, as ps, pstree or /proc show it. Threads are folded into their process: `state` and
// `wait` are the main thread's; a thread in uninterruptible sleep (D) speaks for its process.
struct ProcessRow {
  std::int64_t id = 0;  // of the store
  Place place;
  Timestamp time;
  std::string source;  // ps pstree proc stack
  std::optional<Host> host;
  std::optional<Rank> rank;  // RANK of its environment: children inherit it
  std::optional<LocalRank> local_rank;
  std::int64_t pid = 0;
  std::optional<std::int64_t> parent;
  std::string state;         // the letter and what follows: Ssl, D, Zl
  std::string wait;          // kernel function it sleeps in (WCHAN)
  std::string kernel_stack;  // of /proc/PID/stack, innermost first, joined by ';'
  std::string name;          // comm
  std::string command;       // arguments
  std::int64_t threads = 0;  // 0 = not known
  std::string role;          // agent trainer dataloader checkpoint noise; filled by the resolution
};

}  // namespace culprit
