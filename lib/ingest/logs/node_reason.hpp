// Why a scheduler or people took a node out, as sinfo -R and scontrol show node print it.
#pragma once

#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// An event of the node, worded as slurmctld words it, so that the same rules judge it. time:
// "2026-03-07T10:00:00"; nothing is put where it is none.
void put_node_reason(const Place& place, const std::string& node, std::string_view reason,
                     std::string_view time, Reading& reading);

}  // namespace culprit::ingest
