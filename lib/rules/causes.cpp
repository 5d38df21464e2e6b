// Reads the table of causes, and makes weights of its words.
#include "rules/causes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

using nlohmann::json;

#define CULPRIT_NAME(word) #word,
constexpr std::string_view kSignNames[] = {CULPRIT_SIGNS(CULPRIT_NAME)};
constexpr std::string_view kEffectNames[] = {CULPRIT_EFFECTS(CULPRIT_NAME)};
#undef CULPRIT_NAME

constexpr int kMost = 20;  // what one sign may weigh: a hundred to one

// How often, for a word of the table.
double frequency(std::string_view word) {
  constexpr std::pair<std::string_view, double> kWords[] = {{"never", 0.005}, {"rare", 0.05},
                                                            {"some", 0.15},   {"half", 0.5},
                                                            {"usual", 0.8},   {"always", 0.97}};
  for (const auto& [name, value] : kWords)
    if (name == word) return value;
  return 0;
}

template <class Term, std::size_t N>
std::optional<Term> named(const std::string_view (&names)[N], std::string_view word) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == word) return static_cast<Term>(i);
  return std::nullopt;
}

std::optional<StepId> kind_named(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(StepId::not_enough_evidence); ++i)
    if (culprit::name(static_cast<StepId>(i)) == word) return static_cast<StepId>(i);
  return std::nullopt;
}

int weight(std::string_view of_kind, std::string_view of_unknown) {
  if (of_kind.empty() || of_unknown.empty()) return 0;
  const double ratio = frequency(of_kind) / frequency(of_unknown);
  return std::clamp(static_cast<int>(std::lround(10 * std::log10(ratio))), -kMost, kMost);
}

Result<CauseRow> row_of(const json& object, const std::string& file) {
  CauseRow row;
  const std::string kind = object["kind"].get<std::string>();
  const auto step = kind_named(kind);
  if (!step) return fail(fmt::format("causes: there is no kind '{}'", kind)).at({file, 0});
  row.kind = *step;
  row.name = object["name"].get<std::string>();
  row.prior = object["prior"].get<int>();
  for (const json& one : object["explains"])
    if (const auto effect = named<Effect>(kEffectNames, one.get<std::string>()))
      row.explains.set(static_cast<std::size_t>(*effect));
  row.tells = object["tells"].get<std::string>();
  if (object.contains("of"))
    for (const json& one : object["of"])
      if (const auto cause = cause_named(one.get<std::string>())) row.of.push_back(*cause);
  if (object.contains("unproven")) {
    row.unproven = cause_named(object["unproven"]["of"].get<std::string>());
    if (const auto action = term_named<Action>(object["unproven"]["action"].get<std::string>()))
      row.unproven_action = *action;
  }
  if (object.contains("signs"))
    for (const auto& [word, often] : object["signs"].items()) {
      const auto sign = named<Sign>(kSignNames, word);
      if (!sign)
        return fail(fmt::format("causes: {}: there is no sign '{}'", kind, word)).at({file, 0});
      row.words[static_cast<std::size_t>(*sign)] = often.get<std::string>();
    }
  return row;
}

}  // namespace

std::string_view name(Sign sign) { return kSignNames[static_cast<std::size_t>(sign)]; }
std::string_view name(Effect effect) { return kEffectNames[static_cast<std::size_t>(effect)]; }

Result<CauseTable> CauseTable::parse(std::string_view text, const std::string& file, bool trusted) {
  CULPRIT_TRY(document,
              schema::parse_checked(text, file, "causes-v1.json", "the table may hold", trusted));
  CauseTable out;
  for (const json& object : document["causes"]) {
    CULPRIT_TRY(row, row_of(object, file));
    if (std::ranges::any_of(out.rows_,
                            [&](const CauseRow& other) { return other.kind == row.kind; }))
      return fail(fmt::format("causes: '{}' stands twice", culprit::name(row.kind))).at({file, 0});
    out.rows_.push_back(std::move(row));
  }
  if (document.contains("sureness"))
    for (const json& one : document["sureness"])
      out.counted_.push_back(
          {one["word"].get<std::string>(), one["right"].get<int>(), one["of"].get<int>()});
  const CauseRow unknown = out.row(StepId::not_enough_evidence);
  for (CauseRow& row : out.rows_)
    for (std::size_t i = 0; i < kSigns; ++i)
      row.weights[i] = weight(row.words[i], unknown.words[i]);
  return out;
}

const CauseTable& CauseTable::built_in() {
  static const CauseTable kBuiltIn = [] {
    if (auto parsed = parse(embedded_rule("tables/causes.json"), "rules/tables/causes.json", true))
      return std::move(parsed).value();
    return CauseTable{};
  }();
  return kBuiltIn;
}

const SurenessRow* CauseTable::counted(std::string_view word) const {
  constexpr int kLeast = 30;
  for (const SurenessRow& row : counted_)
    if (row.word == word && row.of >= kLeast) return &row;
  return nullptr;
}

const CauseRow& CauseTable::first(auto test) const {
  static const CauseRow kNone{};
  const auto at = std::ranges::find_if(rows_, test);
  return at == rows_.end() ? kNone : *at;
}

const CauseRow& CauseTable::row(StepId kind) const {
  return first([&](const CauseRow& row) { return row.kind == kind; });
}

const CauseRow& CauseTable::unproven(CauseKind cause) const {
  return first([&](const CauseRow& row) { return row.unproven == cause; });
}

}  // namespace culprit::rules
