#include "rules/pack.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"
#include "rules/literals.hpp"
#include "rules/negation.hpp"
#include "rules/prepared.hpp"
#include "rules/search.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {

namespace {

// A text of many commands: each line may be of the kind that a rule is for.
constexpr std::string_view kOfAnyKind = "commands";

re2::RE2::Options options() {
  re2::RE2::Options o;
  o.set_log_errors(false);
  o.set_encoding(
      re2::RE2::Options::EncodingLatin1);  // logs are bytes; a torn character must not stop a match
  return o;
}

// Classes that some rule's `cleared_by` names.
std::set<std::string> clearing_classes(const std::vector<Rule>& rules) {
  std::set<std::string> out;
  for (const Rule& rule : rules) {
    out.insert(rule.meaning.cleared_by.begin(), rule.meaning.cleared_by.end());
    for (const auto& [code, meaning] : rule.codes)
      out.insert(meaning.cleared_by.begin(), meaning.cleared_by.end());
  }
  return out;
}

bool raises_event(const Rule& rule, const std::set<std::string>& clearing) {
  // What a logger left out is no event, and the scan must see it: it counts for the event before.
  return rule.meaning.role != Role::advice || rule.meaning.traits.has(Trait::suppressed) ||
         clearing.count(rule.event_class) > 0 ||
         std::ranges::any_of(rule.codes,
                             [](const auto& code) { return code.second.role != Role::advice; });
}

// Where the pattern is found in the message and nothing takes it back: "no Xid found; Xid 79
// later".
std::optional<std::size_t> stated(std::string_view message, const re2::RE2& expression) {
  const re2::StringPiece text(message.data(), message.size());
  re2::StringPiece found;
  for (std::size_t at = 0; at <= message.size();) {
    if (!expression.Match(text, at, text.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<std::size_t>(found.data() - message.data());
    if (!negated(message, begin, begin + found.size())) return begin;
    at = begin + std::max<std::size_t>(found.size(), 1);
  }
  return std::nullopt;
}

using WordLists = std::vector<std::vector<std::string>>;

WordLists words_needed(const std::string& pattern, const OrdinaryText& ordinary) {
  if (auto prepared = prepared_lists(pattern)) return *std::move(prepared);
  return required_lists(pattern, ordinary);
}

}  // namespace

struct RulePack::Compiled {
  // Without an index: the one that the build has made, read when the first message is matched.
  static Result<std::unique_ptr<Compiled>> make(std::vector<Rule> rules,
                                                std::optional<PackIndex> index);

  struct Pattern {
    std::size_t rule = 0;
    std::string text;
    // Most patterns are never met: compiled when a message holds one of their words.
    const re2::RE2& expression() const {
      std::call_once(once, [this] { compiled = std::make_unique<re2::RE2>(text, options()); });
      return *compiled;
    }
    mutable std::once_flag once;
    mutable std::unique_ptr<re2::RE2> compiled;
  };
  // Which patterns a message can match.
  struct Words {
    explicit Words(PackIndex made)
        : index(std::move(made)), search(std::move(index.words), ordinary_lines()) {}
    PackIndex index;  // its words are the search's
    WordSearch search;
  };
  const Words& words() const {
    std::call_once(words_once, [this] {
      if (words_made) return;
      PackIndex index;
      std::string its_digest;
      (*prepared_part(PreparedPart::pack))(its_digest, index);
      words_made.emplace(std::move(index));
    });
    return *words_made;
  }
  mutable std::once_flag words_once;
  mutable std::optional<Words> words_made;

  std::vector<Rule> rules;
  std::deque<Pattern> patterns;             // by rule
  std::vector<std::deque<Pattern>> unless;  // by rule
  std::vector<std::set<std::size_t>> over;  // by rule: rules that give way to it
  std::set<std::string> clearing;           // classes that some rule's `cleared_by` names
  std::string digest;  // of the built-in rules, which the build has made: a millisecond; else ""

  // The patterns of rule `r`: what it matches and what it does not.
  void add_patterns(std::size_t r) {
    for (const std::string& text : rules[r].match) {
      Pattern& pattern = patterns.emplace_back();
      pattern.rule = r;
      pattern.text = text;
    }
    for (const std::string& text : rules[r].unless) {
      Pattern& pattern = unless[r].emplace_back();
      pattern.rule = r;
      pattern.text = text;
    }
  }

  Result<> add_over(std::size_t r, const std::map<std::string, std::size_t>& by_id) {
    for (const std::string& id : rules[r].over) {
      const auto it = by_id.find(id);
      if (it == by_id.end())
        return fail(fmt::format("over: '{}' names the rule '{}', which does not exist", rules[r].id,
                                id))
            .at({rules[r].file, 0})
            .hint("`culprit rules list` prints the ids");
      over[r].insert(it->second);
    }
    return {};
  }

  // Rules that stand over each other in a circle would silence a line that all of them match: one
  // of such a circle.
  std::optional<std::size_t> rule_over_itself() const {
    std::vector<int> state(rules.size(), 0);  // 1: on the way, 2: done
    const std::function<std::optional<std::size_t>(std::size_t)> circle =
        [&](std::size_t r) -> std::optional<std::size_t> {
      state[r] = 1;
      for (const std::size_t next : over[r]) {
        if (state[next] == 1) return r;
        if (state[next] == 0)
          if (const auto found = circle(next)) return found;
      }
      state[r] = 2;
      return std::nullopt;
    };
    for (std::size_t r = 0; r < rules.size(); ++r)
      if (state[r] == 0)
        if (const auto found = circle(r)) return found;
    return std::nullopt;
  }

  struct Candidate {
    std::size_t rule = 0, pattern = 0, at = 0;  // at: where it is stated in the message
  };
  std::vector<Candidate> candidates(std::string_view message, std::string_view kind) const {
    const auto& [index, search] = words();
    std::vector<WordSearch::Hit> words_hit;
    search.find(message, words_hit);
    std::vector<std::uint32_t> able = index.wordless;
    for (const auto& hit : words_hit)
      able.insert(able.end(), index.patterns_of[hit.word].begin(),
                  index.patterns_of[hit.word].end());
    sort_unique(able);
    std::vector<Candidate> out;
    const Bigrams pairs(message);
    const re2::StringPiece text(message.data(), message.size());
    for (const std::size_t p : able) {
      const std::size_t r = patterns[p].rule;
      if (!out.empty() && out.back().rule == r) continue;
      if (!pairs.may_hold_all(index.beside[p])) continue;
      if (!kind.empty() && kind != kOfAnyKind && !rules[r].where.empty() &&
          !contains(rules[r].where, kind))
        continue;
      const auto at = stated(message, patterns[p].expression());
      if (!at) continue;
      if (std::ranges::any_of(unless[r], [&](const auto& e) {
            return re2::RE2::PartialMatch(text, e.expression());
          }))
        continue;
      out.push_back({r, p, *at});
    }
    return out;
  }
};

RulePack::RulePack(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

std::string_view ordinary_lines() {
  for (const EmbeddedFile& file : embedded_rules())
    if (std::string_view(file.name) == "tables/ordinary-lines.txt") return file.text();
  return {};
}

Result<PackIndex> index_of(const std::vector<Rule>& rules) {
  PackIndex out;
  std::map<std::string, std::vector<std::uint32_t>> patterns_of;
  std::set<std::string> of_events;
  const OrdinaryText ordinary(ordinary_lines());
  const std::set<std::string> clearing = clearing_classes(rules);
  std::uint32_t p = 0;
  for (const Rule& rule : rules) {
    const bool event = raises_event(rule, clearing);
    for (std::size_t i = 0; i < rule.match.size(); ++i, ++p) {
      WordLists& beside = out.beside.emplace_back(words_needed(rule.match[i], ordinary));
      std::vector<std::string> needed;
      if (!beside.empty()) needed = beside.front();
      std::size_t least = needed.empty() ? 0 : needed[0].size();
      for (const auto& word : needed) least = std::min(least, word.size());
      if (least < 5) {
        out.wordless.push_back(p);
      } else {
        for (const auto& word : needed) patterns_of[word].push_back(p);
        beside.erase(beside.begin());
      }
      if (!event) continue;
      if (least < 5)  // the scan probes four bytes at a time
        return fail(fmt::format("match[{}] of '{}' has no fixed text of at least 5 characters that "
                                "every match contains",
                                i, rule.id))
            .at({rule.file, 0})
            .hint(
                "name more of the words that the program prints; patterns that can match almost "
                "any line would slow every scan");
      of_events.insert(needed.begin(), needed.end());
    }
  }
  for (auto& [word, list] : patterns_of) {
    out.words.push_back(word);
    out.patterns_of.push_back(std::move(list));
  }
  out.event_words.assign(of_events.begin(), of_events.end());
  return out;
}

Result<std::unique_ptr<RulePack::Compiled>> RulePack::Compiled::make(
    std::vector<Rule> rules, std::optional<PackIndex> index) {
  auto c = std::make_unique<Compiled>();
  c->rules = std::move(rules);
  c->unless.resize(c->rules.size());
  c->over.resize(c->rules.size());
  c->clearing = clearing_classes(c->rules);
  std::map<std::string, std::size_t> by_id;
  for (std::size_t r = 0; r < c->rules.size(); ++r) by_id.emplace(c->rules[r].id, r);
  for (std::size_t r = 0; r < c->rules.size(); ++r) {
    c->add_patterns(r);
    CULPRIT_CHECK(c->add_over(r, by_id));
  }
  if (const auto found = c->rule_over_itself())
    return fail(fmt::format("over: '{}' stands over a rule that stands over it",
                            c->rules[*found].id))
        .at({c->rules[*found].file, 0});
  if (index) c->words_made.emplace(*std::move(index));
  return c;
}

Result<RulePack> RulePack::compile(std::vector<Rule> rules) {
  CULPRIT_TRY(index, index_of(rules));
  CULPRIT_TRY(compiled, Compiled::make(std::move(rules), std::move(index)));
  return RulePack(std::move(compiled));
}

Result<RulePack> RulePack::built_in() {
  static const auto* const kPack = new Result<RulePack>(read_built_in());
  return *kPack;
}

Result<RulePack> RulePack::read_built_in() {
  CULPRIT_TRY(rules, load_rules({}));
  auto prepared = prepared_part(PreparedPart::pack);
  if (!prepared) return compile(std::move(rules));
  CULPRIT_TRY(compiled, Compiled::make(std::move(rules), std::nullopt));
  (*prepared)(compiled->digest);
  return RulePack(std::move(compiled));
}

std::string fill_class(const std::string& pattern,
                       const std::map<std::string, std::string>& captures) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out.push_back(pattern[i]);
      continue;
    }
    const std::size_t close = pattern.find('}', i);
    if (close == std::string::npos) break;
    const auto it = captures.find(pattern.substr(i + 1, close - i - 1));
    bool gap = false;
    if (it != captures.end())
      for (const char c : it->second) {
        if (isalnum(static_cast<unsigned char>(c))) {
          if (gap && out.back() != '/') out.push_back('_');
          out.push_back(lower(c));
          gap = false;
        } else {
          gap = true;
        }
      }
    i = close;
  }
  return out;
}

