// What an analysis knows of its finding beyond what all findings have. The decision reads these;
// the figures that people, the database and programs see are made from them (numbers_of in
// finding.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/host.hpp"
#include "model/terms.hpp"
#include "model/text.hpp"
#include "model/time.hpp"

namespace culprit {

// Who prints a line: the job; a machine's own log; and there another program than the kernel and
// those that run jobs (sshd, nscd, a monitoring agent).
enum class Speaker : std::uint8_t { job, machine, service };

// Lines that a rule knows.
struct LineFacts {
  bool times_cut = false;           // `times` lacks some of the middle
  std::string exception, function;  // of a traceback
  std::string message;              // the first line's, cut
  std::optional<std::int64_t> code;
  std::optional<std::string> peer;   // the host at the other end of what broke
  std::size_t hosts = 0, ranks = 0;  // that print it
  std::size_t hosts_at_once = 0;     // within half a minute; 0: not counted
  Speaker speaker = Speaker::job;
  bool steps_after = false;    // each of its lines stands well before the last steps of its log
  bool names_trainer = false;  // a machine's line about a process such as jobs run: python3
  // Of a machine's lines, and of those that may slow a job; sorted, no more than 64 of them.
  std::vector<Nanoseconds> times;
};

// Error lines that no rule knows.
struct LeadFacts {
  std::string message;
  std::int64_t score = 0;
  bool named = false;  // the grammar of error lines has a title for it
};

// A rank of which no report of a time-out came.
struct SilenceFacts {
  std::size_t reported = 0, silent = 0;
  bool no_output = false;  // nothing of it was collected at all
  std::int64_t world_size = 0;
};

// Connections between machines that failed first.
struct BreakFacts {
  bool store_only = false;  // all of them to the store of rank 0, which every rank is connected to
  std::string most;  // the one machine that more of them have at an end than any other, as others
                     // say, too; "": none
  std::vector<Host> alerted = {};  // that report a link of their own which stays down, a few, and
                                   // one of them is an end of each of these connections; else empty
};

// What a process does by its stack: a call like any other, or a wait that is a clause of its own.
// program: the program's own code computes, as its thread's state shows, or waits for its own lock.
enum class WaitKind : std::uint8_t {
  call,
  device,
  communicator,
  data,
  service,
  lock,
  lock_file,
  program
};

// Whom everybody waits for, or the collective in which all are.
struct HangFacts {
  StopKind kind = StopKind::host_stopped;
  std::string code;                  // file:line of the call
  std::string group, operation;      // that the others wait in
  std::string role;                  // of the process: trainer, dataloader, checkpoint ...
  Text reason;                       // what its stack or its state says
  WaitKind wait = WaitKind::call;    // of its stack
  std::string state;                 // of the process: R S D T Z
  std::string ranks;                 // as ranges
  std::vector<std::string> sources;  // stacks, collectives, silence, processes; sorted
  std::int64_t waiting = 0;          // ranks that wait for it
  bool standing = false;             // that the job stood still is proven
  bool tie = false;                  // others are as likely
  bool within = false;               // all of it runs on one machine
  bool requests = false;  // network: its ranks are the ends of work requests that are not over
};

// Dumps of one moment, that leave open whether the job stood still.
struct UndecidedHangFacts {
  Text lead;  // who would be looked at first
};

// What SlowFacts::grown is where no part of the step is longer for all: each is for another rank.
inline constexpr const char* kUnequalLoad = "unequal load";

// At what distances steps are slow again and again.
enum class SlowRhythm : std::uint8_t { none, clock, count };

// A stretch of steps that took longer.
struct SlowFacts {
  std::int64_t first = 0, last = 0;  // iterations, both included
  double baseline_ms = 0, level_ms = 0;
  double factor = 1;
  double cost_s = 0;
  double share = 0;  // of the whole time
  std::optional<double> gpu_hours;
  bool over = false;
  bool transient = false;  // over, and too short to matter
  bool from_start = false;
  SlowRhythm rhythm = SlowRhythm::none;
  double period = 0;           // of a rhythm: seconds by the clock, iterations by the count
  std::size_t grows = 0;       // starts of the process from which its steps grew longer and longer
  bool against_peers = false;  // the whole run, by the others' parts of steps: no time was faster
  bool stall = false;          // no step at all, between two that are as quick as ever
  std::string shape;
  Text from_calls;  // how steps were counted without a log of them
  // Of the rank, host or device that stands out, when one does:
  Text reason;
  double work_ratio = 0;         // its own work over that of the others; 0: nobody tells of it
  std::size_t compared = 0;      // that tell of their work
  std::optional<bool> hardware;  // a metric or an event of the machine agrees
  bool event_only = false;       // nothing but an event of the machine in the same stretch
  bool by_limit = false;         // a limit that somebody set holds it down
  bool of_part = false;          // its own hardware holds it down: heat, power, lanes
  bool more_work = false;        // its throughput is as high as before: each step does as much more
  // Of the step where nobody stands out: the part that grew on all ranks, "data",
  // "communication"..., or kUnequalLoad.
  std::string grown;
};

// A loss that rose for long before it was no number, or jumped away from its usual value.
struct DivergenceFacts {
  // Iterations of the lowest or last usual loss, and of the last finite or high one.
  std::int64_t from = 0, to = 0;
  double lowest = 0, last = 0;  // in a jump the usual one and the peak
};

// Ranks whose stacks are the exception in most looks at a job that runs.
struct OddStackFacts {
  std::int64_t flags = 0, rounds = 0;  // looks in which they stood out, of all
};

// A setting that differs between hosts, or a comparison of all of them.
struct SettingFacts {
  std::string explains;  // communication, speed, other
  // One host alone has it, and it is the value that is slower: a link at a lower rate.
  bool slows = false;
  bool device = false;          // of a GPU, a NIC or memory, not of the system's software
  std::string label, value;     // "link rate", "100 on node-07 (node-07 mlx5_3)"
  bool far_below = false;       // at most half of what the others have
  bool set_by_command = false;  // one command sets it back
  bool beside_job = false;      // programs that run beside the job's
  bool programs = false;        // what runs on the machine
  bool under_load = false;      // a job may run with it until its network is busy
  bool of_image = false;        // what the job brings along

  // Of a part that is exchanged; what a command sets is none.
  bool of_part() const { return device && !set_by_command && !under_load; }
};

// An address that two machines have.
struct AddressFacts {
  std::string address;
  Host owner, other;  // of the job, and not; both empty where the job does not tell them apart
};

// A setting of the job that is another than in the run before.
struct ChangeFacts {
  std::string name;                   // "lr", "env.NCCL_IB_DISABLE"
  std::string before, after;          // "": was not set, is not set any more
  std::vector<std::string> explains;  // rules/tables/changes.json
  std::string label;                  // what people call it
  bool known = true;                  // it stands there
  double work = 0;  // how many times as much a step has to do by it; 0: that is not its meaning
};

// What outcomes of checks say of the hosts of the finding: they failed, one of them did, they
// passed, or the outcomes fit no fault that shows every time.
enum class CheckWord : std::uint8_t { failed, one_of, passed, contradiction };
struct OutcomeFacts {
  CheckWord word = CheckWord::passed;
  std::string tasks;
};

using FindingFacts =
    std::variant<std::monostate, LineFacts, LeadFacts, SilenceFacts, BreakFacts, HangFacts,
                 UndecidedHangFacts, SlowFacts, DivergenceFacts, OddStackFacts, SettingFacts,
                 AddressFacts, ChangeFacts, OutcomeFacts>;

}  // namespace culprit
