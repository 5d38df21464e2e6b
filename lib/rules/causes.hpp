// The kinds of cause that are compared, how likely each is, what it can do, and how often it shows
// a sign: rules/tables/causes.json, described by schemas/causes-v1.json. The comparison is a sum of
// logarithms of ratios (naive Bayes over exclusive causes, as in Heckerman's Pathfinder), in
// decibans.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "model/rows.hpp"
#include "model/terms.hpp"

namespace culprit::rules {

// clang-format off
#define CULPRIT_SIGNS(SIGN) \
  SIGN(dated_before) SIGN(undated) SIGN(second_source) SIGN(all_ranks) SIGN(one_rank) \
  SIGN(at_the_end) SIGN(waited_for) SIGN(first_to_break) SIGN(settled_by_record) SIGN(weak) \
  SIGN(nameless) SIGN(feeds_the_wait)
#define CULPRIT_EFFECTS(EFFECT) \
  EFFECT(ended) EFFECT(broke) EFFECT(stood) EFFECT(slow) EFFECT(wrong_numbers) EFFECT(word) \
  EFFECT(finished)
// clang-format on
#define CULPRIT_TERM(word) word,
enum class Sign : std::uint8_t { CULPRIT_SIGNS(CULPRIT_TERM) count };
enum class Effect : std::uint8_t { CULPRIT_EFFECTS(CULPRIT_TERM) count };
#undef CULPRIT_TERM
inline constexpr std::size_t kSigns = static_cast<std::size_t>(Sign::count);
inline constexpr std::size_t kEffects = static_cast<std::size_t>(Effect::count);
using Effects = std::bitset<kEffects>;

std::string_view name(Sign sign);
std::string_view name(Effect effect);

struct CauseRow {
  StepId kind{};
  std::string name;
  int prior = 0;  // decibans against an unknown cause
  Effects explains;
  std::vector<CauseKind> of;  // candidates that it may be made of; none: of analyses
  // It stands for candidates of this cause that were ruled out, with what would have been done.
  std::optional<CauseKind> unproven;
  Action unproven_action = Action::investigate;
  std::string tells;                      // what would show that it is this one; {} is its machine
  std::array<std::string, kSigns> words;  // as the table has them; "": weighs nothing
  std::array<int, kSigns> weights{};      // decibans, within -20 to 20
};

// How often verdicts of one word were right, on incidents made by others, at first sight.
struct SurenessRow {
  std::string word;
  int right = 0, of = 0;
};

class CauseTable {
 public:
  // Errors name file, key and reason. trusted: ours, which the build has held against the schema.
  static Result<CauseTable> parse(std::string_view text, const std::string& file,
                                  bool trusted = false);
  static const CauseTable& built_in();

  const std::vector<CauseRow>& rows() const { return rows_; }
  // A kind that the table leaves out has the prior of an unknown cause and explains nothing.
  const CauseRow& row(StepId kind) const;
  // The row that stands for candidates of this cause that were ruled out.
  const CauseRow& unproven(CauseKind cause) const;
  // nullptr: below thirty verdicts no figure says anything.
  const SurenessRow* counted(std::string_view word) const;

 private:
  template <class Test>
  const CauseRow& first(Test test) const;

  std::vector<CauseRow> rows_;
  std::vector<SurenessRow> counted_;
};

}  // namespace culprit::rules
