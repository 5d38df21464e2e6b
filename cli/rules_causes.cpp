// `culprit rules causes`: the kinds of cause, their weights, and the reasons against candidates.
#include "rules_causes.hpp"

#include <fmt/format.h>

#include "decide/causes.hpp"
#include "model/json.hpp"
#include "rules/causes.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

std::vector<std::string> explained_by(const rules::CauseRow& row) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rules::kEffects; ++i)
    if (row.explains.test(i)) out.emplace_back(rules::name(static_cast<rules::Effect>(i)));
  return out;
}

std::vector<std::string> words_of(const decide::KindSet& kinds) {
  std::vector<std::string> out;
  for (int i = static_cast<int>(CauseKind::none) + 1; i <= static_cast<int>(CauseKind::outside);
       ++i)
    if (kinds.has(static_cast<CauseKind>(i))) out.emplace_back(name(static_cast<CauseKind>(i)));
  return out;
}

void each_sign(const rules::CauseRow& row, const auto& use) {
  for (std::size_t i = 0; i < rules::kSigns; ++i)
    if (row.weights[i] != 0)
      use(rules::name(static_cast<rules::Sign>(i)), row.words[i], row.weights[i]);
}

ordered_json json_of(const rules::CauseRow& row) {
  ordered_json of = ordered_json::array(), signs = ordered_json::array();
  for (const CauseKind cause : row.of) of.push_back(name(cause));
  each_sign(row, [&](std::string_view sign, const std::string& often, int weight) {
    signs.push_back({{"sign", sign}, {"often", often}, {"decibans", weight}});
  });
  return {{"kind", name(row.kind)},
          {"name", row.name},
          {"prior", row.prior},
          {"explains", explained_by(row)},
          {"of", of},
          {"signs", signs},
          {"tells", row.tells}};
}

std::string with_machine(std::string tells) {
  if (const std::size_t place = tells.find("{}"); place != std::string::npos)
    tells.replace(place, 2, "the machine");
  return tells;
}

std::string text_of(const rules::CauseRow& row) {
  std::string out = fmt::format("{:<20} {:>+4}  {}\n", name(row.kind), row.prior, row.name);
  const auto detail = [&](std::string_view label, const std::string& words) {
    if (!words.empty()) out += fmt::format("{:27}{:<9} {}\n", "", label, words);
  };
  detail("explains", fmt::format("{}", fmt::join(explained_by(row), ", ")));
  std::string signs;
  each_sign(row, [&](std::string_view sign, const std::string& often, int weight) {
    signs += fmt::format("{}{} {:+} ({})", signs.empty() ? "" : ", ", sign, weight, often);
  });
  detail("signs", signs);
  detail("tells", with_machine(row.tells));
  return out;
}

}  // namespace

std::string causes_listing(bool as_json) {
  const rules::CauseTable& table = rules::CauseTable::built_in();
  const std::vector<decide::ReasonAgainst> reasons = decide::reasons_against();
  if (as_json) {
    ordered_json causes = ordered_json::array(), against = ordered_json::array();
    for (const rules::CauseRow& row : table.rows()) causes.push_back(json_of(row));
    for (const decide::ReasonAgainst& one : reasons)
      against.push_back(
          {{"says", one.says}, {"decibans", -one.decibans}, {"causes", words_of(one.kinds)}});
    return json_text(ordered_json{{"causes", causes}, {"against", against}}, -1) + "\n";
  }
  std::string out = "Kinds of cause, with decibans against an unknown one; ten are ten to one.\n\n";
  for (const rules::CauseRow& row : table.rows()) out += text_of(row);
  out += "\nA candidate is ruled out that\n\n";
  for (const decide::ReasonAgainst& one : reasons) {
    const std::vector<std::string> words = words_of(one.kinds);
    out += fmt::format("{:>4}  {}{}\n", -one.decibans, one.says,
                       one.kinds.is_all() ? "" : fmt::format(" ({})", fmt::join(words, ", ")));
  }
  return out;
}

}  // namespace culprit::cli
