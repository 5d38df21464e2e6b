#include "rules/metrics.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "rules/glob.hpp"
#include "rules/prepared.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

using nlohmann::json;

enum class Quantity { count, time, bytes, share, frequency, power, energy, temperature, turns };

struct Unit {
  Quantity quantity;
  double factor;
};

struct NamedUnit {
  std::string_view name;
  Unit unit;
};

constexpr NamedUnit kUnits[] = {
    {"1", {Quantity::count, 1}},
    {"", {Quantity::count, 1}},
    {"K", {Quantity::count, 1e3}},
    {"M", {Quantity::count, 1e6}},
    {"G", {Quantity::count, 1e9}},
    {"T", {Quantity::count, 1e12}},
    {"ns", {Quantity::time, 1e-9}},
    {"us", {Quantity::time, 1e-6}},
    {"\xC2\xB5s", {Quantity::time, 1e-6}},
    {"ms", {Quantity::time, 1e-3}},
    {"s", {Quantity::time, 1}},
    {"sec", {Quantity::time, 1}},
    {"min", {Quantity::time, 60}},
    {"B", {Quantity::bytes, 1}},
    {"bytes", {Quantity::bytes, 1}},
    {"word", {Quantity::bytes, 4}},
    {"KB", {Quantity::bytes, 1e3}},
    {"kB", {Quantity::bytes, 1e3}},
    {"MB", {Quantity::bytes, 1e6}},
    {"GB", {Quantity::bytes, 1e9}},
    {"TB", {Quantity::bytes, 1e12}},
    {"KiB", {Quantity::bytes, 1024}},
    {"MiB", {Quantity::bytes, 1048576}},
    {"GiB", {Quantity::bytes, 1073741824}},
    {"bit", {Quantity::bytes, 0.125}},
    {"Kbit", {Quantity::bytes, 125}},
    {"Mbit", {Quantity::bytes, 125e3}},
    {"Gbit", {Quantity::bytes, 125e6}},
    {"ratio", {Quantity::share, 1}},
    {"%", {Quantity::share, 0.01}},
    {"percent", {Quantity::share, 0.01}},
    {"Hz", {Quantity::frequency, 1}},
    {"kHz", {Quantity::frequency, 1e3}},
    {"MHz", {Quantity::frequency, 1e6}},
    {"GHz", {Quantity::frequency, 1e9}},
    {"mW", {Quantity::power, 1e-3}},
    {"W", {Quantity::power, 1}},
    {"kW", {Quantity::power, 1e3}},
    {"mJ", {Quantity::energy, 1e-3}},
    {"J", {Quantity::energy, 1}},
    {"C", {Quantity::temperature, 1}},
    {"\xC2\xB0"
     "C",
     {Quantity::temperature, 1}},
    {"1/min", {Quantity::turns, 1}},
    {"rpm", {Quantity::turns, 1}},
    {"RPM", {Quantity::turns, 1}},
};

struct Measure {
  Quantity quantity;
  double factor;
  bool rate;
};

std::optional<Measure> read_unit(std::string_view text) {
  bool rate = false;
  for (const NamedUnit& one : kUnits)
    if (one.name == text) return Measure{one.unit.quantity, one.unit.factor, false};
  if (text.size() >= 2 && text.substr(text.size() - 2) == "/s") {
    text.remove_suffix(2);
    rate = true;
  }
  for (const NamedUnit& one : kUnits)
    if (rate && one.name == text) {
      // Seconds a second are a share, joules a second are watts.
      if (one.unit.quantity == Quantity::time)
        return Measure{Quantity::share, one.unit.factor, false};
      if (one.unit.quantity == Quantity::energy)
        return Measure{Quantity::power, one.unit.factor, false};
      return Measure{one.unit.quantity, one.unit.factor, true};
    }
  return std::nullopt;
}

MetricSide side_named(const std::string& text) {
  return text == "high"   ? MetricSide::high
         : text == "low"  ? MetricSide::low
         : text == "none" ? MetricSide::none
                          : MetricSide::both;
}

Metric read_metric(const json& object) {
  Metric m{
      .name = object["name"].get<std::string>(),
      .unit = object["unit"].get<std::string>(),
      .kind = object.value("kind", "gauge") == "counter" ? MetricKind::counter : MetricKind::gauge,
      .bad = side_named(object["bad"].get<std::string>()),
      .entity = object["entity"].get<std::string>(),
      .points_to = object["points_to"].get<std::string>(),
      .symptom = *term_named<Symptom>(object["symptom"].get<std::string>())};
  if (const auto it = object.find("floor"); it != object.end()) {
    m.floor_absolute = it->value("absolute", 0.0);
    m.floor_relative = it->value("relative", 0.0);
  }
  if (const auto it = object.find("zero_expected"); it != object.end()) {
    m.zero_above = (*it)["above"].get<double>();
    m.zero_once = it->value("once", false);
  }
  m.slows = object.value("slows", false);
  m.limit = object.value("limit", false);
  m.wire = object.value("wire", false);
  m.at_rest = object.value("at_rest", false);
  const std::string exhausts = object.value("exhausts", "");
  m.exhausts = exhausts == "rising"    ? MetricTrend::rising
               : exhausts == "falling" ? MetricTrend::falling
                                       : MetricTrend::none;
  m.ceiling = object.value("ceiling", 0.0);
  m.meaning = object["meaning"].get<std::string>();
  m.advice = object["advice"].get<std::string>();
  m.source = object["source"].get<std::string>();
  return m;
}

