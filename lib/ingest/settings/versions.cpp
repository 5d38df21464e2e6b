// Versions of what a job runs on, a line each: `python -m torch.utils.collect_env`, and lists that
// collectors write by hand ("driver: 535.183.01", "nccl 2.20.5").
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

struct Component {
  std::string_view key;      // lower case, without the word "version"
  std::string_view setting;  // "" is known, and no setting
};

constexpr Component kComponents[] = {
    {"accelerate", "pip.accelerate"},
    {"apex", "pip.apex"},
    {"aws-ofi-nccl", "package.aws-ofi-nccl"},
    {"cuda", "package.cuda"},
    {"cuda runtime", "package.cuda-runtime"},
    {"cuda toolkit", "package.cuda-toolkit"},
    {"cuda used to build pytorch", "pip.torch-cuda"},
    {"cudnn", "package.cudnn"},
    {"deepspeed", "pip.deepspeed"},
    {"doca ofed", "package.doca-ofed"},
    {"driver", "driver_version"},
    {"efa", "package.efa"},
    {"fabric manager", "package.nvidia-fabricmanager"},
    {"fabricmanager", "package.nvidia-fabricmanager"},
    {"flash-attn", "pip.flash-attn"},
    {"gcc", ""},
    {"gdrcopy", "package.gdrcopy"},
    {"glibc", "package.glibc"},
    {"gpu driver", "driver_version"},
    {"hpcx", "package.hpcx"},
    {"jax", "pip.jax"},
    {"jaxlib", "pip.jaxlib"},
    {"kernel", "kernel_version"},
    {"libc", "package.glibc"},
    {"libfabric", "package.libfabric"},
    {"lightning", "pip.lightning"},
    {"megatron-core", "pip.megatron-core"},
    {"mlnx ofed", "package.mlnx-ofed"},
    {"mlnx-ofed", "package.mlnx-ofed"},
    {"mofed", "package.mlnx-ofed"},
    {"nccl", "nccl_version"},
    {"nemo", "pip.nemo"},
    {"numpy", "pip.numpy"},
    {"nvidia driver", "driver_version"},
    {"nvidia fabricmanager", "package.nvidia-fabricmanager"},
    {"nvidia-driver", "driver_version"},
    {"nvidia-fabricmanager", "package.nvidia-fabricmanager"},
    {"ofed", "package.mlnx-ofed"},
    {"openmpi", "package.openmpi"},
    {"os", ""},  // in other words than os-release
    {"python", "pip.python"},
    {"pytorch", ""},  // with its build; pip lists it without
    {"rccl", "nccl_version"},
    {"rdma-core", "package.rdma-core"},
    {"rocm", "package.rocm"},
    {"torch", "pip.torch"},
    {"transformer-engine", "pip.transformer-engine"},
    {"transformers", "pip.transformers"},
    {"triton", "pip.triton"},
    {"ucx", "package.ucx"},
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

const Component* component_of(std::string_view text) {
  const std::string key = component_key(text);
  std::string dashes = key;
  std::ranges::replace(dashes, ' ', '-');
  for (const Component& one : kComponents)
    if (one.key == key || one.key == dashes) return &one;
  return nullptr;
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
  const Component* component = component_of(line.substr(0, end));
  if (component == nullptr) return false;
  std::string_view value = line.substr(std::min(line.find_first_not_of(":= \t", end), line.size()));
  if (value.size() > 200) return false;
  // "Linux 5.15.0-105 x86_64" is what uname prints, and no release.
  const bool release = component->setting != "kernel_version" || !contains(value, ' ');
  if (!component->setting.empty() && has_digit(value) && release)
    out = {std::string(component->setting), std::string(value)};
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
