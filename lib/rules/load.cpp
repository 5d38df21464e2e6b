#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <re2/re2.h>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "rules/pack.hpp"
#include "rules/prepared.hpp"
#include "rules/rule.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

using nlohmann::json;

std::vector<std::string> strings(const json& object, const char* key) {
  std::vector<std::string> out;
  if (const auto it = object.find(key); it != object.end())
    for (const auto& one : *it) out.push_back(one.get<std::string>());
  return out;
}

// Overrides what `object` names; the schema has checked every type and word before.
Meaning read_meaning(const json& object, Meaning base) {
  const auto text = [&](const char* key, std::string& out) {
    if (const auto it = object.find(key); it != object.end()) out = it->get<std::string>();
  };
  text("title", base.title);
  text("component", base.component);
  text("action", base.action);
  text("why", base.why);
  text("advice", base.advice);
  if (object.contains("symptom"))
    base.symptom = *term_named<Symptom>(object["symptom"].get<std::string>());
  if (object.contains("severity"))
    base.severity = *severity_named(object["severity"].get<std::string>());
  if (object.contains("role")) base.role = *role_named(object["role"].get<std::string>());
  if (object.contains("scope")) base.scope = *scope_named(object["scope"].get<std::string>());
  if (object.contains("cause")) base.cause = *cause_named(object["cause"].get<std::string>());
  if (object.contains("cleared_by")) base.cleared_by = strings(object, "cleared_by");
  for (const std::string& word : strings(object, "traits"))
    if (const auto trait = trait_named(word)) base.traits.add(*trait);
  if (object.contains("leads_to")) base.leads_to = strings(object, "leads_to");
  if (const auto it = object.find("tolerance"); it != object.end())
    base.tolerance = Tolerance{(*it)["count"].get<int>(), (*it)["window_s"].get<int>()};
  if (const auto it = object.find("history"); it != object.end()) {
    base.history.clear();
    for (const auto& old : *it) {
      OldMeaning entry{.from = old.value("from", ""),
                       .before = old.value("before", ""),
                       .title = old.value("title", ""),
                       .text = old.value("text", ""),
                       .action = old.value("action", "")};
      if (old.contains("severity"))
        entry.severity = severity_named(old["severity"].get<std::string>());
      if (old.contains("role")) entry.role = role_named(old["role"].get<std::string>());
      base.history.push_back(std::move(entry));
    }
  }
  return base;
}

Result<> check_pattern(const std::string& pattern, const std::string& file,
                       const std::string& key) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  const re2::RE2 compiled(pattern, options);
  if (!compiled.ok())
    return fail(fmt::format("{}: bad pattern: {}", key, compiled.error()))
        .at({file, 0})
        .hint(
            "patterns are RE2: no look-around, no back-references; a backslash is written twice in "
            "JSON");
  return {};
}

// A misspelt placeholder would stand in the advice as it is: "Drain hots".
Result<> check_advice(const std::string& advice, const std::string& file, const std::string& key) {
  static const std::vector<std::string> kNames = {"code", "device", "gpu",  "host", "nic",
                                                  "path", "pci",    "peer", "rank"};
  for (std::size_t at = 0; (at = advice.find('{', at)) != std::string::npos; ++at) {
    const std::size_t close = std::min(advice.find('}', at), advice.size());
    const std::string name = advice.substr(at + 1, close - at - 1);
    if (close < advice.size() && contains(kNames, name)) continue;
    const std::string near = schema::nearest(name, kNames);
    return fail(fmt::format("{}: there is no placeholder '{}'", key,
                            advice.substr(at, close + 1 - at)))
        .at({file, 0})
        .hint(near.empty() ? fmt::format("an advice may name {{{}}}", fmt::join(kNames, "}, {"))
                           : fmt::format("did you mean {{{}}}?", near));
  }
  return {};
}

Rule read_rule(const json& object, const std::string& family, Origin origin,
               const std::string& file) {
  Rule rule;
  rule.origin =
      object.contains("origin") ? *origin_named(object["origin"].get<std::string>()) : origin;
  rule.id = object["id"].get<std::string>();
  rule.event_class = object["class"].get<std::string>();
  rule.family = family;
  rule.file = file;
  rule.source = object["source"].get<std::string>();
  rule.meaning = read_meaning(object, {});
  rule.where = strings(object, "where");
  rule.match = strings(object, "match");
  rule.unless = strings(object, "unless");
  rule.over = strings(object, "over");
  rule.fallback = object.value("fallback", false);
  const std::string number = object.value("code_name", "");  // people search for it
  if (const auto it = object.find("codes"); it != object.end())
    for (const auto& [code, meaning] : it->items()) {
      Meaning read = read_meaning(meaning, rule.meaning);
      if (!number.empty()) read.title += fmt::format(" ({} {})", number, code);
      rule.codes.emplace(std::strtoll(code.c_str(), nullptr, 10), std::move(read));
    }
  if (const auto it = object.find("words"); it != object.end())
    for (const auto& [word, effect] : it->items()) {
      WordEffect e;
      if (effect.contains("severity"))
        e.severity = severity_named(effect["severity"].get<std::string>());
      if (effect.contains("at_most"))
        e.at_most = severity_named(effect["at_most"].get<std::string>());
      rule.words.emplace(word, e);
    }
  rule.fires = strings(object["samples"], "fires");
  rule.silent = strings(object["samples"], "silent");
  return rule;
}

