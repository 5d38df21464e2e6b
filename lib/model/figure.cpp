#include "model/figure.hpp"

#include <array>
#include <string_view>

#include "model/contains.hpp"

namespace culprit {

nlohmann::json figure(Analysis analysis, const std::string& name, const std::string& value) {
  constexpr std::array<std::string_view, 25> kWords{
      "baseline",  "exception", "explains", "from_calls", "function", "group",    "grown",
      "kind",      "lead",      "majority", "message",    "metric",   "minority", "native",
      "operation", "peer",      "place",    "reason",     "role",     "setting",  "shape",
      "source",    "sources",   "state",    "values"};
  const auto number = [&] {
    if (value.empty() || value.size() > 24 ||
        (value[0] != '-' && (value[0] < '0' || value[0] > '9')))
      return false;
    if (contains(kWords, name)) return false;
    // Elsewhere "ranks" are a set, 0-3,6, and "code" is a place in a program.
    return analysis == Analysis::classify || (name != "ranks" && name != "code");
  };
  if (!number()) return value;
  nlohmann::json parsed = parse_json(value);
  return parsed.is_number() ? parsed : nlohmann::json(value);
}

}  // namespace culprit
