// The pace of a job as a picture.
#pragma once

#include "model/picture.hpp"
#include "pace.hpp"

namespace culprit::diagnose {

// The steps for a picture, thinned to some hundred points; empty when too few steps are known to
// draw.
StepChart chart_of(const Pace& pace);

}  // namespace culprit::diagnose
