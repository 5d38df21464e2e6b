// What a rule is (schemas/rule-v1.json is its manual): a family of log lines, what they mean, and
// how to tell.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/result.hpp"
#include "model/rows.hpp"
#include "model/terms.hpp"
#include "model/trait.hpp"

namespace culprit::rules {

struct Tolerance {
  int count = 1;
  int window_s = 0;
};

// What a number meant in an older driver branch.
struct OldMeaning {
  std::string from, before, title, text, action;
  std::optional<Severity> severity;
  std::optional<Role> role;
};

struct Meaning {
  std::string title;
  Severity severity = Severity::info;
  Role role = Role::advice;
  Scope scope = Scope::host_local;
  CauseKind cause = CauseKind::none;
  std::string component;
  Symptom symptom = Symptom::none;
  std::optional<Tolerance> tolerance;
  Traits traits;
  std::vector<std::string> leads_to;
  std::vector<std::string> cleared_by;  // classes of lines that take it back
  std::string action;
  std::string why;
  std::string advice;
  std::vector<OldMeaning> history;
};

struct WordEffect {
  std::optional<Severity> severity;
  std::optional<Severity> at_most;
};

struct Rule {
  std::string id;
  std::string event_class;  // may hold {captures}
  std::string family;
  std::string file;  // where it was read from
  std::string source;
  Origin origin = Origin::any;
  Meaning meaning;
  std::vector<std::string> where;
  std::vector<std::string> match;
  std::vector<std::string> unless;
  std::vector<std::string> over;
  bool fallback = false;  // gives way to every other rule
  std::map<std::int64_t, Meaning> codes;
  std::map<std::string, WordEffect> words;
  std::vector<std::string> fires;
  std::vector<std::string> silent;
};

// The meaning of a code under a driver version ("" = not known: the newest). Versions compare
// number by number.
const Meaning& meaning_of(const Rule& rule, std::optional<std::int64_t> code);
Meaning meaning_of(const Rule& rule, std::optional<std::int64_t> code, const std::string& message,
                   const std::string& driver);
int compare_versions(const std::string& a, const std::string& b);

// The rules of one file. Every complaint names the file and the key.
// trusted: our own files, which the tests hold against the schema; a start of the program need not
// repeat that.
Result<std::vector<Rule>> read_rule_file(std::string_view text, const std::string& file,
                                         bool trusted = false);

// Our own files, read as JSON; load_rules() takes what the build has made of them.
Result<std::vector<Rule>> read_embedded_rules();

// The rules that are compiled in, followed by those of the user's folders; a user's rule replaces
// ours of the same id. Two rules of one id within ours, or within one user's, are an error.
Result<std::vector<Rule>> load_rules(const std::vector<std::string>& user_folders);

// What the built-in rules say of lines of this class, numbers filled in: for whoever has rows and
// no pack, and for a user's rule that prints a class of ours and names no traits.
Traits traits_of_class(std::string_view event_class);

}  // namespace culprit::rules
