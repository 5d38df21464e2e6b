// What the lines of a file begin with, as its logger or launcher lays it out: a time, who speaks
// (machine, rank, process), a level, a logger's name, in any order and between any brackets:
// "[rank12] wk-23 2026-01-29 16:20:19", "time=... node=wk-23 rank=12 msg=", "gpu-07| ", "[3/64] ".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/time.hpp"

namespace culprit::line {

// What a number means that stands behind a machine's name ("wk-23:4") or alone in brackets.
enum class HeaderNumber : char { unknown, rank, local_rank, pid, task };

// The fields of a header in their order, a letter each, with the punctuation between them:
// T time, L level, R rank ("rank 3", "rank=3"), r "r3", n "3/64", H machine, h machine by its key,
// P number behind a machine, N number in brackets, G device, K another key, W another word.
struct HeaderLayout {
  static constexpr std::size_t kMost = 28;
  std::array<char, kMost + 1> fields{};
  bool hosts = false;        // the words that may name machines do
  bool claims = false;       // one word before all ranks: somebody else must know it
  bool local_ranks = false;  // ranks recur on several machines
  HeaderNumber number = HeaderNumber::unknown;

  std::string_view view() const { return fields.data(); }
};

struct Header {
  std::array<char, HeaderLayout::kMost + 1> fields{};
  std::array<std::uint16_t, HeaderLayout::kMost + 1> ends{};  // of each field, in the text
  std::size_t size = 0;                                       // fields
  Timestamp time;
  std::string_view host, cluster;
  std::optional<std::int64_t> rank, number;

  std::string_view view() const { return {fields.data(), size}; }
};

// Whether one of the fields `of` is among them.
bool has_any(std::string_view fields, std::string_view of);

// Reads fields from the left until what follows can be none.
Header parse_header(std::string_view text);

// Where the message begins behind the first `fields` of the header, which are not all of the text.
std::size_t message_begin(std::string_view text, const Header& header, std::size_t fields);

// A rank's number by its word, first in the text or next to a time: "[RANK 3] ", "(rank=3) ",
// "Rank 3: ". Such a label is one in any file. Size 0: none; "[Rank 3] " of PyTorch's is none.
struct RankLabel {
  std::string_view host;  // "[bx-208 rank24] ", "(gx-07, rank 3) "; and "[warmup2 rank 3] "
  std::size_t used = 0;
  std::int64_t rank = 0;
};
RankLabel parse_rank_label(std::string_view text);

// The layout that most lines of the head of a file have, of those that say who speaks.
HeaderLayout learn_header(std::string_view head);

// Whether a word with a digit may be a machine's name, and not what is counted (gpu3, step1, pp0)
// or a model of a GPU.
bool may_name_machine(std::string_view word);

}  // namespace culprit::line
