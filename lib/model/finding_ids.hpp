// Ids of findings are keys: of rows, and of what a verdict rests on.
#pragma once

#include <vector>

#include "model/finding.hpp"

namespace culprit {

// Two findings of one id: the second becomes "id+2", the third "id+3", in the order in which they
// stand.
void make_ids_unique(std::vector<Finding>& findings);

}  // namespace culprit
