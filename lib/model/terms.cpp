#include "model/terms.hpp"

#include <algorithm>

namespace culprit {

namespace {

constexpr std::string_view kSubjectKinds[] = {"code", "config", "gpu",  "group",   "host",  "job",
                                              "link", "nic",    "rank", "storage", "switch"};
constexpr std::string_view kSymptoms[] = {"None",
                                          "CUDA Error",
                                          "CPU Overload",
                                          "CPU OOM",
                                          "Insufficient Disk Space",
                                          "Infiniband Error",
                                          "Filesystem Mount",
                                          "HDFS Error",
                                          "Container Error",
                                          "OS Kernel Panic",
                                          "GPU Memory Error",
                                          "External Service Error",
                                          "GPU Unavailable",
                                          "Disk Fault",
                                          "Job Hang",
                                          "MFU Decline",
                                          "NaN value",
                                          "Code/Data Adjustment",
                                          "Network Congestion",
                                          "Switch Fault",
                                          "Thermal",
                                          "Collective Mismatch"};
#define CULPRIT_NAME(word) #word,
constexpr std::string_view kAnalyses[] = {"", CULPRIT_ANALYSES(CULPRIT_NAME)};
constexpr std::string_view kStopKinds[] = {"host stopped", "device stopped", "network",
                                           "mismatch",     "left early",     "no dump",
                                           "storage",      "lock file"};
constexpr std::string_view kCollectiveSources[] = {
    "",    "recorder",  "watchdog",  "desync",    "fingerprint",  "barrier",
    "ras", "nccl-call", "nccl-init", "inspector", "work-requests"};
constexpr std::string_view kStepIds[] = {CULPRIT_KINDS(CULPRIT_NAME) "history", "excluded"};
constexpr std::string_view kSources[] = {"",       "kernel_log",      "training_output",
                                         "stacks", "flight_recorder", "metrics",
                                         "times",  "scheduler",       "manifest"};

template <auto last, std::size_t N>
constexpr bool complete(const std::string_view (&)[N]) {
  return N == static_cast<std::size_t>(last) + 1;
}
static_assert(complete<SubjectKind::network_switch>(kSubjectKinds) &&
              complete<Symptom::collective_mismatch>(kSymptoms) &&
              complete<StepId::excluded>(kStepIds) && complete<StopKind::lock_file>(kStopKinds) &&
              complete<CollectiveSource::work_requests>(kCollectiveSources) &&
              complete<Source::manifest>(kSources));

template <class Term, std::size_t N>
std::optional<Term> find(const std::string_view (&names)[N], std::string_view name) {
  const auto* found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Term>(found - std::begin(names));
}

}  // namespace

std::string_view name(SubjectKind kind) { return kSubjectKinds[static_cast<std::size_t>(kind)]; }
std::string_view name(Symptom symptom) { return kSymptoms[static_cast<std::size_t>(symptom)]; }
std::string_view name(Analysis analysis) { return kAnalyses[static_cast<std::size_t>(analysis)]; }
std::string_view name(StopKind kind) { return kStopKinds[static_cast<std::size_t>(kind)]; }
std::string_view name(CollectiveSource source) {
  return kCollectiveSources[static_cast<std::size_t>(source)];
}
std::string_view name(StepId step) { return kStepIds[static_cast<std::size_t>(step)]; }
std::string_view name(Source source) { return kSources[static_cast<std::size_t>(source)]; }

template <>
std::optional<Action> term_named<Action>(std::string_view name) {
  return enum_named<Action>(name);
}
template <>
std::optional<SubjectKind> term_named<SubjectKind>(std::string_view name) {
  return find<SubjectKind>(kSubjectKinds, name);
}
template <>
std::optional<Symptom> term_named<Symptom>(std::string_view name) {
  return find<Symptom>(kSymptoms, name);
}
template <>
std::optional<Analysis> term_named<Analysis>(std::string_view name) {
  return find<Analysis>(kAnalyses, name);
}
template <>
std::optional<CollectiveSource> term_named<CollectiveSource>(std::string_view name) {
  return find<CollectiveSource>(kCollectiveSources, name);
}
template <>
std::optional<Source> term_named<Source>(std::string_view name) {
  return find<Source>(kSources, name);
}

}  // namespace culprit
