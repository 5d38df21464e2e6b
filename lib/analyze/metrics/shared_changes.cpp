// Holds each shared metric inside the slow stretch against the same metric before and behind it.
#include "analyze/metrics/shared_changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "model/confidence.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/shared_metrics.hpp"

namespace culprit::analyze {

namespace {

using rules::SharedMetric;
using rules::SharedPart;

// All samples of one metric of one port, target or host, by time.
struct Measured {
  std::string name;  // "agg-a1/Ethernet49", "scratch-OST0017"; "" of the one there is
  bool of_machine = false;
  std::vector<PlacedSample> samples;
};

// "switch=agg-a1,port=Ethernet49" -> "agg-a1/Ethernet49"
std::string entity_of(const SeriesRow& s) {
  std::string out = entity_name(s);
  for (std::size_t at = 0; at < s.labels.size();) {
    const std::size_t end = std::min(s.labels.find(',', at), s.labels.size());
    const std::size_t value = std::min(s.labels.find('=', at), end);
    if (value < end) {
      if (!out.empty()) out += '/';
      out += s.labels.substr(value + 1, end - value - 1);
    }
    at = end + 1;
  }
  return out;
}

// A number that never falls and rises most of the time counts.
bool counts(std::span<const PlacedSample> samples) {
  constexpr std::size_t kFewest = 8;
  std::size_t rises = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].value < samples[i - 1].value) return false;
    rises += samples[i].value > samples[i - 1].value;
  }
  return samples.size() >= kFewest && 2 * rises > samples.size();
}

void make_rates(std::vector<PlacedSample>& samples) {
  std::vector<Nanoseconds> times;
  std::vector<double> values;
  for (const PlacedSample& s : samples) times.push_back(s.time), values.push_back(s.value);
  const CounterRate rate = counter_rate(times, values);
  std::vector<PlacedSample> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rate.times.size(); ++i) {
    while (samples[at].time != rate.times[i]) ++at;
    out.push_back(samples[at]);
    out.back().value = rate.rates[i];
  }
  samples = std::move(out);
}

struct MetricLevels {
  double inside = 0, beside = 0;
  bool worse = false;
  const PlacedSample* within = nullptr;  // one that shows the level inside, and one beside
  const PlacedSample* without = nullptr;
};

double middle(const std::vector<const PlacedSample*>& samples) {
  std::vector<double> values;
  for (const PlacedSample* s : samples) values.push_back(s->value);
  return median_of(std::move(values));
}

const PlacedSample* nearest(const std::vector<const PlacedSample*>& samples, double level) {
  return *std::ranges::min_element(
      samples, {}, [&](const PlacedSample* s) { return std::abs(s->value - level); });
}

double share_beyond(const std::vector<const PlacedSample*>& samples, double limit, bool high) {
  const auto n = std::ranges::count_if(
      samples, [&](const PlacedSample* s) { return high ? s->value > limit : s->value < limit; });
  return static_cast<double>(n) / static_cast<double>(samples.size());
}

// stretches: all slow ones, of which no other says how it is at usual times.
MetricLevels levels_of(const Measured& measured, const SharedMetric& metric, const Finding& slow,
                       std::span<const Finding* const> stretches,
                       const SharedChangeParams& params) {
  const auto in_another = [&](Nanoseconds time) {
    return std::ranges::any_of(stretches, [&](const Finding* other) {
      return other != &slow && time >= *other->start && time <= *other->end;
    });
  };
  const Nanoseconds from = *slow.start, to = *slow.end;
  const Nanoseconds beside = std::max(to - from, params.least_beside);
  std::vector<const PlacedSample*> in, out;
  double highest = 0;
  for (const PlacedSample& s : measured.samples) {
    highest = std::max(highest, s.value);
    if (s.time >= from && s.time <= to)
      in.push_back(&s);
    else if (s.time >= from - beside && !in_another(s.time) &&
             (s.time < from || (std::get<SlowFacts>(slow.facts).over && s.time <= to + beside)))
      out.push_back(&s);
  }
  if (in.size() < params.least) return {};
  MetricLevels levels{.inside = middle(in)};
  levels.within = nearest(in, levels.inside);
  if (out.size() < params.least) return levels;
  levels.beside = middle(out);
  levels.without = nearest(out, levels.beside);
  const bool high = metric.bad == rules::MetricSide::high;
  if (metric.exhausted) {
    const double nothing = params.exhausted * highest;
    levels.worse = levels.beside > nothing && share_beyond(in, nothing, false) >= params.share &&
                   share_beyond(out, nothing, false) <= params.others;
    return levels;
  }
  // A count of one and less is next to nothing, however many times of the other it is.
  const double least = std::max(levels.beside, high ? 1.0 : 0.0);
  const bool far = high ? levels.inside >= metric.factor * least &&
                              (!metric.least || levels.inside >= *metric.least)
                        : levels.inside * metric.factor <= levels.beside;
  const double limit = (levels.inside + levels.beside) / 2;
  levels.worse = far && share_beyond(in, limit, high) >= params.share &&
                 share_beyond(out, limit, high) <= params.others;
  return levels;
}

