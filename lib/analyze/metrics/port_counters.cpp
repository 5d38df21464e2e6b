// Compares by how much the counters of like ports grew.
#include "analyze/metrics/port_counters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

struct Look {
  double value;
  const SeriesRow* series;
  std::int64_t line, offset;
};

// A port by its machine or switch, its name there, and what tells who counts: the other end of its
// link may, too.
struct PortName {
  Host host;
  std::string port, by;
  auto operator<=>(const PortName&) const = default;
};

struct PortLooks {
  std::optional<Look> low, high;
  std::size_t looks = 0;

  void add(const Look& look) {
    ++looks;
    if (!low || look.value < low->value) low = look;
    if (!high || look.value > high->value) high = look;
  }
  double growth() const { return high->value - low->value; }
};

struct Counter {
  const rules::Metric* metric;
  std::map<PortName, PortLooks> ports;
};

// "mlx5_2/1" and "mlx5_2" are one port: cards of the machines compared have one each.
std::string port_of(const std::string& nic) {
  return nic.ends_with("/1") ? nic.substr(0, nic.size() - 2) : nic;
}

// A link of a GPU is one, too.
bool of_gpu(const SeriesRow& s) { return s.gpu && s.labels.starts_with(kLinkLabel); }

// Errors of a port or of its wire.
bool counts_errors(const SeriesRow& s, const rules::Metric& metric) {
  if (metric.bad != rules::MetricSide::high) return false;
  return of_gpu(s) ? metric.entity == "gpu" && metric.wire
                   : metric.entity == "nic" && metric.symptom == Symptom::infiniband_error;
}

// By their names as printed: two counters of one metric are not one counter.
std::map<std::string, Counter> counters_of(const Facts& facts, const rules::Catalogue& catalogue,
                                           const std::function<SeriesPoints(SeriesId)>& load) {
  std::map<std::string, Counter> out;
  rules::FoundMetrics known(catalogue);
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if ((!s.nic && !of_gpu(s)) || !facts.counts(m) || of_earlier_run(m->path)) continue;
    const auto& match = known.find(s.name, s.unit);
    if (!match || match->kind != rules::MetricKind::counter || !counts_errors(s, *match->metric))
      continue;
    const std::optional<Host>& host = s.host ? s.host : m->host;
    if (!host) continue;
    Counter& counter = out.try_emplace(s.name, Counter{match->metric, {}}).first->second;
    PortLooks& port = counter.ports[{*host, s.nic ? port_of(*s.nic) : "gpu" + *s.gpu, s.labels}];
    const SeriesPoints points = load(s.id);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (std::isfinite(points.values[i]))
        port.add({points.values[i], &s, points.lines.empty() ? 0 : points.lines[i],
                  points.offsets.empty() ? 0 : points.offsets[i]});
  }
  return out;
}

Finding finding_of(const Facts& facts, const std::string& name, const Counter& counter,
                   const PortLooks& port, const Subject& subject) {
  Finding f{.id = fmt::format("port_counters/{}/{}", counter.metric->name, subject.id),
            .analysis = Analysis::port_counters,
            .subject = subject,
            .event_class = fmt::format("port_counters/{}", counter.metric->name),
            .symptom = counter.metric->symptom,
            .severity = Severity::critical,
            .role = Role::root,
            .confidence = confidence::kSettingSlows,
            .count = static_cast<std::uint64_t>(port.growth())};
  f.traits.add(Trait::measured_slow);
  f.advice = counter.metric->advice;
  for (const Look& look : {*port.high, *port.low}) {
    const auto line = static_cast<std::uint64_t>(std::max<std::int64_t>(0, look.line));
    const auto offset = static_cast<std::uint64_t>(std::max<std::int64_t>(0, look.offset));
    Evidence e =
        facts.evidence({look.series->member, line, offset, 0}, fmt::format("{}", look.value));
    e.reading = name;
    f.evidence.push_back(std::move(e));
  }
  return f;
}

bool of_switch(const PortLooks& port) { return contains(port.high->series->labels, kOfSwitch); }

class Comparison {
 public:
  Comparison(const Facts& facts, const std::string& name, const Counter& counter,
             const PortCounterParams& params)
      : facts_(facts), name_(name), counter_(counter), params_(params) {
    std::vector<double> all;
    for (const auto& [port, looks] : counter.ports)
      if (looks.looks > 1) twice_.push_back({&port, &looks}), all.push_back(looks.growth());
    if (!all.empty()) usual_ = low_median_of(all);
  }
  bool enough() const { return twice_.size() >= params_.fewest; }

