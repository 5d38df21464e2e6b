// Reads the table of changed settings once.
#include "rules/changes.hpp"

#include <algorithm>

#include "model/json.hpp"
#include "model/sort.hpp"
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
                     .scales_work = setting.contains("scales")});
  sort_rows(out, [](const ChangeRule& a, const ChangeRule& b) {
    return fixed_characters(a.pattern) > fixed_characters(b.pattern);
  });
  return out;
}

}  // namespace

const ChangeRule& change_rule(std::string_view name) {
  static const std::vector<ChangeRule> kTable = read_change_table();
  static const ChangeRule kUnknown{.known = false};
  const auto at =
      std::ranges::find_if(kTable, [&](const ChangeRule& r) { return glob(r.pattern, name); });
  return at == kTable.end() ? kUnknown : *at;
}

}  // namespace culprit::rules
