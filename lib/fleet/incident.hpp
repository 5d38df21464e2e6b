// A report (schemas/diagnosis-v1.json) as a row of the fleet's memory.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "model/fleet.hpp"

namespace culprit::fleet {

// component_of: the component of a class of events, as the rules have it. Nothing when the document
// is no such report. Name, source, job and attributes stand in no report: the caller adds them.
// job_start: of the last attempt, where it is known.
std::optional<FleetIncident> incident_of(
    const nlohmann::json& document,
    const std::function<std::string(const std::string& event_class)>& component_of,
    std::optional<Nanoseconds> job_start);

// As JSON and back, for the record that `batch` keeps beside each report. Anything may be missing
// of what comes back.
nlohmann::ordered_json to_json(const FleetIncident& incident);
std::optional<FleetIncident> from_json(const nlohmann::json& value);

// "2026-11-21T03:19:38.5Z" -> nanoseconds; nothing of any other form.
std::optional<Nanoseconds> parse_utc(const std::string& text);

}  // namespace culprit::fleet
