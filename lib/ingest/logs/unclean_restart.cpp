// A machine that starts again in the middle of its own log, and did not shut down before: it lost
// power, was reset or crashed without a word. What it wrote last is when it was still alive.
#include <algorithm>

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"
#include "line/line.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

// A quiet log may have been silent for long before the machine went, and after the job had ended.
constexpr Nanoseconds kLongestSilence = 15 * kMinute;
constexpr std::size_t kLookedBack = 64 * 1024, kShutDownIn = 8 * 1024;

// What every way to shut down leaves in a journal or syslog.
bool shut_down(std::string_view above) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{
          "systemd-shutdown", "reboot: ", "Reached target Shutdown", "Reached target System Shut",
          "Reached target Reboot", "Reached target System Reboot", "Reached target Power-Off",
          "Reached target System Power Off", "Reached target Final Step", "System is rebooting",
          "System is powering down", "The system will ", "Journal stopped", "exiting on signal 15",
          "Powering off", "Powering Off", "Stopped target ", "PID 1 (systemd)", "kexec"},
      [&](std::string_view word) { return contains(above, word); });
}

std::string_view end_of(std::string_view text, std::size_t bytes) {
  return text.substr(text.size() - std::min(text.size(), bytes));
}

// The last line above that bears a time; journalctl and people put lines of their own between two
// starts.
std::optional<line::Prefix> last_of(std::string_view above) {
  constexpr int kMostBetween = 4;
  for (int i = 0; i < kMostBetween && !above.empty(); ++i) {
    while (!above.empty() && above.back() == '\n') above.remove_suffix(1);
    const std::size_t begin = above.rfind('\n') + 1;
    const line::Line line = line::peel(above.substr(begin, 1024));
    if (line.prefix.time.clock != Clock::none) return line.prefix;
    above = above.substr(0, begin);
  }
  return std::nullopt;
}

// The kernel alone says nothing of how it was stopped.
bool daemons_speak(std::string_view above) {
  constexpr int kLeast = 2;
  int found = 0;
  for (const std::string_view word :
       {" systemd[", " CRON[", " cron[", " sshd[", " rsyslogd", " systemd-logind[", " chronyd[",
        " snmpd[", " dbus-daemon[", " node_exporter["})
    found += contains(above, word);
  return found >= kLeast;
}

Outcome read_unclean_restart(const TextLine& line, Reading& reading) {
  const line::Prefix& prefix = line.line.prefix;
  if (!line.line.message.starts_with("Linux version ") || prefix.time.clock == Clock::none ||
      prefix.time.clock == Clock::boot)
    return {};
  const std::string_view above = end_of(reading.above, kLookedBack);
  if (!daemons_speak(above) || shut_down(end_of(above, kShutDownIn))) return {};
  const std::optional<line::Prefix> alive = last_of(above);
  if (!alive || alive->time.clock != prefix.time.clock || alive->time.ns > prefix.time.ns ||
      prefix.time.ns - alive->time.ns > kLongestSilence || alive->host != prefix.host)
    return {};
  line::Line said;
  said.prefix = *alive;
  said.message =
      fmt::format("the machine restarted without shutting down: it had been silent for {}",
                  human_duration(prefix.time.ns - alive->time.ns));
  return {put_said(line.place, said, "kernel", reading, prefix.time)};
}

constexpr std::string_view kBannerWords[] = {"Linux version "};

}  // namespace

extern constinit const Recogniser kUncleanRestart{
    "unclean-restart", "a machine that starts again in its own log without having been shut down",
    kBannerWords, read_unclean_restart};

}  // namespace culprit::ingest
