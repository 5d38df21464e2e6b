// Dumps of processes: /proc/<pid>/status with command line, kernel stack and environment, or an
// environment alone. They tie pid, host, local rank and global rank together. RANK is inherited by
// children (data-loader workers, resource trackers), so the pid of such a dump need not be the
// trainer's; rank and host hold all the same.

#include "ingest/engine/job_setting.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/stacks/proc.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool environment_line(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > 80) return false;
  for (const char c : line.substr(0, equals))
    if (!(isupper(static_cast<unsigned char>(c)) || isdigit(static_cast<unsigned char>(c)) ||
          c == '_'))
      return false;
  key = line.substr(0, equals);
  value = line.substr(equals + 1);
  return true;
}

void each_line(std::string_view bytes, auto visit) {
  std::uint64_t number = 1;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t end = at;
    while (end < bytes.size() && bytes[end] != '\n' && bytes[end] != '\0')
      ++end;  // /proc/<pid>/environ separates by NUL
    std::string_view line = bytes.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    visit(line, number, at);
    if (end < bytes.size() && bytes[end] == '\n') ++number;  // an editor counts those only
    at = end + 1;
  }
}

std::string_view after_key(std::string_view line, std::string_view key) {
  return line.starts_with(key) ? trim(line.substr(key.size())) : std::string_view{};
}

// "== pid 31446" · "==> /proc/31446/status <=="
std::optional<std::int64_t> section_of(std::string_view line) {
  if (line.substr(0, 7) == "== pid ") {
    std::string_view rest = line.substr(7);
    return take_number(rest);
  }
  if (line.substr(0, 4) != "==> ") return std::nullopt;
  const std::size_t proc = line.find("proc/");
  if (proc == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(proc + 5);
  const auto pid = take_number(rest);
  return pid && rest.substr(0, 1) == "/" ? pid : std::nullopt;
}

bool sniff_process_dump(const Head& head) {
  if (!head.has("PPid:") && !head.has("RANK=") && !head.has("SLURM_PROCID=")) return false;
  int lines = 0;
  int settings = 0;
  bool tells_rank = false;
  bool section = false;
  bool pid = false;
  bool parent = false;
  each_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    std::string_view key, value;
    ++lines;
    if (environment_line(line, key, value)) {
      ++settings;
      tells_rank = tells_rank || key == "RANK" || key == "LOCAL_RANK" || key == "SLURM_PROCID";
    }
    section = section || (lines <= 3 && section_of(line));
    pid = pid || line.rfind("Pid:\t", 0) == 0;
    parent = parent || line.rfind("PPid:\t", 0) == 0;
  });
  if (pid && parent) return head.whole || section;
  return head.whole && lines > 0 &&
         ((tells_rank && settings * 10 >= lines * 6) || (parent && tells_rank));
}

std::optional<std::int64_t> integer(std::string_view text) {
  text = trim(text);
  return take_number(text);
}

// The processes of a dump, one after the other.
class ProcessDump {
 public:
  ProcessDump(std::string_view bytes, const MemberRow& member, Reading& reading)
      : bytes_(bytes), member_(member), reading_(reading) {}

