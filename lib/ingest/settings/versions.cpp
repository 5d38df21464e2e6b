// Versions of what a job runs on, a line each: `python -m torch.utils.collect_env`, and lists that
// collectors write by hand ("driver: 535.183.01", "nccl 2.20.5").
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

struct Components {
  std::string_view setting;  // "" is known, and no setting
  std::string_view keys;     // lower case, without the word "version", with commas between them
};

constexpr Components kComponents[] = {
    {"", "gcc,os,pytorch"},  // os in other words than os-release; pip lists torch without its build
    {"driver_version", "driver,gpu driver,nvidia driver,nvidia-driver"},
    {"kernel_version", "kernel"},
    {"nccl_version", "nccl,rccl"},
    {"package.cuda-runtime", "cuda runtime"},
    {"package.cuda-toolkit", "cuda toolkit"},
    {"package.doca-ofed", "doca ofed"},
    {"package.glibc", "libc"},
    {"package.mlnx-ofed", "mlnx ofed,mofed,ofed"},
    {"package.nvidia-fabricmanager", "fabric manager,fabricmanager,nvidia fabricmanager"},
    {"pip.torch-cuda", "cuda used to build pytorch"},
};

// Whose setting is the beginning, and the key.
constexpr Components kOwnNames[] = {
    {"package.",
     "aws-ofi-nccl,cuda,cudnn,efa,gdrcopy,glibc,hpcx,libfabric,mlnx-ofed,nvidia-fabricmanager,"
     "openmpi,rdma-core,rocm,ucx"},
    {"pip.",
     "accelerate,apex,deepspeed,flash-attn,jax,jaxlib,lightning,megatron-core,nemo,numpy,python,"
     "torch,transformer-engine,transformers,triton"},
};

struct Version {
  std::string setting, value;
};

// "NCCL_version" -> "nccl"
std::string component_key(std::string_view text) {
  std::string key = lower(trimmed(text));
  std::ranges::replace(key, '_', ' ');
  for (const std::string_view end : {" version", "-version"})
    if (key.ends_with(end)) key.resize(key.size() - end.size());
  return key;
}

std::optional<std::string> setting_of(std::string_view text) {
  const std::string key = component_key(text);
  std::string dashes = key;
  std::ranges::replace(dashes, ' ', '-');
  for (const std::string& name : {key, dashes}) {
    for (const Components& one : kComponents)
      if (has_word(one.keys, name, ',')) return std::string(one.setting);
    for (const Components& one : kOwnNames)
      if (has_word(one.keys, name, ',')) return std::string(one.setting) + name;
  }
  return std::nullopt;
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) { return isdigit(static_cast<unsigned char>(c)) != 0; });
}

// "[pip3] torch==2.4.0", "[conda] torch 2.4.0 pypi_0 pypi"
bool listed_package(std::string_view line, Version& out) {
  const bool pip = line.starts_with("[pip");
  if (!pip && !line.starts_with("[conda]")) return false;
  line = trimmed(line.substr(line.find(']') + 1));
  const std::size_t equals = line.find("==");
  const std::size_t end = equals != std::string_view::npos ? equals : line.find(' ');
  if (end == std::string_view::npos || end == 0 || end > 100) return true;
  std::string_view value = trimmed(line.substr(end + (equals == end ? 2 : 1)));
  value = value.substr(0, value.find(' '));
  std::string name = lower(line.substr(0, end));
  std::ranges::replace(name, '_', '-');
  if (has_digit(value)) out = {(pip ? "pip." : "package.") + name, std::string(value)};
  return true;
}

// Whether the line speaks of a version; `out` is filled where it says a setting.
bool version_line(std::string_view line, Version& out) {
  line = trimmed(line);
  out = {};
  if (listed_package(line, out)) return true;
  // By a colon or an equals sign; else the words before the first one with a digit are the name.
  std::size_t end = line.find_first_of(":=");
  if (end == std::string_view::npos)
    end = line.find_last_of(" \t", line.find_first_of("0123456789"));
  if (end == std::string_view::npos || end == 0 || end > 60) return false;
  auto setting = setting_of(line.substr(0, end));
  if (!setting) return false;
  std::string_view value = line.substr(std::min(line.find_first_not_of(":= \t", end), line.size()));
  if (value.size() > 200) return false;
  // "Linux 5.15.0-105 x86_64" is what uname prints, and no release.
  const bool release = *setting != "kernel_version" || !contains(value, ' ');
  if (!setting->empty() && has_digit(value) && release)
    out = {*std::move(setting), std::string(value)};
  return has_digit(value);
}

// The report and nothing behind it: a job that prints it and trains on has a log.
bool collect_env(std::string_view bytes) {
  constexpr std::string_view kLibraries = "Versions of relevant libraries:";
  const std::size_t libraries = bytes.find(kLibraries);
  if (!contains(bytes, "PyTorch version:") || !contains(bytes, "CUDA used to build PyTorch:") ||
      libraries == std::string_view::npos)
    return false;
  bool all = true;
  Version version;
  each_text_line(bytes.substr(libraries + kLibraries.size()), [&](std::string_view line,
                                                                  std::uint64_t, std::size_t) {
    line = trimmed(line);
    all = all && (line.empty() || listed_package(line, version) || line == "Could not collect");
  });
  return all;
}

// What people write between versions: comments, rules, a heading, whose list it is.
bool beside_versions(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.starts_with('#') ||
      line.find_first_not_of("-=*~_ ") == std::string_view::npos)
    return true;
  if (line.ends_with(':') && line.size() <= 40) return true;
  const std::string key = lower(trimmed(line.substr(0, line.find_first_of(":= \t"))));
  return key == "host" || key == "hostname" || key == "node" || key == "date";
}

bool sniff_versions(const Head& head) {
  constexpr std::size_t kLongest = 64 * 1024;
  if (!head.whole || head.bytes.size() > kLongest) return false;
  if (head.bytes.starts_with("Collecting environment information") ||
      head.bytes.starts_with("PyTorch version:"))
    return collect_env(head.bytes);
  // A list by hand: nothing but versions, some of them of known components.
  std::size_t known = 0;
  bool all = true;
  Version version;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    if (beside_versions(line)) return true;
    all = version_line(line, version);
    known += !version.setting.empty();
    return all;
  });
  return all && known >= 3;
}

std::string read_versions(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::size_t kept = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    Version version;
    if (!version_line(line, version) || version.setting.empty() || kept >= kSettingsPerFile) return;
    ++kept;
    reading.sink.put(ConfigRow{line_place(member, number, offset, line), std::move(version.setting),
                               version.value.substr(0, 400)});
  });
  return "";
}

}  // namespace

extern constinit const Document kVersions{
    "versions",    "torch.utils.collect_env and lists of versions",
    kSettingBytes, sniff_versions,
    read_versions, true};

}  // namespace culprit::ingest
