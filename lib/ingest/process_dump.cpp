// Dumps of one process: /proc/<pid>/status with its environment, or an environment alone. They tie pid, host, local
// rank and global rank together. RANK is inherited by children (data-loader workers, resource trackers), so the pid
// of such a dump need not be the trainer's; rank and host hold all the same.
#include <cctype>

#include "ingest/document.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

bool environment_line(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > 80) return false;
  for (const char c : line.substr(0, equals))
    if (!(isupper(static_cast<unsigned char>(c)) || isdigit(static_cast<unsigned char>(c)) || c == '_')) return false;
  key = line.substr(0, equals);
  value = line.substr(equals + 1);
  return true;
}

template <class Visit>
void each_line(std::string_view bytes, Visit visit) {
  std::uint64_t number = 1;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t end = at;
    while (end < bytes.size() && bytes[end] != '\n' && bytes[end] != '\0') ++end;  // /proc/<pid>/environ separates by NUL
    std::string_view line = bytes.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    visit(line, number, at);
    if (end < bytes.size() && bytes[end] == '\n') ++number;   // an editor counts those only
    at = end + 1;
  }
}

bool sniff(const Head& head) {
  if (!head.whole) return false;
  int lines = 0;
  int settings = 0;
  bool tells_rank = false;
  bool status = false;
  each_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    std::string_view key, value;
    ++lines;
    if (environment_line(line, key, value)) {
      ++settings;
      tells_rank = tells_rank || key == "RANK" || key == "LOCAL_RANK" || key == "SLURM_PROCID";
    }
    status = status || line.rfind("Tgid:\t", 0) == 0 || line.rfind("PPid:\t", 0) == 0;
  });
  return lines > 0 && ((tells_rank && settings * 10 >= lines * 6) || (status && tells_rank));
}

std::optional<std::int64_t> integer(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::size_t used = 0;
  std::int64_t value = 0;
  if (!line::parse_digits(text, used, value)) return std::nullopt;
  return value;
}

std::string read(std::string_view bytes, const MemberRow& member, Reading& reading) {
  IdentityRow row;
  row.source = "environment";
  row.place = {member.id, 1, 0, 0};
  each_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    std::string_view key, value;
    const auto here = [&] { row.place = {member.id, number, offset, static_cast<std::uint32_t>(line.size())}; };
    if (line.rfind("Pid:", 0) == 0) row.pid = integer(line.substr(4));
    else if (line.rfind("== pid ", 0) == 0 && !row.pid) row.pid = integer(line.substr(7));
    else if (environment_line(line, key, value)) {
      if (key == "RANK" || (key == "SLURM_PROCID" && !row.rank)) { row.rank = integer(value); here(); }
      else if (key == "LOCAL_RANK" || (key == "SLURM_LOCALID" && !row.local_rank)) row.local_rank = integer(value);
      else if (key == "WORLD_SIZE" || (key == "SLURM_NTASKS" && !row.world_size)) row.world_size = integer(value);
      else if (key == "GROUP_RANK" || (key == "SLURM_NODEID" && !row.node_rank)) row.node_rank = integer(value);
      else if ((key == "HOSTNAME" || key == "SLURMD_NODENAME" || key == "NODE_NAME") && !value.empty()) row.host = std::string(value.substr(0, 255));
      else if ((key == "SLURM_JOB_NODELIST" || key == "SLURM_NODELIST") && !value.empty() && value.size() <= 8192)
        reading.sink.put(ConfigRow{{member.id, number, offset, static_cast<std::uint32_t>(line.size())}, "slurm.nodelist", std::string(value), {}, {}});
      else if (key.rfind("NCCL_", 0) == 0 || key.rfind("TORCH_NCCL_", 0) == 0)
        reading.sink.put(ConfigRow{{member.id, number, offset, static_cast<std::uint32_t>(line.size())}, "env." + std::string(key), std::string(value.substr(0, 400)), {}, {}});
    }
  });
  if (!row.rank && !row.local_rank) return "environment.no_rank";
  reading.sink.put(row);
  return {};
}

}  // namespace

extern const Document kProcessDump;
constinit const Document kProcessDump{"process-dump", "/proc status and environment of a process: pid, rank, local rank, host", 1u << 20, sniff, read};

}  // namespace culprit::ingest
