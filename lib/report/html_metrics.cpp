// Metrics of those that left the crowd: one small panel each, the crowd as a band. And what the
// hosts run.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;
using Curve = std::vector<std::optional<double>>;

constexpr double kPanelWidth = 300, kPanelTop = 18, kPanelBottom = 118, kPanelHeight = 136;
constexpr std::size_t kMostPanels = 12, kMostBins = 400, kMostSettings = 60;

Curve curve_of(const json& panel, const char* key, std::size_t bins) {
  Curve out;
  for (const json& v : list(panel, key)) {
    if (out.size() >= bins) break;
    out.push_back(v.is_number() && std::isfinite(v.get<double>()) ? std::optional(v.get<double>())
                                                                  : std::nullopt);
  }
  out.resize(bins);
  return out;
}

std::string reading(double value, const std::string& unit) {
  const double size = std::fabs(value);
  std::string digits, prefix;
  if (size >= 1e9 || (size < 1e-3 && size > 0))
    digits = fmt::format("{:.3g}", value);
  else if (size >= 1e6)
    digits = fmt::format("{:.3g}", value / 1e6), prefix = "M";
  else
    digits = size >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  if (unit.empty() || unit == "1") return digits + prefix;
  return digits + (unit == "%" || unit[0] == '/' ? prefix : " " + prefix) + unit;
}

struct PanelScale {
  std::size_t bins = 0;
  double low = 0, high = 1;
  double x(double bin) const {
    return 1 + (kPanelWidth - 2) * bin / std::max(1.0, static_cast<double>(bins) - 1);
  }
  double y(double v) const {
    return kPanelBottom - (kPanelBottom - kPanelTop) * (v - low) / (high - low);
  }
};

std::string path_of(const Curve& values, const PanelScale& scale) {
  std::string out;
  bool down = false;
  std::size_t gap = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) {
      if (++gap > 5) down = false;  // samples come less often than there are bins
      continue;
    }
    gap = 0;
    out += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", scale.x(static_cast<double>(i)),
                       scale.y(*values[i]));
    down = true;
  }
  return out;
}

std::string band(const Curve& low, const Curve& high, const PanelScale& scale) {
  std::string there, back;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (!low[i] || !high[i]) continue;
    const double x = scale.x(static_cast<double>(i));
    there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x, scale.y(*high[i]));
    back = fmt::format("L{:.1f} {:.1f}", x, scale.y(*low[i])) + back;
  }
  return there.empty() ? "" : "<path class=\"f-pale\" d=\"" + there + back + "Z\"/>\n";
}

std::optional<double> median_of(const Curve& values) {
  std::vector<double> sorted;
  for (const auto& v : values)
    if (v) sorted.push_back(*v);
  if (sorted.empty()) return std::nullopt;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  return sorted[sorted.size() / 2];
}

// Seconds of a day and whole days, for shares of an interval.
double moment(const std::string& iso) {
  const auto digits = [&](std::size_t at, std::size_t n) {
    double v = 0;
    for (std::size_t i = at; i < at + n && i < iso.size(); ++i)
      v = iso[i] >= '0' && iso[i] <= '9' ? v * 10 + (iso[i] - '0') : v;
    return v;
  };
  if (iso.size() < 20) return 0;
  return digits(0, 4) * 372 * 86400 + digits(5, 2) * 31 * 86400 + digits(8, 2) * 86400 +
         digits(11, 2) * 3600 + digits(14, 2) * 60 + digits(17, 2);
}

