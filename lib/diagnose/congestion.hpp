// What an incident shows as slow on the network, and whether that is the link between two machines,
// as a plan of topology takes it: work requests that take longer (Aegis section 5.2), and process
// groups that move the same bytes more slowly than their like (GREYHOUND section 4.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/text.hpp"
#include "resolve.hpp"

namespace culprit::diagnose {

struct SlowTransfers {
  std::string who;          // a rank, whose requests they are, or a process group
  std::vector<Host> hosts;  // at their ends, sorted; empty unless all of these are known
  Text what;                // what is slow about them
};

struct Congestion {
  std::vector<SlowTransfers> seen;  // requests, slowest first, then groups
  // The first of these that has two machines at its ends. Where several pairs of machines are slow
  // and one machine is in all of them, it is that one, whomever it talks to, and no link.
  std::optional<SlowTransfers> link;
  std::optional<Host> machine;
};

Congestion congestion_of(const store::Database& db, const Resolved& incident);

}  // namespace culprit::diagnose
