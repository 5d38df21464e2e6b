// Addresses that two machines have, by what each lists as its own: whoever sends to such an address
// reaches the one or the other, and connections break at the machine that has it by right.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// A finding of analysis "drift" for each, "shared_address/IP", its subject the machine that has no
// part in the job while the other has, else the address as a setting. Addresses of bridges and
// loops, which every machine has, are none.
std::vector<Finding> shared_addresses(const Facts& facts);

}  // namespace culprit::analyze