std::string raw_unit(const Metric& metric, MetricKind kind) {
  // What a counter counts, from the unit of its rate.
  if (kind == MetricKind::counter && metric.unit.size() > 1 &&
      metric.unit.substr(metric.unit.size() - 2) == "/s")
    return metric.unit == "/s" ? "1" : metric.unit.substr(0, metric.unit.size() - 2);
  return metric.unit;
}

std::string joined(std::string name) {
  std::erase(name, '_');
  return name;
}

std::string rate_of(const std::string& unit, MetricKind kind) {
  return kind == MetricKind::counter ? (unit == "1" ? "" : unit) + "/s" : unit;
}

}  // namespace

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  const auto a = read_unit(from), b = read_unit(to);
  if (!a || !b || a->quantity != b->quantity || a->rate != b->rate) return std::nullopt;
  return a->factor / b->factor;
}

std::string normal_metric_name(std::string_view metric, std::string* unit) {
  while (!metric.empty() && (metric.back() == ' ' || metric.back() == '\t'))
    metric.remove_suffix(1);
  if (!metric.empty() && (metric.back() == ']' || metric.back() == ')')) {
    const char open = metric.back() == ']' ? '[' : '(';
    if (const std::size_t at = metric.rfind(open); at != std::string_view::npos && at > 0) {
      if (unit != nullptr) *unit = std::string(metric.substr(at + 1, metric.size() - at - 2));
      metric = metric.substr(0, at);
    }
  }
  std::string out;
  for (const char c : metric) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '*';
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (word)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.size() > 6 && out.compare(out.size() - 6, 6, "_total") == 0) out.resize(out.size() - 6);
  return out;
}

namespace {

struct UnitEnding {
  std::string_view ending, unit;
};
// As tables write the unit of a column behind its name: "temp_c", "mem_used_gib".
constexpr UnitEnding kUnitEndings[] = {
    {"_c", "C"},           {"_celsius", "C"}, {"_w", "W"},     {"_watts", "W"}, {"_mhz", "MHz"},
    {"_pct", "%"},         {"_percent", "%"}, {"_bytes", "B"}, {"_kb", "KB"},   {"_mb", "MB"},
    {"_gb", "GB"},         {"_kib", "KiB"},   {"_mib", "MiB"}, {"_gib", "GiB"}, {"_gbps", "Gbit/s"},
    {"_gbit_s", "Gbit/s"}, {"_ms", "ms"}};

// The name without its unit, and the unit; nothing for a name that has none.
std::optional<std::pair<std::string, std::string_view>> without_unit(const std::string& normal) {
  for (const UnitEnding& one : kUnitEndings)
    if (normal.size() > one.ending.size() && normal.ends_with(one.ending))
      return std::pair(normal.substr(0, normal.size() - one.ending.size()), one.unit);
  return std::nullopt;
}

}  // namespace

Result<Catalogue> Catalogue::parse(std::string_view text, const std::string& file) {
  CULPRIT_TRY(document,
              schema::parse_checked(text, file, "metrics-v1.json", "a catalogue may hold"));
  Catalogue out;
  std::map<std::string, std::string> names;
  std::size_t index = 0;
  for (const json& object : document["metrics"]) {
    out.metrics_.push_back(read_metric(object));
    const Metric& metric = out.metrics_.back();
    const auto wrong = [&](const std::string& key, const std::string& reason) {
      return fail(fmt::format("metrics[{}].{} of '{}': {}", index, key, metric.name, reason))
          .at({file, 0});
    };
    if (!read_unit(metric.unit))
      return wrong("unit", fmt::format("'{}' is not a unit", metric.unit));
    if (!names.emplace(metric.name, metric.name).second) return wrong("name", "it stands twice");
    // A counter's own name is that of its rate.
    std::vector<Alias> aliases{{metric.name, index, metric.kind, raw_unit(metric, metric.kind)}};
    std::size_t n = 0;
    for (const json& one : object["aliases"]) {
      Alias alias{one.is_string() ? one.get<std::string>() : one["name"].get<std::string>(),
                  index,
                  metric.kind,
                  {}};
      if (one.is_object() && one.contains("kind"))
        alias.kind =
            one["kind"].get<std::string>() == "counter" ? MetricKind::counter : MetricKind::gauge;
      alias.unit = one.is_object() && one.contains("unit") ? one["unit"].get<std::string>()
                                                           : raw_unit(metric, alias.kind);
      if (!unit_factor(rate_of(alias.unit, alias.kind), metric.unit))
        return wrong(
            fmt::format("aliases[{}]", n),
            fmt::format("'{}' of a {} does not become '{}'", alias.unit,
                        alias.kind == MetricKind::counter ? "counter" : "gauge", metric.unit));
      aliases.push_back(std::move(alias));
      ++n;
    }
    for (std::size_t i = 0; i < aliases.size(); ++i) {
      Alias& alias = aliases[i];
      alias.name = normal_metric_name(alias.name);
      const std::string key = i == 0 ? "name" : fmt::format("aliases[{}]", i - 1);
      if (alias.name.find_first_not_of('*') == std::string::npos)
        return wrong(key, "it would match any name");
      if (contains(alias.name, '*')) {
        for (const Alias& other : out.patterns_)
          if (other.name == alias.name)
            return wrong(key, fmt::format("'{}' stands twice, also in '{}'", alias.name,
                                          out.metrics_[other.metric].name));
        out.patterns_.push_back(alias);
      } else if (const auto [it, fresh] = out.exact_.emplace(alias.name, alias); !fresh) {
        return wrong(key, fmt::format("'{}' stands twice, also in '{}'", alias.name,
                                      out.metrics_[it->second.metric].name));
      }
    }
    ++index;
  }
  std::map<std::string, std::size_t> ways;
  for (const auto& [exact, alias] : out.exact_) ++ways[joined(exact)];
  for (const auto& [exact, alias] : out.exact_)
    if (ways[joined(exact)] == 1) out.joined_.emplace(joined(exact), alias);
  out.learn_bare_names();
  sort_patterns(out.patterns_, &Alias::name);
  return out;
}

