// Stack aggregation: who stands where, who is the exception, who waits for whom (ByteRobust,
// section 5).
//
// The paper groups equal stacks, calls the dominant groups healthy and evicts the smallest parallel
// group that covers the rest. Two things are added. The wait-for relation among the groups names
// the deepest cause: whoever sits in a collective waits for the members of its group that are not
// in it; whoever waits for nobody is what the others wait for. And one snapshot alone proves no
// hang: a healthy job is a mixture of computing and waiting at every moment, so findings fire only
// when something else says that the job stood still, or when snapshots of different moments are the
// same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"
#include "analyze/hang/stack_stage.hpp"
#include "analyze/hang/stack_tree.hpp"
#include "analyze/facts/topology.hpp"
#include "model/finding.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct StackParams {
  bool keep_lines = false;  // other lines of one function are other stacks
  // Storage that stalls this many hosts, or this share of them, in the same call is the storage's
  // fault.
  std::size_t storage_hosts = 3;
  double storage_share = 0.25;
  std::size_t slow_rounds = 5;      // ByteRobust, section 5: every 10 s, 5 rounds
  double slow_share = 0.5;          // of the rounds that flag one group, to name it
  Nanoseconds apart = 5 * kSecond;  // dumps of different tools this far apart are different moments
  // This many ranks, and this share, at one place of the program wait there for their GPUs.
  std::size_t implied = 3;
  double implied_share = 0.2;
  double unheard = 0.125;  // ranks without a stack are suspects up to this share of all
};

// What is known of a hang from elsewhere: time-outs in logs, frontiers that stopped.
struct HangWord {
  bool known = false;
  Text why;               // "7 ranks reported a time-out of a collective"
  bool inferred = false;  // nobody said so: from the age of dumps. Stacks that move contradict it
};
// Time-outs of collectives and missing progress among the signals.
HangWord hang_reported(const std::vector<Signal>& signals);

// One process, with one verdict from all dumps of it.
struct StackProcess {
  std::optional<Rank> rank;
  std::optional<std::int64_t> pid;
  Host host;                          // "" not known
  std::string role;                   // trainer dataloader agent checkpoint noise
  std::uint32_t stack = 0;            // normal stack of the dump that speaks for it
  std::size_t sample = 0;             // that dump: index into Facts.samples
  Stage stage;                        // of that dump, refined by the native one
  std::optional<std::size_t> native;  // the dump that refined it
  std::string native_reason;  // "__libc_open64": what its machine code waits in; "" not known
  std::size_t dumps = 1;      // that tell of it
};

struct StackGroup {
  std::string role;
  std::uint32_t stack = 0;  // index into StackReport.normal.stacks
  Stage stage;
  std::vector<Rank> ranks;  // sorted
  std::vector<Host> hosts;  // sorted
  std::size_t processes = 0;
  bool dominant = false;
  Text why;                // of being dominant
  std::size_t sample = 0;  // of its lowest rank
};

// The parallel groups that cover the outliers, and the machines to isolate.
struct StackCover {
  bool shared = false;    // false: no group covers more than one machine's outliers; hosts only
  std::string dimension;  // of all groups; "" mixed
  std::vector<std::string> groups;  // ids
  std::vector<Host> hosts;          // sorted
  std::vector<Rank> ranks;          // of the groups
};

// `from` wait in an operation that `to` have not joined.
struct StackWait {
  std::string group;  // "tp/2"; "" = not known which
  std::string operation;
  std::vector<Rank> from, to;
};

struct StackSink {
  std::vector<Rank>
      ranks;  // one, or several that wait for each other or stand in one complete collective
  std::vector<Host> hosts;
  std::string role = "trainer";  // dataloader: the cause is the worker's
  Stage stage;
  std::string function, file;  // of its own code
  std::int64_t line = 0;
  std::string native_reason;
  std::vector<std::size_t> samples;  // dumps to look at, the telling one first
  std::size_t waiting = 0;           // ranks that wait for it, directly or not
  bool elsewhere = false;            // in no collective at all
  bool unheard = false;              // there is no stack of it
  Text crossed;  // they and others of their group called collectives in different orders: how
  // In the program's own code, and no wait that Python does not show: a worker's thread runs, or it
  // stands on a lock of that code.
  bool program = false;
};

struct StackRound {
  std::string name;                 // where the dumps lie
  std::optional<Nanoseconds> time;  // of the first
  std::vector<Rank> outliers;
  std::string flagged;  // parallel group with most outliers; "" none
};

enum class Motion { unknown, standing, moving };

struct StackReport {
  NormalStacks normal;
  std::vector<StackProcess> processes;     // by role, rank, host, pid
  std::map<std::string, StackTree> trees;  // by role
  std::vector<StackGroup> groups;          // by role (trainers first), then the largest first
  std::vector<Rank> outliers;              // trainers, sorted
  std::optional<StackCover> cover;
  std::vector<StackWait> waits;
  std::vector<StackSink> sinks;  // the surest first; candidates unless `hang`
  std::vector<Rank> unheard;     // ranks of the job without a stack
  std::vector<StackRound> rounds;
  std::string degrader;  // parallel group that most rounds flag; "" none
  std::size_t degrader_flags = 0;
  Motion motion = Motion::unknown;  // between snapshots
  Text motion_why;
  Nanoseconds standing_for = 0;  // between the snapshots that agree; 0 = not known
  bool hang = false;             // known from elsewhere, or nothing moved between snapshots
  Text hang_why;
  double confidence = 0;  // that the first sink is the cause
  std::string storage;    // what many hosts wait for: "open in refresh (data.py:27)"; "" no
  std::vector<Host> storage_hosts;
  std::vector<Text> notes;
  std::size_t trainers = 0;
  bool topology = false;  // parallel groups were known
};

// Pure: the order of samples does not matter. An empty report without stacks of processes.
StackReport aggregate_stacks(const Facts& facts, const Topology& topology,
                             const HangWord& hang = {}, const StackParams& params = {});
std::vector<Finding> stack_findings(const StackReport& report, const Facts& facts,
                                    const Topology& topology);

// The thread's head in its dump; sample: index into Facts.samples.
Evidence evidence_of(const Facts& facts, std::size_t sample);

// The stack of the dump that speaks for a process: index into StackTable.stacks.
std::size_t stack_of(const Facts& facts, const StackProcess& p);

// "all_reduce of tp", "open", "own code".
Text describe(const Stage& stage);

// The parts, for tests and for those who have their own outliers.
//
// Smallest covering parallel groups: one group if one covers all without doubling the machines;
// else the fewest of those that add no machine. Fewest machines first, then fewest groups, then pp,
// tp, cp, ep, dp.
StackCover smallest_cover(const std::vector<Rank>& outliers, const Topology& topology,
                          std::size_t machines);
struct RankStage {
  Rank rank{};
  Stage stage;
  std::uint32_t stack = 0;
};
// Fills waits and sinks (ranks, stage, waiting, elsewhere, unheard). `stages` sorted by rank;
// `unheard`: ranks of the job without a stack.
void wait_for(const std::vector<RankStage>& stages, const std::vector<Rank>& outliers,
              const Topology& topology, const std::vector<Rank>& unheard,
              std::vector<StackWait>& waits, std::vector<StackSink>& sinks);

}  // namespace culprit::analyze
