// Names of machines as tests write them: Hosts({"node-1", "node-2"}).
#pragma once

#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "model/host.hpp"

namespace culprit {

struct Hosts : std::vector<Host> {
  Hosts() = default;
  Hosts(std::vector<Host> hosts) : std::vector<Host>(std::move(hosts)) {}
  Hosts(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) emplace_back(name);
  }
  operator std::set<Host>() const { return {begin(), end()}; }
};

}  // namespace culprit
