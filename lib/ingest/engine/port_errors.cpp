// Which port of many takes errors: the row that stands out of a table of counters.
#include "ingest/engine/port_errors.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "rules/metrics.hpp"

namespace culprit::ingest {

namespace {

constexpr double kManyErrors = 1000, kTimesUsual = 100;
constexpr std::size_t kFewestPorts = 4;
constexpr std::ptrdiff_t kMostPorts = 2;

}  // namespace

void PortErrors::add(const std::string& host, const std::string& nic, const std::string& name,
                     double value, const Place& place) {
  if (std::isnan(value)) return;
  auto column = columns_.find(name);
  if (column == columns_.end()) {
    const auto match = rules::Catalogue::built_in().find(name);
    if (!match || match->metric->symptom != Symptom::infiniband_error ||
        match->metric->entity != "nic" || match->metric->bad != rules::MetricSide::high)
      return;
    column = columns_.emplace(name, Ports()).first;
  }
  column->second[{host, nic}] = {value, place};
}

void PortErrors::finish(Reading& reading) {
  std::set<std::pair<std::string, std::string>> told;
  for (const auto& [name, ports] : columns_) {
    std::vector<double> all;
    for (const auto& [port, seen] : ports) all.push_back(seen.errors);
    if (all.size() < kFewestPorts) continue;
    std::ranges::sort(all);
    const double usual = all[all.size() / 2];
    const auto odd = [&](const auto& one) {
      return one.second.errors >= kManyErrors && one.second.errors > kTimesUsual * usual;
    };
    if (std::ranges::count_if(ports, odd) > kMostPorts) continue;
    for (const auto& one : ports) {
      const auto& [host, nic] = one.first;
      if (!odd(one) || !told.insert(one.first).second) continue;
      put_said(one.second.place, Host(host),
               fmt::format("port errors: {} of {}, {} {:.0f}, usual ports {:.0f}", nic, host, name,
                           one.second.errors, usual),
               reading);
    }
  }
}

}  // namespace culprit::ingest
