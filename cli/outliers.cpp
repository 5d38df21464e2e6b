#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/metrics/outlier_search.hpp"
#include "command.hpp"
#include "ingest/table/metric_table.hpp"
#include "model/json.hpp"
#include "diagnose/pace.hpp"
#include "pack.hpp"
#include "incident.hpp"
#include "terminal.hpp"
#include "report/terminal.hpp"
#include "table_file.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using analyze::OutlierReport;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 30, kMostTogether = 12,
                      kMostReasons = 8;  // printed; JSON has all

// "10m", "90s", "500ms", "1h"; a bare number is seconds.
Result<Nanoseconds> duration(const Arguments& arguments, const std::string& option,
                             Nanoseconds otherwise) {
  if (!arguments.has(option)) return otherwise;
  const std::string text = arguments.get(option);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::map<std::string, double> units{{"", 1e9},     {"s", 1e9},    {"ms", 1e6},
                                            {"us", 1e3},   {"m", 60e9},   {"min", 60e9},
                                            {"h", 3600e9}, {"d", 86400e9}};
  const auto it = units.find(unit);
  if (error != std::errc() || it == units.end() || !(value > 0) || !(value * it->second < 1e18) ||
      value * it->second < 1e3)
    return usage_error(fmt::format("--{} takes a duration, not '{}'", option, text))
        .hint("10m, 90s, 500ms, 1h");
  return static_cast<Nanoseconds>(value * it->second);
}

std::string elided(const std::string& text, std::size_t width) {
  const std::string shown = report::visible(text);
  if (report::columns(shown) <= width)
    return shown + std::string(width - report::columns(shown), ' ');
  // The end of a name tells more than its beginning: node-07/gpu3.
  std::string out = shown;
  while (report::columns(out) > width - 2 && !out.empty()) {
    std::size_t cut = 1;
    while (cut < out.size() && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) ++cut;
    out.erase(0, cut);
  }
  return ".." + out + std::string(width - 2 - report::columns(out), ' ');
}

std::string short_number(double value) {
  const double size = std::fabs(value);
  if (size >= 1e5 || (size < 1e-2 && size > 0)) return fmt::format("{:.3g}", value);
  return size >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}
std::string with_unit(double value, const std::string& unit) {
  return unit.empty() || unit == "1"
             ? short_number(value)
             : short_number(value) + (unit == "%" || unit[0] == '/' ? "" : " ") + unit;
}
Nanoseconds to_ms(Nanoseconds time) { return time / 1'000'000 * 1'000'000; }
std::string clock_of(Nanoseconds time) { return iso_utc(time).substr(11, 8); }

class OutliersPrinter : report::Ink {
 public:
  OutliersPrinter(const Arguments& arguments, const OutlierReport& report)
      : Ink{use_color(arguments)},
        report_(report),
        all_(arguments.has("all")),
        width_(std::clamp<std::size_t>(terminal_width(), 60, 80)) {}

  std::string text() const {
    std::string out = bold(wrapped(report::words(analyze::outlier_answer(report_)), 2)) + "\n";
    if (!report_.outliers.empty()) outliers(out);
    if (!report_.common.empty()) together(out);
    if (!report_.not_enough.empty()) reasons(out);
    for (const std::string& note : report::words(report_.notes))
      out += wrapped("note: " + note, 6) + "\n";
    if (!report_.unknown.empty() && !report_.searched.empty())
      out += wrapped(fmt::format("note: not in the catalogue, so either side counts: {}",
                                 fmt::join(report_.unknown, ", ")),
                     6) +
             "\n";
    if (report_.searched.empty()) return out;
    out += dim(wrapped(
               fmt::format(
                   "{} rule, T {} in bins of {}; {} of {} judged, {} metric{}, {} samples{}",
                   report_.method, human_duration(report_.window), human_duration(report_.bin),
                   report_.judged, report_.entities, report_.searched.size(),
                   report_.searched.size() == 1 ? "" : "s", report_.samples,
                   report_.samples > 0 ? fmt::format(", {} to {}", iso_utc(to_ms(report_.start)),
                                                     iso_utc(to_ms(report_.end)))
                                       : ""),
               2)) +
           "\n";
    return out;
  }

