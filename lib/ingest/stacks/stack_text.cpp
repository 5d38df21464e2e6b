#include "ingest/stacks/stack_text.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include "line/digit.hpp"

#include "ingest/stacks/dump_heading.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kFrames = 1'000;
constexpr std::size_t kTextBytes =
    2'048;  // a name that is longer is a template nobody reads to its end

using line::digit;

void shorten(std::string& text) {
  if (text.size() > kTextBytes) text.resize(kTextBytes);
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

bool take(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::size_t end = 0;
  std::int64_t value = 0;
  while (end < text.size() && digit(text[end])) {
    if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return std::nullopt;
    value = value * 10 + (text[end++] - '0');
  }
  if (end == 0) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

std::optional<std::int64_t> pid_in_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view base = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (std::size_t at = base.find("pid"); at != std::string_view::npos;
       at = base.find("pid", at + 1)) {
    if (at > 0 && std::isalpha(static_cast<unsigned char>(base[at - 1])) != 0)
      continue;  // "rapid7"
    std::string_view rest = base.substr(at + 3);
    while (!rest.empty() && (rest[0] == '_' || rest[0] == '-' || rest[0] == '=' || rest[0] == '.'))
      rest.remove_prefix(1);
    if (const auto pid = take_number(rest)) return pid;
  }
  std::string_view stem = base.substr(0, base.find('.'));
  if (const auto pid = take_number(stem); pid && stem.empty()) return pid;
  // proc/31446/stack
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view folders = path.substr(0, slash);
  const std::size_t above = folders.rfind('/');
  std::string_view folder = above == std::string_view::npos ? folders : folders.substr(above + 1);
  if (folder.substr(0, 3) == "pid")
    folder.remove_prefix(folder.size() > 3 && !digit(folder[3]) ? 4 : 3);
  // A folder of one or two digits is a rank or an attempt.
  const bool long_enough = folder.size() > 2;
  if (const auto pid = take_number(folder); pid && folder.empty() && long_enough) return pid;
  return std::nullopt;
}

void add_frame(StackRow& row, Frame frame) {
  shorten(frame.function);
  shorten(frame.file);
  shorten(frame.module);
  if (row.frames.size() < kFrames)
    row.frames.push_back(std::move(frame));
  else
    row.frames.back() = std::move(frame);
}

bool starts_program(const StackRow& row) {
  return !row.frames.empty() && (row.frames.back().function == "<module>" ||
                                 row.frames.back().function == "_run_module_as_main");
}

StackRow stack_row(const TextLine& head, std::string_view source, Reading& reading) {
  StackRow row{.place = head.place,
               .time = head.line.prefix.time,
               .source = std::string(source),
               .host = head.line.prefix.host,
               .rank = head.line.prefix.rank,
               .local_rank = head.line.prefix.local_rank,
               .pid = head.line.prefix.pid};
  const DumpHeading& heading = reading.keep<DumpHeading>();
  if (!row.rank && !row.local_rank) {
    row.rank = heading.rank;
    row.local_rank = heading.local_rank;
  }
  return row;
}

ProcessRow process_row(const TextLine& head, std::string_view source) {
  return ProcessRow{.place = head.place,
                    .time = head.line.prefix.time,
                    .source = std::string(source),
                    .host = head.line.prefix.host};
}

void reach(Place& place, const Place& last) {
  const std::uint64_t length = last.offset + last.length - place.offset;
  place.length = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(length, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace culprit::ingest
