// The line layer: what stands between the bytes of a log and the message that somebody wrote. It
// undoes, in this order: NUL runs and terminal colours, progress bars glued in front, wrappers
// (docker, journald and CRI records), and the stack of prefixes that kernels, loggers and launchers
// put before a message. Each prefix tells something: a time, a host, a rank. The bytes stay where
// they were; nothing here knows what a message means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line/header_layout.hpp"
#include "model/host.hpp"
#include "model/rank.hpp"
#include "model/time.hpp"

namespace culprit::line {

struct Prefix {
  Timestamp time;                 // wall clock if there was one, else the boot clock
  std::optional<Timestamp> boot;  // a boot-relative time beside a wall-clock time
  std::optional<Host> host;
  std::optional<Host> claimed_host;    // a word before the rank in a label: a machine, or a phase
  std::optional<std::string> address;  // Ray prints the node's IP
  std::optional<Rank> rank;            // global
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t>
      task;  // srun -l label: a rank when there is one task a GPU, else a node
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> device;  // CUDA ordinal printed by NCCL
  std::string stream;   // tells the lines of one process from others': stdout or stderr, or the pod
  std::string unit;     // syslog tag: kernel, systemd-networkd ...
  std::string cluster;  // of the machine, as a log store labels it: names recur in other clusters
  bool kernel = false;  // the line came out of the kernel ring buffer
  bool nccl = false;
  bool partial = false;  // CRI "P": the message goes on in the next record of the same stream
};

struct Line {
  Prefix prefix;
  std::string message;
};

// Options that hold for a whole file, found by looking at its head.
struct Habit {
  bool host_prefix = false;     // pdsh: every line begins with "host: "
  bool compose_prefix = false;  // docker compose: every line begins with "service  | "
  bool stern_prefix = false;    // stern: every line begins with "pod container "
  bool loose_time = false;      // what many lines begin with is a time (loose_time.hpp)
  HeaderLayout header;          // what most lines begin with, where that says who speaks
};

// One line (without its line end) into message and prefix.
Line peel(std::string_view raw, Habit habit = {});
// The same into a line that was used before: whoever reads a million lines one after another
// allocates nothing.
void peel(std::string_view raw, Habit habit, Line& line);

// Lines of several processes torn together: the places inside raw where another record begins.
// Always starts with 0.
std::vector<std::size_t> record_heads(std::string_view raw);
// False: record_heads has nothing but the 0. Cheap: one of the words that begin a record must stand
// in it.
bool may_hold_heads(std::string_view raw);

// Nearly every line has none of the bytes that a colour or a NUL run begins with, in any spelling:
// its message is a part of it, byte for byte, unless it is wrapped in JSON.
bool is_clean(std::string_view raw);

// True when the text holds bytes that hide words from a search: NUL or ESC.
bool needs_cleaning(std::string_view raw);
// Without NULs, ANSI sequences (also those spelt \u001b[ or ^[[) and carriage returns at the end.
std::string clean(std::string_view raw);

// Looks at the first lines of a file.
Habit habit_of(std::string_view head);

}  // namespace culprit::line
