// Several incidents in one call: their facts would be taken for one story.
#pragma once

#include "model/text.hpp"
#include "resolve.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// "2 jobs (llama, moe)", or "2 bundles with a rank 0 each, on different machines (a, b)"; "" when
// all of it may be one job. Attempts of a job are one job, and so are bundles of one host each.
Text several_incidents(const store::Database& db, const Resolved& incident);

}  // namespace culprit::diagnose