  // The ports whose wire takes errors where the others' take none.
  std::vector<Finding> odd_ports() const {
    std::vector<Finding> out;
    if (!counter_.metric->wire) return out;
    for (const auto& [port, looks] : twice_)
      if (looks->growth() >= params_.least && looks->growth() > params_.times_usual * usual_)
        out.push_back(of_port(*port, *looks));
    if (out.size() > params_.most) out.clear();
    return out;
  }

  // The one rail on which most ports count, where those of all others do not.
  std::optional<Finding> odd_rail() const {
    struct Rail {
      std::size_t ports = 0, counting = 0;
      const PortLooks* most = nullptr;
    };
    std::map<std::string, Rail> rails;
    std::size_t counting = 0;
    for (const auto& [port, looks] : twice_) {
      if (of_gpu(*looks->high->series)) continue;
      Rail& rail = rails[port->port];
      ++rail.ports;
      if (looks->growth() < params_.least || looks->growth() <= params_.times_usual * usual_)
        continue;
      ++rail.counting, ++counting;
      if (rail.most == nullptr || looks->growth() > rail.most->growth()) rail.most = looks;
    }
    for (const auto& [name, rail] : rails) {
      const std::size_t others = twice_.size() - rail.ports;
      if (rail.ports < params_.machines || others < rail.ports ||
          static_cast<double>(rail.counting) < params_.of_rail * static_cast<double>(rail.ports) ||
          static_cast<double>(counting - rail.counting) >
              params_.of_others * static_cast<double>(others))
        continue;
      Finding f = finding_of(facts_, name_, counter_, *rail.most,
                             {SubjectKind::network_switch, "rail " + name});
      f.scope = Scope::shared;
      f.cause = CauseKind::shared;
      f.title = say(Phrase::rail_counts_errors, name, rail.counting, rail.ports, name_,
                    rail.most->growth());
      return f;
    }
    return std::nullopt;
  }

 private:
  struct Twice {
    const PortName* port;
    const PortLooks* looks;
  };

  Finding of_port(const PortName& port, const PortLooks& looks) const {
    const auto& [host, nic, by] = port;
    const bool machine = !of_switch(looks), gpu = of_gpu(*looks.high->series);
    Finding f = finding_of(facts_, name_, counter_, looks,
                           {gpu       ? SubjectKind::gpu
                            : machine ? SubjectKind::nic
                                      : SubjectKind::network_switch,
                            fmt::format("{}/{}", host, nic)});
    f.cause = gpu ? CauseKind::machine : machine ? CauseKind::network : CauseKind::shared;
    f.scope = machine ? Scope::host_local : Scope::shared;
    if (machine) f.host = host, f.hosts = {host};
    f.title = say(Phrase::port_counts_errors, nic, host, name_, looks.growth(), usual_);
    return f;
  }

  const Facts& facts_;
  const std::string& name_;
  const Counter& counter_;
  const PortCounterParams& params_;
  std::vector<Twice> twice_;
  double usual_ = 0;
};

// Of several counters of one port the one that counts most.
void keep_largest(std::vector<Finding>& all) {
  std::ranges::stable_sort(all, std::greater(), &Finding::count);
  std::set<Subject> known;
  std::erase_if(all, [&](const Finding& f) { return !known.insert(f.subject).second; });
  for (Finding& f : all) f.count = f.evidence.size();
}

}  // namespace

std::vector<Finding> port_counters(const Facts& facts, const rules::Catalogue& catalogue,
                                   const std::function<SeriesPoints(SeriesId)>& load,
                                   const PortCounterParams& params) {
  const auto counters = counters_of(facts, catalogue, load);
  std::vector<Finding> wires, rails;
  for (const auto& [name, counter] : counters) {
    const Comparison ports(facts, name, counter, params);
    if (!ports.enough()) continue;
    std::ranges::move(ports.odd_ports(), std::back_inserter(wires));
    if (auto rail = ports.odd_rail()) rails.push_back(std::move(*rail));
  }
  keep_largest(wires);
  keep_largest(rails);
  // Whoever sends to a port that takes errors repeats what it sends.
  return wires.empty() ? rails : wires;
}

}  // namespace culprit::analyze