std::vector<const Rule*> RulePack::all_matches(std::string_view message,
                                               std::string_view kind) const {
  std::vector<const Rule*> out;
  for (const auto& hit : compiled_->candidates(message, kind))
    out.push_back(&compiled_->rules[hit.rule]);
  return out;
}

bool RulePack::is_event(const Match& match) const {
  return match.role != Role::advice || compiled_->clearing.count(match.event_class) > 0;
}

std::optional<Match> RulePack::match(std::string_view message, std::string_view kind) const {
  const auto hits = compiled_->candidates(message, kind);
  if (hits.empty()) return std::nullopt;
  const bool known = std::ranges::any_of(
      hits, [&](const auto& hit) { return !compiled_->rules[hit.rule].fallback; });
  std::optional<Match> best;
  for (const auto& [r, p, at] : hits) {
    if (known && compiled_->rules[r].fallback) continue;
    // A rule that another match stands over is out of the race, whatever their severities.
    if (std::ranges::any_of(hits, [&, rule_index = r](const auto& other) {
          return compiled_->over[other.rule].count(rule_index) > 0;
        }))
      continue;
    const Rule& rule = compiled_->rules[r];
    Match m;
    m.rule = &rule;
    const re2::RE2& expression = compiled_->patterns[p].expression();
    const auto& names = expression.CapturingGroupNames();
    if (!names.empty()) {
      std::vector<re2::StringPiece> groups(
          static_cast<std::size_t>(expression.NumberOfCapturingGroups()) + 1);
      expression.Match(re2::StringPiece(message.data(), message.size()), at, message.size(),
                       re2::RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()));
      for (const auto& [index, name] : names)
        if (const auto& group = groups[static_cast<std::size_t>(index)]; !group.empty())
          m.captures.emplace(name, std::string(group.data(), group.size()));
    }
    if (const auto it = m.captures.find("code");
        it != m.captures.end() && it->second.size() < 10 &&
        it->second.find_first_not_of("-0123456789") == std::string::npos)
      m.code = std::strtoll(it->second.c_str(), nullptr, 10);
    const Meaning meaning = meaning_of(rule, m.code, std::string(message), {});
    m.severity = meaning.severity;
    m.role = meaning.role;
    m.scope = meaning.scope;
    if (const auto it = m.captures.find("word"); it != m.captures.end()) {
      if (const auto effect = rule.words.find(lower(it->second)); effect != rule.words.end()) {
        if (effect->second.severity) m.severity = *effect->second.severity;
        if (effect->second.at_most) m.severity = std::min(m.severity, *effect->second.at_most);
      }
    }
    m.event_class = fill_class(rule.event_class, m.captures);
    if (!best || m.severity > best->severity ||
        (m.severity == best->severity && rule.id < best->rule->id))
      best = std::move(m);
  }
  return best;
}

