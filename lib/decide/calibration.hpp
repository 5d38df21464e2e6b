// What a verdict prints as "% sure": how often verdicts of its step were right, where that was
// measured.
//
// The weights of model/confidence.hpp order the evidence; they are no frequencies. Steps whose
// verdicts were counted over simulated incidents print that frequency instead (Jeffreys' estimate:
// half a case is added to right and to wrong). bench/reliability.py prints the reliability diagram
// of the result, on incidents that were not counted here.
#pragma once

#include "model/finding.hpp"

namespace culprit::decide {

// step: the one that was taken. Targets that are less sure than any right one that was counted keep
// their weight.
void calibrate(Verdict& verdict, StepId step);

}  // namespace culprit::decide
