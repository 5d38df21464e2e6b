// Who is who: hosts, ranks, processes, addresses; whose file each member is; which members are
// copies of each other.
//
// Evidence in the order it is believed: the manifest; what a line itself prints (syslog host,
// [rank12]:, NCCL host:pid:tid); NCCL Init, torchrun and environment records, which tie host, pid,
// local rank and global rank; names of files and folders (rules/tables/paths.json). A file's own
// name yields to a host that its lines name.
#pragma once

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Fills members (path without a common wrapper folder, host, rank, attempt, duplicate_of), events,
// tracebacks and exits (host, rank, peer_host), hosts, ranks and world_size. Independent of the
// order of members.
void resolve_identity(Facts& facts);

}  // namespace culprit::analyze
