// Who did what in the slow stretches of a job (Aegis section 5.2, GREYHOUND section 4.2).
#pragma once

#include <vector>

#include "pace.hpp"

namespace culprit::diagnose {

// Who did what in the slow intervals, or in the whole run where it has none: fills the parts, the
// iterations and the series, and adds the whole run where it is slow by its parts alone. logs:
// those that report the steps.
void own_work_of(const store::Database& db, const analyze::Facts& facts,
                 const std::vector<MemberId>& logs, Pace& out);

// Steps without times, and a table of the machines' parts by the clock: where each has one slow
// stretch, which lasts to its end, that is the same.
void own_work_of_moments(const store::Database& db, const analyze::Facts& facts,
                         const analyze::FailSlowParams& params, Pace& out);

// Steps without times whose numbers no table of the ranks' parts has, as lines have that are only
// counted: where the table says by itself that the job is slow, its steps are the job's.
void own_work_of_other_steps(const store::Database& db, const analyze::Facts& facts,
                             const analyze::FailSlowParams& params, Pace& out);

}  // namespace culprit::diagnose