  std::string json() const {
    Json out;
    out["schema"] = "culprit.outliers/1";
    out["method"] = report_.method;
    out["answer"] = report::words(analyze::outlier_answer(report_));
    out["outliers"] = Json::array();
    for (const auto& o : report_.outliers) {
      Json one{{"entity", o.outlier.entity},
               {"metric", o.metric},
               {"printed", o.printed},
               {"unit", o.unit},
               {"start", iso_utc(o.outlier.start)},
               {"end", iso_utc(o.outlier.end)},
               {"side", name(o.outlier.side)},
               {"value", o.outlier.value},
               {"crowd", o.outlier.crowd},
               {"score", o.outlier.score},
               {"threshold", o.outlier.threshold},
               {"method", o.outlier.method},
               {"among", o.outlier.size}};
      if (!o.host.empty()) one["host"] = o.host;
      if (!o.outlier.group.empty()) one["role"] = o.outlier.group;
      if (!o.against.empty()) one["against"] = o.against;
      if (o.outlier.fallback) one["compared_with"] = "all";
      if (o.known != nullptr) {
        one["points_to"] = o.known->points_to;
        one["symptom"] = name(o.known->symptom);
      }
      for (const Evidence& e : o.evidence) {
        Json place{
            {"path", e.path}, {"line", e.line}, {"byte_offset", e.offset}, {"excerpt", e.excerpt}};
        if (!e.reading.empty()) place["reading"] = e.reading;
        one["evidence"].push_back(std::move(place));
      }
      out["outliers"].push_back(std::move(one));
    }
    out["common"] = Json::array();
    for (const auto& c : report_.common) {
      Json one{{"kind", c.change.kind},
               {"metric", c.metric},
               {"unit", c.unit},
               {"start", iso_utc(c.change.start)},
               {"end", iso_utc(c.change.end)},
               {"from", c.change.from},
               {"to", c.change.to},
               {"entities", c.change.entities},
               {"of", c.change.size}};
      if (!c.change.group.empty()) one["role"] = c.change.group;
      out["common"].push_back(std::move(one));
    }
    out["not_enough"] = Json::array();
    for (const auto& n : report_.not_enough)
      out["not_enough"].push_back({{"metric", n.metric},
                                   {"code", n.reason.code},
                                   {"why", report::words(n.reason.text)},
                                   {"entities", n.reason.entities}});
    out["notes"] = report::words(report_.notes);
    out["unknown_metrics"] = report_.unknown;
    out["judged"] = report_.judged;
    out["entities"] = report_.entities;
    out["window_s"] = static_cast<double>(report_.window) / 1e9;
    out["bin_s"] = static_cast<double>(report_.bin) / 1e9;
    return json_text(out) + "\n";
  }

 private:
  void outliers(std::string& out) const {
    out += "\n" +
           bold(fmt::format("{}  {}  {:>8} {:>8} {:>5}  {:<8} {:>7}", elided("who", 16),
                            elided("metric", 17), "value", "others", "sd", "from", "for")) +
           "\n";
    std::size_t shown = 0;
    std::set<const rules::Metric*> met;
    std::string meanings;
    for (const auto& o : report_.outliers) {
      if (!all_ && shown++ >= kMostRows) {
        out += fmt::format("{} more; --all shows them\n", report_.outliers.size() - kMostRows);
        break;
      }
      const std::string score = o.outlier.method == "threshold" ? "limit"
                                : o.outlier.score >= 1000       ? ">999"
                                                          : fmt::format("{:.1f}", o.outlier.score);
      out += fmt::format(
          "{}  {}  {:>8} {:>8} {:>5}  {:<8} {:>7}\n", elided(o.outlier.entity, 16),
          elided(o.metric, 17), short_number(o.outlier.value),
          short_number(o.outlier.method == "threshold" ? o.outlier.threshold : o.outlier.crowd),
          score, clock_of(o.outlier.start), human_duration(o.outlier.end - o.outlier.start));
      if (!o.against.empty())
        out += wrapped(fmt::format("  (others: what its {} say; by itself it is within the crowd)",
                                   fmt::join(o.against, ", ")),
                       4) +
               "\n";
      if (o.outlier.fallback) out += "  (compared with all, as its role has too few)\n";
      if (o.known != nullptr && met.size() < 4 && met.insert(o.known).second) {
        std::string advice = o.known->advice;
        if (const std::size_t at = advice.find("{host}"); at != std::string::npos)
          advice.replace(at, 6, o.host.empty() ? o.outlier.entity : o.host);
        meanings +=
            wrapped(fmt::format("{} ({}): {} {}", o.metric, o.unit, o.known->meaning, advice), 2) +
            "\n";
      }
    }
    if (!meanings.empty()) out += "\n" + meanings;
    out += "\n";
  }