std::string panel_picture(const json& p, std::size_t number) {
  const std::size_t bins = std::min(kMostBins, list(p, "value").size());
  const Curve value = curve_of(p, "value", bins), low = curve_of(p, "low", bins),
              high = curve_of(p, "high", bins), middle = curve_of(p, "middle", bins);
  PanelScale scale{bins, 0, 0};
  bool any = false;
  for (const Curve* c : {&value, &low, &high})
    for (const auto& v : *c)
      if (v) {
        scale.low = any ? std::min(scale.low, *v) : *v;
        scale.high = any ? std::max(scale.high, *v) : *v;
        any = true;
      }
  if (!any || bins < 2) return "";
  if (!(scale.high > scale.low)) scale.high = scale.low + std::max(1.0, std::fabs(scale.low));
  const double begin = moment(text(p, "start")), end = moment(text(p, "end"));
  std::string body;
  if (end > begin) {
    const auto share = [&](const char* key) {
      return std::clamp((moment(text(p, key)) - begin) / (end - begin), 0.0, 1.0) *
             static_cast<double>(bins - 1);
    };
    const double a = scale.x(share("out_start")), b = scale.x(share("out_end"));
    body += fmt::format(
        "<rect class=\"f-shade\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n", a,
        kPanelTop, std::max(2.0, b - a), kPanelBottom - kPanelTop);
  }
  body += band(low, high, scale);
  body += fmt::format("<path class=\"high\" d=\"{}\"/>\n<path class=\"suspect\" d=\"{}\"/>\n",
                      path_of(middle, scale), path_of(value, scale));
  const std::string unit = text(p, "unit");
  body += fmt::format(
      "<text class=\"dim\" x=\"1\" y=\"12\">{} to {}</text><text class=\"dim\" x=\"1\" "
      "y=\"132\">{}</text><text class=\"dim end\" x=\"299\" y=\"132\">{}</text>\n",
      escaped(reading(scale.low, "")), escaped(reading(scale.high, unit)),
      html_clock(text(p, "start")), html_clock(text(p, "end")));
  const auto own = median_of(value), others = median_of(middle);
  const std::string caption = fmt::format(
      "<strong>{}</strong> {}{}", html_text(p, "entity"), html_text(p, "metric"),
      own && others
          ? escaped(fmt::format("; {} others about {}", count(p, "crowd"), reading(*others, unit)))
          : "");
  return fmt::format(
      "<figure><svg role=\"img\" viewBox=\"0 0 {} {}\" aria-labelledby=\"metric-{}-t "
      "metric-{}-d\"><title id=\"metric-{}-t\">{} of {}</title><desc id=\"metric-{}-d\">{} against "
      "{} others, from {} to {}.</desc>\n{}</svg>\n<figcaption>{}</figcaption></figure>\n",
      kPanelWidth, kPanelHeight, number, number, number, html_text(p, "metric"),
      html_text(p, "entity"), number, html_text(p, "entity"), count(p, "crowd"),
      escaped(reading(scale.low, unit)), escaped(reading(scale.high, unit)), body, caption);
}

std::string value_cell(const json& line) {
  std::string out;
  const json& all = list(line, "values");
  for (const json& v : all) {
    const std::uint64_t n = count(v, "count");
    out += (out.empty() ? "" : "<br>") + html_label(text(v, "value"), 120);
    if (member(line, "differs") == true)
      out += " <span class=\"soft\">on " +
             (n > 4 ? fmt::format("{} hosts", n) : html_label(text(v, "hosts"), 80)) + "</span>";
  }
  if (const std::string missing = text(line, "missing"); !missing.empty())
    out += "<br><span class=\"soft\">not printed by " + html_label(missing, 80) + "</span>";
  return out;
}

std::string settings_table(const std::string& rows, const char* caption) {
  return fmt::format(
      "<table class=\"stack\">\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">Setting</th>"
      "<th scope=\"col\">Value</th></tr></thead>\n<tbody>\n{}</tbody></table>\n",
      caption, rows);
}

}  // namespace

std::string html_metrics(const json& d) {
  std::string panels;
  std::size_t n = 0;
  for (const json& p : list(d, "metrics"))
    if (n < kMostPanels) panels += panel_picture(p, ++n);
  return html_section("metrics", "Who left the crowd",
                      "Red: the outlier, during the shaded time. Band: where eight of ten of the "
                      "others are; line: their middle.",
                      panels.empty() ? "" : "<div class=\"panels\">\n" + panels + "</div>\n");
}

std::string html_settings(const json& d) {
  const json& all = member(d, "settings");
  std::string differs, same;
  std::size_t n = 0, alike = 0;
  for (const json& line : list(all, "lines")) {
    if (n++ >= kMostSettings) break;
    const bool apart = member(line, "differs") == true;
    alike += !apart;
    (apart ? differs : same) +=
        fmt::format("<tr><th scope=\"row\" class=\"mono\">{}</th><td>{}</td></tr>\n",
                    html_text(line, "name"), value_cell(line));
  }
  if (differs.empty() && same.empty()) return "";
  std::string body;
  if (!differs.empty()) body += settings_table(differs, "Differs between hosts");
  if (!same.empty()) {
    const std::uint64_t hosts = count(all, "hosts"), total = count(all, "same");
    body += fmt::format(
        "<details><summary>{} on {}</summary>\n{}{}</details>\n",
        total == 1 ? "1 setting alike" : fmt::format("{} settings alike", total),
        hosts == 1 ? "one host" : fmt::format("{} hosts", hosts),
        settings_table(same, "The same on all hosts that print it"),
        total > alike ? fmt::format("<p class=\"soft\">and {} more</p>\n", total - alike) : "");
  }
  return html_section("settings", "Environment and drift",
                      differs.empty() ? "No setting differs between the hosts that print it."
                                      : "A difference is not a fault by itself.",
                      body);
}

}  // namespace culprit::report
