#include "rules/negation.hpp"

#include <algorithm>
#include <deque>
#include <string>

#include "model/json.hpp"
#include "rules/lazy_pattern.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

constexpr std::size_t kWindow = 256;  // bytes; what stands farther off speaks of something else

struct Negation {
  std::deque<LazyPattern> before, behind, within, pseudo;
};

// "{nouns}" in a pattern stands for the piece of that name.
std::string put_together(std::string pattern, const nlohmann::json& parts) {
  for (const auto& [name, piece] : parts.items()) {
    const std::string place = "{" + name + "}";
    for (std::size_t at = pattern.find(place); at != pattern.npos; at = pattern.find(place))
      pattern.replace(at, place.size(), piece.get<std::string>());
  }
  return pattern;
}

void read(const nlohmann::json& table, const char* key, std::deque<LazyPattern>& out) {
  for (const auto& row : table[key])
    out.emplace_back(put_together(row["match"].get<std::string>(), table["parts"]));
}

const Negation& built_in() {
  static const Negation kBuiltIn = [] {
    Negation out;
    const auto table = parse_json(embedded_rule("tables/negation.json"));
    read(table, "before", out.before);
    read(table, "behind", out.behind);
    read(table, "within", out.within);
    read(table, "pseudo", out.pseudo);
    return out;
  }();
  return kBuiltIn;
}

bool any_in(const std::deque<LazyPattern>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const auto& one) { return one.stands_in(text); });
}

}  // namespace

bool negated(std::string_view line, std::size_t begin, std::size_t end) {
  const std::size_t from = begin > kWindow ? begin - kWindow : 0;
  const std::string_view before = line.substr(from, begin - from);
  const Negation& table = built_in();
  return any_in(table.behind, line.substr(end, kWindow)) ||
         any_in(table.within, line.substr(begin, end - begin)) ||
         (any_in(table.before, before) && !any_in(table.pseudo, before));
}

}  // namespace culprit::rules
