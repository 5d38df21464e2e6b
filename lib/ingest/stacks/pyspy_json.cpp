// py-spy dump --json: an array of threads, several arrays one after the other (a shell loop), or
// the answer of a service that wraps them ({"Ok": {"pid": 7, "stack_traces": [...]}}). Threads are
// parsed one by one, so that a file that was cut gives all that were whole, and a large one needs
// little memory.
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/stacks/pyspy.hpp"
#include "ingest/engine/scan.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"
#include "model/json_cursor.hpp"

namespace culprit::ingest {

namespace {

bool sniff_pyspy_json(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \r\n\t\xEF\xBB\xBF");
  if (at == std::string_view::npos || (head.bytes[at] != '[' && head.bytes[at] != '{'))
    return false;
  const std::string_view top = head.bytes.substr(at, 16 << 10);
  return contains(top, "\"frames\"") &&
         (contains(top, "\"os_thread_id\"") || contains(top, "\"owns_gil\"")) &&
         !contains(top, "\"pg_config\"");
}

constexpr std::size_t kDeepestPyspy = 64;    // no dump nests deeper
constexpr std::size_t kProblemBytes = 4096;  // of one {"Err": ...}

// The end of the object or list that begins at `at`, or npos when the file ends before.
std::size_t object_end(std::string_view bytes, std::size_t at) {
  JsonCursor in(bytes);
  in.seek(at);
  return in.skip(kDeepestPyspy) ? in.offset() : std::string_view::npos;
}

// Whether everything that was opened is closed, up to where text follows that is no document.
bool complete(std::string_view bytes) {
  std::size_t at = bytes.find_first_of("[{");
  while (at != std::string_view::npos && (bytes[at] == '[' || bytes[at] == '{')) {
    if ((at = object_end(bytes, at)) == std::string_view::npos) return false;
    at = bytes.find_first_not_of(" \t\r\n,", at);
  }
  return true;
}

class Threads {
 public:
  Threads(std::string_view bytes, const MemberRow& member, Reading& reading)
      : bytes_(bytes), member_(member), reading_(reading), path_pid_(pid_in_path(member.path)) {}

