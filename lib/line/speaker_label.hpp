// Who speaks, as launchers and home-made loggers put it before a line: "[RANK 3]", "(rank=3)",
// "Rank 3: ", "gpu-07| ", "<gpu-07> ", "[gpu-07:3] ", "[3/64] ".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace culprit::line {

enum class LabelKind { none, rank, short_rank, number, host };

struct SpeakerLabel {
  std::size_t used = 0;  // with what stands between it and the line; 0: none
  LabelKind kind = LabelKind::none;
  std::string_view host;
  std::optional<std::int64_t> number;  // of the rank; behind a host of the process on it
  std::optional<std::int64_t> of;      // "3/64"
  char open = '\0', behind = '\0';     // brackets and what separates it: its layout
};

// Whether a word with a digit may be a machine's name, and not what is counted (gpu3, step1, pp0)
// or a model of a GPU.
bool may_name_machine(std::string_view word);

// What the text begins with, whatever it means. "[Rank 3] " is none: PyTorch's messages begin so.
SpeakerLabel parse_label(std::string_view text);

}  // namespace culprit::line
