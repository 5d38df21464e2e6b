// The closed sets of words that findings and verdicts are made of. Each has one table of names
// (terms.cpp), which reports, database and rules share; nothing else spells one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

// Who concludes.
enum class Analysis : std::uint8_t {
  none,
  classify,
  leads,
  root_diag,
  silence,
  collectives,
  stacks,
  hang,
  drift,
  outliers,
  stall,
  slow_group,
  what_if,
  slow
};

// Why ranks wait: for a process that stopped or left, a device, a link, different calls, an absent
// file, a file system.
enum class StopKind : std::uint8_t {
  host_stopped,
  device_stopped,
  network,
  mismatch,
  left_early,
  no_dump,
  storage
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
  inspector
};

// The steps of the ladder (decide/decide.cpp has their order), and two entries of the walk that are
// no steps.
enum class StepId : std::uint8_t {
  bundle_empty,
  gpu_throttled,
  slow_job,
  job_finished,
  dumps_only,
  no_failure,
  user_request,
  critical_errors,
  shared_cause,
  resources,
  setup_failure,
  user_code,
  illegal_access,
  process_crash,
  stopped_rank,
  network_alerts,
  transient_alert,
  ended_outside,
  numerics,
  root_diag,
  config_check,
  stuck_group,
  silent_rank,
  distributed_errors,
  process_ended,
  not_enough_evidence,
  history,
  excluded
};
enum class StepOutcome : std::uint8_t { taken, ruled_out, not_enough_evidence };

// What a person does next: run this, collect that, plan something.
enum class NextKind : std::uint8_t { command, collect, plan };

std::string_view name(Action action);
std::string_view name(SubjectKind kind);
std::string_view name(Precision precision);
std::string_view name(Symptom symptom);
std::string_view name(Analysis analysis);
std::string_view name(StopKind kind);
std::string_view name(CollectiveSource source);
std::string_view name(StepId step);
std::string_view name(StepOutcome outcome);
std::string_view name(NextKind kind);

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

}  // namespace culprit