  // Every object that has frames is a thread, however deep it lies.
  std::string run() {
    std::size_t at = 0;
    std::size_t threads = 0;
    std::string reason;
    while ((at = bytes_.find('{', at)) != std::string_view::npos) {
      const std::string_view rest = bytes_.substr(at, 4'096);
      const std::size_t brace = rest.find_first_of("{[", 1);
      const std::string_view own = rest.substr(0, brace);  // up to the first list or object inside
      const bool thread = brace != std::string_view::npos && rest[brace] == '[' &&
                          own.rfind("\"frames\"") != std::string_view::npos;
      if (!thread) {  // {"Ok": {"pid": 7, "stack_traces": [ ...
        if (const std::size_t key = own.find("\"pid\""); key != std::string_view::npos)
          outer_pid_ = after_colon(own.substr(key + 5));
        if (contains(own, "\"Err\"")) {
          at = put_problem(at);
          continue;
        }
        ++at;
        continue;
      }
      const std::size_t end = object_end(bytes_, at);
      if (end == std::string_view::npos) {
        reason = "pyspy.cut";
        break;
      }
      Tree tree;
      read_lenient_json(bytes_.substr(at, end - at), tree);
      if (tree.root.is_dict() && !tree.truncated) {
        put(tree, at, end);
        ++threads;
      } else
        reason = "pyspy.bad_thread";
      at = end;
    }
    if (reason.empty() && !complete(bytes_)) {  // within what is no thread yet
      reason = "pyspy.cut";
      at = bytes_.size();
    }
    reading_.cut = reason == "pyspy.cut";
    if (threads == 0 && problems_ == 0) return reason.empty() ? "pyspy.no_threads" : reason;
    if (!reason.empty())
      reading_.sink.put(RejectRow{{member_.id, line_of(std::min(at, bytes_.size())),
                                   at == std::string_view::npos ? bytes_.size() : at, 0},
                                  reason,
                                  std::string(bytes_.substr(std::min(at, bytes_.size()), 200))});
    return {};
  }

 private:
  static std::optional<std::int64_t> after_colon(std::string_view rest) {
    rest = trim(rest);
    if (!take(rest, ":")) return std::nullopt;
    rest = trim(rest);
    return take_number(rest);
  }

  std::uint64_t line_of(std::size_t at) {
    line_ += count_newlines(bytes_.substr(counted_, at - counted_));
    counted_ = at;
    return line_;
  }

  Place place(std::size_t begin, std::size_t end) {
    return {member_.id, line_of(begin), begin,
            static_cast<std::uint32_t>(std::min<std::size_t>(end - begin, UINT32_MAX))};
  }

  // {"Err": "..."} in place of a dump. Returns where to go on; an object that is no such thing is
  // stepped into.
  std::size_t put_problem(std::size_t at) {
    const std::size_t end =
        object_end(bytes_.substr(0, std::min(bytes_.size(), at + kProblemBytes)), at);
    if (end == std::string_view::npos) return at + 1;
    const std::string_view own = bytes_.substr(at, end - at);
    const std::size_t key = own.find("\"Err\"");
    const std::size_t colon = key == std::string_view::npos ? key : own.find(':', key);
    if (colon == std::string_view::npos) return at + 1;
    StackRow row{.place = place(at, end), .source = "pyspy", .pid = path_pid_};
    std::string_view said = trim(own.substr(colon + 1, own.size() - colon - 2));
    if (said.size() >= 2 && said.front() == '"' && said.back() == '"')
      said = said.substr(1, said.size() - 2);
    row.problem = std::string(said.substr(0, 400));
    reading_.sink.put(row);
    ++problems_;
    return end;
  }

  void put(const Tree& tree, std::size_t begin, std::size_t end) {
    const Value& thread = tree.root;
    StackRow row{.place = place(begin, end), .source = "pyspy", .pid = tree.integer(thread, "pid")};
    if (!row.pid) row.pid = outer_pid_ ? outer_pid_ : path_pid_;
    row.tid = tree.integer(thread, "os_thread_id");
    if (!row.tid)
      if (const auto id = tree.integer(thread, "thread_id"); id && *id >= 0)
        row.thread_id = hexadecimal(static_cast<std::uint64_t>(*id));
    row.thread = tree.text(thread, "thread_name");
    row.state = tree.truth(thread, "active")
                    ? (tree.truth(thread, "owns_gil") ? "active+gil" : "active")
                    : "idle";
    row.command = tree.text(tree.find(thread, "process_info"), "command_line").substr(0, 4'096);
    tree.each(tree.find(thread, "frames"), [&](const Value& one) {
      if (!one.is_dict()) return true;
      Frame frame;
      frame.function = tree.text(one, "name");
      if (frame.function.empty()) frame.function = "?";
      const std::string_view full = tree.text(one, "filename");
      const std::string_view brief = tree.text(one, "short_filename");
      frame.line = std::max<std::int64_t>(0, tree.integer(one, "line").value_or(0));
      frame.module = tree.text(one, "module");
      frame.native = !python_file(full) && (!frame.module.empty() || frame.line == 0);
      frame.file = brief.empty() ? full : brief;
      if (frame.native && frame.module.empty()) {
        frame.module = frame.file;
        frame.file.clear();
      }
      add_frame(row, std::move(frame));
      return true;
    });
    if (row.frames.empty()) row.problem = "no frames";
    row.main = row.thread == "MainThread" || (row.tid && row.tid == row.pid) ||
               (row.thread.empty() && starts_program(row));
    reading_.sink.put(row);
  }

  static std::string hexadecimal(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "0x%llX", static_cast<unsigned long long>(value));
    return buffer;
  }

  std::string_view bytes_;
  const MemberRow& member_;
  Reading& reading_;
  std::optional<std::int64_t> path_pid_, outer_pid_;
  std::size_t counted_ = 0;
  std::uint64_t line_ = 1;
  std::size_t problems_ = 0;
};

std::string read_pyspy_json(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return Threads(bytes, member, reading).run();
}

}  // namespace

extern constinit const Document kPyspyJson{
    "pyspy-json", "py-spy dump --json: one list of threads, several, or wrapped by a service",
    256u << 20, sniff_pyspy_json, read_pyspy_json};

}  // namespace culprit::ingest
