// What each process of the job is for. Peers of a trainer wait for its rank; its workers, trackers
// and savers carry the same RANK in their environment and often the same command line, and must not
// be taken for it.
#pragma once

#include <string_view>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Fills ProcessRow.role and StackSample.role: agent, trainer, dataloader, checkpoint, noise, or ""
// when nothing tells. Evidence in the order it is believed: a marker in the main thread's stack
// that only one role has, the command line, the place in the tree below an agent, a marker that any
// training script has. A stack gets the role of its process, joined by host and pid; a thread that
// serves the trainer (pinned memory, NCCL) is the trainer's. REQUIRES: resolve_identity(), for the
// hosts of members.
void assign_roles(Facts& facts);

// The role by a command line alone; "" for one that could be anybody's.
std::string_view role_of_command(std::string_view command);

}  // namespace culprit::analyze
