#include "rules/check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "line/line.hpp"
#include "model/contains.hpp"
#include "rules/literals.hpp"

namespace culprit::rules {

namespace {

bool stands_over(const Rule& a, const Rule& b) { return contains(a.over, b.id); }

bool has_search_word(const RulePack& pack, const std::string& text) {
  const std::string folded = fold(text);
  return std::ranges::any_of(pack.search_words(),
                             [&](const std::string& word) { return contains(folded, word); });
}

}  // namespace

std::vector<SampleFailure> check_samples(const RulePack& pack,
                                         const std::vector<std::string>& files) {
  std::vector<SampleFailure> failures;
  for (const Rule& rule : pack.rules()) {
    if (!files.empty() && !contains(files, rule.file)) continue;
    for (std::size_t i = 0; i < rule.fires.size(); ++i) {
      const std::string key = fmt::format("samples.fires[{}]", i);
      const line::Line line = line::peel(rule.fires[i]);
      const auto match = pack.match(line.message);
      if (!match) {
        failures.push_back({rule.id, rule.file, key, rule.fires[i], "matches no rule"});
        continue;
      }
      if (match->rule != &rule) {
        failures.push_back(
            {rule.id, rule.file, key, rule.fires[i],
             fmt::format("is taken by '{}' ({})", match->rule->id, match->event_class)});
        continue;
      }
      for (const Rule* other : pack.all_matches(line.message))
        if (other != &rule && other->fallback == rule.fallback &&
            other->meaning.severity == rule.meaning.severity &&
            other->event_class != rule.event_class && !stands_over(rule, *other))
          failures.push_back(
              {rule.id, rule.file, key, rule.fires[i],
               fmt::format("also matches '{}' of the same severity: one of them needs an `over`",
                           other->id)});
      if (pack.is_event(*match) && !has_search_word(pack, line.message))
        failures.push_back({rule.id, rule.file, key, rule.fires[i],
                            "holds none of the words that a scan looks for"});
    }
    for (std::size_t i = 0; i < rule.silent.size(); ++i) {
      const auto match = pack.match(line::peel(rule.silent[i]).message);
      if (match && match->rule == &rule)
        failures.push_back({rule.id, rule.file, fmt::format("samples.silent[{}]", i),
                            rule.silent[i], "must stay silent, and fires"});
    }
  }
  return failures;
}

}  // namespace culprit::rules
