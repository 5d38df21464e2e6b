#include "model/finding_ids.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace culprit {

void make_ids_unique(std::vector<Finding>& findings) {
  std::unordered_set<std::string> given;  // by the analysis: those are left to whoever has them
  for (const Finding& f : findings) given.insert(f.id);
  std::unordered_map<std::string, std::size_t> seen;
  for (Finding& f : findings) {
    std::size_t& count = seen[f.id];
    if (++count == 1) continue;
    const std::string id = f.id;
    while (!given.insert(f.id = id + "+" + std::to_string(count)).second) ++count;
  }
}

}  // namespace culprit
