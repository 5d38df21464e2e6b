// One metric as a program printed it, of all the machines that have it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/host.hpp"
#include "model/time.hpp"

namespace culprit {

// Among the labels of a series: the link of a GPU that it is of, by its number.
inline constexpr std::string_view kLinkLabel = "link=";
// Among the labels of a series: its host is a switch, which runs no ranks.
inline constexpr std::string_view kOfSwitch = "node=switch";

struct MetricSeries {
  struct Entity {
    std::string name;                // node-07 · node-07/gpu3 · node-07/mlx5_2 · rank 12
    std::string role;                // "" = not known
    Host host;                       // it sits in; "" = not known
    std::vector<Nanoseconds> times;  // UTC
    std::vector<double> values;      // as printed; counters as counters
  };
  std::string name;  // as printed: DCGM_FI_DEV_GPU_TEMP, power.draw [W]
  std::string unit;  // "" = as the catalogue has it, or in brackets behind the name
  std::vector<Entity> entities;
};

}  // namespace culprit
