// The catalogue of metrics: what programs call a number, its unit, and what a high or a low one
// says about a machine. The data is rules/tables/metrics.json, its manual schemas/metrics-v1.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/enum_name.hpp"
#include "model/result.hpp"
#include "model/terms.hpp"
#include "rules/archive.hpp"

namespace culprit::rules {

enum class MetricKind { gauge, counter };
enum class MetricSide { high, low, both, none };  // which side of the crowd is bad
enum class MetricTrend { none, rising, falling };
constexpr std::string_view name(MetricSide side) { return enum_name(side); }

struct Metric {
  std::string name;  // ours: gpu_temperature
  std::string unit;  // of the values that are compared; of a counter that of its rate
  MetricKind kind = MetricKind::gauge;
  MetricSide bad = MetricSide::both;
  std::string entity;     // host gpu nic rank
  std::string points_to;  // gpu nic network cpu memory storage thermal power host
  Symptom symptom = Symptom::none;
  double floor_absolute = 0;  // the least difference that matters, in `unit`
  double floor_relative =
      0.10;  // the same as a share of the crowd's value; GREYHOUND §4.2 takes 10 % for jitter
  std::optional<double> zero_above;  // healthy machines stay at or below it
  bool zero_once = false;            // one sample above is enough
  bool slows = false;                // one reading proves that the device is slow while it is so
  bool limit = false;                // somebody set it: where it is low, other metrics follow
  bool wire = false;                 // errors of the wire itself, not of what is sent over it
  bool at_rest = false;              // it proves as much of an idle device, and at any time
  MetricTrend exhausts = MetricTrend::none;  // where it goes as programs fill the memory
  double ceiling = 0;                        // where the counter sticks; 0: nowhere
  std::string meaning, advice, source;

  // Devices are compared by one reading of each.
  bool by_reading() const { return slows || limit; }
  // What the device says for itself: its hardware holds it down, or it came up with fewer lanes. A
  // low clock alone may be a limit that somebody set.
  bool by_hardware() const { return slows && (zero_above || at_rest); }

  template <class Archive, MaybeConst<Metric> T>
  friend void each_field(Archive& archive, T& m) {
    archive(m.name, m.unit, m.kind, m.bad, m.entity, m.points_to, m.symptom, m.floor_absolute,
            m.floor_relative, m.zero_above, m.zero_once, m.slows, m.limit, m.wire, m.at_rest,
            m.exhausts, m.ceiling, m.meaning, m.advice, m.source);
  }
};

// A name that was found, and how its values become those of the metric.
struct MetricMatch {
  const Metric* metric = nullptr;  // lives as long as the catalogue
  MetricKind kind = MetricKind::gauge;
  double scale = 1;  // value (of a counter: rate) x scale is in metric->unit
};

class Catalogue {
 public:
  // Errors name file, key and reason: an unknown key, a name or alias that stands twice, units that
  // do not go together.
  static Result<Catalogue> parse(std::string_view text, const std::string& file);
  static const Catalogue& built_in();

  // `metric` as a program prints it; a unit in brackets behind it ("power.draw [W]") counts when
  // `unit` is "". A unit that does not fit the metric is as if the name were not known. Exact names
  // win over patterns, and of patterns the one with most fixed characters. A name that only differs
  // in where words are cut is known, too, and one that ends with another unit of the same quantity.
  std::optional<MetricMatch> find(std::string_view metric, std::string_view unit = {}) const;
  const std::vector<Metric>& metrics() const { return metrics_; }

 private:
  struct Alias {
    std::string name;  // normal form
    std::size_t metric = 0;
    MetricKind kind = MetricKind::gauge;
    std::string unit;

    template <class Archive, MaybeConst<Alias> T>
    friend void each_field(Archive& archive, T& alias) {
      archive(alias.name, alias.metric, alias.kind, alias.unit);
    }
  };
  template <class Archive, MaybeConst<Catalogue> T>
  friend void each_field(Archive& archive, T& catalogue) {
    archive(catalogue.metrics_, catalogue.exact_, catalogue.joined_, catalogue.bare_,
            catalogue.patterns_);
  }

  void learn_bare_names();

  std::vector<Metric> metrics_;
  std::map<std::string, Alias, std::less<>> exact_;
  std::map<std::string, Alias, std::less<>>
      joined_;  // without '_': Tcp_RetransSegs and tcp_retrans_segs; those that stay unique
  std::map<std::string, Alias, std::less<>> bare_;  // without the unit that ends the name
  std::vector<Alias> patterns_;                     // most fixed characters first
};

// Answers of a catalogue, each looked for once: a job has a hundred thousand series of few names.
class FoundMetrics {
 public:
  explicit FoundMetrics(const Catalogue& catalogue) : catalogue_(catalogue) {}
  const std::optional<MetricMatch>& find(const std::string& metric, const std::string& unit) {
    const auto [it, fresh] = found_.try_emplace({metric, unit});
    if (fresh) it->second = catalogue_.find(metric, unit);
    return it->second;
  }

 private:
  const Catalogue& catalogue_;
  std::map<std::pair<std::string, std::string>, std::optional<MetricMatch>> found_;
};

// The name in the catalogue of what is read on a device ("gpu", "nic"; "": on none): the "temp" of
// a GPU is gpu_temp there. None: neither name is known. `known`: a Catalogue or FoundMetrics.
std::optional<std::string> name_on_device(auto& known, std::string_view device,
                                          const std::string& name, const std::string& unit = {}) {
  if (known.find(name, unit)) return name;
  if (device.empty()) return std::nullopt;
  std::string out = std::string(device).append(1, '_').append(name);
  return known.find(out, unit) ? std::optional(std::move(out)) : std::nullopt;
}

// "MiB/s" to "B/s" is 1048576; none when they do not measure the same. "s/s" is a ratio.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

// "DCGM_FI_DEV_GPU_TEMP", "utilization.gpu [%]" -> "dcgm_fi_dev_gpu_temp", "utilization_gpu" and
// the unit "%".
std::string normal_metric_name(std::string_view metric, std::string* unit = nullptr);

}  // namespace culprit::rules
