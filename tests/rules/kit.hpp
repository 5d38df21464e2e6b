// What the tests of this room share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rules/pack.hpp"

namespace culprit::rules::test {

// The embedded pack, compiled once: that takes a while.
inline const RulePack& embedded() {
  static const RulePack pack = [] {
    auto rules = load_rules({});
    if (!rules)
      ADD_FAILURE() << rules.error().what << " --> " << rules.error().where.value_or(Where{}).file;
    auto compiled = RulePack::compile(std::move(rules).value());
    if (!compiled) ADD_FAILURE() << compiled.error().what;
    return std::move(compiled).value();
  }();
  return pack;
}

// Seeded, so that a failure comes again.
struct Random {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  std::size_t below(std::size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % n);
  }
};

// A rule file of the given rules, each the inside of an object: its own keys, the compulsory ones
// are added.
inline std::string rule_file(const std::vector<std::string>& rules) {
  std::string text = R"({"family": "mine", "about": "Test rules.", "rules": [)";
  for (std::size_t i = 0; i < rules.size(); ++i) text += (i ? ", {" : "{") + rules[i] + "}";
  return text + "]}";
}

inline std::string rule(const std::string& id, const std::string& match,
                        const std::string& more = "", const std::string& severity = "warning") {
  return R"("id": ")" + id + R"(", "title": "T", "why": "W", "source": "S", "match": [")" + match +
         R"("], "severity": ")" + severity +
         R"(", "cause": "machine", "samples": {"fires": ["x"], "silent": ["y"]})" +
         (more.find("\"role\"") == std::string::npos ? R"(, "role": "root")" : "") +
         (more.find("\"class\"") == std::string::npos ? std::string(R"(, "class": "some_class")")
                                                      : "") +
         (more.empty() ? "" : ", " + more);
}

inline RulePack pack_of(const std::vector<std::string>& rules) {
  auto read = read_rule_file(rule_file(rules), "mine.json");
  if (!read) ADD_FAILURE() << read.error().what;
  auto pack = RulePack::compile(std::move(read).value());
  if (!pack) ADD_FAILURE() << pack.error().what;
  return std::move(pack).value();
}

}  // namespace culprit::rules::test
