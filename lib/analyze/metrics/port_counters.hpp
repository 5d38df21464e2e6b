// What ports of the network counted between two looks at them: the one whose wire takes errors
// where the others' take none, or the rail on which all machines repeat what they send (Aegis
// section 5.2 compares like counters of like ports). A counter tells nothing by its height: it
// counts from the start of a driver, and 65535 may be years old.
#pragma once

#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

struct PortCounterParams {
  double least = 100;        // errors between two looks
  double times_usual = 20;   // of what the port in the middle counted
  std::size_t fewest = 4;    // ports that were looked at twice
  std::size_t most = 2;      // of several wires that take errors none is the odd one; a wire has
                             // two ends
  std::size_t machines = 3;  // that have a port on the rail
  double of_rail = 0.6;      // of its ports count, and ...
  double of_others = 0.2;    // ... of all other rails' ports no more than this share
};

// Findings of ports (subject nic, of a machine), of ports of switches and of rails (subject
// switch); trait measured_slow. load: all samples of a series.
std::vector<Finding> port_counters(const Facts& facts, const rules::Catalogue& catalogue,
                                   const std::function<SeriesPoints(SeriesId)>& load,
                                   const PortCounterParams& params = {});

}  // namespace culprit::analyze
