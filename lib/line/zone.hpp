// Time zones as people and machines name them: UTC, an offset, or a name of the IANA database
// (Asia/Singapore), whose rules are those of the system's zoneinfo.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "model/time.hpp"

namespace culprit::line {

class Zone {
 public:
  // UTC
  Zone() = default;
  static Zone fixed(Nanoseconds offset);

  // "UTC", "Z", "GMT", "+08:00", "-0330", "+8", "UTC+8", "Europe/Berlin"; nullopt when this system
  // knows no such zone.
  static std::optional<Zone> named(std::string_view text);

  // Of a date and time that this zone's clocks show. An hour that comes twice (daylight saving
  // ends) is taken for the first of the two, and `uncertainty` grows by what lies between them.
  Nanoseconds utc(Nanoseconds local, Nanoseconds& uncertainty) const;
  Nanoseconds utc(Nanoseconds local) const;
  // What this zone's clocks show, less UTC.
  Nanoseconds offset(Nanoseconds utc) const;

 private:
  struct Rules;
  Nanoseconds offset_ = 0;
  std::shared_ptr<const Rules> rules_;  // null: offset_ is all
};

}  // namespace culprit::line
