// When kernels started: what ties the seconds since boot that a kernel log prints to the wall
// clock.
#pragma once

#include <functional>
#include <map>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

struct BootTime {
  Nanoseconds ns = 0;  // UTC
  Nanoseconds uncertainty = 0;
  std::string source;  // manifest inline twin boot_time uptime mtime
};

// UTC of a stamp that stands in a member; nullopt for one that no zone or year can be given to.
using WallClock = std::function<std::optional<Nanoseconds>(const Timestamp&, MemberId)>;

// By host; "" is the machine of members that name none. Of several anchors the best counts: the
// manifest; lines that print both clocks; the same message in dmesg and in a dated log; what the
// machine says of its start (/proc/stat, uptime -s, who -b, last, journalctl --list-boots,
// scontrol); uptime beside the moment of collection (a date, the archive's own time of the file).
// An anchor that the kernel's own lines contradict is none.
std::map<std::string, BootTime> boot_times(const Facts& facts, const WallClock& wall);

}  // namespace culprit::analyze