// What a fault is decides whether a machine is taken out of service: nobody guesses it from other
// keys.
Result<> cause_named_where_needed(const json& object, const Rule& rule, std::size_t index,
                                  const std::string& file) {
  const bool confirms =
      rule.meaning.role == Role::confirmation && rule.meaning.severity == Severity::critical;
  if (object.contains("cause") || !(rule.meaning.role == Role::root || confirms)) return {};
  return fail(fmt::format("rules[{}].cause of '{}' is missing: a rule of role {} says what kind of "
                          "cause it is",
                          index, rule.id, name(rule.meaning.role)))
      .at({file, 0})
      .hint(
          "\"cause\": \"machine\" leads to an isolated host; \"none\" accuses nobody; `culprit "
          "schema rule-v1.json` explains each");
}

Result<> refuse_duplicates(const std::vector<Rule>& rules) {
  std::map<std::string, std::string> seen;
  for (const Rule& rule : rules)
    if (const auto [it, fresh] = seen.emplace(rule.id, rule.file); !fresh)
      return fail(fmt::format("id: the rule '{}' stands twice, also in {}", rule.id, it->second))
          .at({rule.file, 0})
          .hint("give one of them another id");
  return {};
}

}  // namespace

Result<std::vector<Rule>> read_rule_file(std::string_view text, const std::string& file,
                                         bool trusted) {
  CULPRIT_TRY(document, schema::parse_strict(text, file));
  static const json kSchema = parse_json(schema::text("rule-v1.json"));
  const auto violations =
      trusted ? std::vector<schema::Violation>{} : schema::validate(document, kSchema);
  if (!violations.empty()) {
    std::string what = schema::described(violations);
    // "rules[3]" tells less than the id of the rule.
    if (const auto& path = violations[0].path; path.rfind("rules[", 0) == 0) {
      const std::size_t index = std::strtoul(path.c_str() + 6, nullptr, 10);
      if (document["rules"][index].is_object() && document["rules"][index].contains("id") &&
          document["rules"][index]["id"].is_string())
        what += fmt::format(", in rule '{}'", document["rules"][index]["id"].get<std::string>());
    }
    return fail(what).at({file, 0}).hint(
        "`culprit schema rule-v1.json` prints what a rule file may hold");
  }
  std::vector<Rule> rules;
  const std::string family = document["family"].get<std::string>();
  const Origin origin = document.contains("origin")
                            ? *origin_named(document["origin"].get<std::string>())
                            : Origin::any;
  std::size_t index = 0;
  for (const auto& object : document["rules"]) {
    Rule rule = read_rule(object, family, origin, file);
    const auto patterns = [&](const std::vector<std::string>& list, const char* key) -> Result<> {
      for (std::size_t i = 0; i < list.size(); ++i)
        CULPRIT_CHECK(check_pattern(
            list[i], file, fmt::format("rules[{}].{}[{}] of '{}'", index, key, i, rule.id)));
      return {};
    };
    if (trusted) {
      rules.push_back(std::move(rule));
      continue;
    }
    CULPRIT_CHECK(cause_named_where_needed(object, rule, index, file));
    CULPRIT_CHECK(patterns(rule.match, "match"));
    CULPRIT_CHECK(patterns(rule.unless, "unless"));
    const auto old_texts = [&](const Meaning& meaning, const std::string& key) -> Result<> {
      for (std::size_t i = 0; i < meaning.history.size(); ++i)
        CULPRIT_CHECK(
            check_pattern(meaning.history[i].text, file,
                          fmt::format("rules[{}].{}[{}].text of '{}'", index, key, i, rule.id)));
      return {};
    };
    CULPRIT_CHECK(old_texts(rule.meaning, "history"));
    CULPRIT_CHECK(check_advice(rule.meaning.advice, file,
                               fmt::format("rules[{}].advice of '{}'", index, rule.id)));
    if (const auto it = object.find("codes"); it != object.end())
      for (const auto& [code, meaning] : it->items()) {
        if (code.empty() || code.size() > 18 ||
            code.find_first_not_of("0123456789") != std::string::npos)
          return fail(fmt::format("rules[{}].codes of '{}': '{}' is not a decimal number", index,
                                  rule.id, code))
              .at({file, 0});
        const Meaning& of_code = rule.codes.at(std::strtoll(code.c_str(), nullptr, 10));
        CULPRIT_CHECK(old_texts(of_code, "codes." + code + ".history"));
        CULPRIT_CHECK(
            check_advice(of_code.advice, file,
                         fmt::format("rules[{}].codes.{}.advice of '{}'", index, code, rule.id)));
      }
    rules.push_back(std::move(rule));
    ++index;
  }
  CULPRIT_CHECK(refuse_duplicates(rules));
  return rules;
}

