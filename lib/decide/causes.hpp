// From findings to possible causes: what could have ended the job, of which kind, when; and which
// of them came first.
#pragma once

#include <initializer_list>
#include <vector>

#include "decide/candidate.hpp"

namespace culprit::decide {

struct Cause {
  CauseKind kind = CauseKind::machine;
  std::vector<const Finding*> findings;  // the first one is the earliest
  std::vector<Host> hosts;               // sorted
  std::optional<Nanoseconds> start;
  Nanoseconds uncertainty = 0;
  double confidence = 0;
  bool state = false;  // a reading without a moment
};

class KindSet {
 public:
  constexpr KindSet(std::initializer_list<CauseKind> kinds) {
    for (const CauseKind kind : kinds) bits_ |= 1U << static_cast<unsigned>(kind);
  }
  static constexpr KindSet all() {
    KindSet out{};
    out.bits_ = ~0U;
    return out;
  }
  constexpr bool is_all() const { return bits_ == ~0U; }
  constexpr bool has(CauseKind kind) const {
    return (bits_ & 1U << static_cast<unsigned>(kind)) != 0;
  }

 private:
  unsigned bits_ = 0;
};

// Why a candidate cannot have come first.
enum class Exclusion {
  ran_on,
  too_few,
  not_of_job,
  unplaced,
  led_to,
  after_failure,
  over_before,
  surroundings
};

struct Against {
  Exclusion reason{};
  Text why;
};

struct Excluded {
  const Finding* finding = nullptr;
  Exclusion reason{};
  Text why;
  std::vector<Against> also = {};  // further reasons
};

// Decibans against a candidate that was ruled out for it.
int cost_of(Exclusion reason);

// The table of reasons, for people: "a candidate that <says> is ruled out".
struct ReasonAgainst {
  std::string_view says;
  int decibans = 0;
  KindSet kinds;
};
std::vector<ReasonAgainst> reasons_against();

struct FirstFailure {
  std::vector<Cause> causes;  // that can have come first, best first
  std::vector<Excluded> excluded;
  std::vector<const Finding*>
      transients;  // taken back, below their tolerance, and something broke while they lasted
  std::optional<Nanoseconds> first_consequence;
  std::optional<Nanoseconds> noticed;  // the same, or about when, where no consequence has a time
};

FirstFailure first_failure(const Case& incident, const DecideParams& params);

}  // namespace culprit::decide
