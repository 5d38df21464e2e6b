// The rule pack, compiled: what a message means.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"

namespace culprit::rules {

// What the pack says of one message. The rule lives as long as the pack.
struct Match {
  const Rule* rule = nullptr;
  std::string event_class;  // with the captures filled in
  Severity severity = Severity::info;
  Role role = Role::advice;
  Scope scope = Scope::host_local;
  std::optional<std::int64_t> code;
  std::map<std::string, std::string> captures;  // by name; empty captures are left out
};

class RulePack {
 public:
  // Fails with file, rule and reason when a pattern that can raise an event has no fixed words to
  // search for.
  static Result<RulePack> compile(std::vector<Rule> rules);

  // Our own rules alone: read once, and never freed, which would take as long as a third of that.
  static Result<RulePack> built_in();

  // text_kind: what is known of the text ("kernel", "nccl" ...), "" = nothing. Safe to call from
  // several threads. The winner among the rules that match: `over` edges first, then severity, then
  // id.
  std::optional<Match> match(std::string_view message, std::string_view text_kind = {}) const;

  // Whether the line becomes an event. Advice does not, except where it takes an alert back
  // (`cleared_by`).
  bool is_event(const Match& match) const;

  // All rules whose patterns are found, before precedence; for `rules check`.
  std::vector<const Rule*> all_matches(std::string_view message,
                                       std::string_view text_kind = {}) const;

  const std::vector<Rule>& rules() const;
  const Rule* find(std::string_view id) const;
  // The first rule of a class, codes filled in ("gpu_xid/79" finds gpu-xid).
  const Rule* of_class(std::string_view event_class) const;

  // Folded words of which at least one stands in every line that can become an event.
  const std::vector<std::string>& search_words() const;
  // Digest of everything in the pack: two packs with the same answer have the same.
  std::string digest() const;

 private:
  struct Compiled;
  explicit RulePack(std::shared_ptr<const Compiled> compiled);
  static Result<RulePack> read_built_in();
  std::shared_ptr<const Compiled> compiled_;
};

// Ordinary lines of training logs (rules/tables/ordinary-lines.txt): what a search word should not
// occur in.
std::string_view ordinary_lines();

// gpu_xid/79 -> the class as {code} form cannot be undone; this puts captures into a class name.
std::string fill_class(const std::string& pattern,
                       const std::map<std::string, std::string>& captures);

}  // namespace culprit::rules
