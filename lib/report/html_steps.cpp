// How long the steps took, with slow intervals shaded, and where the job's time went.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr double kLeft = 64, kRight = 950, kTop = 26, kBottom = 240;
constexpr std::size_t kMostPoints = 2000, kMostSlow = 40;
constexpr double kLeastSeconds = 0.05;

std::vector<std::optional<double>> values(const json& steps, const char* key) {
  std::vector<std::optional<double>> out;
  for (const json& v : list(steps, key)) {
    if (out.size() >= kMostPoints) break;
    out.push_back(v.is_number() && std::isfinite(v.get<double>()) && v.get<double>() >= 0
                      ? std::optional(v.get<double>())
                      : std::nullopt);
  }
  return out;
}

// Room for all medians, and for what is not far above most points: one stall must not flatten the
// rest.
double ceiling(const std::vector<std::optional<double>>& ms,
               const std::vector<std::optional<double>>& high) {
  std::vector<double> sorted;
  for (const auto& v : high.empty() ? ms : high)
    if (v) sorted.push_back(*v);
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  double top = sorted[sorted.size() * 95 / 100] * 1.1;
  std::vector<double> medians;
  for (const auto& v : ms)
    if (v) medians.push_back(*v);
  std::sort(medians.begin(), medians.end());
  if (!medians.empty()) top = std::max(top, medians[medians.size() * 98 / 100] * 1.15);
  return top;
}

// 1, 2 or 5 times a power of ten, for four lines or so.
double tick_of(double top) {
  const double raw = top / 4, power = std::pow(10, std::floor(std::log10(raw)));
  return raw / power < 1.5   ? power
         : raw / power < 3.5 ? 2 * power
         : raw / power < 7.5 ? 5 * power
                             : 10 * power;
}

std::string duration(double ms) {
  if (ms >= 1000) return fmt::format("{:.3g} s", ms / 1000);
  return fmt::format("{:.3g} ms", ms);
}

struct Scale {
  std::size_t points;
  double top;
  double x(double i) const {
    return kLeft + (kRight - kLeft) * i / std::max(1.0, static_cast<double>(points) - 1);
  }
  double y(double ms) const { return kBottom - (kBottom - kTop) * std::min(ms, top) / top; }
};

std::string curve(const std::vector<std::optional<double>>& ms, const Scale& scale,
                  const char* kind) {
  std::string path;
  bool down = false;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    if (!ms[i]) {
      down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", scale.x(static_cast<double>(i)),
                        scale.y(*ms[i]));
    down = true;
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
}

std::string shades(const json& steps, const Scale& scale) {
  std::string out, labels;
  double free = 0;
  std::size_t n = 0;
  for (const json& s : list(steps, "slow")) {
    if (n++ >= kMostSlow) break;
    const double begin =
        scale.x(std::min<double>(number(s, "begin"), static_cast<double>(scale.points) - 1));
    const double end =
        scale.x(std::min<double>(number(s, "end"), static_cast<double>(scale.points) - 1));
    const double percent = (number(s, "factor") - 1) * 100;
    out += fmt::format(
        "<rect class=\"f-shade\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
        "height=\"{}\"><title>iterations {} to {}: {:+.0f} %</title></rect>\n",
        begin, kTop, std::max(2.0, end - begin), kBottom - kTop, count(s, "first"),
        count(s, "last"), percent);
    if (begin < free || begin > kRight - 60) continue;
    labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:+.0f} %</text>\n", begin + 3, kTop + 14,
                          percent);
    free = begin + 60;
  }
  return out + labels;
}

std::string frame(const json& steps, const Scale& scale) {
  std::string out;
  const double tick = tick_of(scale.top);
  for (double v = 0; v <= scale.top; v += tick)
    out += fmt::format(
        "<path class=\"rule\" d=\"M{0} {1:.1f}H{2}\"/><text class=\"dim end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        kLeft, scale.y(v), kRight, kLeft - 6, scale.y(v) + 4, v == 0 ? "0" : duration(v));
  const json& iterations = list(steps, "iteration");
  for (int part = 0; part <= 4 && !iterations.empty(); ++part) {
    const std::size_t i =
        static_cast<std::size_t>(part) * (std::min(iterations.size(), scale.points) - 1) / 4;
    if (!iterations[i].is_number_integer()) continue;
    out += fmt::format("<text class=\"dim {}\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                       part == 4   ? "end"
                       : part == 0 ? ""
                                   : "mid",
                       scale.x(static_cast<double>(i)), kBottom + 16,
                       iterations[i].get<std::int64_t>());
  }
  return out;
}

std::string slow_table(const json& steps) {
  std::string rows;
  std::size_t n = 0;
  for (const json& s : list(steps, "slow"))
    if (n++ < kMostSlow)
      rows += fmt::format(
          "<tr><th scope=\"row\">{} to {}</th><td class=\"n\">{:+.0f} %</td><td>{}</td></tr>\n",
          count(s, "first"), count(s, "last"), (number(s, "factor") - 1) * 100,
          member(s, "open") == true ? "to the end of the attempt" : "it ended by itself");
  if (rows.empty()) return "";
  return "<table>\n<caption>Slow intervals</caption>\n<thead><tr><th "
         "scope=\"col\">Iterations</th><th scope=\"col\" class=\"n\">Step time</th>"
         "<th scope=\"col\">Until</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table>\n";
}

struct Part {
  const char* name;
  const char* colour;
};
constexpr Part kParts[] = {{"training", "green"},           {"slow", "orange"},
                           {"recomputation", "violet"},     {"detection", "red"},
                           {"localisation", "red"},         {"restart", "blue"},
                           {"between steps", "blue"},       {"start-up", "grey"},
                           {"after the last step", "pale"}, {"unexplained", "none"}};

std::string span_text(double seconds) {
  if (seconds >= 5400) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 100) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} s", seconds);
}

}  // namespace

