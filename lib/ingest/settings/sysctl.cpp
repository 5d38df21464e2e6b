// sysctl -a: settings of the kernel, "net.core.rmem_max = 212992". Thousands of them a host: kept
// are those that change how a network, memory or a process limit behaves, not counters, names and
// settings of one interface.
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

// False unless "dotted.name = value".
bool split_parameter(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t equals = line.find(" =");
  if (equals == std::string_view::npos || equals == 0 || equals > 200) return false;
  key = line.substr(0, equals);
  value = trimmed(line.substr(equals + 2));
  if (!contains(key, '.')) return false;
  return std::ranges::all_of(key, [](unsigned char c) {
    return isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/' || c == '@' || c == ':';
  });
}

bool wanted_parameter(std::string_view key) {
  static constexpr std::string_view kOthers =
      "kernel.numa_balancing kernel.pid_max kernel.threads-max kernel.shmmax kernel.shmall "
      "kernel.shmmni kernel.sem kernel.panic kernel.hung_task_panic kernel.nmi_watchdog "
      "kernel.yama.ptrace_scope kernel.core_pattern fs.file-max fs.nr_open fs.aio-max-nr "
      "fs.inotify.max_user_watches fs.inotify.max_user_instances net.ipv4.ip_local_port_range "
      "net.ipv4.conf.all.rp_filter net.ipv4.conf.all.arp_ignore "
      "net.ipv4.conf.all.arp_announce net.ipv4.neigh.default.gc_thresh1 "
      "net.ipv4.neigh.default.gc_thresh2 net.ipv4.neigh.default.gc_thresh3";
  if (starts_with_any(key, {"vm.stat", "vm.hugetlb_shm_group", "net.core.netdev_rss_key"}))
    return false;
  return starts_with_any(key, {"net.core.", "net.ipv4.tcp_", "vm."}) || has_word(kOthers, key);
}

bool sniff_sysctl(const Head& head) {
  std::string_view key, value;
  return head.has(" =") && setting_share(head, 80, [&](std::string_view line) {
           return split_parameter(line, key, value);
         });
}

std::string read_sysctl(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::size_t kept = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    std::string_view key, value;
    if (kept >= kSettingsPerFile || !split_parameter(line, key, value) || !wanted_parameter(key))
      return;
    ++kept;
    reading.sink.put(ConfigRow{line_place(member, number, offset, line),
                               "sysctl." + std::string(key), std::string(value.substr(0, 400))});
  });
  return "";
}

}  // namespace

extern constinit const Document kSysctl{
    "sysctl", "sysctl -a: settings of the kernel", kSettingBytes, sniff_sysctl, read_sysctl, true};

}  // namespace culprit::ingest
