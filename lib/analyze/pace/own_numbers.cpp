#include "analyze/pace/own_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "analyze/metrics/incident_metrics.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kLeast = 4;  // ranks that are compared
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct FirstGone {
  std::int64_t step = kNever;
  const SeriesRow* series = nullptr;
  std::size_t at = 0;  // of its samples
  SeriesPoints points;
  std::size_t ranks = 0;  // of the file
  bool alone = false;     // nobody else's numbers were none at that step
};

void see(FirstGone& first, const SeriesRow& series, SeriesPoints points) {
  ++first.ranks;
  const std::size_t n = std::min(points.values.size(), points.steps.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(points.values[i]) || points.steps[i] == kNoValue) continue;
    if (points.steps[i] == first.step) first.alone = false;
    if (points.steps[i] < first.step)
      first = {points.steps[i], &series, i, std::move(points), first.ranks, true};
    return;
  }
}

Finding finding_of(const Facts& facts, const FirstGone& first) {
  const SeriesRow& s = *first.series;
  Finding f{.id = "own_numbers/" + facts.member(s.member)->path,
            .analysis = Analysis::divergence,
            .subject = {SubjectKind::gpu, std::string(*s.host) + "/" + *s.gpu},
            .event_class = "own_numbers_gone",
            .symptom = Symptom::nan_value,
            .severity = Severity::critical,
            .role = Role::confirmation,
            .confidence = confidence::kNumericsRank,
            .why = say(Phrase::alone_of_ranks_at_step, *s.rank, first.ranks, first.step),
            .title = say(Phrase::own_numbers_gone)};
  f.host = s.host;
  f.hosts = {*s.host};
  f.ranks = {*s.rank};
  f.count = 1;
  f.traits.add(Trait::own_numbers);
  f.evidence.push_back(facts.evidence(place_of_sample(s, first.points, first.at),
                                      fmt::format("{}", first.points.values[first.at])));
  f.evidence.back().reading = fmt::format("{} of rank {}", s.name, number_of(*s.rank));
  return f;
}

}  // namespace

std::vector<Finding> own_numbers_gone(const Facts& facts,
                                      const std::function<SeriesPoints(SeriesId)>& load) {
  std::map<std::pair<std::int64_t, std::string>, FirstGone> files;  // by order and name
  for (const SeriesRow& s : facts.series)
    if (s.rank && s.host && s.gpu && facts.counts(facts.member(s.member)) &&
        (contains(s.name, "norm") || contains(s.name, "loss")))
      see(files[{facts.order(s.member), s.name}], s, load(s.id));
  std::vector<Finding> out;
  MemberId last = 0;
  for (const auto& [key, first] : files)
    if (first.alone && first.ranks >= kLeast && first.series->member != last) {
      out.push_back(finding_of(facts, first));
      last = first.series->member;
    }
  return out;
}

}  // namespace culprit::analyze