std::string html_steps(const json& d) {
  const json& steps = member(d, "steps");
  const auto ms = values(steps, "ms"), high = values(steps, "high_ms");
  const double top = ceiling(ms, high);
  if (ms.size() < 2 || !(top > 0)) return "";
  const Scale scale{ms.size(), top};
  std::string body = shades(steps, scale) + frame(steps, scale);
  if (const double base = number(steps, "baseline_ms"); base > 0 && base < top)
    body += fmt::format(
        "<path class=\"base\" d=\"M{0} {1:.1f}H{2}\"><title>baseline {3}</title></path>\n", kLeft,
        scale.y(base), kRight, duration(base));
  for (const json& at : list(steps, "restarts"))
    if (at.is_number_unsigned() && at.get<std::size_t>() < ms.size())
      body += fmt::format(
          "<path class=\"again\" d=\"M{0:.1f} {1}V{2}\"><title>the job began "
          "again</title></path>\n",
          scale.x(at.get<double>()), kTop, kBottom);
  if (!high.empty()) body += curve(high, scale, "high");
  body += curve(ms, scale, "curve");
  body += fmt::format(
      "<text class=\"dim\" x=\"{}\" y=\"14\">time of a step</text><text class=\"dim end\" x=\"{}\" "
      "y=\"{}\">iteration</text>\n",
      0, kRight, kBottom + 32);
  const std::uint64_t bucket = count(steps, "bucket");
  std::string lead = fmt::format("{} steps", count(steps, "rows"));
  if (bucket > 1)
    lead += fmt::format("; each point is the median of {}, the grey line their longest", bucket);
  lead += "; dashed: the baseline; shaded: slow. What lies above the frame is cut.";
  return html_section(
      "steps", "Step time", lead,
      html_picture("steps-picture", 960, static_cast<int>(kBottom) + 38,
                   "Step time over the iterations",
                   fmt::format("{} steps, baseline {}, {}.", count(steps, "rows"),
                               duration(number(steps, "baseline_ms")),
                               counted(list(steps, "slow").size(), "slow interval")),
                   body) +
          slow_table(steps));
}

std::string html_time(const json& d) {
  const json& all = list(d, "time");
  double total = 0;
  for (const json& p : all) total += std::max(0.0, number(p, "seconds"));
  if (!(total > 0)) return "";
  std::string bars, rows;
  double x = 0;
  for (const json& p : all) {
    const double seconds = number(p, "seconds");
    if (!(seconds >= kLeastSeconds)) continue;
    const std::string name = text(p, "part");
    const auto part = std::find_if(std::begin(kParts), std::end(kParts),
                                   [&](const Part& k) { return k.name == name; });
    const char* colour = part == std::end(kParts) ? "none" : part->colour;
    const double width = 960 * seconds / total;
    bars += fmt::format(
        "<rect class=\"f-{}\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"26\"><title>{}: "
        "{}</title></rect>\n",
        colour, x, width, escaped(name), span_text(seconds));
    x += width;
    rows += fmt::format(
        "<tr><th scope=\"row\"><span class=\"swatch f-{}\"></span>{}</th><td "
        "class=\"n\">{}</td><td class=\"n\">{:.1f} %</td></tr>\n",
        colour, escaped(name), span_text(seconds), 100 * seconds / total);
  }
  return html_section(
      "time", "Where the time went", "By the steps that the logs report.",
      "<svg class=\"bar\" role=\"img\" viewBox=\"0 0 960 26\" preserveAspectRatio=\"none\" "
      "aria-labelledby=\"time-t time-d\">"
      "<title id=\"time-t\">Where the time went</title><desc id=\"time-d\">The table below has the "
      "shares.</desc>\n" +
          bars +
          "</svg>\n"
          "<table>\n<thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"n\">Time</th>"
          "<th scope=\"col\" class=\"n\">Share</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table>\n");
}

}  // namespace culprit::report
