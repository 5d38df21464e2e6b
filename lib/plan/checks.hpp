// Checks that people run on named hosts, in the order in which the papers run them: cheap and
// telling ones first, each only on hosts that passed the one before.
//
// stop      while a job is stopped without a culprit (ByteRobust section 4.2): GPU diagnostics,
//           all-to-all within each machine, all-gather with the neighbours; for NaN also the
//           bit-wise alignment test (section 4.3)
// delivery  before hosts are given to a job (Aegis section 6, table 1): under 10 minutes; the light
//           one is its first phase
// repair    after an isolation (Aegis appendix B): reboot, settings, everything else, and when to
//           send it for repair
// dual_tor  one of the two links of a bond is down, and the job goes on with the other one (Aegis
//           appendix B): what to look at before the link is replaced below the running job
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

enum class CheckOccasion { stop, delivery, delivery_light, repair, dual_tor };

struct CheckParams {
  CheckOccasion occasion = CheckOccasion::stop;
  bool nan = false;  // the loss was NaN: compare a training step bit by bit
  std::int64_t gpus_per_host = 8;
  std::string via = "ssh {host}";  // how a command gets to a host
};

struct CheckItem {
  std::vector<std::string> hosts;
  std::string command;
};

struct CheckStep {
  std::string phase;    // "single-host test in parallel"
  std::string task;     // "NVLink test"
  std::string minutes;  // of the phase as the source has it, "<1"; "" = the source does not say
  std::string pass;     // what counts as passed
  std::string note;
  std::string source;
  std::vector<CheckItem> items;
};

// Errors (usage): no hosts, a host twice, `via` without {host}.
Result<std::vector<CheckStep>> plan_checks(const std::vector<std::string>& hosts,
                                           const CheckParams& params);

}  // namespace culprit::plan
