#include "analyze/facts/host_files.hpp"

#include <utility>

#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

std::map<MemberId, HostFile> host_files(const Facts& facts) {
  std::map<std::pair<MemberId, std::uint64_t>, std::int64_t> slots;
  for (const ConfigRow& row : facts.configs)
    if (row.name == "hostfile.slots")
      if (const auto n = whole_number<std::int64_t>(row.value))
        slots[{row.place.member, row.place.line}] = *n;
  std::vector<const IdentityRow*> rows;
  for (const IdentityRow& row : facts.identities)
    if (row.source == "hostfile" && row.host && row.node_rank) rows.push_back(&row);
  sort_by(rows, [](const IdentityRow* a) { return std::pair(a->place.member, *a->node_rank); });
  std::map<MemberId, HostFile> out;
  for (const IdentityRow* row : rows) {
    HostFile& file = out[row->place.member];
    const auto own = slots.find({row->place.member, row->place.line});
    file.hosts.push_back(*row->host);
    file.slots.push_back(own == slots.end() ? 0 : own->second);
  }
  return out;
}

}  // namespace culprit::analyze
