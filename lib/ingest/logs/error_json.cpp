// torchelastic's error.json: {"message": {"message": "...", "extraInfo": {"py_callstack": "...",
// "timestamp": "1795231961"}}}. The timestamp is a string of whole seconds; C++ handlers write
// {"message": "..."} or an errorCode.

#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/logs/traceback.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool sniff_error_json(const Head& head) {
  if (head.base() != "error.json" && !(head.base().size() > 10 && contains(head.base(), "error") &&
                                       head.base().ends_with(".json")))
    return false;
  const std::size_t brace = head.bytes.find_first_not_of(" \r\n\t");
  return brace != std::string_view::npos && head.bytes[brace] == '{' &&
         contains(head.bytes.substr(0, 256), "\"message\"");
}

// The place of the exception: the line of the file that names it.
void stand_on_line(std::string_view bytes, TracebackRow& row) {
  // Up to the first character that JSON may spell in another way.
  const std::string& said = row.type.empty() ? row.message : row.type;
  const std::size_t escaped = std::min(said.find_first_of("\"\\\n\r\t/"), said.size());
  const std::size_t at = bytes.find(std::string_view(said).substr(0, escaped));
  if (escaped == 0 || at == std::string_view::npos) return;
  const std::string_view before = bytes.substr(0, at);
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  row.place.line = 1 + static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
  row.place.offset = begin;
  row.place.length =
      static_cast<std::uint32_t>(std::min(bytes.find('\n', at), bytes.size()) - begin);
  row.last_line = row.place.line;
}

std::string read_error_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  const Value message = tree.find(tree.root, "message");
  // Of a file that was cut, what it says of its exception stays.
  if (message.kind == Value::Kind::none) return "error_json.not_json";
  reading.cut = tree.truncated;
  TracebackRow row{
      .place = {member.id, 1, 0,
                static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), 1u << 30))},
      .source = "error.json",
      .last_line = 1};
  std::string_view text;
  std::string_view stack;
  if (message.is_dict()) {
    text = tree.text(message, "message");
    const Value extra = tree.find(message, "extraInfo");
    stack = tree.text(extra, "py_callstack");
    const auto whole = tree.integer(extra, "timestamp");
    const std::string stamp =
        whole ? std::to_string(*whole) : std::string(tree.text(extra, "timestamp"));
    std::size_t used = 0;
    std::int64_t seconds = 0;
    if (line::parse_digits(stamp, used, seconds) && used == stamp.size() && seconds > 0 &&
        seconds < 8'000'000'000)
      row.time = {Clock::utc, seconds * kSecond, kSecond};
  } else if (message.kind == Value::Kind::text) {
    text = message.text();
  } else {
    return "error_json.no_message";
  }
  if (tree.truncated && text.empty() && stack.empty()) return "error_json.not_json";
  TracebackParser parser;
  for (std::size_t at = 0; at < stack.size();) {
    const std::size_t end = std::min(stack.find('\n', at), stack.size());
    if (!parser.feed(stack.substr(at, end - at)) && parser.complete()) break;
    at = end + 1;
  }
  parser.fill(row);
  if (row.type.empty() && !split_exception(text.substr(0, text.find('\n')), row.type, row.message))
    row.message = std::string(text.substr(0, 1000));
  stand_on_line(bytes, row);
  classify_traceback(row, reading.pack);
  // A chain may end in another exception than it began with; the first line of `message` is the
  // last one.
  reading.sink.put(row);
  return {};
}

}  // namespace

extern constinit const Document kErrorJson{"error-json",
                                           "torchelastic error.json: the exception of one rank",
                                           16u << 20, sniff_error_json, read_error_json};

}  // namespace culprit::ingest
