// What `env` prints on a host, and /etc/os-release: NAME=value lines. An environment that tells a
// rank is a dump of a process (process_dump.cpp). Kept are the variables that libraries of the job
// read; not those that may hold secrets.
#include "ingest/engine/job_setting.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool split_assignment(std::string_view line, std::string_view& key, std::string_view& value) {
  if (line.starts_with("export ") || line.starts_with("declare -x "))
    line.remove_prefix(line.find(line[0] == 'e' ? ' ' : 'x') + (line[0] == 'e' ? 1 : 2));
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > 100 ||
      isdigit(static_cast<unsigned char>(line[0])))
    return false;
  key = line.substr(0, equals);
  value = trimmed(line.substr(equals + 1));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return std::ranges::all_of(key, [](unsigned char c) { return isalnum(c) || c == '_'; });
}

bool upper_key(std::string_view line) {
  std::string_view key, value;
  return split_assignment(line, key, value) &&
         std::ranges::none_of(key, [](unsigned char c) { return islower(c); });
}

bool release(const Head& head) {
  return head.whole && head.has("PRETTY_NAME=") && head.has("VERSION_ID=");
}

// Shell scripts and other settings also have such lines: a shell's own variables, or the
// libraries', tell what it is.
bool sniff_environment(const Head& head) {
  if (release(head)) return true;
  if (head.base() == "environ") return false;  // process_file.cpp
  if (!head.has_any({"PATH", "HOME", "PWD", "NCCL_", "UCX_"})) return false;
  bool shell = false;
  bool rank = false;
  const bool enough = setting_share(head, 80, [&](std::string_view line) {
    std::string_view key, value;
    if (!split_assignment(line, key, value)) return false;
    shell = shell || key == "PATH" || key == "HOME" || key == "PWD" ||
            starts_with_any(key, {"NCCL_", "UCX_"});
    rank = rank || key == "RANK" || key == "LOCAL_RANK" || key == "SLURM_PROCID";
    return upper_key(line) || key == "_" || islower(static_cast<unsigned char>(key[0]));
  });
  return enough && shell && !rank && !contains(head.bytes, '\0');
}

std::string read_environment(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const bool os = release({member.path, bytes, true});
  std::size_t kept = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    std::string_view key, value;
    if (kept >= kSettingsPerFile || !split_assignment(line, key, value)) return;
    std::string name;
    if (!os && (key == "HOSTNAME" || key == "SLURMD_NODENAME") && !value.empty() &&
        value.find_first_of(" $/") == std::string_view::npos && value.size() <= 253) {
      reading.sink.put(IdentityRow{.place = line_place(member, number, offset, line),
                                   .source = "hostname",
                                   .host = Host(value)});
      return;
    }
    if (os && key == "PRETTY_NAME")
      name = "os_release";
    else if (!os && library_variable(key))
      name = "env." + std::string(key);
    else
      return;
    ++kept;
    reading.sink.put(ConfigRow{line_place(member, number, offset, line), std::move(name),
                               std::string(value.substr(0, 400))});
  });
  return "";
}

}  // namespace

extern constinit const Document kEnvironment{"environment",    "env of a host, os-release",
                                             kSettingBytes,    sniff_environment,
                                             read_environment, true};

}  // namespace culprit::ingest
