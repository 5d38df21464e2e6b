// Versions of what a job runs on, a line each: `python -m torch.utils.collect_env`, and lists that
// collectors write by hand ("driver: 535.183.01", "nccl 2.20.5").
#include "ingest/engine/setting_lines.hpp"

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
    {"os", "os_release"},
    {"python", "pip.python"},
    {"pytorch", "pip.torch"},
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
  std::replace(key.begin(), key.end(), '_', ' ');
  for (const std::string_view end : {" version", "-version"})
    if (key.ends_with(end)) key.resize(key.size() - end.size());
  return key;
}

const Component* component_of(std::string_view text) {
  const std::string key = component_key(text);
  std::string dashes = key;
  std::replace(dashes.begin(), dashes.end(), ' ', '-');
  for (const Component& one : kComponents)
    if (one.key == key || one.key == dashes) return &one;
  return nullptr;
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
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
  std::replace(name.begin(), name.end(), '_', '-');
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
  if (!component->setting.empty() && has_digit(value))
    out = {std::string(component->setting), std::string(value)};
  return has_digit(value);
}

bool collect_env(std::string_view bytes) {
  return bytes.find("PyTorch version:") != std::string_view::npos &&
         bytes.find("CUDA used to build PyTorch:") != std::string_view::npos &&
         bytes.find("Versions of relevant libraries:") != std::string_view::npos;
}

bool sniff_versions(const Head& head) {
  if (head.bytes.starts_with("Collecting environment information") ||
      head.bytes.starts_with("PyTorch version:"))
    return collect_env(head.bytes);
  // A list by hand: short, and most of it versions of known components.
  constexpr std::size_t kLongest = 16 * 1024;
  std::size_t known = 0;
  Version version;
  return head.whole && head.bytes.size() <= kLongest &&
         setting_share(head,
                       [&](std::string_view line) {
                         const bool good = version_line(line, version);
                         known += !version.setting.empty();
                         return good || line.starts_with('#');
                       }) >= 80 &&
         known >= 3;
}

std::string read_versions(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::size_t kept = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    Version version;
    if (!version_line(line, version) || version.setting.empty() || kept >= kSettingsPerFile) return;
    ++kept;
    reading.sink.put(ConfigRow{line_place(member, number, offset, line),
                               std::move(version.setting),
                               version.value.substr(0, 400),
                               {},
                               {}});
  });
  return "";
}

}  // namespace

extern const Document kVersions;
constinit const Document kVersions{"versions", "torch.utils.collect_env and lists of versions",
                                   kSettingBytes, sniff_versions, read_versions};

}  // namespace culprit::ingest
