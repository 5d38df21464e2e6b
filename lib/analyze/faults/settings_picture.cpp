#include "analyze/faults/settings_picture.hpp"

#include "model/hostlist.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostValues = 6;  // of one setting

bool tells_version(const std::string& name) {
  return name.find("version") != std::string::npos || name.find("driver") != std::string::npos ||
         name.find("kernel") != std::string::npos || name.find("firmware") != std::string::npos;
}

}  // namespace

Settings settings_picture(const DriftReport& report, std::size_t most) {
  Settings out;
  out.hosts = report.hosts.size();
  std::vector<const DriftItem*> order;
  for (const DriftItem& item : report.items) {
    order.push_back(&item);
    const bool same = item.state == DriftState::same || item.state == DriftState::one_host;
    ++(same ? out.same : out.differing);
  }
  const auto rank = [](const DriftItem* item) {
    if (item->state != DriftState::same && item->state != DriftState::one_host) return 0;
    return tells_version(item->name) ? 1 : item->name.starts_with("env.") ? 2 : 3;
  };
  sort_by(order, rank);
  for (const DriftItem* item : order) {
    if (out.lines.size() >= most) break;
    SettingLine line;
    line.name = item->name;
    line.differs = rank(item) == 0;
    for (const DriftValue& v : item->values) {
      if (line.values.size() >= kMostValues) break;
      line.values.push_back({v.value, fold_hostlist(v.hosts), v.hosts.size()});
    }
    line.missing = fold_hostlist(item->missing);
    out.lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace culprit::analyze
