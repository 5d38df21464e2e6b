// Lists of host names as Slurm writes them: a1,node[001-003,007],rack[1-2]node[098-101].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/host.hpp"

namespace culprit {

struct Hostlist {
  std::vector<std::string>
      hosts;            // in the list's order, duplicates kept; empty when the list is broken
  bool broken = false;  // brackets or ranges that are none
  bool capped = false;  // names more hosts than were asked for: the first of them
  bool text_after_brackets = false;  // "n[1-3]-ib0": scontrol refuses it, people write it
};

// Zeros pad to the width of a range's lower bound; of several brackets the last runs fastest. White
// space separates as commas do.
Hostlist expand_hostlist(std::string_view text, std::size_t most = 1u << 16);

// The inverse, for people: sorted, each host once, "node[001-003,007]".
std::string fold_hostlist(std::vector<std::string> hosts);
std::string fold_hostlist(const std::vector<Host>& hosts);

}  // namespace culprit
