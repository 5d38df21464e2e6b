// wandb-summary.json: the last value of every metric of a run. Its last step tells no progress: the
// history does.
#include "ingest/engine/document.hpp"
#include "ingest/training/step_object.hpp"

namespace culprit::ingest {

namespace {

bool sniff_wandb_summary(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n");
  return head.base() == "wandb-summary.json" && at != std::string_view::npos &&
         head.bytes[at] == '{';
}

std::string read_wandb_summary(std::string_view bytes, const MemberRow& member, Reading& reading) {
  StepObjects objects("");
  const Outcome outcome =
      objects.read(bytes, {member.id, 1, 0, static_cast<std::uint32_t>(bytes.size())}, reading);
  return outcome.reject.empty() ? "" : "wandb_summary.torn";
}

}  // namespace

extern constinit const Document kWandbSummary{"wandb-summary",
                                              "wandb-summary.json: the last values of a run",
                                              16u << 20, sniff_wandb_summary, read_wandb_summary};

}  // namespace culprit::ingest