  void together(std::string& out) const {
    out += (report_.outliers.empty() ? "\n" : "") + bold("Together") + "\n";
    std::size_t shown = 0;
    for (const auto& c : report_.common) {
      if (!all_ && shown++ >= kMostTogether) {
        out += fmt::format("  {} more; --all shows them\n", report_.common.size() - kMostTogether);
        break;
      }
      const std::string of =
          c.change.group.empty() ? "" : fmt::format(" of role {}", c.change.group);
      std::string words;
      if (c.change.kind == "shift")
        words = fmt::format(
            "{} {}: {}{} of {}{} went from {} to {}", iso_utc(c.change.start), c.metric,
            c.change.end > c.change.start ? fmt::format("until {}, ", clock_of(c.change.end)) : "",
            c.change.entities, c.change.size, of, with_unit(c.change.from, c.unit),
            with_unit(c.change.to, c.unit));
      else
        words = fmt::format(
            "{} {}: {} of {}{} had {}, the others {}, for {}: too many to be called outliers; are "
            "they of one kind?",
            iso_utc(c.change.start), c.metric, c.change.entities, c.change.size, of,
            with_unit(c.change.to, c.unit), with_unit(c.change.from, c.unit),
            human_duration(c.change.end - c.change.start));
      out += "  " + wrapped(words, 4) + "\n";
    }
    out += "\n";
  }

  void reasons(std::string& out) const {
    out += (report_.outliers.empty() && report_.common.empty() ? "\n" : "") + bold("Not enough") +
           "\n";
    // Metrics of one table mostly lack the same.
    std::map<std::string, std::vector<std::string>> by;
    std::vector<std::string> order;
    for (const auto& n : report_.not_enough) {
      std::string text = report::words(n.reason.text);
      if (!n.reason.entities.empty())
        text += fmt::format(
            " ({}{})",
            fmt::join(n.reason.entities.begin(),
                      n.reason.entities.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                      5, n.reason.entities.size())),
                      ", "),
            n.reason.entities.size() > 5 ? fmt::format(" and {} more", n.reason.entities.size() - 5)
                                         : "");
      auto& metrics = by[text];
      if (metrics.empty()) order.push_back(text);
      metrics.push_back(n.metric);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!all_ && i >= kMostReasons) {
        out += fmt::format("  {} more; --all shows them\n", order.size() - kMostReasons);
        break;
      }
      const auto& metrics = by[order[i]];
      const std::string who =
          metrics.size() == report_.searched.size() && metrics.size() > 1 ? "all metrics"
          : metrics.size() > 3 ? fmt::format("{} and {} more", metrics[0], metrics.size() - 1)
                               : fmt::format("{}", fmt::join(metrics, ", "));
      out += "  " + wrapped((who.empty() ? "" : who + ": ") + order[i], 4) + "\n";
    }
    out += "\n";
  }

  // Some stand two columns in.
  std::string wrapped(const std::string& text, std::size_t indent) const {
    return report::wrapped(report::visible(text), width_ - 2, indent);
  }

  const OutlierReport& report_;
  bool all_;
  std::size_t width_;
};

// Tables of one call are one: the hosts of one may stand in several.
void join(std::vector<MetricSeries>& all, std::vector<MetricSeries> some) {
  for (MetricSeries& m : some) {
    const auto same = std::ranges::find(all, m.name, &MetricSeries::name);
    if (same == all.end()) {
      all.push_back(std::move(m));
      continue;
    }
    std::map<std::string, std::size_t> known;
    for (std::size_t e = 0; e < same->entities.size(); ++e)
      known.emplace(same->entities[e].name, e);
    for (MetricSeries::Entity& e : m.entities) {
      const auto it = known.find(e.name);
      if (it == known.end()) {
        same->entities.push_back(std::move(e));
        continue;
      }
      MetricSeries::Entity& to = same->entities[it->second];
      to.times.insert(to.times.end(), e.times.begin(), e.times.end());
      to.values.insert(to.values.end(), e.values.begin(), e.values.end());
    }
  }
}

