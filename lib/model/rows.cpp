#include "model/rows.hpp"

#include <array>

namespace culprit {

namespace {

constexpr std::array<std::string_view, 4> kSeverities{"info", "warning", "distributed", "critical"};
constexpr std::array<std::string_view, 6> kRoles{"advice",       "recovery", "teardown",
                                                 "confirmation", "cascade",  "root"};
constexpr std::array<std::string_view, 4> kScopes{"host-local", "shared", "user-code", "job-wide"};
constexpr std::array<std::string_view, 4> kOrigins{"any", "kernel", "bmc", "scheduler"};
constexpr std::array<std::string_view, 4> kCheckpointEvents{"saving", "saved", "loading", "loaded"};
constexpr std::array<std::string_view, 11> kCauses{
    "none",    "machine", "network",           "shared",   "environment", "resource",
    "program", "crash",   "device_or_program", "numerics", "outside"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(Severity severity) { return kSeverities[static_cast<std::size_t>(severity)]; }
std::string_view name(Role role) { return kRoles[static_cast<std::size_t>(role)]; }
std::string_view name(Scope scope) { return kScopes[static_cast<std::size_t>(scope)]; }
std::string_view name(CauseKind cause) { return kCauses[static_cast<std::size_t>(cause)]; }
std::string_view name(Origin origin) { return kOrigins[static_cast<std::size_t>(origin)]; }
std::string_view name(CheckpointEvent event) {
  return kCheckpointEvents[static_cast<std::size_t>(event)];
}
std::optional<CheckpointEvent> checkpoint_event_named(std::string_view text) {
  return find<CheckpointEvent>(kCheckpointEvents, text);
}
std::optional<Severity> severity_named(std::string_view text) {
  return find<Severity>(kSeverities, text);
}
std::optional<Role> role_named(std::string_view text) { return find<Role>(kRoles, text); }
std::optional<Scope> scope_named(std::string_view text) { return find<Scope>(kScopes, text); }
std::optional<CauseKind> cause_named(std::string_view text) {
  return find<CauseKind>(kCauses, text);
}
std::optional<Origin> origin_named(std::string_view text) { return find<Origin>(kOrigins, text); }

}  // namespace culprit