Result<std::vector<Rule>> read_embedded_rules() {
  std::vector<Rule> rules;
  for (const EmbeddedFile& file : embedded_rules()) {
    const std::string_view name = file.name;
    if (contains(name, '/') || name.size() < 5 || name.substr(name.size() - 5) != ".json") continue;
    CULPRIT_TRY(some, read_rule_file(file.text(), "rules/" + std::string(name), true));
    std::move(some.begin(), some.end(), std::back_inserter(rules));
  }
  CULPRIT_CHECK(refuse_duplicates(rules));
  return rules;
}

namespace {

Result<std::vector<Rule>> read_built_in() {
  if (auto prepared = prepared_rules()) return *std::move(prepared);
  return read_embedded_rules();
}

class TraitTable {
 public:
  explicit TraitTable(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
      const std::size_t brace = rule.event_class.find('{');
      if (brace == std::string::npos)
        classes_[rule.event_class].add(rule.meaning.traits);
      else
        stems_[rule.event_class.substr(0, brace)].add(rule.meaning.traits);
      if (rule.event_class.ends_with(kCode))
        for (const auto& [code, meaning] : rule.codes)
          if (meaning.traits != rule.meaning.traits)
            classes_[rule.event_class.substr(0, brace) + std::to_string(code)].add(meaning.traits);
    }
  }
  Traits of(std::string_view event_class) const {
    if (const auto it = classes_.find(event_class); it != classes_.end()) return it->second;
    Traits out;
    std::size_t longest = 0;
    for (const auto& [stem, traits] : stems_)
      if (stem.size() > longest && event_class.starts_with(stem)) {
        out = traits;
        longest = stem.size();
      }
    return out;
  }

 private:
  static constexpr std::string_view kCode = "{code}";
  std::map<std::string, Traits, std::less<>> classes_;
  std::map<std::string, Traits, std::less<>> stems_;  // of classes that hold captures, up to them
};

// A user's rule of a class of ours says what ours say.
void inherit(Rule& rule, const TraitTable& ours) {
  rule.meaning.traits = ours.of(rule.event_class);
  for (auto& [code, meaning] : rule.codes)
    meaning.traits.add(ours.of(fill_class(rule.event_class, {{"code", std::to_string(code)}})));
}

// Made once, of rules that somebody has read already if there are any.
const TraitTable& trait_table(const std::vector<Rule>* read = nullptr) {
  static const TraitTable table = [&] {
    if (read != nullptr) return TraitTable(*read);
    const auto rules = read_built_in();
    return TraitTable(rules ? *rules : std::vector<Rule>{});
  }();
  return table;
}

}  // namespace

Traits traits_of_class(std::string_view event_class) { return trait_table().of(event_class); }

Result<std::vector<Rule>> load_rules(const std::vector<std::string>& user_folders) {
  CULPRIT_TRY(rules, read_built_in());
  const TraitTable& ours = trait_table(&rules);
  std::vector<Rule> theirs;
  for (const std::string& folder : user_folders) {
    std::error_code error;
    std::vector<std::string> paths;
    if (std::filesystem::is_regular_file(folder, error))
      paths.push_back(folder);
    else
      for (auto it = std::filesystem::directory_iterator(folder, error);
           !error && it != std::filesystem::directory_iterator(); it.increment(error))
        if (it->path().extension() == ".json") paths.push_back(it->path().string());
    if (error) {
      Error trouble = usage_error("cannot read the rule folder: " + error.message());
      trouble.where = Where{folder, 0};
      trouble.help = "--rules takes a folder of .json files, or one file";
      return trouble;
    }
    sort_rows(paths);
    for (const std::string& path : paths) {
      std::ifstream stream(path, std::ios::binary);
      std::ostringstream bytes;
      bytes << stream.rdbuf();
      if (!stream)
        return usage_error(fmt::format("cannot read the rule file: {}", std::strerror(errno)))
            .at({path, 0});
      CULPRIT_TRY(some, read_rule_file(bytes.str(), path));
      std::move(some.begin(), some.end(), std::back_inserter(theirs));
    }
  }
  CULPRIT_CHECK(refuse_duplicates(theirs));
  std::set<std::string> replaced;
  for (Rule& rule : theirs) {
    replaced.insert(rule.id);
    if (rule.meaning.traits.none()) inherit(rule, ours);
  }
  std::erase_if(rules, [&](const Rule& rule) { return replaced.count(rule.id) > 0; });
  std::move(theirs.begin(), theirs.end(), std::back_inserter(rules));
  // The order of files and folders must not matter to what a line is taken for.
  sort_by(rules, &Rule::id);
  return rules;
}

}  // namespace culprit::rules
