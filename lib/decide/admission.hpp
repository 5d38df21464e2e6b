// The one table of reasons why a candidate cannot have caused the failure: each reason with the
// kinds of cause that it concerns. Inside of this room only.
#pragma once

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "decide/causes.hpp"
#include "decide/job_machines.hpp"
#include "decide/moments.hpp"
#include "decide/surroundings.hpp"
#include "decide/witnesses.hpp"

namespace culprit::decide {

// What a candidate is held against: the life of the job, its machines, and who bears it out.
struct Setting {
  Setting(const Case& incident, const DecideParams& params);

  // The moment that causes must not come after: of the first trouble, or of the first consequence.
  std::optional<Nanoseconds> first_sign() const {
    return first.at ? first.at : moments.first_consequence;
  }

  const Case& incident;
  const DecideParams& params;
  const Moments moments;
  const BrokenConnections broken;
  const Witnesses witnesses;
  const JobMachines machines;
  const Surroundings surroundings;
  const bool all_left_with_0;
  const bool slow_to_the_end;       // its last steps are slow
  const Finding* memory = nullptr;  // GPU memory that ran out on several hosts, the first time
  std::set<Host> explained;  // machines whose setting explains what else was reported of them
  Moments::First first;      // of the candidates that are no consequences; set between both
};

// What a row asks of one candidate; nothing: it does not fit.
using Fits = std::optional<Text> (*)(const Setting& s, const Finding& f, CauseKind kind);

struct Objection {
  std::string_view says;  // that this candidate ...
  Exclusion reason;
  KindSet kinds;
  Fits fits;
};

// What is asked of each candidate by itself, and then of those that are no consequence of others.
std::span<const Objection> objections_to_one();
std::span<const Objection> objections_to_order();

// All reasons against it, in the order of the table, or the first; none: it is admitted.
std::vector<Against> against(const Setting& s, std::span<const Objection> table, const Finding& f,
                             CauseKind kind, bool all);

}  // namespace culprit::decide