// "1.43 T", "5673", "97.3"
std::string amount(double value) {
  constexpr std::pair<double, const char*> kScales[] = {
      {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
  for (const auto& [scale, word] : kScales)
    if (std::abs(value) >= scale)
      return fmt::format("{:.3g}{}", value / (scale == 1e4 ? 1e3 : scale), word);
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

struct Worse {
  const Measured* measured;
  MetricLevels levels;
};

// A switch, or whatever comes first or last in all their names: labels may stand in any order.
std::string in_common(const std::vector<Worse>& worse) {
  const std::string& name = worse.front().measured->name;
  const std::string first = name.substr(0, name.find('/')), last = name.substr(name.rfind('/') + 1);
  const auto all = [&](auto has) {
    return std::ranges::all_of(worse, [&](const Worse& w) { return has(w.measured->name); });
  };
  if (all([&](const std::string& one) { return one == first || one.starts_with(first + "/"); }))
    return first;
  return all([&](const std::string& one) { return one.ends_with("/" + last); }) ? last
                                                                                : std::string();
}

// "cloudwatch/AWS_EFS_fs-0a91c27f.csv" -> "fs-0a91c27f": services name what they measure so.
std::string named_in_path(const std::string& path) {
  const std::size_t at = path.rfind("fs-");
  if (at == std::string::npos) return {};
  const std::size_t end = path.find_first_not_of("0123456789abcdef", at + 3);
  const std::string name = path.substr(at, end == std::string::npos ? end : end - at);
  return name.size() >= 11 ? name : std::string();
}

Subject subject_of(const Facts& facts, const SharedMetric& metric, const std::vector<Worse>& worse,
                   std::size_t measured) {
  const bool machines = worse.front().measured->of_machine;
  const bool few = worse.size() <= 2 && measured > 2 && worse.size() < measured;
  std::string name = machines ? std::string()
                     : few    ? worse.front().measured->name
                              : in_common(worse);
  switch (metric.of) {
    case SharedPart::network:
      return name.empty() ? kNetworkOfJob : Subject{SubjectKind::network_switch, name};
    case SharedPart::processor: return {SubjectKind::config, "limit of processors"};
    case SharedPart::storage: break;
  }
  if (const MemberRow* m = facts.member(worse.front().levels.within->series->member);
      name.empty() && m != nullptr)
    name = named_in_path(m->path);
  return {SubjectKind::storage, name.empty() ? "remote storage" : name};
}

Evidence cite(const Facts& facts, const PlacedSample& s) {
  return evidence_of_sample(facts, *s.series, s.line, s.offset, s.printed, s.time);
}

Finding finding_of(const Facts& facts, const SharedMetric& metric, const Finding& slow,
                   const std::vector<Worse>& worse, std::size_t measured) {
  const Worse& first = worse.front();
  const MetricLevels& levels = first.levels;
  Finding f{.analysis = Analysis::shared_change,
            .subject = subject_of(facts, metric, worse, measured),
            .event_class = fmt::format("shared/{}", metric.label),
            .symptom = metric.symptom,
            .severity = Severity::warning,
            .role = Role::root,
            .scope = Scope::shared,
            .cause = CauseKind::shared,
            .confidence = confidence::kSharedUnnamed,
            .start = slow.start,
            .end = slow.end,
            .count = worse.size()};
  f.id = fmt::format("{}/{}", f.event_class, std::get<SlowFacts>(slow.facts).first);
  const Text whose =
      first.measured->name.empty() ? Text() : say(Phrase::of_measured, first.measured->name);
  f.title = levels.without == nullptr ? say(Phrase::one_target_full, metric.label, whose,
                                            amount(levels.inside), amount(levels.beside))
                                      : say(Phrase::worse_while_slow, metric.label, whose,
                                            amount(levels.inside), amount(levels.beside));
  if (levels.without != nullptr && measured > 1)
    f.title += say(Phrase::on_so_many, worse.size(), measured);
  f.why = say(Phrase::began_with_slow_steps);
  f.advice = metric.advice;
  f.evidence.push_back(cite(facts, *levels.within));
  if (levels.without != nullptr) f.evidence.push_back(cite(facts, *levels.without));
  return f;
}

// Of several measured alike while it was slow, the few that are full where the others are idle.
std::vector<Worse> full_ones(std::vector<Worse> all, const SharedMetric& metric,
                             const SharedChangeParams& params) {
  constexpr std::size_t kFewest = 4;
  if (!metric.least || all.size() < kFewest) return {};
  std::vector<double> others;
  std::vector<Worse> full;
  for (const Worse& one : all) {
    if (one.levels.inside >= *metric.least)
      full.push_back(one);
    else
      others.push_back(one.levels.inside);
  }
  if (full.empty() ||
      static_cast<double>(full.size()) > params.few * static_cast<double>(all.size()) ||
      *std::ranges::max_element(others) > params.idle * *metric.least)
    return {};
  const double usual = median_of(others);
  for (Worse& one : full) one.levels.beside = usual, one.levels.without = nullptr;
  return full;
}

using ByEntity = std::map<std::string, Measured>;
// What each file says of it.
using ByFile = std::map<MemberId, Measured>;

// "fabric/leaf-3_ports.csv" -> "leaf-3": whose ports a file is about that names it in no column.
std::string subject_of_file(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find_first_of("_."));
}

// Files of one thing follow each other; those of one time are about several that are called alike.
void put_files(const Facts& facts, const std::string& name, ByFile files, ByEntity& out) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> spans;
  for (const auto& [member, one] : files) {
    const auto [first, last] = std::ranges::minmax_element(one.samples, {}, &PlacedSample::time);
    if (first != one.samples.end()) spans.emplace_back(first->time, last->time);
  }
  std::ranges::sort(spans);
  const bool apart = std::ranges::adjacent_find(spans, [](const auto& a, const auto& b) {
                       return a.second > b.first;
                     }) == spans.end();
  for (auto& [member, one] : files) {
    const MemberRow* m = facts.member(member);
    const std::string own =
        apart || name.empty() || m == nullptr ? name : subject_of_file(m->path) + "/" + name;
    Measured& to = out[own];
    to.name = own;
    to.of_machine = one.of_machine;
    if (to.samples.empty())
      to.samples = std::move(one.samples);
    else
      to.samples.insert(to.samples.end(), one.samples.begin(), one.samples.end());
  }
}

// By the row of the table and the name as printed.
std::map<std::pair<const SharedMetric*, std::string>, ByEntity> measured_of(
    const Facts& facts, const std::function<SeriesPoints(SeriesId)>& load) {
  std::map<std::pair<const SharedMetric*, std::string>, std::map<std::string, ByFile>> files;
  std::map<std::string, const SharedMetric*> known;  // a job has a hundred thousand series
  for (const SeriesRow& s : facts.series) {
    const auto [found, fresh] = known.try_emplace(s.name, nullptr);
    if (fresh) found->second = rules::shared_metric(s.name);
    const SharedMetric* metric = found->second;
    const MemberRow* m = facts.member(s.member);
    if (metric == nullptr || !facts.counts(m) || of_earlier_run(m->path)) continue;
    const auto offset = facts.clock_offset(s.member, s.clock);
    if (!offset) continue;
    Measured& to = files[{metric, s.name}][entity_of(s)][s.member];
    to.of_machine = s.host.has_value();
    add_placed(s, load(s.id), *offset, to.samples);
  }
  std::map<std::pair<const SharedMetric*, std::string>, ByEntity> out;
  for (auto& [metric, names] : files)
    for (auto& [name, by_file] : names) put_files(facts, name, std::move(by_file), out[metric]);
  for (auto& [metric, entities] : out)
    for (auto& [name, measured] : entities) {
      std::erase_if(measured.samples, [](const PlacedSample& p) { return std::isinf(p.value); });
      sort_placed(facts, measured.samples);
      if (counts(measured.samples)) make_rates(measured.samples);
    }
  return out;
}

}  // namespace

