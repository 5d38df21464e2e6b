// Which cluster a log is of, where somebody says so: the labels above an export of a log store, the
// environment of the job, the queue that it stood in. Names of machines recur in other clusters.
//
//   # loki export {cluster="west",host="node013"}      SLURM_CLUSTER_NAME=east      CLUSTER: east
#include <set>
#include <string>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "line/trimmed.hpp"

namespace culprit::ingest {

namespace {

// Of which clusters the lines of a log are.
class ClustersOfLog final : public Kept {
 public:
  void add(const std::string& name, const Place& place, Reading& reading) {
    if (seen_.size() < kMost && seen_.insert(name).second)
      reading.sink.put(ConfigRow{place, "topo.cluster", name});
  }

 private:
  static constexpr std::size_t kMost = 1000;
  std::set<std::string> seen_;
};

Outcome read_cluster(const TextLine& line, Reading& reading) {
  static const re2::RE2 kLabel(R"re([{,]\s*cluster(?:_name)?\s*[:=]+~?\s*"([\w.-]{1,60})")re"),
      kOfJob(R"(\bSLURM_CLUSTER_NAME=([\w.-]{1,60})|^CLUSTER: ([\w.-]{1,60})\s*$)");
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  std::string name = line.line.prefix.cluster;
  const bool remark = line::remark(line.raw) || reading.text_kind == "notes";
  const bool heading = name.empty() && remark && re2::RE2::PartialMatch(text, kLabel, &name);
  if (heading) reading.current_cluster = name;
  if (!name.empty()) {
    reading.keep<ClustersOfLog>().add(name, line.place, reading);
    return {heading};
  }
  std::string queue;
  if (!re2::RE2::PartialMatch(text, kOfJob, &name, &queue)) return {};
  reading.sink.put(ConfigRow{line.place, "slurm.cluster", name + queue});
  return {true};
}

constexpr std::string_view kClusterWords[] = {"cluster=\"", "cluster_name=\"",
                                              "slurm_cluster_name=", "CLUSTER: "};

}  // namespace

extern constinit const Recogniser kClusterNames{
    "cluster-names", "which cluster a log is of: labels of an export, SLURM_*", kClusterWords,
    read_cluster};

}  // namespace culprit::ingest
