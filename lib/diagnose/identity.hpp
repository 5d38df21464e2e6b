// Whose incident a database holds.
#pragma once

#include "diagnose/resolve.hpp"
#include "report/identity.hpp"

namespace culprit::diagnose {

// The job is the manifest's; without one, the only job that the scheduler's records or the names of
// its output files speak of.
report::Identity identity_of(const store::Database& db, const analyze::Facts& facts);
// The same without the facts, of a database in which names have been resolved.
report::Identity identity_of(const store::Database& db);

}  // namespace culprit::diagnose
