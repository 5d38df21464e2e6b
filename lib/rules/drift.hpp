// What a difference of a version or setting between hosts means: the data is
// rules/tables/drift.json, its manual schemas/drift-v1.json. Aegis ("Evolution of Aegis", NSDI
// 2025, section 4.1) compares configurations of the hosts of a task when no error names a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "model/rows.hpp"

namespace culprit::rules {

enum class DriftCompare { exact, version, number };

struct DriftRule {
  std::string pattern;  // of the setting's name; * stands for any run
  std::string label;    // what people call it: "driver"; "" = the name itself
  Severity severity = Severity::info;
  bool ignored = false;  // hosts differ in it by right: names, addresses, serial numbers
  DriftCompare compare = DriftCompare::exact;
  std::string explains;         // communication performance numerics memory other
  std::string entity = "host";  // host gpu nic rank: whose it is
  // The value that makes a job slower; "lower", "higher": of two numbers; "more words": of two
  // lists.
  std::string slower;
  std::string carries;  // pattern of the names of devices that carry a job's traffic; "" = all
  bool part = false;    // of a machine, and exchanged: a memory module
  bool set_by_command = false;        // one command sets it back: the device itself is well
  bool under_load = false;            // a job may run with it until its network is busy
  bool programs = false;              // what runs on the machine
  bool of_image = false;              // what the job brings along: no machine is mended
  std::vector<std::string> leads_to;  // classes that a machine with another value prints
  std::string advice;
};

class DriftRules {
 public:
  // Errors name file, key and reason. trusted: ours, which the build has held against the schema.
  static Result<DriftRules> parse(std::string_view text, const std::string& file,
                                  bool trusted = false);
  static const DriftRules& built_in();

  // Never fails: a name that no pattern takes is compared exactly, and is worth a remark only. Of
  // several patterns the one with most fixed characters.
  const DriftRule& find(std::string_view name) const;

 private:
  std::vector<DriftRule> rules_;  // most fixed characters first
  DriftRule other_;
};

// Two spellings of one value have one key: "2.19.3+cuda12.3" and "2.19.3" as versions, "700.00 W"
// and "700 W" as numbers.
std::string drift_key(std::string_view value, DriftCompare compare);

}  // namespace culprit::rules
