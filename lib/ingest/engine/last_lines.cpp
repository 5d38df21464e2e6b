#include "ingest/engine/last_lines.hpp"

#include <algorithm>

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostLines = 3;
constexpr std::size_t kMostBytes = 240;

bool has_words(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c < 0;
  });
}

std::string cut(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::size_t size = std::min(line.size(), kMostBytes);
  while (size < line.size() && size > 0 && (static_cast<unsigned char>(line[size]) & 0xC0) == 0x80)
    --size;
  return std::string(line.substr(0, size));
}

// The last lines of a text that ends where `end` is, in their order, none of `floor` or before it.
std::vector<LastLineRow> lines_before(std::string_view text, const Place& end,
                                      std::uint64_t floor) {
  std::vector<LastLineRow> out;
  Place place = end;
  while (out.size() < kMostLines && !text.empty()) {
    std::string_view line = text;
    // What ends in a line end is a line before; a carriage return begins none.
    if (line.back() == '\n') line.remove_suffix(1), --place.line;
    if (place.line <= floor) break;
    const std::size_t begin = line.rfind('\n');
    // What has no line end before it may be cut, unless the log begins there.
    if (begin == std::string_view::npos && text.size() != place.offset) break;
    line.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
    place.offset -= static_cast<std::uint64_t>(text.data() + text.size() - line.data());
    text = text.substr(0, static_cast<std::size_t>(line.data() - text.data()));
    place.length = static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), 64 * 1024));
    if (has_words(line)) out.push_back({place, 0, cut(line)});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

void LastLines::trouble(std::string_view text, const Place& at) {
  const std::uint64_t before = trouble_;
  trouble_ = at.line;
  if (before != 0 && at.line <= before + 1) return;
  std::vector<LastLineRow> lines = lines_before(text, at, before);
  if (lines.empty()) return;
  for (LastLineRow& row : lines) row.before = at.line;
  (before == 0 ? first_ : last_) = std::move(lines);
}

void LastLines::finish(std::string_view tail, const Place& end, Sink& sink) {
  if (trouble_ == 0) first_ = lines_before(tail, end, 0);
  for (const auto* lines : {&first_, &last_})
    for (const LastLineRow& row : *lines) sink.put(row);
}

}  // namespace culprit::ingest
