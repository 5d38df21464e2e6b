// Medians of a few values.
#pragma once

#include <vector>

namespace culprit {

double median_of(std::vector<double> values);      // NaN when empty
double low_median_of(std::vector<double> values);  // the lower of two middle ones; NaN when empty

}  // namespace culprit
