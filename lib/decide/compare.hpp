// The comparison of hypotheses: each gets a ledger of reasons in decibans, and the best sum is
// believed. Exclusive causes and one fault a story, so the sum is exact Bayes as far as groups of
// signs are independent (Heckerman, Pathfinder; Heckerman et al., decision-theoretic
// troubleshooting).
#pragma once

#include <vector>

#include "decide/hypothesis.hpp"
#include "rules/causes.hpp"

namespace culprit::decide {

// What has to be explained.
rules::Effects effects_of(const Walk& w);

// Scores all, and puts the best first. Ties keep the order of kinds.
void compare(const Case& incident, const FirstFailure& first, const rules::Effects& seen,
             const rules::CauseTable& table, std::vector<Hypothesis>& all);

// The compared hypotheses for people and programs: those that stand, then what was ruled out by its
// moment or place.
std::vector<Candidate> differential_of(const Walk& w, const std::vector<Hypothesis>& all,
                                       const rules::CauseTable& table);

// By how far the first is ahead of the next that asks for something else.
Sureness sureness_of(const std::vector<Candidate>& differential);

}  // namespace culprit::decide
