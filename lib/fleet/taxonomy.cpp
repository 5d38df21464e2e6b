#include "fleet/taxonomy.hpp"

#include <algorithm>
#include <iterator>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/terms.hpp"
#include "model/word_list.hpp"

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

struct Words {
  std::string_view group, words;  // with commas between them
};

// The first word that the text contains counts, so the narrower ones come first.
constexpr Words kWords[] = {
    {"nvlink", "nvlink,nvswitch,fabric manager"},
    {"gpu memory", "hbm,gpu memory"},
    {"gpu sram", "sram"},
    {"gpu cooling", "gpu cooling,gpu power"},
    {"pcie", "pcie,riser"},
    {"nic", "nic"},
    {"network", "infiniband,ethernet,cable,optic,switch,network,link,port"},
    {"gpu", "gpu,cuda"},
    {"communication timeout", "collective"},
    {"remote storage", "remote storage,hdfs,file system,mount,object store,checkpoint"},
    {"disk", "disk,nvme,raid,ssd,block layer"},
    {"host memory", "dram,host memory,shared memory,memory limit"},
    {"power", "psu,power"},
    {"cooling", "fan,cooling,thermal"},
    {"cpu", "cpu"},
    {"platform", "motherboard,bmc,platform"},
    {"numerics", "numerics,silent data,nan"},
    {"kernel", "kernel,operating system,os "},
    {"reboot", "reboot"},
    {"maintenance", "maintenance"},
    {"software", "user,program,code,software,python,librar"},
    {"setup", "environment,setting,launcher,rendezvous,scheduler,container"},
    {"platform", "firmware"},
    {"gpu", "driver"},
    {"kernel", "system crash"},
    {"other", "stress test"},
    {"external service", "service"},
};

// Where no rule names a component, the symptom has the word.
constexpr Words kOfSymptom[] = {
    {"gpu memory", "GPU Memory Error"},
    {"gpu", "GPU Unavailable,CUDA Error"},
    {"network", "Infiniband Error,Switch Fault,Network Congestion"},
    {"kernel", "OS Kernel Panic"},
    {"host memory", "CPU OOM"},
    {"cpu", "CPU Overload"},
    {"disk", "Disk Fault,Insufficient Disk Space"},
    {"remote storage", "Filesystem Mount,HDFS Error"},
    {"setup", "Container Error"},
    {"external service", "External Service Error"},
    {"gpu cooling", "Thermal"},
    {"communication timeout", "Job Hang"},
    {"numerics", "NaN value"},
    {"software", "Code/Data Adjustment,Collective Mismatch"},
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
  for (const Words& w : kWords)
    if (any_word(w.words, ',', [&](std::string_view one) { return contains(small, one); }))
      return w.group;
  for (const Words& w : kOfSymptom)
    if (any_word(w.words, ',', [&](std::string_view one) { return symptom == one; }))
      return w.group;
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
