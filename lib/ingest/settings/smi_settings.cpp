// Settings and versions in nvidia-smi -q: what may differ between GPUs that ought to be the same.
// The report is indented; a bare line heads the deeper ones below it ("ECC Mode" above "Current :
// Enabled"), and "GPU 00000000:3B:00.0" a device, which stands behind the setting's name:
// "gpu.ecc_mode[0000:3b:00]".
#include <algorithm>
#include <array>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

struct SmiSetting {
  std::string_view heading;  // the bare line right above in depth; "" = any
  std::string_view key;
  std::string_view name;
  bool of_device;
};

// Names as drivers from R450 on print them; R530 put "GPU" in front of "Power Readings".
constexpr SmiSetting kSmiSettingFields[] = {
    {"", "CUDA Version", "cuda_version", false},
    {"", "Attached GPUs", "gpu.count", false},
    {"", "Product Name", "gpu.product", true},
    {"", "Serial Number", "gpu.serial", true},
    {"", "GPU UUID", "gpu.uuid", true},
    {"", "VBIOS Version", "gpu.vbios", true},
    {"Inforom Version", "Image Version", "gpu.inforom", true},
    {"", "Persistence Mode", "gpu.persistence_mode", true},
    {"", "Compute Mode", "gpu.compute_mode", true},
    {"MIG Mode", "Current", "gpu.mig_mode", true},
    {"ECC Mode", "Current", "gpu.ecc_mode", true},
    {"GPU Power Readings", "Current Power Limit", "gpu.power_limit", true},
    {"GPU Power Readings", "Requested Power Limit", "gpu.power_limit_requested", true},
    {"Power Readings", "Power Limit", "gpu.power_limit", true},
    {"Power Readings", "Enforced Power Limit", "gpu.power_limit_enforced", true},
    {"Applications Clocks", "Graphics", "gpu.application_clock", true},
    {"Link Width", "Current", "gpu.pcie_width", true},
    {"Max Clocks", "SM", "gpu.max_sm_clock", true},
};

// The headings that the line stands below, by depth.
class Headings final : public Kept {
 public:
  void set(std::size_t indent, std::string_view text) {
    leave(indent);
    if (depth_ < levels_.size()) levels_[depth_++] = {indent, std::string(text.substr(0, 64))};
  }
  std::string_view above(std::size_t indent) {
    leave(indent);
    return depth_ == 0 ? std::string_view{} : std::string_view(levels_[depth_ - 1].text);
  }

 private:
  struct Level {
    std::size_t indent = 0;
    std::string text;
  };
  void leave(std::size_t indent) {
    while (depth_ > 0 && levels_[depth_ - 1].indent >= indent) --depth_;
  }
  std::array<Level, 16> levels_;
  std::size_t depth_ = 0;
};

// What the GPU does at that moment, and is no setting.
struct SmiReading {
  std::string_view heading, key, name, unit;
};
constexpr SmiReading kSmiReadings[] = {{"Clocks", "SM", "clocks.sm", "MHz"},
                                       {"Utilization", "Gpu", "utilization.gpu", "%"},
                                       {"Utilization", "GPU", "utilization.gpu", "%"}};

bool read_smi_reading(std::string_view heading, std::string_view key, std::string_view value,
                      const TextLine& line, Reading& reading) {
  const auto known = std::ranges::find_if(kSmiReadings, [&](const SmiReading& one) {
    return one.key == key && one.heading == heading;
  });
  double number = 0;
  if (known == std::end(kSmiReadings) || reading.current_gpu.empty() ||
      !parse_whole(value.substr(0, value.find(' ')), number))
    return false;
  SeriesRow row{.name = std::string(known->name), .unit = std::string(known->unit)};
  row.host = reading.host_of(line.line.prefix);
  row.gpu = reading.current_gpu;
  row.clock = Clock::none;
  SeriesBook& book = reading.keep<SeriesBook>();
  const SeriesBook::Index index = book.series(row);
  if (index == SeriesBook::kFull) return false;
  book.add(index, kNoValue, kNoValue, number, line.place, reading);
  return true;
}

Outcome read_smi_settings(const TextLine& line, Reading& reading) {
  if (reading.text_kind != "nvidia-smi") return {};
  const std::size_t indent = line.raw.find_first_not_of(' ');
  if (indent == std::string_view::npos) return {};
  const std::string_view text = trimmed(line.raw);
  Headings& headings = reading.keep<Headings>();
  const std::size_t colon = text.find(" : ");
  if (colon == std::string_view::npos) {
    if (!contains(text, ':')) headings.set(indent, text);
    return {};
  }
  const std::string_view key = trimmed(text.substr(0, colon));
  const std::string_view value = trimmed(text.substr(colon + 3));
  const std::string_view heading = headings.above(indent);
  if (value.empty() || value == "N/A" || value == "[N/A]") {
    if (value.empty()) headings.set(indent, key);
    return {};
  }
  if (read_smi_reading(heading, key, value, line, reading)) return {true};
  for (const SmiSetting& field : kSmiSettingFields) {
    if (key != field.key || (!field.heading.empty() && field.heading != heading)) continue;
    if (field.of_device && reading.current_gpu.empty()) return {};
    std::string shown(value.substr(0, 400));
    if (field.name == "gpu.pcie_width" && shown.ends_with('x'))
      shown.pop_back();  // as lspci has it
    reading.sink.put(ConfigRow{
        line.place,
        std::string(field.name) + (field.of_device ? "[" + reading.current_gpu + "]" : ""),
        std::move(shown)});
    return {true};
  }
  return {};
}

constexpr std::string_view kSmiSettingsWords[] = {"Persistence Mode", "VBIOS Version"};

}  // namespace

extern constinit const Recogniser kSmiSettings{
    "nvidia-smi-settings", "nvidia-smi -q: versions, modes and power limits of each GPU",
    kSmiSettingsWords, read_smi_settings, "nvidia-smi"};

}  // namespace culprit::ingest
