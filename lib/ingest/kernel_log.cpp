// Kernel logs in every form (dmesg, dmesg -T, --time-format iso, /dev/kmsg, journald, syslog, pstore). The line layer
// reads the forms and the rule pack the messages; here stands what fixes a log's place in time: the boot banner.
#include "ingest/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read(const TextLine& line, Reading& reading) {
  if (line.line.message.rfind("Linux version ", 0) != 0 || !line.line.prefix.kernel) return {};
  ConfigRow row;
  row.place = line.place;
  row.name = "kernel_version";
  row.value = line.line.message.substr(14, 64);
  row.value = row.value.substr(0, row.value.find(' '));
  row.host = line.line.prefix.host;
  reading.sink.put(row);
  return {true, nullptr, {}};
}

constexpr std::string_view kWords[] = {"Linux version "};

}  // namespace

extern const Recogniser kKernelBanner;
constinit const Recogniser kKernelBanner{"kernel-log", "kernel logs: dmesg (three ways), /dev/kmsg, journald, syslog RFC 3164 and 5424, pstore", kWords, read};

}  // namespace culprit::ingest
