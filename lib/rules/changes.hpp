// What a setting that changed between two runs may explain: rules/tables/changes.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit::rules {

struct ChangeRule {
  std::string pattern;  // of the setting's name; * stands for any run
  std::string label;    // "learning rate"; "" of a setting that no row knows
  std::vector<std::string> explains;
  bool known = true;             // false: no row has it
  bool scales_work = false;      // the work of a step grows with its value
  bool scales_machines = false;  // so does what does the work

  // Another in each run: its name, its folders, its length.
  bool differs_by_right() const { return known && explains.empty(); }
};

// The row of a setting, "lr" or "env.NCCL_IB_DISABLE": of several the one with most fixed
// characters. Never fails.
const ChangeRule& change_rule(std::string_view name);

}  // namespace culprit::rules
