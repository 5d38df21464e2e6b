// What was tried before decides what to try next: the same answer is never given twice to the same
// failure.
//
// Sources: ByteRobust §4.2, figure 5 (evict; stop-time checks; reattempt when all pass; rollback;
// dual-phase replay) and §4.3 (NaN: bit-wise alignment among the checks); Aegis app. B (a machine
// that comes back and fails again is repaired); the stop at the end and the reset by progress are
// retry ledgers. Ours: when the same fault comes back on the next machine after two evictions, it
// is not the machines; what could not be told, or was to be relieved, has a ledger too.
#pragma once

#include "decide/case.hpp"

namespace culprit::decide {

// What the verdict says the job failed of; the class is that of the finding the first target rests
// on.
FailureRoot root_of(const Verdict& verdict, const std::vector<Finding>& findings);

// The verdict as an answer, for the next incident's history; empty when it is none.
std::vector<Tried> answer_of(Action action, const std::vector<Subject>& targets);

// Moves the verdict on to the next action by what the history says was tried without progress, and
// adds "history" steps. Does nothing without a history.
void consider_history(const Case& incident, Verdict& verdict);

}  // namespace culprit::decide
