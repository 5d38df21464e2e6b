// What the history of a job tells of one failure: which of its runs failed of the same, what was
// done after each, and from where on that counts. Inside of this room only.
#pragma once

#include <vector>

#include "decide/case.hpp"

namespace culprit::decide {

// The machine of "node-07/gpu 0000:3b:00"; "" of what is no part of a machine.
Host machine_of(const Subject& subject);
bool has(const std::vector<Host>& hosts, const Host& host);

enum class Same { yes, no, unknown };
// Of a failure with a culprit: the same culprit. Of one without: what shows is the same, on
// whichever rank.
Same same_root(const PastFailure& failure, const FailureRoot& now, bool culprit);
// The same fault, wherever: its class, or when none is told what it looks like in both verdicts.
bool alike(const FailureRoot& then, const FailureRoot& now);

// The first failure whose answers still count: an attempt that gets further than all before it
// starts the ledger anew.
struct Ledger {
  std::size_t from = 0;
  Text why;                     // of the last reset
  bool progress_known = false;  // how far the job got is known of this run and of an earlier one
};
Ledger ledger_of(const AttemptHistory& history);

// For people: "node-07 evicted"; "attempt 0, to iteration 460; then node-07 evicted"; "attempt 0
// and attempt 1".
Text described(const Tried& tried);
Text described(const PastFailure& failure);
Text attempts_of(const std::vector<const PastFailure*>& failures);

}  // namespace culprit::decide
