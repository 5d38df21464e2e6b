// Reads the table of changed settings once.
#include "rules/changes.hpp"

#include "model/json.hpp"
#include "rules/glob.hpp"
#include "rules/rule.hpp"

namespace culprit::rules {

namespace {

std::vector<ChangeRule> read_change_table() {
  std::vector<ChangeRule> out;
  const auto document = parse_json(embedded_rule("tables/changes.json"));
  for (const auto& setting : document["settings"])
    for (const auto& name : setting["names"])
      out.push_back({.pattern = name.get<std::string>(),
                     .label = setting["label"].get<std::string>(),
                     .explains = setting["explains"].get<std::vector<std::string>>(),
                     .scales_work = setting.value("scales", "") == "work",
                     .scales_machines = setting.value("scales", "") == "machines"});
  sort_patterns(out, &ChangeRule::pattern);
  return out;
}

}  // namespace

const ChangeRule& change_rule(std::string_view name) {
  static const std::vector<ChangeRule> kTable = read_change_table();
  static const ChangeRule kUnknown{.known = false};
  const ChangeRule* rule = first_match(kTable, &ChangeRule::pattern, name);
  return rule == nullptr ? kUnknown : *rule;
}

}  // namespace culprit::rules
