// nvidia-smi -L: the model of each GPU of a machine.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_smi_list(const TextLine& line, Reading& reading) {
  static const re2::RE2 kGpu(
      R"(^GPU (\d{1,3}): (.{1,80}?) \(UUID: (?:GPU|MIG)-[0-9a-fA-F-]+\)\s*$)");
  std::string index, model;
  if (!re2::RE2::FullMatch(line.line.message, kGpu, &index, &model)) return {};
  reading.sink.put(ConfigRow{line.place, "gpu.product[" + index + "]", model,
                             reading.host_of(line.line.prefix)});
  return {true};
}

constexpr std::string_view kSmiListWords[] = {" (UUID: GPU-", " (UUID: MIG-"};

}  // namespace

extern constinit const Recogniser kSmiList{
    "nvidia-smi-list", "nvidia-smi -L: the model of each GPU", kSmiListWords, read_smi_list};

}  // namespace culprit::ingest
