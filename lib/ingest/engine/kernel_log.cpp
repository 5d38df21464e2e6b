// Kernel logs in every form (dmesg, dmesg -T, --time-format iso, /dev/kmsg, journald, syslog,
// pstore). The line layer reads the forms and the rule pack the messages; here stands what fixes a
// log's place in time: the boot banner.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_kernel_log(const TextLine& line, Reading& reading) {
  if (line.line.message.rfind("Linux version ", 0) != 0 || !line.line.prefix.kernel) return {};
  ConfigRow row;
  row.place = line.place;
  row.name = "kernel_version";
  row.value = line.line.message.substr(14, 64);
  row.value = row.value.substr(0, row.value.find(' '));
  row.host = reading.host_of(line.line.prefix);
  reading.sink.put(row);
  return {true, nullptr, {}};
}

// uname -a: the machine's own name, often the only place of a bundle that has it.
Outcome read_uname(const TextLine& line, Reading& reading) {
  static const re2::RE2 kUname(
      R"(^Linux ([A-Za-z0-9][\w.-]{0,252}) (\d+\.\d+\S*) #\d+.* GNU/Linux\s*$)");
  std::string host, kernel;
  if (!re2::RE2::FullMatch(re2::StringPiece(line.raw.data(), line.raw.size()), kUname, &host,
                           &kernel))
    return {};
  IdentityRow row;
  row.place = line.place;
  row.source = "uname";
  row.host = Host(host);
  reading.sink.put(row);
  reading.sink.put(ConfigRow{line.place, "kernel_version", kernel, row.host, {}});
  return {true, nullptr, {}};
}

constexpr std::string_view kKernelLogWords[] = {"Linux version "};
constexpr std::string_view kUnameWords[] = {" GNU/Linux"};

}  // namespace

extern const Recogniser kKernelBanner, kUname;
constinit const Recogniser kUname{"uname", "uname -a: name and kernel of a machine", kUnameWords,
                                  read_uname};
constinit const Recogniser kKernelBanner{
    "kernel-log",
    "kernel logs: dmesg (three ways), /dev/kmsg, journald, syslog RFC 3164 and 5424, pstore",
    kKernelLogWords, read_kernel_log};

}  // namespace culprit::ingest
