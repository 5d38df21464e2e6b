// The parts of each start in text and JSON.
#include "efficiency_starts.hpp"

#include <fmt/format.h>

#include "model/time.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;
using analyze::PartState;
using analyze::Start;
using analyze::StartPart;

constexpr std::size_t kStartsWidth = 78;
constexpr std::size_t kMostStarts = 20;  // a job that restarts at once has thousands

std::string place_of(const Evidence& e) { return fmt::format("{}:{}", e.path, e.line); }

std::string part_line(const StartPart& p) {
  const std::string took = p.took ? fmt::format("{:.1f} s", static_cast<double>(*p.took) / 1e9)
                           : p.state == PartState::no_time ? "no times"
                                                           : "no end";
  std::string out = fmt::format("    {:<26} {:>9}  ", p.label, took);
  if (p.first) out += report::visible(place_of(*p.first));
  if (p.last) out += " to " + report::visible(place_of(*p.last));
  return out + "\n";
}

Json evidence_json(const std::optional<Evidence>& e) {
  return e ? Json{{"path", e->path}, {"line", e->line}} : Json(nullptr);
}

}  // namespace

std::string starts_text(std::span<const Start> starts) {
  std::string out;
  for (std::size_t i = 0; i < starts.size() && i < kMostStarts; ++i) {
    const Start& s = starts[i];
    out += fmt::format("  attempt {}: ", s.attempt);
    out += s.iteration ? fmt::format("up to its first step, {}", *s.iteration)
           : s.until   ? "up to its first step"
                       : "no step of it is seen";
    if (s.took) out += fmt::format(", {} after the last step before it", human_duration(*s.took));
    out += "\n";
    std::string missing;
    for (const StartPart& p : s.parts)
      if (p.state == PartState::not_seen)
        missing += (missing.empty() ? "" : ", ") + p.label;
      else
        out += part_line(p);
    if (!missing.empty())
      out += report::paragraph("    ", "not seen: " + missing, kStartsWidth - 4, 2);
  }
  if (starts.size() > kMostStarts) out += fmt::format("  {} more\n", starts.size() - kMostStarts);
  return out.empty() ? out : "\nParts of each start, which may overlap\n" + out;
}

Json starts_json(std::span<const Start> starts) {
  const auto maybe = [](const auto& v) { return v ? Json(*v) : Json(nullptr); };
  Json out = Json::array();
  for (const Start& s : starts) {
    Json parts = Json::array();
    for (const StartPart& p : s.parts)
      parts.push_back({{"part", p.name},
                       {"state", analyze::name(p.state)},
                       {"ns", maybe(p.took)},
                       {"start_ns", maybe(p.start)},
                       {"end_ns", maybe(p.end)},
                       {"lines", p.lines},
                       {"first", evidence_json(p.first)},
                       {"last", evidence_json(p.last)}});
    out.push_back({{"attempt", s.attempt},
                   {"iteration", maybe(s.iteration)},
                   {"since_ns", maybe(s.since)},
                   {"until_ns", maybe(s.until)},
                   {"ns", maybe(s.took)},
                   {"parts", std::move(parts)}});
  }
  return out;
}

}  // namespace culprit::cli
