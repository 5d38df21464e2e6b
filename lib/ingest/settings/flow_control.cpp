// What keeps RoCE from losing packets: trust state and lossless priorities of a port (mlnx_qos),
// the traffic class of its connections (cma_roce_tos).
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_flow_control(const TextLine& line, Reading& reading) {
  static const re2::RE2 kTrust(R"(^\s*Priority trust state:\s*(\w+))"),
      kPfc(R"(^\s*enabled\s+((?:[01]\s+){7}[01])\s*$)"),
      kTos(R"(^\s*cma_roce_tos\W+(\d{1,3})\s*$)");
  if (line.raw.size() > 200) return {};
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  std::string value;
  const char* const name = re2::RE2::PartialMatch(text, kTrust, &value) ? "nic.trust"
                           : re2::RE2::PartialMatch(text, kPfc, &value) ? "nic.pfc"
                           : re2::RE2::PartialMatch(text, kTos, &value) ? "nic.roce_tos"
                                                                        : nullptr;
  if (name == nullptr) return {};
  re2::RE2::GlobalReplace(&value, R"(\s+)", " ");
  reading.sink.put(ConfigRow{line.place, name, value, reading.host_of(line.line.prefix)});
  return {true};
}

constexpr std::string_view kFlowControlWords[] = {"Priority trust state", "enabled  ", "enabled\t",
                                                  "cma_roce_tos"};

}  // namespace

extern constinit const Recogniser kFlowControl{
    "flow-control", "mlnx_qos, cma_roce_tos: what keeps RoCE from losing packets",
    kFlowControlWords, read_flow_control};

}  // namespace culprit::ingest
