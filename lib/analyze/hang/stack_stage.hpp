// What a stack says: its normal form, by which processes are called equal, and the stage the
// process is in.
//
// Two processes at the same place must have equal normal stacks, whatever tool dumped them and
// whichever rank they are: addresses, argument lists, template arguments, compiler suffixes and
// folders go, and so do the frames that every stack has (the interpreter's loop, decorators, thread
// starters). What is left is compared as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "rules/frames.hpp"

namespace culprit::analyze {

using rules::Doing;

// send, recv, sendrecv.
bool is_p2p(std::string_view operation);

struct Stage {
  Doing doing = Doing::unknown;
  std::string_view
      operation;  // all_reduce, recv, open ...; "" not known. Lives as long as the program
  std::string_view dimension;  // tp pp dp ep cp as far as the callers' names tell
  int toward = 0;  // p2p: waits for the next stage (+1), the one before (-1), or either (0)
  std::int32_t decided = -1;  // index of the frame that told; -1 none did
  std::int32_t where = -1;    // the innermost frame of the user's own code; else the innermost
  bool loads_data = false;    // makes a batch, in a loader's worker or in the trainer itself

  // Waits for other ranks, so somebody else is the cause.
  bool waits() const {
    return doing == Doing::collective || doing == Doing::gpu || doing == Doing::communicator;
  }
  bool p2p() const;
  bool same_operation(const Stage& other) const {
    return doing == other.doing && operation == other.operation &&
           (dimension == other.dimension || dimension.empty() || other.dimension.empty());
  }
};

// "c10d::Work::wait(std::chrono::duration<long> >) [clone .isra.0]" -> "c10d::Work::wait". Python's
// names keep their angle brackets: <module>.
std::string normal_function(std::string_view function, bool native);
// "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py" -> "distributed_c10d.py":
// tools print folders or not.
std::string_view base_name(std::string_view path);
// "train.py:120"; without a line the file alone; "" without a file.
std::string place_of(const std::string& file, std::int64_t line);

// Every distinct frame and stack of the facts, made normal. Work and memory in proportion to
// distinct ones.
struct NormalStacks {
  std::vector<std::string> names;  // of normal frames: "all_reduce (distributed_c10d.py)"
  std::vector<std::vector<std::uint32_t>> stacks;  // distinct normal stacks, outermost first
  std::vector<std::uint32_t> of;                   // by index into StackTable.stacks
  std::vector<std::uint64_t>
      exact;  // the same: digest with line numbers, without what only some tools print
  std::vector<Stage> stages;  // the same
  std::vector<bool> python;   // the same: has Python frames
};
NormalStacks normal_stacks(const StackTable& table, bool keep_lines = false);

}  // namespace culprit::analyze
