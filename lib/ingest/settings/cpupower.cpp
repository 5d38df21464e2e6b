// Governor, driver and limits of the processors' clock: cpupower frequency-info, and what people
// read from /sys/devices/system/cpu on one machine or many.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_cpupower(const TextLine& line, Reading& reading) {
  struct Field {
    const char* name;
    re2::RE2 pattern;
  };
  static const Field kFields[] = {
      {"cpu.governor", R"re(^\s*The governor "(\w+)" may decide)re"},
      {"cpu.governor",
       R"(scaling_governor\b.*?[^\w-](performance|powersave|ondemand|conservative|schedutil|userspace)(?:[^\w-]|$))"},
      {"cpu.governor",
       R"re((?i)^\s*(?:(?:current |cpu )?(?:cpu)?freq(?:uency)? |cpu )?governor ?[:=] ?"?(performance|powersave|ondemand|conservative|schedutil|userspace)"?\s*$)re"},
      {"cpu.hardware_limits", R"(^\s*hardware limits: (\S+ [MG]Hz - \S+ [MG]Hz))"},
      {"cpu.driver", R"(^\s*driver: ((?:intel|amd|acpi|cppc)[\w-]+)\s*$)"}};
  for (const Field& field : kFields) {
    std::string value;
    if (!re2::RE2::PartialMatch(line.line.message, field.pattern, &value)) continue;
    reading.sink.put(ConfigRow{line.place, field.name, value, reading.host_of(line.line.prefix)});
    return {true};
  }
  return {};
}

constexpr std::string_view kCpupowerWords[] = {
    "The governor \"",   "scaling_governor", "governor: ",  "governor=",    "governor = ",
    "hardware limits: ", "driver: intel",    "driver: amd", "driver: acpi", "driver: cppc"};

}  // namespace

extern constinit const Recogniser kCpupower{
    "cpupower", "cpupower frequency-info, scaling_governor of /sys", kCpupowerWords, read_cpupower};

}  // namespace culprit::ingest
