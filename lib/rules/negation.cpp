#include "rules/negation.hpp"

#include <algorithm>
#include <deque>

#include "model/json.hpp"
#include "rules/lazy_pattern.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

constexpr std::size_t kWindow = 256;  // bytes; what stands farther off speaks of something else

struct Negation {
  std::deque<LazyPattern> before, behind, within, pseudo;
};

void read(const nlohmann::json& rows, std::deque<LazyPattern>& out) {
  for (const auto& row : rows) out.emplace_back(row["match"].get<std::string>());
}

const Negation& built_in() {
  static const Negation kBuiltIn = [] {
    Negation out;
    const auto document = parse_json(embedded_rule("tables/negation.json"));
    read(document["before"], out.before);
    read(document["behind"], out.behind);
    read(document["within"], out.within);
    read(document["pseudo"], out.pseudo);
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
