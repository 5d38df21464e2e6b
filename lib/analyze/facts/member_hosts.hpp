// Whose file each member is: from its path, then against the names that its lines give, then by the
// files beside it.
#pragma once

#include <map>
#include <set>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/host_names.hpp"

namespace culprit::analyze {

// What srun says of how a task ended, as a source of identities.
inline constexpr std::string_view kSrunExit = "srun exit";

// Fills host, rank, local_rank, attempt and attribution of members, and learns the names. Returns
// the machines that files are named after. REQUIRES: order of members.
std::map<MemberId, Host> attribute_members(Facts& facts, const std::set<Host>& manifest_hosts,
                                           HostNames& names);

}  // namespace culprit::analyze
