#include "analyze/pace/grown_part.hpp"

#include <cmath>
#include <map>
#include <vector>

#include "analyze/pace/regimes.hpp"

namespace culprit::analyze {

namespace {

struct Sides {
  std::vector<double> inside, outside;
};

Sides sides_of(std::span<const double> values, const SlowPartsInput& input) {
  Sides out;
  for (std::size_t i = 0; i < std::min(values.size(), input.iterations.size()); ++i)
    if (std::isfinite(values[i]))
      (input.iterations[i] >= input.first && input.iterations[i] <= input.last ? out.inside
                                                                               : out.outside)
          .push_back(values[i]);
  return out;
}

// Medians of each rank inside and outside, by the name of the part.
using Medians = std::map<std::string, Sides>;

Medians medians_of(const SlowPartsInput& input, const GrownPartParams& params) {
  Medians out;
  for (const PartSeries& series : input.parts) {
    if (rules::part_name(series.name).part == rules::StepPart::none) continue;
    Sides sides = sides_of(series.ms, input);
    if (sides.inside.size() < params.least || sides.outside.size() < params.least) continue;
    out[series.name].inside.push_back(median_of(sides.inside));
    out[series.name].outside.push_back(median_of(sides.outside));
  }
  return out;
}

}  // namespace

std::optional<GrownPart> grown_part(const SlowPartsInput& input, const GrownPartParams& params) {
  Sides whole = sides_of(input.iteration_ms, input);
  if (whole.inside.size() < params.least || whole.outside.size() < params.least)
    return std::nullopt;
  const double growth = median_of(whole.inside) - median_of(whole.outside);
  if (!(growth > 0)) return std::nullopt;
  std::vector<GrownPart> found;
  double best = 0;
  for (auto& [name, sides] : medians_of(input, params)) {
    GrownPart part{name, rules::part_name(name).part, median_of(sides.inside),
                   median_of(sides.outside), 0};
    part.explains = (part.inside_ms - part.outside_ms) / growth;
    if (part.explains < params.least_explained || part.explains > params.most_explained) continue;
    if (part.inside_ms >= params.whole * median_of(whole.inside) &&
        part.outside_ms >= params.whole * median_of(whole.outside))
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

}  // namespace culprit::analyze
