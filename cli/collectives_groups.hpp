// `collectives --groups`: which process group takes longer than others that move as much
// (GREYHOUND section 4.3), of a table or of an incident.
#pragma once

#include "command.hpp"
#include "incident.hpp"

namespace culprit::cli {

// A row is one run of a collective (of one rank): group, time; also operation, bytes, rank,
// sequence, past.
Result<Exit> compare_group_table(const Arguments& arguments);
Result<Exit> compare_groups_of(const Arguments& arguments, const Incident& incident);

}  // namespace culprit::cli
