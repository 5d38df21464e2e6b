// The nodes of a Slurm job, as its environment and `scontrol show job` print them. Kept as the list
// that stands there: every rank may print the same one.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_nodelist(const TextLine& line, Reading& reading) {
  static const re2::RE2 kList(
      R"((?:^|[\s'"])(?:(?:export )?SLURM_(?:JOB_|STEP_)?NODELIST[=:] ?|NodeList=)['"]?([A-Za-z0-9][\w.,\[\]-]*))");
  ConfigRow row;
  const std::string& message = line.line.message;
  if (!re2::RE2::PartialMatch(message, kList, &row.value) || row.value.size() > 8192) return {};
  row.place = line.place;
  row.name = "slurm.nodelist";
  reading.sink.put(row);
  return {true, nullptr, {}};
}

constexpr std::string_view kNodelistWords[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST",
                                               "SLURM_STEP_NODELIST", " NodeList="};

}  // namespace

extern constinit const Recogniser kNodelist{
    "slurm-nodelist", "the nodes of a Slurm job: SLURM_JOB_NODELIST, scontrol show job",
    kNodelistWords, read_nodelist};

}  // namespace culprit::ingest
