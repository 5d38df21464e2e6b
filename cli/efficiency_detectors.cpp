// When detectors would have spoken, in text and JSON.
#include "efficiency_detectors.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/pace/efficiency.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using analyze::Detection;
using analyze::Detector;
using analyze::DetectorState;

const char* label_of(Detector detector) {
  switch (detector) {
    case Detector::stall: return "standstill of the metrics";
    case Detector::outliers: return "outlier of the metrics";
    case Detector::loss: return "loss or gradient norm";
    case Detector::watchdog: return "watchdog of collectives";
    case Detector::slow_steps: return "change of the step time";
    case Detector::step_timeout: return "time-out of a step";
  }
  return "";
}

}  // namespace

std::string detectors_text(const analyze::Detections& found, const std::optional<double>& gpus) {
  if (std::ranges::none_of(found.all, [](const Detection& d) { return d.fired.has_value(); }))
    return {};
  std::string out;
  for (const Detection& d : found.all) {
    if (d.state == DetectorState::no_data) continue;
    out += fmt::format("  {:<26} ", label_of(d.detector));
    if (!d.fired) {
      out += "not before the end\n";
    } else {
      out +=
          fmt::format("{}, {}", iso_utc(*d.fired / kSecond * kSecond), human_duration(*d.before));
      if (const auto hours = analyze::gpu_hours(*d.before, gpus))
        out += fmt::format(" and {:.1f} GPU-hours", *hours);
      out += " before the end\n";
    }
    if (!d.what.empty()) out += report::paragraph("    ", report::visible(d.what), 74, 2);
  }
  return fmt::format("\nWhen detectors would have spoken; the end is {}\n",
                     iso_utc(*found.end / kSecond * kSecond)) +
         out;
}

nlohmann::ordered_json detectors_json(const analyze::Detections& found,
                                      const std::optional<double>& gpus) {
  using Json = nlohmann::ordered_json;
  const auto maybe = [](const auto& v) { return v ? Json(*v) : Json(nullptr); };
  Json out{{"begin_ns", maybe(found.begin)}, {"end_ns", maybe(found.end)}, {"all", Json::array()}};
  for (const Detection& d : found.all)
    out["all"].push_back(
        {{"detector", analyze::name(d.detector)},
         {"state", analyze::name(d.state)},
         {"fired_ns", maybe(d.fired)},
         {"before_ns", maybe(d.before)},
         {"gpu_hours", d.before ? maybe(analyze::gpu_hours(*d.before, gpus)) : Json(nullptr)},
         {"printed", d.printed},
         {"what", d.what}});
  return out;
}

}  // namespace culprit::cli
