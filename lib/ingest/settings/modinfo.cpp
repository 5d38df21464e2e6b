// `modinfo nvidia` and `ethtool -i`: a driver's name, version and firmware, "key: value" a line.
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool modinfo(std::string_view bytes) {
  return trimmed(bytes).starts_with("filename:") && contains(bytes, "\nvermagic:");
}
bool ethtool(std::string_view bytes) {
  return trimmed(bytes).starts_with("driver:") && contains(bytes, "\nfirmware-version:");
}

bool sniff_modinfo(const Head& head) { return modinfo(head.bytes) || ethtool(head.bytes); }

std::string read_modinfo(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const bool driver = modinfo(bytes);
  std::string module;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (value.empty()) return;
    std::string name;
    if (driver && key == "filename") {
      module = value.substr(value.rfind('/') + 1);
      module = module.substr(0, std::min<std::size_t>(module.find(".ko"), 64));
    } else if (driver && key == "version") {
      name = module == "nvidia" ? "driver_version" : "module." + module;
    } else if (!driver) {
      if (key == "driver")
        module = value.substr(0, 64);
      else if (key == "version")
        name = "ethernet." + module + ".driver";
      else if (key == "firmware-version")
        name = "ethernet." + module + ".firmware";
    }
    if (!name.empty())
      reading.sink.put(ConfigRow{line_place(member, number, offset, line), std::move(name),
                                 std::string(value.substr(0, 400))});
  });
  return "";
}

}  // namespace

extern constinit const Document kModinfo{
    "driver-information", "modinfo, ethtool -i: version and firmware of a driver",
    kSettingBytes,        sniff_modinfo,
    read_modinfo,         true};

}  // namespace culprit::ingest
