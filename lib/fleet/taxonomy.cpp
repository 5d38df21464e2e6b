#include "fleet/taxonomy.hpp"

#include <algorithm>
#include <iterator>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/terms.hpp"

namespace culprit::fleet {

namespace {

constexpr Share kSymptoms[] = {
    {"CUDA Error", 36.1, 19968},
    {"CPU Overload", 11.0, 6095},
    {"CPU OOM", 10.1, 5567},
    {"Insufficient Disk Space", 5.0, 2755},
    {"Infiniband Error", 2.9, 1599},
    {"Filesystem Mount", 2.1, 1176},
    {"HDFS Error", 2.0, 1104},
    {"Container Error", 1.4, 781},
    {"OS Kernel Panic", 0.4, 203},
    {"GPU Memory Error", 0.3, 188},
    {"External Service Error", 0.2, 128},
    {"GPU Unavailable", 0.1, 76},
    {"Disk Fault", 0.1, 47},
    {"Job Hang", 9.9, 5506},
    {"MFU Decline", 0.8, 442},
    {"NaN value", 0.3, 148},
    {"Code/Data Adjustment", 17.3, 9582},
};

constexpr std::string_view kImplicit[] = {
    "Job Hang", "MFU Decline", "NaN value", "Network Congestion", "Thermal", "Collective Mismatch"};

constexpr Share kComponents[] = {
    {"gpu memory", 22.9, 155}, {"pcie", 18.0, 122},     {"communication timeout", 9.0, 61},
    {"gpu", 7.4, 50},          {"software", 7.1, 48},   {"maintenance", 6.2, 42},
    {"kernel", 5.8, 39},       {"reboot", 5.6, 38},     {"numerics", 5.5, 37},
    {"network", 5.3, 36},      {"disk", 4.4, 30},       {"gpu sram", 1.2, 8},
    {"unknown", 1.0, 7},       {"host memory", 0.3, 2}, {"cooling", 0.3, 2},
    {"gpu cooling", 0.2, 1},
};

struct Word {
  std::string_view word, group;
};

// The first word that the text contains counts, so the narrower ones come first.
constexpr Word kWords[] = {
    {"nvlink", "nvlink"},
    {"nvswitch", "nvlink"},
    {"fabric manager", "nvlink"},
    {"hbm", "gpu memory"},
    {"gpu memory", "gpu memory"},
    {"sram", "gpu sram"},
    {"gpu cooling", "gpu cooling"},
    {"gpu power", "gpu cooling"},
    {"pcie", "pcie"},
    {"riser", "pcie"},
    {"nic", "nic"},
    {"infiniband", "network"},
    {"ethernet", "network"},
    {"cable", "network"},
    {"optic", "network"},
    {"switch", "network"},
    {"network", "network"},
    {"link", "network"},
    {"port", "network"},
    {"gpu", "gpu"},
    {"cuda", "gpu"},
    {"collective", "communication timeout"},
    {"remote storage", "remote storage"},
    {"hdfs", "remote storage"},
    {"file system", "remote storage"},
    {"mount", "remote storage"},
    {"object store", "remote storage"},
    {"checkpoint", "remote storage"},
    {"disk", "disk"},
    {"nvme", "disk"},
    {"raid", "disk"},
    {"ssd", "disk"},
    {"block layer", "disk"},
    {"dram", "host memory"},
    {"host memory", "host memory"},
    {"shared memory", "host memory"},
    {"memory limit", "host memory"},
    {"psu", "power"},
    {"power", "power"},
    {"fan", "cooling"},
    {"cooling", "cooling"},
    {"thermal", "cooling"},
    {"cpu", "cpu"},
    {"motherboard", "platform"},
    {"bmc", "platform"},
    {"platform", "platform"},
    {"numerics", "numerics"},
    {"silent data", "numerics"},
    {"nan", "numerics"},
    {"kernel", "kernel"},
    {"operating system", "kernel"},
    {"os ", "kernel"},
    {"reboot", "reboot"},
    {"maintenance", "maintenance"},
    {"user", "software"},
    {"program", "software"},
    {"code", "software"},
    {"software", "software"},
    {"python", "software"},
    {"librar", "software"},
    {"environment", "setup"},
    {"setting", "setup"},
    {"launcher", "setup"},
    {"rendezvous", "setup"},
    {"scheduler", "setup"},
    {"container", "setup"},
    {"firmware", "platform"},
    {"driver", "gpu"},
    {"system crash", "kernel"},
    {"stress test", "other"},
    {"service", "external service"},
};

// Where no rule names a component, the symptom has the word.
constexpr Word kOfSymptom[] = {
    {"GPU Memory Error", "gpu memory"},
    {"GPU Unavailable", "gpu"},
    {"CUDA Error", "gpu"},
    {"Infiniband Error", "network"},
    {"Switch Fault", "network"},
    {"Network Congestion", "network"},
    {"OS Kernel Panic", "kernel"},
    {"CPU OOM", "host memory"},
    {"CPU Overload", "cpu"},
    {"Disk Fault", "disk"},
    {"Insufficient Disk Space", "disk"},
    {"Filesystem Mount", "remote storage"},
    {"HDFS Error", "remote storage"},
    {"Container Error", "setup"},
    {"External Service Error", "external service"},
    {"Thermal", "gpu cooling"},
    {"Job Hang", "communication timeout"},
    {"NaN value", "numerics"},
    {"Code/Data Adjustment", "software"},
    {"Collective Mismatch", "software"},
};

constexpr Mechanism kMechanisms[] = {
    {"eviction, explicit error", 73.1, 56.8},
    {"eviction, analysis", 8.6, 7.2},
    {"rollback", 6.9, 11.2},
    {"hot update", 11.4, 24.8},
};

constexpr Resolution kResolutions[] = {
    {"CUDA Error", 93, 600},       {"Infiniband Error", 60, 60},     {"HDFS Error", 58, 65},
    {"OS Kernel Panic", 109, 120}, {"GPU Memory Error", 10, 10},     {"NaN value", 4289, 7200},
    {"GPU Unavailable", 10, 10},   {"Code/Data Adjustment", 57, 64},
};

}  // namespace

std::span<const Share> published_symptoms() { return kSymptoms; }
std::span<const Share> published_components() { return kComponents; }
std::span<const Mechanism> published_mechanisms() { return kMechanisms; }

const Resolution* published_resolution(std::string_view symptom) {
  const auto* at = std::find_if(std::begin(kResolutions), std::end(kResolutions),
                                [&](const Resolution& r) { return r.symptom == symptom; });
  return at == std::end(kResolutions) ? nullptr : at;
}

std::string_view category_of(std::string_view symptom) {
  if (symptom.empty() || symptom == name(Symptom::none) || symptom == "not known") return "none";
  if (symptom == name(Symptom::code_data_adjustment)) return "manual";
  return contains(kImplicit, symptom) ? "implicit" : "explicit";
}

std::string_view component_group(std::string_view component, std::string_view symptom) {
  const std::string small = lower(component);
  for (const Word& w : kWords)
    if (small.find(w.word) != std::string::npos) return w.group;
  for (const Word& w : kOfSymptom)
    if (symptom == w.word) return w.group;
  return "unknown";
}

bool is_gpu(std::string_view group) { return group.starts_with("gpu") || group == "nvlink"; }

std::string_view mechanism_of(std::string_view action, std::string_view symptom) {
  const std::optional<Action> known = term_named<Action>(action);
  if (!known) return "open";
  switch (*known) {
    case Action::isolate:
    case Action::offline:
      return category_of(symptom) == "implicit" ? "eviction, analysis" : "eviction, explicit error";
    case Action::rollback: return "rollback";
    case Action::repair: return "repair";
    case Action::reattempt: return "restart";
    case Action::mitigate: return "mitigation";
    case Action::checks:
    case Action::replay: return "stress tests";
    case Action::none: return category_of(symptom) == "manual" ? "hot update" : "no failure";
    case Action::investigate: return "open";
  }
  return "open";
}

}  // namespace culprit::fleet
