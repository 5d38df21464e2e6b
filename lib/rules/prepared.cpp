// Writes and reads what the build makes of the built-in rules.
#include "rules/prepared.hpp"

#include <array>
#include <unordered_map>

#include "model/json.hpp"
#include "rules/causes.hpp"
#include "rules/drift.hpp"
#include "rules/enumerations.hpp"
#include "rules/grammar.hpp"
#include "rules/lazy_pattern.hpp"
#include "rules/literals.hpp"
#include "rules/metrics.hpp"
#include "rules/pack.hpp"
#include "schema/embedded.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

// Outside of the unnamed namespace: the archives find them by the type of their argument.
template <class Archive, MaybeConst<OldMeaning> T>
void each_field(Archive& archive, T& old) {
  archive(old.from, old.before, old.title, old.text, old.action, old.severity, old.role);
}

template <class Archive, MaybeConst<Tolerance> T>
void each_field(Archive& archive, T& tolerance) {
  archive(tolerance.count, tolerance.window_s);
}

template <class Archive, MaybeConst<WordEffect> T>
void each_field(Archive& archive, T& effect) {
  archive(effect.severity, effect.at_most);
}

template <class Archive, MaybeConst<Meaning> T>
void each_field(Archive& archive, T& m) {
  archive(m.title, m.severity, m.role, m.scope, m.cause, m.component, m.symptom, m.tolerance,
          m.traits, m.leads_to, m.cleared_by, m.action, m.why, m.advice, m.history);
}

template <class Archive, MaybeConst<Rule> T>
void each_field(Archive& archive, T& r) {
  archive(r.id, r.event_class, r.family, r.file, r.source, r.origin, r.meaning, r.where, r.match,
          r.unless, r.over, r.fallback, r.codes, r.words, r.fires, r.silent);
}

namespace {

constexpr std::size_t kParts = 6;

template <class Words>
using OfPattern = std::pair<std::string, Words>;

std::vector<OfPattern<std::vector<std::vector<std::string>>>> words_of(
    const std::vector<Rule>& rules) {
  std::vector<OfPattern<std::vector<std::vector<std::string>>>> out;
  const OrdinaryText ordinary(ordinary_lines());
  for (const Rule& rule : rules)
    for (const std::string& pattern : rule.match)
      out.emplace_back(pattern, required_lists(pattern, ordinary));
  return out;
}

// Apart from those of the rules: every bundle has names.
Result<std::vector<OfPattern<std::vector<std::string>>>> words_of_names() {
  std::vector<OfPattern<std::vector<std::string>>> out;
  const OrdinaryText ordinary(ordinary_lines());
  CULPRIT_TRY(paths,
              schema::parse_strict(embedded_rule("tables/paths.json"), "rules/tables/paths.json"));
  for (const auto& one : paths["patterns"]) {
    const std::string pattern = one["match"].get<std::string>();
    out.emplace_back(pattern, required_words(pattern, ordinary));
  }
  return out;
}

}  // namespace

Result<std::string> prepare() {
  CULPRIT_TRY(rules, read_embedded_rules());
  CULPRIT_TRY(catalogue,
              Catalogue::parse(embedded_rule("tables/metrics.json"), "rules/tables/metrics.json"));
  CULPRIT_TRY(enumerations, Enumerations::parse(embedded_rule("tables/enumerations.json")));
  CULPRIT_TRY(grammar, Grammar::parse(embedded_rule("tables/speakers.json"),
                                      embedded_rule("tables/reasons.json"), enumerations));
  CULPRIT_CHECK(DriftRules::parse(embedded_rule("tables/drift.json"), "rules/tables/drift.json"));
  CULPRIT_CHECK(CauseTable::parse(embedded_rule("tables/causes.json"), "rules/tables/causes.json"));
  CULPRIT_TRY(names, words_of_names());
  std::array<Saver, kParts> parts;
  const auto save = [&](PreparedPart part, const auto&... values) {
    parts[static_cast<std::size_t>(part)](values...);
  };
  save(PreparedPart::rules, rules);
  save(PreparedPart::words, words_of(rules));
  save(PreparedPart::names, names);
  save(PreparedPart::catalogue, catalogue);
  save(PreparedPart::grammar, grammar);
  CULPRIT_TRY(loaded, load_rules({}));
  CULPRIT_TRY(index, index_of(loaded));
  CULPRIT_TRY(pack, RulePack::compile(std::move(loaded)));
  save(PreparedPart::pack, pack.digest(), index);
  Saver head;
  for (const Saver& part : parts) head(static_cast<std::uint32_t>(part.bytes().size()));
  std::string out = head.bytes();
  for (const Saver& part : parts) out += part.bytes();
  return out;
}

std::optional<Loader> prepared_part(PreparedPart part) {
  const std::string_view bytes = prepared_bytes();
  if (bytes.empty()) return std::nullopt;
  std::array<std::uint32_t, kParts> sizes;
  Loader head(bytes);
  for (std::uint32_t& size : sizes) head(size);
  std::size_t at = sizeof sizes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(part); ++i) at += sizes[i];
  return Loader(bytes.substr(at));
}

std::optional<std::vector<Rule>> prepared_rules() {
  auto loader = prepared_part(PreparedPart::rules);
  if (!loader) return std::nullopt;
  std::vector<Rule> rules;
  (*loader)(rules);
  return rules;
}

namespace {

// What a part says of each pattern.
template <class Words>
const Words* words_in(PreparedPart part, std::string_view pattern) {
  static const std::unordered_map<std::string_view, Words> kWords = [&] {
    std::vector<std::pair<std::string_view, Words>> list;
    if (auto loader = prepared_part(part)) (*loader)(list);
    return std::unordered_map<std::string_view, Words>(std::make_move_iterator(list.begin()),
                                                       std::make_move_iterator(list.end()));
  }();
  const auto it = kWords.find(pattern);
  return it == kWords.end() ? nullptr : &it->second;
}

}  // namespace

std::optional<std::vector<std::vector<std::string>>> prepared_lists(std::string_view pattern) {
  const auto* lists =
      words_in<std::vector<std::vector<std::string_view>>>(PreparedPart::words, pattern);
  if (lists == nullptr) return std::nullopt;
  std::vector<std::vector<std::string>> out;
  for (const auto& words : *lists) out.emplace_back(words.begin(), words.end());
  return out;
}

std::optional<std::vector<std::string>> prepared_words(std::string_view pattern) {
  const auto* words = words_in<std::vector<std::string_view>>(PreparedPart::names, pattern);
  if (words == nullptr) return std::nullopt;
  return std::vector<std::string>(words->begin(), words->end());
}

}  // namespace culprit::rules
