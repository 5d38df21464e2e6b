// What could have happened: every kind of cause is asked of every candidate, and each answer that
// stands is a hypothesis with a verdict of its own. Which one is believed is decided by comparison
// (compare.hpp), never by the order of asking.
#pragma once

#include <vector>

#include "decide/walk.hpp"
#include "rules/causes.hpp"

namespace culprit::decide {

struct Hypothesis {
  StepId kind{};
  const Cause* cause = nullptr;  // that it was made of; nullptr: of analyses or of the job's end
  Verdict verdict;               // what to do if it is true
  Text why;                      // why it stands
  std::string shared_class;      // of the fault that many machines show
  int score = 0;                 // decibans against `not_enough_evidence`
  std::vector<Weight> ledger;    // what the score is made of
};

struct Proposals {
  std::vector<Hypothesis> standing;
  std::vector<Step> others;       // kinds of which nothing stands, with the reason
  std::vector<NextStep> remarks;  // what these leave to do whatever else is true
};

// `first` must outlive what is returned.
Proposals propose(const Case& incident, const DecideParams& params, const FirstFailure& first,
                  const rules::CauseTable& table);

}  // namespace culprit::decide