  std::string run() {
    start();
    each_line(bytes_, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
      take_line(line, {member_.id, number, offset, static_cast<std::uint32_t>(line.size())});
    });
    flush();
    return put_ > 0 ? "" : "environment.no_rank";
  }

 private:
  void start() {
    process_ = {};
    process_.source = "proc";
    process_.pid = 0;
    identity_ = {};
    identity_.source = "environment";
    identity_.place = process_.place = {member_.id, 1, 0, 0};
    begun_ = has_status_ = false;
    group_ = 0;
  }

  void flush() {
    const bool of_proc =
        contains(member_.path, "proc") || std::string_view(member_.path).ends_with("/environ");
    if (process_.pid == 0 && of_proc) process_.pid = pid_in_path(member_.path).value_or(0);
    const bool thread =
        group_ > 0 && process_.pid > 0 && group_ != process_.pid;  // task/<tid>/status
    if (thread) process_.pid = group_;
    if (identity_.rank || identity_.local_rank) {
      if (process_.pid > 0) identity_.pid = process_.pid;
      reading_.sink.put(identity_);
      ++put_;
    }
    if (process_.pid > 0) {
      process_.host = identity_.host;
      process_.rank = maybe<Rank>(identity_.rank);
      process_.local_rank = identity_.local_rank;
      if (!thread || process_.state.substr(0, 1) == "D") reading_.sink.put(process_);
      ++put_;
    }
    start();
  }

  void take_line(std::string_view line, const Place& here) {
    std::string_view key, value;
    if (const auto pid = section_of(line)) {
      if (process_.pid != 0 && process_.pid != *pid) flush();
      process_.pid = *pid;
      if (!begun_) process_.place = here;
      begun_ = true;
      after_section_ = line[2] == ' ';
      return;
    }
    const bool first = after_section_;
    after_section_ = false;
    if (const auto name = after_key(line, "Name:"); !name.empty()) {
      if (has_status_) flush();
      has_status_ = true;
      process_.name = std::string(name);
      if (!begun_) process_.place = here;
      begun_ = true;
    } else if (const auto pid = after_key(line, "Pid:"); !pid.empty()) {
      process_.pid = integer(pid).value_or(0);
    } else if (const auto group = after_key(line, "Tgid:"); !group.empty()) {
      group_ = integer(group).value_or(0);
    } else if (const auto parent = after_key(line, "PPid:"); !parent.empty()) {
      process_.parent = integer(parent);
    } else if (const auto state = after_key(line, "State:"); !state.empty()) {
      process_.state = std::string(state.substr(0, state.find(' ')));
    } else if (const auto threads = after_key(line, "Threads:"); !threads.empty()) {
      process_.threads = integer(threads).value_or(0);
    } else if (const auto wait = after_key(line, "wchan:"); !wait.empty()) {
      if (wait != "0") process_.wait = std::string(wait.substr(0, 200));
    } else if (line.substr(0, 2) == "[<") {
      add_kernel_frame(process_, line);
      return;
    } else if (environment_line(line, key, value)) {
      if (key == "RANK" || (key == "SLURM_PROCID" && !identity_.rank)) {
        identity_.rank = integer(value);
        identity_.place = here;
      } else if (key == "LOCAL_RANK" || (key == "SLURM_LOCALID" && !identity_.local_rank))
        identity_.local_rank = maybe<LocalRank>(integer(value));
      else if (key == "WORLD_SIZE" || (key == "SLURM_NTASKS" && !identity_.world_size))
        identity_.world_size = integer(value);
      else if (key == "GROUP_RANK" || (key == "SLURM_NODEID" && !identity_.node_rank))
        identity_.node_rank = integer(value);
      else if ((key == "HOSTNAME" || key == "SLURMD_NODENAME" || key == "NODE_NAME") &&
               !value.empty())
        identity_.host = Host(value.substr(0, 255));
      else if ((key == "SLURM_JOB_NODELIST" || key == "SLURM_NODELIST") && !value.empty() &&
               value.size() <= 8192)
        reading_.sink.put(ConfigRow{here, "slurm.nodelist", std::string(value)});
      else if (library_variable(key))
        reading_.sink.put(
            ConfigRow{here, "env." + std::string(key), std::string(value.substr(0, 400))});
    } else if (first && process_.command.empty() && !line.empty() && !contains(line, ":\t")) {
      process_.command = std::string(trim(line).substr(0, 4'096));
    }
  }

  std::string_view bytes_;
  const MemberRow& member_;
  Reading& reading_;
  ProcessRow process_;
  IdentityRow identity_;
  std::int64_t group_ = 0;
  bool begun_ = false, has_status_ = false, after_section_ = false;
  std::size_t put_ = 0;
};

std::string read_process_dump(std::string_view bytes, const MemberRow& member, Reading& reading) {
  return ProcessDump(bytes, member, reading).run();
}

}  // namespace

extern constinit const Document kProcessDump{
    "process-dump", "/proc status and environment of a process: pid, rank, local rank, host",
    64u << 20, sniff_process_dump, read_process_dump};

}  // namespace culprit::ingest
