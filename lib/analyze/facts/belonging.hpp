// Whose story each file of the bundle tells. A folder holds logs of evaluations, downloads and
// other jobs as well: what they print explains nothing of this job, and what cannot be placed may
// support an answer and never decides one.
#pragma once

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Sets MemberRow::belonging of all members, and drops from the facts how processes of other stories
// ended and what their collectives did. After resolve_identity(), before resolve_clocks(). Where no
// file is known to be the job's own, every file that is not a machine's is taken for it.
void place_members(Facts& facts);

}  // namespace culprit::analyze
