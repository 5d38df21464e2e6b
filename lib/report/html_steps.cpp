// How long the steps took, with slow intervals shaded, and where the job's time went.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/sort.hpp"
#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr double kLeft = 64, kRight = 950, kTop = 26, kBottom = 240;
constexpr double kStripGap = 58, kStripHeight = 70;  // loss and norm, under the step times
constexpr std::size_t kMostPoints = 2000, kMostSlow = 40, kMostCheckpoints = 400;
constexpr double kLeastSeconds = 0.05;

// signed_too: a loss may be below zero, a time may not.
std::vector<std::optional<double>> values(const json& steps, const char* key,
                                          bool signed_too = false) {
  std::vector<std::optional<double>> out;
  for (const json& v : list(steps, key)) {
    if (out.size() >= kMostPoints) break;
    out.push_back(v.is_number() && std::isfinite(v.get<double>()) &&
                          (signed_too || v.get<double>() >= 0)
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
  sort_rows(sorted);
  double top = sorted[sorted.size() * 95 / 100] * 1.1;
  std::vector<double> medians;
  for (const auto& v : ms)
    if (v) medians.push_back(*v);
  sort_rows(medians);
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
                       scale.x(static_cast<double>(i)), kBottom + 20,
                       iterations[i].get<std::int64_t>());
  }
  return out;
}

// Loss or gradient norm under the step times, on the same iterations. The first values of a run
// are high: what nineteen of twenty points need is the scale, a spike is cut at the top.
std::string strip(const json& steps, const char* key, const char* title, const char* kind,
                  double top, const Scale& scale) {
  const auto all = values(steps, key, true);
  std::vector<double> sorted;
  for (const auto& v : all)
    if (v) sorted.push_back(*v);
  if (sorted.size() < 2) return "";
  sort_rows(sorted);
  double low = sorted.front(), high = sorted[(sorted.size() - 1) * 95 / 100];
  high += (high - low) * 0.1;
  if (!(high > low)) high = low + std::max(1e-9, std::fabs(low) * 0.1);
  const double bottom = top + kStripHeight;
  std::string path, out;
  bool down = false;
  for (std::size_t i = 0; i < all.size() && i < scale.points; ++i) {
    if (!all[i]) {
      down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", scale.x(static_cast<double>(i)),
                        bottom - kStripHeight * (std::min(*all[i], high) - low) / (high - low));
    down = true;
  }
  out += fmt::format(
      "<text class=\"dim\" x=\"0\" y=\"{0:.0f}\">{1}</text><path class=\"rule\" d=\"M{2} "
      "{3:.0f}H{4}M{2} {5:.0f}H{4}\"/><text class=\"dim end\" x=\"{6}\" "
      "y=\"{7:.0f}\">{8:.3g}</text><text class=\"dim end\" x=\"{6}\" "
      "y=\"{9:.0f}\">{10:.3g}</text>\n",
      top - 12, title, kLeft, top, kRight, bottom, kLeft - 6, top + 4, high, bottom + 4, low);
  for (const json& at : list(steps, "not_a_number"))
    if (at.is_number_unsigned() && at.get<std::size_t>() < scale.points)
      out += fmt::format(
          "<path class=\"first\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"><title>not a "
          "number</title></path>\n",
          scale.x(at.get<double>()), top, bottom);
  return out + fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
}

bool is_load(const json& checkpoint) {
  const std::string event = text(checkpoint, "event");
  return event == "loading" || event == "loaded";
}

// Some frameworks say only that they begin to write: of those nothing can be called incomplete.
bool ends_are_printed(const json& checkpoints) {
  return std::ranges::any_of(checkpoints,
                             [](const json& c) { return text(c, "event") == "saved"; });
}

