// Reports about a fleet. As with an incident, there is one document (schemas/fleet-v1.json), and
// every format prints that document.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/fields.hpp"

namespace culprit::report {

struct FleetFormat {
  std::string_view name;  // of --format
  std::string_view file;  // what `-o` calls it
  std::string (*render)(const nlohmann::json& document);
};

std::span<const FleetFormat* const> fleet_formats();
const FleetFormat* find_fleet_format(std::string_view name);

// Figures as people read them.
std::string short_number(double value);  // three digits: 0.0123, 4.56, 1230
std::string days_of(
    const nlohmann::json& mtbf);         // "18.4 days [15.9, 21.5]"; "" where it is not known
std::string percent(double share);       // "12.3 %"
std::string seconds_of(double seconds);  // "42 s", "3.4 h", "2.1 days"
// The "value" and "interval" of a rate or share, as percents when so.
std::string with_interval(const nlohmann::json& rate, bool percents);

}  // namespace culprit::report
