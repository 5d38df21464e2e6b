// What the decision knows besides the findings: plain facts of the job.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/attempt.hpp"
#include "model/finding.hpp"
#include "model/pipeline_bubble.hpp"

namespace culprit::decide {

struct ExitFact {
  std::string source = {};
  std::int64_t code = 0;
  Evidence evidence = {};
  std::optional<Nanoseconds> time = {};  // UTC
  std::optional<Host> host = {};
  std::optional<Rank> rank = {};
  bool blamed = false;  // its parent calls it the first to fail
};

// Which one places the job, so that advice names its commands. Slurm where nothing says.
enum class Scheduler { slurm, pbs, lsf };

// What was collected, by machine and rank: nothing of it is asked for again.
struct Holdings {
  std::set<Host> kernel_logs, outputs, metrics;  // of hosts
  std::set<Host> management_logs;                // of hosts: SEL and the like
  std::set<Host> device_readings;                // of hosts: nvidia-smi, DCGM
  std::set<Rank> ranks;                          // with a file of their own output
  std::set<Rank> stacks, recorders;              // of ranks
  bool scheduler = false;                        // its record of the job
  bool manifest = false;
  bool network = false;      // which switch hosts hang on
  bool times = true;         // the training's own lines say when
  std::size_t attempts = 0;  // runs of the job that are known
};

struct Case {
  std::vector<Finding> findings;  // of all analyses, in report order
  std::vector<ExitFact> exits;
  std::size_t hosts = 0;        // that the bundle names
  std::vector<Host> job_hosts;  // on which the job ran, sorted; empty: not known
  // Called by their own names, and as many nodes, of which nothing tells which pod ran on which.
  std::vector<Host> pods = {}, nodes_of_pods = {};
  std::vector<Host> storage_servers = {};  // serve files and run no rank; sorted
  std::optional<Evidence> closing = {};    // the framework's last word on a run that went well
  std::optional<Nanoseconds> closing_time = {};
  bool closing_of_launcher = false;  // said after all processes had ended
  bool recorded_failed = false;      // the scheduler's record: it failed
  bool completed = false;            // a closing line of the framework or the scheduler's COMPLETED
  std::size_t hosts_with_output = 0;  // of which it holds training output
  std::size_t hosts_heard = 0;        // of which the bundle holds any word of their own
  std::set<Host> pod_nodes;           // on which the job's pods ran, as a list of pods says
  std::set<Host> machines;            // hosts that more than the name of an output file tells of
  std::size_t ranks = 0;              // world size, or the ranks named
  bool has_rank_map = false;          // ranks are tied to hosts
  // Of the job, by their numbers; under no host those of which none is known.
  std::map<std::optional<Host>, std::set<std::int64_t>> processes;
  std::map<Host, std::string> kubernetes_nodes;  // hosts that are nodes, and their full names
  std::map<Host, std::set<std::string>>
      job_gpus;  // of hosts of which every rank's GPU is known: their PCI addresses
  // Some times have a zone and others none, and nothing tells that of the others.
  bool mixed_clocks = false;
  bool zone_guessed = false;  // times without a zone were taken for UTC
  std::optional<Nanoseconds> job_start, job_end;
  std::optional<Nanoseconds> first_progress;  // the first completed step that a log reports
  std::optional<Nanoseconds> last_progress;   // the last
  std::optional<Evidence> last_step = {};     // its line
  bool newest_first = false;                  // so are the lines of that log
  std::optional<Nanoseconds> last_word;       // the last dated line that a rule knows
  std::optional<std::int64_t> last_iteration;
  std::optional<std::int64_t> planned_iterations;      // of a job that says so
  bool ended_not_a_number = false;                     // the loss of its last step is none
  std::optional<std::int64_t> first_nan, last_finite;  // iterations of the loss or gradient norm
  Nanoseconds step_time = 0;                           // the usual one; 0: not known
  Nanoseconds step_line_interval = 0;  // between two lines that report steps; 0: not known
  Scheduler scheduler = Scheduler::slurm;
  bool command_manager = false;  // NVIDIA Base Command Manager, once Bright, drains its nodes
  bool uses_gpus = true;         // false: no line speaks of a GPU, CUDA or NCCL
  bool incomplete = false;       // a part of the bundle could not be read
  bool has_stacks = false, has_recorder = false;
  Holdings holds;
  std::vector<Host> all_hosts;                // that ran the job, or that the bundle names; sorted
  std::vector<std::pair<Rank, Host>> places;  // rank and its host; sorted
  std::map<Rank, LocalRank> local_ranks;      // as far as they are known
  bool any_training_output = false;
  std::vector<std::pair<std::string, std::vector<Host>>>
      switches;            // what hosts hang on, and pods, with the hosts of this incident
  AttemptHistory history;  // without failures: the first run, or nobody knows of others
  // Of the parallel layout, for the plan of a replay; not known: nullopt.
  std::optional<std::int64_t> tp, pp, dp, gpus_per_host;
  std::optional<PipelineBubble> bubble = {};  // that the schedule leaves in each step

  // The job ran there, as far as its machines are known.
  bool of_job(const Host& host) const {
    return job_hosts.empty() || std::ranges::binary_search(job_hosts, host);
  }
};

}  // namespace culprit::decide