// Where the job began again, and on the axis where a checkpoint was written or read.
std::string verticals(const json& steps, const Scale& scale, double bottom) {
  std::string out;
  for (const json& at : list(steps, "restarts"))
    if (at.is_number_unsigned() && at.get<std::size_t>() < scale.points)
      out += fmt::format(
          "<path class=\"again\" d=\"M{0:.1f} {1}V{2}\"><title>the job began "
          "again</title></path>\n",
          scale.x(at.get<double>()), kTop, bottom);
  const json& checkpoints = list(steps, "checkpoints");
  const bool ends = ends_are_printed(checkpoints);
  const double half = checkpoints.size() > 60 ? 2 : 4;  // many stand close together
  std::size_t n = 0;
  for (const json& c : checkpoints) {
    if (!member(c, "point").is_number_unsigned() || count(c, "point") >= scale.points) continue;
    if (n++ >= kMostCheckpoints) break;
    const bool load = is_load(c), open = !load && ends && text(c, "event") == "saving";
    const std::string of = member(c, "iteration").is_number_integer()
                               ? fmt::format(" of iteration {}", count(c, "iteration"))
                               : "";
    out +=
        fmt::format("<path class=\"{}\" d=\"M{:.1f} {}l{} 7h-{}z\"><title>{}{}{}</title></path>\n",
                    load   ? "loaded"
                    : open ? "unsaved"
                           : "saved",
                    scale.x(static_cast<double>(count(c, "point"))), kBottom, half, 2 * half,
                    load ? "went on from the checkpoint" : "checkpoint", of,
                    open ? ": no line says that it is complete" : "");
  }
  return out;
}

// " (last: iteration 1200)", of those that are complete as far as the logs say.
std::string checkpoint_lead(const json& checkpoints) {
  const bool ends = ends_are_printed(checkpoints);
  std::size_t saves = 0, loads = 0, open = 0;
  const json* last = nullptr;
  for (const json& c : checkpoints) {
    if (is_load(c)) {
      ++loads;
    } else if (ends && text(c, "event") == "saving") {
      ++open;
    } else {
      ++saves;
      if (member(c, "iteration").is_number_integer()) last = &c;
    }
  }
  std::string out;
  if (saves > 0) {
    out += "; green triangles: checkpoints";
    if (last != nullptr) out += fmt::format(" (last: iteration {})", count(*last, "iteration"));
  }
  if (open > 0) out += "; red: not completed";
  if (loads > 0) out += "; violet: read";
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
  double bottom = kBottom;
  std::string strips;
  for (const auto& [key, title, kind] :
       {std::tuple("loss", "loss", "curve"), std::tuple("grad_norm", "gradient norm", "norm")}) {
    const std::string one = strip(steps, key, title, kind, bottom + kStripGap, scale);
    if (one.empty()) continue;
    strips += one;
    bottom += kStripGap + kStripHeight;
  }
  body += verticals(steps, scale, bottom);
  body += strips;
  if (!high.empty()) body += curve(high, scale, "high");
  body += curve(ms, scale, "curve");
  body += fmt::format(
      "<text class=\"dim\" x=\"{}\" y=\"14\">time of a step</text><text class=\"dim end\" x=\"{}\" "
      "y=\"{}\">iteration</text>\n",
      0, kRight, kBottom + 36);
  const std::uint64_t bucket = count(steps, "bucket");
  std::string lead = fmt::format("{} steps", count(steps, "rows"));
  if (bucket > 1)
    lead += fmt::format("; each point is the median of {}, the grey line their longest", bucket);
  lead += "; dashed: the baseline; shaded: slow";
  if (!list(steps, "restarts").empty()) lead += "; dotted: the job began again";
  lead += checkpoint_lead(list(steps, "checkpoints"));
  lead += ". What lies above the frame is cut.";
  return html_section(
      "steps", "Step time", lead,
      html_picture("steps-picture", 960, static_cast<int>(bottom) + (strips.empty() ? 42 : 10),
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
    const auto part = std::ranges::find(kParts, name, &Part::name);
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
  double productive = 0;
  for (const json& p : all)
    if (text(p, "part") == "training") productive += std::max(0.0, number(p, "seconds"));
  return html_section(
      "time", "Where the time went",
      fmt::format("Training at full speed: {:.1f} % of the time (ETTR), by the steps that the logs "
                  "report.",
                  100 * productive / total),
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
