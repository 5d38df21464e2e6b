// Facts of a database, with names and times made from them: the second pass.
#pragma once

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "model/result.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// What every analysis looks at, and none changes.
struct Resolved {
  analyze::Facts facts;
  analyze::Topology topology;
};

// keep: the names and times are stored beside the facts. Errors: a damaged database.
Result<Resolved> resolve(store::Database& db, bool keep);

}  // namespace culprit::diagnose