const std::vector<Rule>& RulePack::rules() const { return compiled_->rules; }
const std::vector<std::string>& RulePack::search_words() const {
  return compiled_->words().index.event_words;
}

const Rule* RulePack::find(std::string_view id) const {
  for (const Rule& rule : compiled_->rules)
    if (rule.id == id) return &rule;
  return nullptr;
}

const Rule* RulePack::of_class(std::string_view event_class) const {
  for (const Rule& rule : compiled_->rules)
    if (rule.event_class == event_class) return &rule;
  for (const Rule& rule : compiled_->rules) {
    const std::size_t brace = rule.event_class.find('{');
    if (brace != std::string::npos &&
        event_class.substr(0, brace) == std::string_view(rule.event_class).substr(0, brace))
      return &rule;
  }
  return nullptr;
}

std::string RulePack::digest() const {
  if (!compiled_->digest.empty()) return compiled_->digest;
  std::uint64_t h =
      0xcbf29ce484222325ULL;  // FNV-1a: identity of a small text, no security asked of it
  const auto mix = [&](std::string_view text) {
    for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 0x100000001b3ULL;
    h = (h ^ 0xff) * 0x100000001b3ULL;
  };
  // The grammar of error lines names what no rule knows, and negation silences rules: part of what
  // a file is read as.
  for (const char* table : {"tables/enumerations.json", "tables/negation.json",
                            "tables/reasons.json", "tables/speakers.json"})
    mix(embedded_rule(table));
  const auto mix_meaning = [&](const Meaning& meaning) {
    for (const std::string_view text :
         {std::string_view(meaning.title), std::string_view(meaning.component),
          name(meaning.symptom), std::string_view(meaning.action), std::string_view(meaning.why),
          std::string_view(meaning.advice)})
      mix(text);
    mix(name(meaning.severity));
    mix(name(meaning.role));
    mix(name(meaning.scope));
    if (meaning.tolerance)
      mix(fmt::format("{} in {}", meaning.tolerance->count, meaning.tolerance->window_s));
    mix(name(meaning.cause));
    for (const std::string_view trait : names(meaning.traits)) mix(trait);
    for (const auto& one : meaning.leads_to) mix(one);
    for (const auto& one : meaning.cleared_by) mix(one);
    for (const auto& old : meaning.history) {
      for (const std::string* text : {&old.from, &old.before, &old.title, &old.text, &old.action})
        mix(*text);
      if (old.severity) mix(name(*old.severity));
      if (old.role) mix(name(*old.role));
    }
  };
  for (const Rule& rule : compiled_->rules) {
    mix(rule.id);
    mix(rule.event_class);
    for (const auto& p : rule.match) mix(p);
    for (const auto& p : rule.unless) mix(p);
    for (const auto& p : rule.over) mix(p);
    if (rule.fallback) mix("fallback");
    for (const auto& p : rule.where) mix(p);
    mix_meaning(rule.meaning);
    for (const auto& [code, meaning] : rule.codes) {
      mix(std::to_string(code));
      mix_meaning(meaning);
    }
    for (const auto& [word, effect] : rule.words) {
      mix(word);
      if (effect.severity) mix(name(*effect.severity));
      if (effect.at_most) {
        mix("at most");
        mix(name(*effect.at_most));
      }
    }
  }
  return fmt::format("{:016x}", h);
}

}  // namespace culprit::rules
