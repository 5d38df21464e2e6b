// What lines say of the parts of a start: rules/tables/restart_parts.json has them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace culprit::rules {

struct RestartPart {
  std::string name, label;  // "nccl", "NCCL initialisation"
  std::string relief;       // what makes it shorter; "": nothing that a job waits for is slow
};
// In the order of a report (FT-HSDP figure 2).
std::span<const RestartPart> restart_parts();

struct RestartLine {
  std::string part, edge;         // edge: begin, end, took
  std::string about, time;        // what the message names; a moment inside of it; "": none
  std::optional<double> seconds;  // of took
};
// Words of which one stands in each line that restart_line() knows; sorted.
std::span<const std::string> restart_words();
// Nothing for a line that bounds no part. Safe to call from several threads.
std::optional<RestartLine> restart_line(std::string_view message);

// "1m2.5s", "850ms" in seconds; nothing for anything else.
std::optional<double> go_duration(std::string_view text);

}  // namespace culprit::rules