// Of names that hold their unit what stands before it, for tables in another unit.
void Catalogue::learn_bare_names() {
  std::map<std::string, std::set<std::size_t>> stems;
  for (const auto& [exact, alias] : exact_)
    if (const auto bare = without_unit(exact)) stems[bare->first].insert(alias.metric);
  for (const auto& [exact, alias] : exact_)
    if (const auto bare = without_unit(exact); bare && stems[bare->first].size() == 1)
      bare_.emplace(bare->first, alias);
}

const Catalogue& Catalogue::built_in() {
  static const Catalogue kBuiltIn = [] {
    if (auto prepared = prepared_part(PreparedPart::catalogue)) {
      Catalogue catalogue;
      (*prepared)(catalogue);
      return catalogue;
    }
    if (auto parsed = parse(embedded_rule("tables/metrics.json"), "rules/tables/metrics.json"))
      return std::move(parsed).value();
    return Catalogue{};
  }();
  return kBuiltIn;
}

std::optional<MetricMatch> Catalogue::find(std::string_view metric, std::string_view unit) const {
  std::string printed;
  const std::string normal = normal_metric_name(metric, &printed);
  const Alias* alias = nullptr;
  if (const auto it = exact_.find(normal); it != exact_.end())
    alias = &it->second;
  else
    alias = first_match(patterns_, &Alias::name, normal);
  if (alias == nullptr)
    if (const auto it = joined_.find(joined(normal)); it != joined_.end()) alias = &it->second;
  // The figure of a host over its GPUs: "gpu_temp_max" is a temperature, too.
  if (alias == nullptr)
    for (const std::string_view summary : {"_avg", "_mean", "_median", "_max", "_min"})
      if (normal.ends_with(summary))
        return find(std::string_view(normal).substr(0, normal.size() - summary.size()),
                    unit.empty() ? std::string_view(printed) : unit);
  // In the unit that the name itself tells.
  if (alias == nullptr)
    if (const auto bare = without_unit(normal)) {
      const auto exact = exact_.find(bare->first), other = bare_.find(bare->first);
      alias = exact != exact_.end()  ? &exact->second
              : other != bare_.end() ? &other->second
                                     : nullptr;
      if (unit.empty()) unit = bare->second;
    }
  // What a counter grew by since the row before is its rate, in a unit of the table's own.
  if (alias == nullptr)
    for (const std::string_view growth :
         {"_delta", "_diff", "_rate", "_per_s", "_per_sec", "_per_second", "_pps"})
      if (normal.ends_with(growth)) {
        auto of = find(std::string_view(normal).substr(0, normal.size() - growth.size()), {});
        if (!of || (of->kind != MetricKind::counter && !of->metric->unit.ends_with("/s")))
          return std::nullopt;
        of->kind = MetricKind::gauge;
        return of;
      }
  if (alias == nullptr) return std::nullopt;
  const Metric& known = metrics_[alias->metric];
  std::string told(unit.empty() ? std::string_view(printed) : unit);
  // Brackets that hold no unit ("elapsed time (mean)") say nothing.
  if (unit.empty() && !read_unit(told)) told.clear();
  if (told.empty()) told = alias->unit;
  auto scale = unit_factor(rate_of(told, alias->kind), known.unit);
  MetricKind kind = alias->kind;
  if (!scale &&
      kind == MetricKind::counter) {  // somebody has made a rate of it already: "rx_bytes [MB/s]"
    scale = unit_factor(told, known.unit);
    kind = MetricKind::gauge;
  }
  if (!scale) return std::nullopt;
  return MetricMatch{&known, kind, *scale};
}

}  // namespace culprit::rules
