// What is known of a word, a number or a line: out of the rules, the glossary, the enumerations and
// the catalogues of metrics and settings. A new rule or table entry is explained without a change
// here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/result.hpp"
#include "rules/pack.hpp"

namespace culprit::rules {

// A word that no rule defines: a signal, an exit code, a kind of verdict. Data:
// rules/tables/glossary.json.
struct GlossaryEntry {
  std::string kind;  // signal exit_code verdict_kind cause action role
  std::optional<std::int64_t> number;
  std::vector<std::string> names;
  std::string title, means, is_not, advice, source;
  std::vector<std::string> see;  // classes of rules that read it in a log
};

class Glossary {
 public:
  // Errors name file, key and reason.
  static Result<Glossary> parse(std::string_view text, const std::string& file);
  static const Glossary& built_in();
  const std::vector<GlossaryEntry>& entries() const { return entries_; }
  const GlossaryEntry* numbered(std::string_view kind, std::int64_t number) const;
  // All entries of that name, without case; of one kind when it is not "".
  std::vector<const GlossaryEntry*> named(std::string_view name, std::string_view kind = {}) const;

 private:
  std::vector<GlossaryEntry> entries_;
};

struct LookAlike {
  std::string id, title, line;  // line: a sample that the other rule takes
};

struct Explanation {
  std::string kind;  // rule, grammar, code, metric, setting, or a kind of the glossary
  std::string id;    // of a rule its class, the number filled in
  std::string title, means, is_not, advice, source;
  std::vector<LookAlike> look_alikes;
  std::vector<std::pair<std::string, std::string>> properties;
};

struct Related {
  std::string kind, id, title;
};

struct Answer {
  bool exact = true;  // false: the nearest that is known
  std::vector<Explanation> found;
  std::vector<Related> also;  // best first
};

// `query`: "xid 79", "exit -9", "SIGBUS", "ENOMEM", a rule's id or class, "nccl remote error", the
// name of a metric or setting.
Answer explain(const RulePack& pack, std::string_view query);
// A message without its prefixes, as line::peel leaves it, and the line as it was printed, by which
// the grammar of error lines knows what no rule does.
Answer explain_line(const RulePack& pack, std::string_view message, std::string_view raw = {});

}  // namespace culprit::rules
