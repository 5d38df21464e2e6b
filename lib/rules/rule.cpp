#include "rules/rule.hpp"

#include <cstdlib>

#include <re2/re2.h>

namespace culprit::rules {

const Meaning& meaning_of(const Rule& rule, std::optional<std::int64_t> code) {
  if (code)
    if (const auto it = rule.codes.find(*code); it != rule.codes.end()) return it->second;
  return rule.meaning;
}

int compare_versions(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const long x = i < a.size() ? std::strtol(a.c_str() + i, nullptr, 10) : 0;
    const long y = j < b.size() ? std::strtol(b.c_str() + j, nullptr, 10) : 0;
    if (x != y) return x < y ? -1 : 1;
    i = a.find('.', i);
    j = b.find('.', j);
    i = i == std::string::npos ? a.size() : i + 1;
    j = j == std::string::npos ? b.size() : j + 1;
  }
  return 0;
}

Meaning meaning_of(const Rule& rule, std::optional<std::int64_t> code, const std::string& message,
                   const std::string& driver) {
  Meaning meaning = meaning_of(rule, code);
  const OldMeaning* chosen = nullptr;
  for (const OldMeaning& old : meaning.history) {
    // The text decides before the number does: it is printed by the driver that was running.
    if (!old.text.empty() && re2::RE2::PartialMatch(message, old.text)) {
      chosen = &old;
      break;
    }
    if (!driver.empty() && old.text.empty() && compare_versions(driver, old.from) >= 0 &&
        (old.before.empty() || compare_versions(driver, old.before) < 0))
      chosen = &old;
  }
  if (chosen != nullptr) {
    meaning.title = chosen->title;
    if (chosen->severity) meaning.severity = *chosen->severity;
    if (chosen->role) meaning.role = *chosen->role;
    if (!chosen->action.empty()) meaning.action = chosen->action;
  }
  return meaning;
}

}  // namespace culprit::rules
