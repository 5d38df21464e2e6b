// The closed sets of words that findings and verdicts are made of. Each has one table of names
// (terms.cpp) or is spelt as its enumerators; reports, database and rules share it, and nothing
// else spells one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_name.hpp"

// clang-format off
// The kinds of cause that decide/ compares: a kind is a line here, a function of its name, and a
// row of rules/tables/causes.json. Of two that weigh the same the first is believed.
#define CULPRIT_KINDS(STEP) \
  /* an empty bundle proves nothing */ \
  STEP(bundle_empty) \
  /* a GPU that gives another result when it repeats a step, or than another GPU -> isolate */ \
  STEP(data_corruption) \
  /* no failure, but a GPU slowed by its own hardware -> mitigate */ \
  STEP(gpu_throttled) \
  /* no failure, but slower than it could be -> isolate, repair, mitigate, or it is over */ \
  STEP(slow_job) \
  /* exit code 0 and no trouble */ \
  STEP(job_finished) \
  /* a moment's dumps and nothing else -> look again */ \
  STEP(dumps_only) \
  /* nothing failed as far as the logs go */ \
  STEP(no_failure) \
  /* time limit, scancel, preemption: nobody's fault */ \
  STEP(user_request) \
  /* Aegis CriticalError: a machine's own fault, first in time -> isolate */ \
  STEP(critical_errors) \
  /* one storage, service, switch seen by many -> repair that */ \
  STEP(shared_cause) \
  /* two machines with one address -> repair that setting */ \
  STEP(address_conflict) \
  /* memory, disk, shared memory, limits -> repair */ \
  STEP(resources) \
  /* a wrong address, library, device, permission -> repair the setting */ \
  STEP(setup_failure) \
  /* ByteRobust: user-space error with a module -> rollback */ \
  STEP(user_code) \
  /* this run shows no failure, and those before it failed at one place -> rollback */ \
  STEP(earlier_runs) \
  /* illegal access: many GPUs the program, one GPU again and again the device */ \
  STEP(illegal_access) \
  /* a segfault once: program or machine, nobody knows */ \
  STEP(process_crash) \
  /* FT-HSDP, ByteRobust: whom everybody waits for -> isolate; mismatch -> rollback */ \
  STEP(stopped_rank) \
  /* the others gave up while one was still busy preparing its data -> rollback */ \
  STEP(busy_rank) \
  /* flaps beyond their tolerance before the first broken connection */ \
  STEP(network_alerts) \
  /* the same part, down for a moment, when earlier runs ended -> isolate */ \
  STEP(recurring_alert) \
  /* ByteRobust: one alert below its tolerance, taken back -> reattempt */ \
  STEP(transient_alert) \
  /* somebody asked the launcher to stop: nobody's fault */ \
  STEP(ended_outside) \
  /* the loss rose for long before it was NaN -> rollback */ \
  STEP(diverged) \
  /* NaN without a culprit -> bit-wise checks */ \
  STEP(numerics) \
  /* Aegis RootDiag, NetDiag */ \
  STEP(root_diag) \
  /* Aegis ConfigCheck */ \
  STEP(config_check) \
  /* all are in one collective and none finishes -> checks on that group */ \
  STEP(stuck_group) \
  /* everybody waits, one does not */ \
  STEP(silent_rank) \
  /* Aegis DistError: at most two hosts report -> isolate those */ \
  STEP(distributed_errors) \
  /* no step for long before the end, and nothing says why -> collect */ \
  STEP(stood_still) \
  /* exit codes and signals that nothing explains */ \
  STEP(process_ended) \
  /* ByteRobust: crash without a culprit -> stop-time checks; hang -> collect */ \
  STEP(not_enough_evidence)

// Analyses that need what machines and programs report and nothing else: a function of its name in
// analyze/faults, which this list declares and calls.
#define CULPRIT_SIGNAL_ANALYSES(ANALYSIS) \
  ANALYSIS(classify) ANALYSIS(leads) ANALYSIS(root_diag) ANALYSIS(silence)

// All analyses, as findings name them, in their order.
#define CULPRIT_ANALYSES(ANALYSIS) \
  CULPRIT_SIGNAL_ANALYSES(ANALYSIS) \
  ANALYSIS(collectives) ANALYSIS(stacks) ANALYSIS(hang) ANALYSIS(drift) ANALYSIS(outliers) \
  ANALYSIS(stall) ANALYSIS(growth) ANALYSIS(slow_group) ANALYSIS(what_if) ANALYSIS(slow) \
  ANALYSIS(shared_change) ANALYSIS(port_counters) ANALYSIS(saves) ANALYSIS(slow_start) \
  ANALYSIS(divergence) \
  ANALYSIS(changes) ANALYSIS(outcomes) ANALYSIS(last_lines)
