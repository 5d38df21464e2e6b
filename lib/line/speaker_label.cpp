// Labels of speakers before lines: words of ranks, numbers, and hosts in brackets or before a bar.
#include "line/speaker_label.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "line/digit.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

constexpr std::size_t kLongestLabel = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  std::size_t at() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) { return peek() == c && c != '\0' ? (++at_, true) : false; }
  bool take_any(std::string_view set) {
    return peek() != '\0' && contains(set, peek()) ? (++at_, true) : false;
  }
  // A word in any case.
  bool take_word(std::string_view word) {
    if (text_.size() - at_ < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const char c = text_[at_ + i];
      if ((alpha(c) ? c | 0x20 : c) != word[i]) return false;
    }
    at_ += word.size();
    return true;
  }
  std::optional<std::int64_t> number() {
    std::size_t used = 0;
    std::int64_t value = 0;
    constexpr std::int64_t kMost = 10'000'000;
    if (!parse_digits(text_.substr(at_, 8), used, value) || value >= kMost) return std::nullopt;
    at_ += used;
    return value;
  }
  std::string_view host_word() {
    const std::size_t begin = at_;
    while (alpha(peek()) || digit(peek()) || (at_ > begin && (peek() == '-' || peek() == '.')))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// What is counted and is no machine: "step1", "gpu0", "v2".
bool counts_something(std::string_view word) {
  static constexpr std::array kCounted = std::to_array<std::string_view>(
      {"gpu", "cuda",  "dev",   "device", "pid",   "tid",    "dp",    "tp",    "pp",    "ep",
       "cp",  "stage", "step",  "epoch",  "it",    "iter",   "local", "phase", "batch", "fold",
       "exp", "run",   "trial", "layer",  "block", "thread", "proc",  "task",  "job",   "test",
       "v",   "split", "h",     "a",      "b",     "gb",     "l",     "t",     "mi",    "rank"});
  std::size_t end = 0;
  while (end < word.size() && alpha(word[end])) ++end;
  std::size_t rest = end;
  while (rest < word.size() && (digit(word[rest]) || word[rest] == '-')) ++rest;
  std::string name(word.substr(0, end));
  for (char& c : name) c = static_cast<char>(c | 0x20);
  return rest == word.size() && contains(kCounted, std::string_view(name));
}

bool like_host(std::string_view word) {
  return word.size() >= 2 && alpha(word.front()) && std::ranges::any_of(word, digit) &&
         may_name_machine(word);
}

// The label itself, behind the bracket.
bool read_body(Reader& in, SpeakerLabel& out) {
  if (Reader rank = in;
      (rank.take_word("global_rank") || rank.take_word("global rank") || rank.take_word("rank"))) {
    rank.take_any(" :=_-");
    if (rank.peek() == ' ') rank.take(' ');
    if ((out.number = rank.number())) {
      if (rank.take('/')) out.of = rank.number();
      out.kind = LabelKind::rank;
      in = rank;
      return true;
    }
  }
  if (Reader rank = in; rank.take_any("rR") && digit(rank.peek())) {
    if ((out.number = rank.number()) && !alpha(rank.peek()) && rank.peek() != '-') {
      out.kind = LabelKind::short_rank;
      in = rank;
      return true;
    }
  }
  if (digit(in.peek())) {
    if (!(out.number = in.number()) || !in.take('/')) return false;
    out.kind = LabelKind::number;
    return (out.of = in.number()).has_value();
  }
  out.host = in.host_word();
  out.kind = LabelKind::host;
  if (!like_host(out.host)) return false;
  if (Reader process = in; process.take_any(":/"))
    if (const auto number = process.number()) {
      out.number = number;
      in = process;
    }
  return true;
}

}  // namespace

bool may_name_machine(std::string_view word) {
  // "H100-NVL-80GB": a model, with its memory.
  const bool model = word.size() > 4 && (word.ends_with("GB") || word.ends_with("SXM5")) &&
                     digit(word[word.size() - 3]);
  return !model && !counts_something(word);
}

SpeakerLabel parse_label(std::string_view text) {
  Reader in(text.substr(0, kLongestLabel));
  SpeakerLabel out;
  if (const char c = in.peek(); c == '[' || c == '(' || c == '<') {
    out.open = c;
    in.take(c);
  }
  if (!read_body(in, out)) return {};
  if (out.open != '\0') {
    const char close = out.open == '[' ? ']' : out.open == '(' ? ')' : '>';
    if (!in.take(close)) return {};
    out.behind = in.take(':') ? ':' : ' ';
    if (!in.take(' ') && in.peek() != '[' && in.peek() != '\0' && out.behind != ':') return {};
    // PyTorch's own messages begin so, and so do torchrun's lines, which line.cpp knows.
    if (out.kind == LabelKind::rank && out.open == '[' && !out.of &&
        (text.starts_with("[Rank ") || text.starts_with("[rank")) &&
        !contains(text.substr(5, 2), '=') && !contains(text.substr(5, 1), ':'))
      return {};
  } else {
    const bool spaced = in.take(' ');
    if (!in.take_any(spaced ? "|-" : ":|>")) return {};
    out.behind = text[in.at() - 1];
    if (out.behind == ':' && out.kind == LabelKind::host) return {};  // pdsh, which line.cpp knows
    if (!in.take(' ') && in.peek() != '\0') return {};
  }
  out.used = in.at();
  return out;
}

}  // namespace culprit::line
