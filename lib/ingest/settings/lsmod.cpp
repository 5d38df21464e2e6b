// lsmod, /proc/modules: which kernel modules are loaded, of those that decide how GPUs and NICs
// reach each other. That one is missing says as much as that it is there, so each is told, either
// way.
#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::array<std::string_view, 6> kModules{"nvidia_peermem", "nv_peer_mem", "gdrdrv",
                                                   "nvidia_uvm",     "mlx5_ib",     "rdma_ucm"};

std::string_view first_word(std::string_view line) { return line.substr(0, line.find(' ')); }

bool sniff(const Head& head) {
  // "nvidia_uvm 4841472 16", "mlx5_core 2211840 1 mlx5_ib": what grep took, without the heading.
  static const re2::RE2 kModule(R"(\w+ +\d+ +\d+(?: +[\w,]+)?\s*)");
  const std::string_view top = head.bytes.substr(0, 64);
  if (top.starts_with("Module ") && contains(top, "Size") && contains(top, "Used by")) return true;
  bool of_several = false;  // machines, whose parts are cut apart elsewhere
  return (head.has("nvidia") || head.has("mlx5")) &&
         setting_share(head, 50,
                       [&](std::string_view text) {
                         of_several = of_several || !command_heading(text).host.empty();
                         return re2::RE2::FullMatch({text.data(), text.size()}, kModule);
                       }) &&
         !of_several;
}

std::string read(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::array<bool, kModules.size()> loaded{};
  const auto put = [&](std::size_t i, const Place& place) {
    reading.sink.put(ConfigRow{place, "module.loaded." + std::string(kModules[i]),
                               loaded[i] ? "loaded" : "not loaded"});
  };
  std::string_view heading;
  bool drives_gpus = false;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    if (number == 1) heading = line;
    const std::string_view name = first_word(line);
    drives_gpus = drives_gpus || name == "nvidia";
    const auto at = std::ranges::find(kModules, name);
    if (at == kModules.end()) return;
    const auto i = static_cast<std::size_t>(at - kModules.begin());
    if (!std::exchange(loaded[i], true)) put(i, line_place(member, number, offset, line));
  });
  // Of a machine without GPUs nothing is missing.
  for (std::size_t i = 0; drives_gpus && i < kModules.size(); ++i)
    if (!loaded[i]) put(i, line_place(member, 1, 0, heading));
  return "";
}

}  // namespace

extern constinit const Document kLsmod{
    "lsmod", "lsmod: which modules of GPUs and NICs are loaded", kSettingBytes, sniff, read, true};

}  // namespace culprit::ingest