Result<Exit> run_outliers(const Arguments& arguments) {
  const bool whole_incident = names_incident(arguments);
  if (!whole_incident && arguments.positional().empty())
    return usage_error("outliers needs a database, a bundle or a table of metrics")
        .hint("culprit outliers -d incident.db, culprit outliers metrics.csv");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  analyze::OutlierParams params;
  const std::string method = arguments.get("method", "robust");
  if (method != "robust" && method != "published")
    return usage_error(fmt::format("--method is robust or published, not '{}'", method));
  if (method == "published") params.rule = analyze::OutlierRule::published;
  CULPRIT_TRY(window, duration(arguments, "window", params.window));
  CULPRIT_TRY(bin, duration(arguments, "bin", 0));
  if (bin > 0 && (bin > window / 5 || bin < window / 32))
    return usage_error("--bin is a fifth to a 32nd of the window")
        .hint("leave it out: a twentieth is taken");
  params.window = window;
  params.bin = bin;
  if (whole_incident) {
    CULPRIT_TRY(pack, load_pack(arguments));
    CULPRIT_TRY(incident, open_incident(arguments, pack));
    const OutlierReport report =
        diagnose::outliers_of(incident.db, incident.resolved.facts,
                              diagnose::metrics_of(incident.db, incident.resolved.facts), params);
    const OutliersPrinter printer(arguments, report);
    print(wants_json(arguments) ? identified(printer.json(), incident) : printer.text());
    return incident.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
  }
  ingest::MetricTableOptions options{.metric = arguments.get("metric"),
                                     .unit = arguments.get("unit"),
                                     .known_metric = [](const std::string& name) {
                                       return rules::Catalogue::built_in().find(name).has_value();
                                     }};
  std::vector<MetricSeries> metrics;
  std::size_t lost = 0;
  for (const std::string& path : arguments.positional()) {
    CULPRIT_TRY(table, read_table_file(arguments, path));
    CULPRIT_TRY(read, ingest::read_metric_table(table, path, options));
    if (read.left_out > 0)
      remark(arguments, fmt::format("{}: {} of {} rows left out: no time, no owner or no value",
                                    path, read.left_out, read.rows));
    for (const std::string& note : read.notes) remark(arguments, path + ": " + note);
    lost += table.rejected + read.left_out;
    join(metrics, std::move(read.metrics));
  }
  const OutlierReport report =
      analyze::search_outliers(metrics, rules::Catalogue::built_in(), params);
  const OutliersPrinter printer(arguments, report);
  print(wants_json(arguments) ? identified(printer.json()) : printer.text());
  return lost > 0 && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

constexpr auto kOutliersOptions = with_read_options({
    {"db,d", "FILE", "the database that `ingest` made; with a BUNDLE, where to keep it"},
    {"method", "NAME", "robust (the default), or published: mean + 2 sd"},
    {"window", "TIME", "how long something must last; 10m by default"},
    {"bin", "TIME", "instants that are compared; a twentieth of the window by default"},
    {"metric", "NAME", "what a table with a column a host is about"},
    {"unit", "UNIT", "what its values are in"},
    {"all", nullptr, "every line of long lists"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
    {"strict", nullptr, "exit with 4 when something of the table could not be read"},
});

}  // namespace

constinit const Command kOutliers{
    "outliers",
    "outliers among like machines: metrics compared across hosts",
    "outliers [BUNDLE...|TABLE...] [-d FILE] [options]",
    "  culprit outliers -d incident.db\n"
    "  culprit outliers metrics.csv\n"
    "  culprit outliers temperature.csv --metric gpu_temperature\n\n"
    "  A table of time, host, metric, value (also gpu, nic, rank, role), of time, host and a "
    "column a metric,\n"
    "  or of time and a column a host. At every instant a machine is compared with those of its "
    "role; an\n"
    "  outlier differs for the whole of a window. What all do together is reported, and no machine "
    "is named.\n",
    kOutliersOptions,
    run_outliers};

}  // namespace culprit::cli
