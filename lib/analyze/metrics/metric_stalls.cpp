#include "analyze/metrics/metric_stalls.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/metric_kind.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Names of the catalogue, and whether nearly idle counts, or only zero.
struct Watched {
  std::string_view name;
  Phrase words;
  bool low;
};
constexpr std::array<Watched, 4> kWatched{{{"nic_receive_bytes", Phrase::traffic_received, false},
                                           {"nic_transmit_bytes", Phrase::traffic_sent, false},
                                           {"gpu_tensor_active", Phrase::tensor_activity, true},
                                           // A kernel that waits keeps it high: only zero counts.
                                           {"gpu_utilization", Phrase::gpu_at_work, false}}};

// An entity whose traffic or activity has stopped, and still had when its samples end.
struct Standing {
  std::string entity;
  Host host;
  Stall stall;
};

struct StandingOf {
  std::vector<Standing> standing;
  std::size_t judged = 0;  // entities that ever moved: an unused port says nothing
};

StandingOf standing_of(const MetricSeries& metric, const rules::MetricMatch& match,
                       const Watched& watched, const MetricStallParams& params) {
  StandingOf out;
  for (const MetricSeries::Entity& e : metric.entities) {
    std::vector<MetricPoint> points;
    if (match.kind == rules::MetricKind::counter) {
      const CounterRate rate = counter_rate(e.times, e.values, match.metric->ceiling);
      for (std::size_t i = 0; i < rate.times.size(); ++i)
        points.push_back({rate.times[i], rate.rates[i] * match.scale});
    } else {
      for (std::size_t i = 0; i < e.times.size(); ++i)
        points.push_back({e.times[i], e.values[i] * match.scale});
    }
    if (std::ranges::none_of(points, [](const MetricPoint& p) { return p.value > 0; })) continue;
    ++out.judged;
    const auto stalls = stall_hints(points, params.stall);
    if (!stalls.empty() && stalls.back().open && (watched.low || stalls.back().zero))
      out.standing.push_back({e.name, e.host, stalls.back()});
  }
  return out;
}

Finding finding_of(const Facts& facts, const std::string& metric, const Watched& watched,
                   const StandingOf& all) {
  const std::vector<Standing>& standing = all.standing;
  std::vector<Nanoseconds> begins;
  Nanoseconds end = standing.front().stall.end;
  std::set<Host> hosts;
  for (const Standing& s : standing) {
    begins.push_back(s.stall.begin);
    end = std::max(end, s.stall.end);
    if (!s.host.empty()) hosts.insert(s.host);
  }
  sort_rows(begins);
  const Nanoseconds begin = begins[begins.size() / 2];
  Finding f{.id = fmt::format("stall/{}", metric),
            .analysis = Analysis::stall,
            .subject = {SubjectKind::job, "job"},
            .event_class = fmt::format("stall/{}", watched.name),
            .symptom = Symptom::job_hang,
            .role = Role::advice,
            .scope = Scope::job_wide,
            .start = begin,
            .end = end,
            .count = standing.size()};
  f.hosts.assign(hosts.begin(), hosts.end());
  const bool zero = std::ranges::all_of(standing, [](const Standing& s) { return s.stall.zero; });
  f.title = say(zero ? Phrase::at_zero_on : Phrase::nearly_none_on, say(watched.words),
                standing.size(), all.judged, human_duration(end - begin));
  // The job's own word that it was over by then explains it.
  const bool ended = facts.job_end && *facts.job_end <= begin && !facts.exits.empty();
  f.outcome = ended ? Outcome::ruled_out : Outcome::fired;
  f.confidence = ended ? 0 : confidence::kTrafficStopped;
  f.why = say(ended ? Phrase::job_had_ended : Phrase::looks_like_hang);
  f.advice = say(Phrase::dump_all_ranks_twice);
  return f;
}

}  // namespace

std::vector<Finding> stall_findings(const Facts& facts, const IncidentMetrics& metrics,
                                    const rules::Catalogue& catalogue,
                                    const std::function<SeriesPoints(SeriesId)>& load,
                                    const MetricStallParams& params) {
  std::vector<Finding> out;
  for (const MetricSeries& metric : metrics.metrics) {
    const auto match = match_by_samples(metric, catalogue);
    if (!match) continue;
    const auto watched = std::ranges::find(kWatched, match->metric->name, &Watched::name);
    if (watched == kWatched.end()) continue;
    const StandingOf all = standing_of(metric, *match, *watched, params);
    if (all.standing.empty() ||
        static_cast<double>(all.standing.size()) <= params.most * static_cast<double>(all.judged))
      continue;
    Finding f = finding_of(facts, metric.name, *watched, all);
    const Standing& first = *std::ranges::min_element(
        all.standing, {}, [](const Standing& a) { return std::tie(a.stall.begin, a.entity); });
    f.evidence = sample_evidence(facts, load, metric.name, first.entity, first.stall.begin,
                                 first.stall.end, 0);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