// clang-format on
#define CULPRIT_ENUMERATOR(word) word,

namespace culprit {

// What to do with the job and its machines (ByteRobust section 4.2, GREYHOUND section 5, ours:
// investigate).
enum class Action : std::uint8_t {
  none,
  isolate,
  reattempt,
  rollback,
  repair,
  checks,
  replay,
  offline,
  mitigate,
  investigate
};

// What a claim is about; in the order of the names, since subjects are sorted by it.
enum class SubjectKind : std::uint8_t {
  code,
  config,
  gpu,
  group,
  host,
  job,
  link,
  nic,
  rank,
  storage,
  network_switch
};

// How closely the targets are known: these, all of this group, or some of these.
enum class Precision : std::uint8_t { exact, group, candidates };

// ByteRobust table 1; the last four are ours.
enum class Symptom : std::uint8_t {
  none,
  cuda_error,
  cpu_overload,
  cpu_oom,
  insufficient_disk_space,
  infiniband_error,
  filesystem_mount,
  hdfs_error,
  container_error,
  os_kernel_panic,
  gpu_memory_error,
  external_service_error,
  gpu_unavailable,
  disk_fault,
  job_hang,
  mfu_decline,
  nan_value,
  code_data_adjustment,
  network_congestion,
  switch_fault,
  thermal,
  collective_mismatch
};

enum class Analysis : std::uint8_t { none, CULPRIT_ANALYSES(CULPRIT_ENUMERATOR) };

// Why ranks wait: for a process that stopped or left, a device, a link, different calls, an absent
// file, a file system, a lock that a file stands for.
enum class StopKind : std::uint8_t {
  host_stopped,
  device_stopped,
  network,
  mismatch,
  left_early,
  no_dump,
  storage,
  lock_file
};

// What tells how far ranks have come on their process groups: dumps of flight recorders, lines of
// the watchdog, its report of a desynchronisation, what torch found when it compared the arguments
// of a collective, a monitored barrier, NCCL's RAS, calls in NCCL's log, communicators being set
// up, NCCL's Inspector.
enum class CollectiveSource : std::uint8_t {
  none,
  recorder,
  watchdog,
  desync,
  fingerprint,
  barrier,
  ras,
  nccl_call,
  nccl_init,
  inspector,
  work_requests
};

// And two entries that are no kinds.
enum class StepId : std::uint8_t { CULPRIT_KINDS(CULPRIT_ENUMERATOR) history, excluded };
enum class StepOutcome : std::uint8_t { taken, ruled_out, not_enough_evidence };

// What a person does next: run this, collect that, plan something.
enum class NextKind : std::uint8_t { command, collect, plan };

// What can be collected of a job and its machines, as far as an open verdict asks for it.
enum class Source : std::uint8_t {
  none,
  kernel_log,
  training_output,
  stacks,
  flight_recorder,
  metrics,
  times,
  scheduler,
  manifest
};

constexpr std::string_view name(Action action) { return enum_name(action); }
std::string_view name(SubjectKind kind);
constexpr std::string_view name(Precision precision) { return enum_name(precision); }
std::string_view name(Symptom symptom);
std::string_view name(Analysis analysis);
std::string_view name(StopKind kind);
std::string_view name(CollectiveSource source);
std::string_view name(StepId step);
constexpr std::string_view name(StepOutcome outcome) { return enum_name(outcome); }
constexpr std::string_view name(NextKind kind) { return enum_name(kind); }
std::string_view name(Source source);

// The other way, of text that came from outside; nullopt: no such word.
template <class Term>
std::optional<Term> term_named(std::string_view name);
template <>
std::optional<Action> term_named<Action>(std::string_view name);
template <>
std::optional<SubjectKind> term_named<SubjectKind>(std::string_view name);
template <>
std::optional<Symptom> term_named<Symptom>(std::string_view name);
template <>
std::optional<Analysis> term_named<Analysis>(std::string_view name);
template <>
std::optional<CollectiveSource> term_named<CollectiveSource>(std::string_view name);
template <>
std::optional<Source> term_named<Source>(std::string_view name);

}  // namespace culprit
