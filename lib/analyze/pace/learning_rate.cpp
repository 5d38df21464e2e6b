#include "analyze/pace/learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/divergence.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

// "learning rate", "train/learning_rate", "LR".
bool names_learning_rate(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  std::string plain;
  for (const char c : name)
    if (c != ' ' && c != '_' && c != '-')
      plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return plain == "lr" || plain == "learningrate";
}

// The place of the first value that jumps; npos: none.
std::size_t first_jump(const std::vector<double>& rates, const LearningRateParams& params) {
  for (std::size_t i = params.before; i < rates.size(); ++i) {
    if (!(rates[i - 1] > 0) || !(rates[i] >= params.jump * rates[i - 1])) continue;
    const auto from = rates.begin() + static_cast<std::ptrdiff_t>(i - params.before);
    const auto [low, high] =
        std::minmax_element(from, rates.begin() + static_cast<std::ptrdiff_t>(i));
    const bool steady = *low > 0 && *high <= params.steady * *low;
    const bool stays = i + 1 >= rates.size() || rates[i + 1] >= params.jump / 2 * rates[i - 1];
    if (steady && stays) return i;
  }
  return std::string::npos;
}

Finding finding_of(const Facts& facts, const SeriesRow& series, const SeriesPoints& points,
                   std::size_t at) {
  const bool numbered = !points.steps.empty() && points.steps[at] != kNoValue;
  const std::int64_t step = numbered ? points.steps[at] : 0;
  Finding f = divergence_named("divergence/learning_rate", "learning_rate_jumped",
                               say(Phrase::learning_rate_jumped));
  f.why = say(Phrase::learning_rate_from_to, fmt::format("{:.3g}", points.values[at - 1]),
              fmt::format("{:.3g}", points.values[at]), step);
  f.facts = DivergenceFacts{step, step, points.values[at - 1], points.values[at]};
  f.count = 1;
  if (!points.lines.empty())
    f.evidence.push_back(facts.evidence(place_of_sample(series, points, at),
                                        fmt::format("{}={:.6g}", series.name, points.values[at])));
  return f;
}

}  // namespace

std::vector<Finding> learning_rate_jump(const Facts& facts,
                                        const std::function<SeriesPoints(SeriesId)>& load,
                                        const LearningRateParams& params) {
  std::vector<const SeriesRow*> rows;
  for (const SeriesRow& s : facts.series)
    if (names_learning_rate(s.name) && facts.counts(facts.member(s.member)) &&
        facts.earlier_output.count(s.member) == 0)
      rows.push_back(&s);
  std::sort(rows.begin(), rows.end(), [&](const SeriesRow* a, const SeriesRow* b) {
    return std::tuple(facts.order(a->member), a->name, a->labels) <
           std::tuple(facts.order(b->member), b->name, b->labels);
  });
  for (const SeriesRow* s : rows) {
    const SeriesPoints points = load(s->id);
    if (const std::size_t at = first_jump(points.values, params); at != std::string::npos)
      return {finding_of(facts, *s, points, at)};
  }
  return {};
}

}  // namespace culprit::analyze
