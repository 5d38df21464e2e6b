#include "rules/drift.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/ascii.hpp"
#include "model/json.hpp"
#include "rules/glob.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

using nlohmann::json;

Result<DriftRules> DriftRules::parse(std::string_view text, const std::string& file, bool trusted) {
  CULPRIT_TRY(document,
              schema::parse_checked(text, file, "drift-v1.json", "the table may hold", trusted));
  DriftRules out;
  std::size_t index = 0;
  for (const json& object : document["settings"]) {
    const std::string level = object.value("severity", "info");
    const std::string compare = object.value("compare", "exact");
    DriftRule rule{.label = object.value("label", ""),
                   .severity = severity_named(level).value_or(Severity::info),
                   .ignored = level == "ignored",
                   .compare = compare == "version"  ? DriftCompare::version
                              : compare == "number" ? DriftCompare::number
                                                    : DriftCompare::exact,
                   .explains = object.value("explains", "other"),
                   .entity = object.value("entity", "host"),
                   .slower = object.value("slower", ""),
                   .carries = object.value("carries", ""),
                   .part = object.value("part", false),
                   .set_by_command = object.value("set_by_command", false),
                   .under_load = object.value("under_load", false),
                   .programs = object.value("programs", false),
                   .of_image = object.value("of_image", false),
                   .leads_to = object.value("leads_to", std::vector<std::string>{}),
                   .advice = object.value("advice", "")};
    for (const json& name : object["names"]) {
      rule.pattern = name.get<std::string>();
      if (std::ranges::any_of(
              out.rules_, [&](const DriftRule& other) { return other.pattern == rule.pattern; }))
        return fail(fmt::format("settings[{}].names: '{}' stands twice", index, rule.pattern))
            .at({file, 0});
      out.rules_.push_back(rule);
    }
    ++index;
  }
  sort_patterns(out.rules_, &DriftRule::pattern);
  out.other_.explains = "other";
  return out;
}

const DriftRules& DriftRules::built_in() {
  static const DriftRules kBuiltIn = [] {
    if (auto parsed = parse(embedded_rule("tables/drift.json"), "rules/tables/drift.json", true))
      return std::move(parsed).value();
    return DriftRules{};
  }();
  return kBuiltIn;
}

const DriftRule& DriftRules::find(std::string_view name) const {
  const DriftRule* rule = first_match(rules_, &DriftRule::pattern, name);
  return rule == nullptr ? other_ : *rule;
}

std::string drift_key(std::string_view value, DriftCompare compare) {
  if (compare == DriftCompare::version) {
    std::size_t end = value.empty() || value[0] != 'v' ? 0 : 1;
    const std::size_t begin = end;
    while (end < value.size() &&
           (digit(value[end]) ||
            (value[end] == '.' && end + 1 < value.size() && digit(value[end + 1]))))
      ++end;
    if (end > begin) return std::string(value.substr(begin, end - begin));
  } else if (compare == DriftCompare::number) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc{} && std::isfinite(number))
      return fmt::format("{}{}", number,
                         value.substr(static_cast<std::size_t>(end - value.data())));
  }
  return std::string(value);
}

}  // namespace culprit::rules