std::vector<Finding> shared_changes(const Facts& facts, std::span<const Finding> slow,
                                    const std::function<SeriesPoints(SeriesId)>& load,
                                    const SharedChangeParams& params) {
  std::vector<const Finding*> of_job;
  for (const Finding& f : slow)
    if (f.outcome == Outcome::fired && f.subject.kind == SubjectKind::job && f.start && f.end)
      of_job.push_back(&f);
  if (of_job.empty()) return {};
  // Two columns of one kind say the same: the one that more ports show.
  std::map<std::string, Finding> best;  // by id
  const auto measured = measured_of(facts, load);
  for (const Finding* stretch : of_job)
    for (const auto& [key, entities] : measured) {
      const SharedMetric& metric = *key.first;
      std::vector<Worse> worse, all;
      std::size_t machines = 0;
      for (const auto& [name, one] : entities) {
        const MetricLevels levels = levels_of(one, metric, *stretch, of_job, params);
        if (levels.within == nullptr) continue;
        all.push_back({&one, levels});
        machines += one.of_machine;
        if (levels.worse) worse.push_back(all.back());
      }
      // What one machine of several measures is its own affair.
      if (machines > 0 && (machines < 2 || 2 * worse.size() < machines)) worse.clear();
      if (worse.empty() && machines == 0) worse = full_ones(all, metric, params);
      if (worse.empty()) continue;
      const auto gain = [&](const Worse& w) {
        return metric.bad == rules::MetricSide::high ? w.levels.inside : -w.levels.inside;
      };
      std::ranges::stable_sort(worse,
                               [&](const Worse& a, const Worse& b) { return gain(a) > gain(b); });
      Finding f = finding_of(facts, metric, *stretch, worse, all.size());
      if (const auto at = best.find(f.id); at == best.end() || f.count > at->second.count)
        best.insert_or_assign(f.id, std::move(f));
    }
  std::vector<Finding> out;
  for (auto& [id, f] : best) out.push_back(std::move(f));
  return out;
}

}  // namespace culprit::analyze
