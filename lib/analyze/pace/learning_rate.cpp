#include "analyze/pace/learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/confidence.hpp"
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
  const std::int64_t step = points.steps.empty() ? kNoValue : points.steps[at];
  Finding f{.id = "divergence/learning_rate",
            .analysis = Analysis::divergence,
            .subject = {SubjectKind::job, "job"},
            .event_class = "learning_rate_jumped",
            .symptom = Symptom::nan_value,
            .severity = Severity::warning,
            .role = Role::confirmation,
            .scope = Scope::job_wide,
            .confidence = confidence::kDiverged,
            .title = say(Phrase::learning_rate_jumped)};
  f.why = say(Phrase::learning_rate_from_to, fmt::format("{:.3g}", points.values[at - 1]),
              fmt::format("{:.3g}", points.values[at]), step == kNoValue ? 0 : step);
  f.facts = DivergenceFacts{step == kNoValue ? 0 : step, step == kNoValue ? 0 : step,
                            points.values[at - 1], points.values[at]};
  f.count = 1;
  if (!points.lines.empty())
    f.evidence.push_back(facts.evidence(
        {series.member, static_cast<std::uint64_t>(std::max<std::int64_t>(0, points.lines[at])),
         points.offsets.empty()
             ? 0
             : static_cast<std::uint64_t>(std::max<std::int64_t>(0, points.offsets[at])),
         0},
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
