// Metrics as the curves of a trace.
#pragma once

#include <set>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "diagnose/trace.hpp"
#include "diagnose/trace_tracks.hpp"
#include "model/trace.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// Those of `hosts` first; none without points. left_out: how many there were besides.
std::vector<Trace::Counter> curves_of(const store::Database& db, const analyze::Facts& facts,
                                      const std::set<Host>& hosts, TraceTracks& tracks,
                                      const TraceLimits& limits, std::size_t& left_out);

}  // namespace culprit::diagnose
