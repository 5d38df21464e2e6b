// Versions and settings that differ between the hosts of a job. When no error names a machine, the
// hosts are compared with their majority (Aegis section 4.1, ConfigCheck). A difference is a
// confirmation: by itself it accuses nobody, for machines run for months with harmless ones.
#pragma once

#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "rules/drift.hpp"

namespace culprit::analyze {

struct DriftParams {
  double majority =
      0.6;  // share of the hosts that must agree before the others are the ones that differ
  std::size_t places = 6;      // evidence a finding quotes
  std::size_t findings = 100;  // two kernels differ in hundreds of settings: the least severe ones
                               // are summed up in one finding
};

// Where a host says something, and the value as it stands there.
struct DriftPlace {
  Place place;
  std::string value;
};

// What one or more hosts say. A host with several devices says the set of their values: one of
// eight GPUs that differs makes the host differ, the number of devices does not.
struct DriftValue {
  std::string value;  // as the hosts print it; "A | B" when devices or captures of one host differ
  std::vector<Host> hosts;           // sorted
  std::vector<std::string> devices;  // "node-07 0000:3b:00" that differ within a host whose others
                                     // agree with the majority; sorted
  std::vector<DriftPlace>
      places;  // one of each host, in the order of hosts; of what differs, if anything does
};

enum class DriftState { same, differs, no_majority, one_host };

struct DriftItem {
  std::string name;                        // driver_version, env.NCCL_IB_HCA, ...
  const rules::DriftRule* rule = nullptr;  // of the table that it was compared with
  DriftState state = DriftState::same;
  bool by_devices = false;  // no majority of hosts, and nearly all devices have the first value
  std::vector<DriftValue> values = {};  // most hosts first, then by value
  std::vector<Host> missing =
      {};  // hosts that have other settings of this kind of source, and not this one; sorted
  std::string usual_of_device = {};  // of the one host that differs: what its device has elsewhere
};

struct DriftReport {
  std::vector<DriftItem>
      items;  // differing ones first, the most severe first, then by name; without ignored ones
  std::vector<Host> hosts;  // with any setting that is compared, sorted
  // Hosts outside of a majority, in any item; sorted.
  std::vector<std::string> minority() const;
};

// Settings of which the host is not known, of copies of files and of other jobs are left out. The
// order of rows and hosts does not matter.
DriftReport compare_settings(const Facts& facts, const rules::DriftRules& rules,
                             const DriftParams& params = {});

// One finding for each setting that differs, id drift/NAME, and drift/more for those beyond the
// limit; when none does, one that says so, or that there was nothing to compare with. Nothing when
// the bundle holds no setting at all.
std::vector<Finding> drift_findings(const DriftReport& report, const Facts& facts,
                                    const DriftParams& params = {});

}  // namespace culprit::analyze
