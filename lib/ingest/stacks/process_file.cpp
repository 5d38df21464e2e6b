// Single files of /proc/<pid>/, copied with their folders: status, stack, wchan, cmdline, environ.
// Each tells a part of one process. The folder of a thread (task/<tid>/) speaks for its process
// when it is the first thread, or sleeps uninterruptibly.
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/stacks/proc.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

bool add_kernel_frame(ProcessRow& row, std::string_view line) {
  if (line.substr(0, 2) != "[<") return false;
  const std::size_t close = line.find(">]");
  if (close == std::string_view::npos) return false;
  std::string_view name = trim(line.substr(close + 2));
  name = name.substr(0, name.find_first_of("+ "));
  if (name.empty() || row.kernel_stack.size() > 4'096) return true;
  if (name == "0xffffffffffffffff") return true;  // the end, as old kernels print it
  if (!row.kernel_stack.empty()) row.kernel_stack += ';';
  row.kernel_stack += name;
  return true;
}

namespace {

struct ProcessPlace {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string_view file;
};

// .../1234/stack · .../1234/task/1240/stack
std::optional<ProcessPlace> where(std::string_view path) {
  ProcessPlace out;
  const auto last = [&path]() {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
    return name;
  };
  const auto number = [](std::string_view text) {
    const auto value = take_number(text);
    return value && text.empty() ? value : std::nullopt;
  };
  out.file = last();
  static constexpr std::string_view kFiles[] = {"status", "stack", "wchan", "cmdline", "environ"};
  if (!contains(kFiles, out.file)) return std::nullopt;
  const auto id = number(last());
  if (!id) return std::nullopt;
  out.pid = out.tid = *id;
  const std::string_view above = last();
  if (above == "task") {
    const auto process = number(last());
    if (!process) return std::nullopt;
    out.pid = *process;
  } else if (above != "proc" && *id < 100 && out.file != "status") {
    return std::nullopt;  // a folder a rank: "rank/3/stack"
  }
  return out;
}

bool word_only(std::string_view text) {
  text = trim(text);
  return !text.empty() && text.size() < 128 &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") ==
             std::string_view::npos;
}

bool has_rank(std::string_view bytes) {
  for (const std::string_view key : {"RANK=", "LOCAL_RANK=", "SLURM_PROCID="})
    for (std::size_t at = bytes.find(key); at != std::string_view::npos;
         at = bytes.find(key, at + 1))
      if (at == 0 || bytes[at - 1] == '\0' || bytes[at - 1] == '\n') return true;
  return false;
}

bool sniff_process_file(const Head& head) {
  if (!head.whole) return false;
  const auto at = where(head.path);
  if (!at) return false;
  if (at->file == "stack") return head.bytes.substr(0, 2) == "[<";
  if (at->file == "wchan") return word_only(head.bytes);
  if (at->file == "cmdline") return !contains(head.bytes, '\n');
  // An environment with a rank, and a status, are dumps that say who they are.
  if (at->file == "status")
    return at->tid != at->pid && head.bytes.substr(0, 6) == "Name:\t" && !has_rank(head.bytes) &&
           !head.has("\nPPid:\t");
  return at->file == "environ" && !has_rank(head.bytes) && contains(head.bytes, '=');
}

std::string read_process_file(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const ProcessPlace at = where(member.path).value_or(ProcessPlace{});
  ProcessRow row{.place = {member.id, 1, 0, static_cast<std::uint32_t>(bytes.size())},
                 .source = "proc",
                 .pid = at.pid};
  if (at.file == "stack") {
    for (std::size_t begin = 0; begin < bytes.size();) {
      const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
      add_kernel_frame(row, bytes.substr(begin, end - begin));
      begin = end + 1;
    }
    if (row.kernel_stack.empty()) return {};
  } else if (at.file == "wchan") {
    if (trim(bytes) == "0") return {};
    row.wait = std::string(trim(bytes));
  } else if (at.file == "cmdline") {
    std::string command(bytes.substr(0, 4'096));
    std::ranges::replace(command, '\0', ' ');
    row.command = std::string(trim(command));
    if (row.command.empty()) return {};  // a thread of the kernel
  } else {
    return {};  // nothing about ranks in it
  }
  if (at.tid == at.pid)
    reading.sink.put(row);  // what another thread waits for is no word on its process
  return {};
}

}  // namespace

extern constinit const Document kProcessFile{
    "proc-file", "single files of /proc/<pid>/: stack, wchan, cmdline, environ", 1u << 20,
    sniff_process_file, read_process_file};

}  // namespace culprit::ingest
