// From findings to possible causes: what could have ended the job, of which kind, when; and which
// of them came first.
#pragma once

#include <string>
#include <vector>

#include "decide/decide.hpp"

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

// What a finding would be as a cause; nullopt for consequences, remarks and everything ruled out.
std::optional<CauseKind> kind_of(const Finding& finding);

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

struct Excluded {
  const Finding* finding = nullptr;
  Exclusion reason{};
  Text why;
};

struct FirstFailure {
  std::vector<Cause> causes;  // that can have come first, best first
  std::vector<Excluded> excluded;
  std::vector<const Finding*>
      transients;  // taken back, below their tolerance, and something broke while they lasted
  std::optional<Nanoseconds> first_consequence;
  std::optional<Nanoseconds> noticed;  // the same, or about when, where no consequence has a time
};

FirstFailure first_failure(const Case& incident, const DecideParams& params);
// The job completed steps after it.
bool went_on(const Case& incident, const DecideParams& params, const Finding& f);

// Its rule says that this follows, or a family of classes that this is of.
bool leads_to(const Finding& cause, const std::string& event_class);

}  // namespace culprit::decide
