#include "analyze/pace/grown_part.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "model/median.hpp"

namespace culprit::analyze {

namespace {

// Of each rank that tells of it.
struct Medians {
  std::vector<double> inside, outside;
};

std::map<std::string, Medians> medians_by_part(const SlowPartsInput& input, std::size_t least) {
  std::map<std::string, Medians> out;
  for (const PartSeries& series : input.parts) {
    if (rules::part_name(series.name).part == rules::StepPart::none) continue;
    const Halves of_rank = halves(series.ms, input);
    if (of_rank.within < least || of_rank.without < least) continue;
    out[series.name].inside.push_back(of_rank.inside);
    out[series.name].outside.push_back(of_rank.outside);
  }
  return out;
}

}  // namespace

std::optional<GrownPart> grown_part(const SlowPartsInput& input, const GrownPartParams& params) {
  const Halves step = halves(input.iteration_ms, input);
  if (step.within < params.least || step.without < params.least) return std::nullopt;
  const double growth = step.inside - step.outside;
  if (!(growth > 0)) return std::nullopt;
  std::vector<GrownPart> found;
  double best = 0;
  for (const auto& [name, medians] : medians_by_part(input, params.least)) {
    GrownPart part{name, rules::part_name(name).part, median_of(medians.inside),
                   median_of(medians.outside), 0};
    part.explains = (part.inside_ms - part.outside_ms) / growth;
    if (part.explains < params.least_explained || part.explains > params.most_explained) continue;
    if (part.inside_ms >= params.whole * step.inside &&
        part.outside_ms >= params.whole * step.outside)
      continue;  // the step by another name
    best = std::max(best, part.explains);
    found.push_back(std::move(part));
  }
  const GrownPart* out = nullptr;
  for (const GrownPart& part : found)
    if (part.explains >= params.as_good * best &&
        (out == nullptr || part.inside_ms < out->inside_ms))
      out = &part;
  return out == nullptr ? std::nullopt : std::optional(*out);
}

std::optional<GrownPart> dominant_part(const SlowPartsInput& input, double share,
                                       std::size_t least) {
  const Halves step = halves(input.iteration_ms, input);
  if (step.within < least) return std::nullopt;
  std::map<std::string, std::vector<double>> by_name;
  for (const PartSeries& series : input.parts)
    if (const rules::PartName part = rules::part_name(series.name);
        part.works && rules::overhead(part.part))
      if (const Halves of_rank = halves(series.ms, input); of_rank.within > 0)
        by_name[series.name].push_back(of_rank.inside);
  for (auto& [name, medians] : by_name) {
    const auto [low, high] = std::ranges::minmax(medians);
    if (low < share * step.inside || high >= step.inside) continue;
    return GrownPart{name, rules::part_name(name).part, median_of(std::move(medians)), 0,
                     low / step.inside};
  }
  return std::nullopt;
}

}  // namespace culprit::analyze
