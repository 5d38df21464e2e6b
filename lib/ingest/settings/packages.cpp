// Lists of installed software: dpkg -l, rpm -qa, pip freeze and pip list. Kept are the packages
// that a training job's communication and numbers hang on.
#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

struct Package {
  std::string_view name, version;
};

bool version_like(std::string_view text) {
  return !text.empty() && isdigit(static_cast<unsigned char>(text.front())) && text.size() <= 120;
}

std::string_view package_word(std::string_view& rest) {
  rest = trimmed(rest);
  const std::string_view out = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(out.size());
  return out;
}

// "ii  libnccl2:amd64  2.19.3-1+cuda12.3  amd64  NVIDIA ..."
bool dpkg_line(std::string_view line, Package& out) {
  const std::string_view state = line.substr(0, 2);
  if (state != "ii" && state != "hi" && state != "rc" && state != "iU" && state != "iF")
    return false;
  if (line.size() < 4 || line[2] != ' ') return false;
  std::string_view rest = line.substr(3);
  out.name = package_word(rest);
  out.name = out.name.substr(0, out.name.find(':'));
  out.version = package_word(rest);
  if (state == "rc") out.version = {};  // removed: its settings are left
  return !out.name.empty() && isalnum(static_cast<unsigned char>(out.name.front()));
}

// "libnccl-2.19.3-1+cuda12.3.x86_64"
bool rpm_line(std::string_view line, Package& out) {
  line = trimmed(line);
  const std::size_t dot = line.rfind('.');
  if (dot == std::string_view::npos || contains(line, ' ')) return false;
  const std::string_view machine = line.substr(dot + 1);
  if (machine != "x86_64" && machine != "noarch" && machine != "aarch64" && machine != "i686")
    return false;
  line = line.substr(0, dot);
  const std::size_t release = line.rfind('-');
  if (release == std::string_view::npos || release == 0) return false;
  const std::size_t version = line.rfind('-', release - 1);
  if (version == std::string_view::npos || version == 0) return false;
  out = {line.substr(0, version), line.substr(version + 1)};
  return true;
}

bool python_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::ranges::all_of(text, [](unsigned char c) {
    return isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

// "torch==2.3.1", "apex @ file:///..."
bool freeze_line(std::string_view line, Package& out) {
  line = trimmed(line);
  if (const std::size_t equals = line.find("=="); equals != std::string_view::npos) {
    out = {line.substr(0, equals), line.substr(equals + 2)};
    return python_name(out.name) && version_like(out.version);
  }
  const std::size_t at = line.find(" @ ");
  if (at == std::string_view::npos || !python_name(line.substr(0, at))) return false;
  out = {line.substr(0, at), trimmed(line.substr(at + 3))};
  return true;
}

// "torch      2.3.1"
bool list_line(std::string_view line, Package& out) {
  out.name = package_word(line);
  out.version = package_word(line);
  return python_name(out.name) && version_like(out.version);
}

bool system_wanted(std::string_view name) {
  for (const std::string_view part : {"ofed", "nccl", "fabricmanager"})
    if (contains(name, part)) return true;
  return starts_with_any(name, {"nvidia-",      "libnvidia-",     "mlnx",
                                "cuda-toolkit", "cuda-runtime",   "cuda-compat",
                                "cuda-drivers", "cuda-cudart",    "linux-image-",
                                "kernel-core",  "kernel-default", "libc6",
                                "glibc",        "openmpi",        "libopenmpi",
                                "rdma-core",    "libibverbs",     "librdmacm",
                                "ucx",          "libucx",         "datacenter-gpu-manager",
                                "libcudnn",     "libcublas",      "aws-ofi",
                                "libfabric"}) &&
         !name.ends_with("-dev") && !name.ends_with("-doc");
}

bool python_wanted(const std::string& name) {
  return starts_with_any(
      name, {"torch", "nvidia-", "triton", "flash-attn", "transformer-engine", "transformers",
             "megatron", "deepspeed", "apex", "numpy", "nemo", "lightning", "pytorch-lightning",
             "accelerate", "jax", "xformers", "ray", "mpi4py"});
}

enum class Form { none, dpkg, rpm, freeze, list };

Form form_of(const Head& head) {
  Package package;
  if (head.bytes.starts_with("Desired=Unknown/Install") ||
      (head.has_any({"ii ", "hi ", "rc ", "iU ", "iF "}) &&
       setting_share(head, 80, [&](std::string_view line) {
         return dpkg_line(line, package) && version_like(package.version);
       })))
    return Form::dpkg;
  if (head.has_any({".x86_64", ".noarch", ".aarch64", ".i686"}) &&
      setting_share(head, 80, [&](std::string_view line) { return rpm_line(line, package); }))
    return Form::rpm;
  if (head.has_any({"==", " @ ", "-e "}) && setting_share(head, 80, [&](std::string_view line) {
        return freeze_line(line, package) || line.starts_with("-e ");
      }))
    return Form::freeze;
  if (head.bytes.starts_with("Package ") && head.has("\n-----") &&
      setting_share(head, 60, [&](std::string_view line) { return list_line(line, package); }))
    return Form::list;
  return Form::none;
}

bool sniff_packages(const Head& head) { return form_of(head) != Form::none; }

std::string read_packages(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const Form form = form_of({member.path, bytes.substr(0, 64 * 1024), bytes.size() <= 64 * 1024});
  const bool python = form == Form::freeze || form == Form::list;
  std::size_t kept = 0;
  std::optional<Host> host;  // below a heading of its own, where several machines' lists stand
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    if (const std::string named = command_heading(line).host; !named.empty()) host = Host(named);
    Package package;
    const bool good = form == Form::dpkg     ? dpkg_line(line, package)
                      : form == Form::rpm    ? rpm_line(line, package)
                      : form == Form::freeze ? freeze_line(line, package)
                                             : list_line(line, package);
    if (!good || package.version.empty() || package.name.size() > 120 || kept >= kSettingsPerFile)
      return;
    // PEP 503: case, '_' and '.' do not tell Python packages apart.
    std::string name = python ? lower(package.name) : std::string(package.name);
    if (python)
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '_' || c == '.'; }, '-');
    if (python ? !python_wanted(name) : !system_wanted(name)) return;
    ++kept;
    reading.sink.put(ConfigRow{line_place(member, number, offset, line),
                               (python ? "pip." : "package.") + name,
                               std::string(package.version.substr(0, 400)), host});
  });
  return "";
}

}  // namespace

extern constinit const Document kPackages{
    "packages",    "dpkg -l, rpm -qa, pip freeze, pip list: versions of drivers and libraries",
    kSettingBytes, sniff_packages,
    read_packages, true};

}  // namespace culprit::ingest
