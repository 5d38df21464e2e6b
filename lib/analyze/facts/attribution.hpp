// Whose stacks, processes and counters these are. What a dump prints is little: a process number,
// at times a rank. The file it stands in, what /proc and the logs say of the process, and in the
// end the order of process numbers tell the rest.
#pragma once

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Rows by path and line, distinct stacks by their frames: the order in which a container gives its
// files goes no further. REQUIRES: resolve_identity().
void put_in_order(Facts& facts);

// Fills host, rank and local rank of samples, processes, frontiers, collectives and recorder dumps
// that do not print them. REQUIRES: resolve_identity().
void attribute_dumps(Facts& facts);

// For dumps of machine code alone: a process with threads of NCCL, gloo or a process group is a
// trainer. And where nothing in the whole bundle ties a process to a rank, the order of process
// numbers on the one machine does: launchers start local ranks in order. A guess, and noted as
// such. REQUIRES: assign_roles().
void guess_trainers(Facts& facts);

}  // namespace culprit::analyze
