#include "analyze/pace/divergence.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "analyze/metrics/crowd.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

std::vector<double> smoothed(std::span<const double> values, std::size_t window) {
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < window / 2 ? 0 : i - window / 2;
    out[i] = median(values.subspan(from, std::min(window, values.size() - from)));
  }
  return out;
}

// From its lowest on, part by part.
bool rises(std::span<const double> loss, const DivergenceParams& params) {
  std::vector<double> steps(loss.size() - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = std::abs(loss[i + 1] - loss[i]);
  const double gain = median(loss.last(params.window / 2 + 1)) - loss.front();
  if (gain < params.rise * std::abs(loss.front()) || gain < params.noise * median_in_place(steps))
    return false;
  double before = -std::numeric_limits<double>::infinity();
  for (std::size_t part = 0; part < params.parts; ++part) {
    const std::size_t from = part * loss.size() / params.parts;
    const double level = median(loss.subspan(from, (part + 1) * loss.size() / params.parts - from));
    if (level <= before) return false;
    before = level;
  }
  return true;
}

// The norms of the gradients grew from step to step before they were none, and far above what is
// usual: all ranks sum their gradients, and a device that computes wrongly shows in one step.
std::size_t growing_norms(const JobSteps& steps, const std::vector<std::size_t>& good,
                          const DivergenceParams& params) {
  std::vector<std::size_t> told;
  for (const std::size_t i : good)
    if (std::isfinite(steps.grad_norm[i]) && steps.grad_norm[i] > 0) told.push_back(i);
  if (told.size() < params.least + params.norms) return 0;
  std::vector<double> usual;
  for (const std::size_t i : std::span(told).first(told.size() / 2))
    usual.push_back(steps.grad_norm[i]);
  if (steps.grad_norm[told.back()] < params.norm_rise * median_in_place(usual)) return 0;
  std::size_t grew = 0;
  for (std::size_t k = told.size() - 1; k > 0; --k, ++grew)
    if (steps.grad_norm[told[k]] <= steps.grad_norm[told[k - 1]]) break;
  return grew >= params.norms ? grew : 0;
}

Finding grown_norms(const Facts& facts, const JobSteps& steps, const std::vector<std::size_t>& good,
                    std::size_t grew) {
  const std::size_t from = good[good.size() - 1 - grew], to = good.back();
  Finding f =
      divergence_named("divergence/gradients", "gradients_grew", say(Phrase::gradients_grew));
  f.count = grew;
  f.why =
      say(Phrase::norm_grew_from_to, fmt::format("{:.4g}", steps.grad_norm[from]),
          steps.iteration[from], fmt::format("{:.4g}", steps.grad_norm[to]), steps.iteration[to]);
  f.facts = DivergenceFacts{steps.iteration[from], steps.iteration[to], steps.grad_norm[from],
                            steps.grad_norm[to]};
  for (const std::size_t i : {from, to})
    f.evidence.push_back(facts.evidence(
        steps.place[i],
        fmt::format("iteration={} grad_norm={:.6g}", steps.iteration[i], steps.grad_norm[i])));
  return f;
}

// The program itself said that its numbers are none: losses may still be printed as numbers while
// gradients overflow and the loss scale falls to its minimum.
bool stopped_on_numbers(std::span<const Finding> classified) {
  return std::ranges::any_of(classified, [](const Finding& f) {
    return f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
           f.traits.has(Trait::nan_stop);
  });
}

}  // namespace

Finding divergence_named(std::string id, std::string event_class, Text title) {
  return {.id = std::move(id),
          .analysis = Analysis::divergence,
          .subject = {SubjectKind::job, "job"},
          .event_class = std::move(event_class),
          .symptom = Symptom::nan_value,
          .severity = Severity::warning,
          .role = Role::confirmation,
          .scope = Scope::job_wide,
          .confidence = confidence::kDiverged,
          .title = std::move(title)};
}

std::vector<Finding> divergence_findings(const Facts& facts, const JobSteps& steps,
                                         std::span<const Finding> classified,
                                         const DivergenceParams& params) {
  std::vector<std::size_t> good;  // steps of the last run up to the first that is no number
  std::size_t bad = steps.size();
  for (std::size_t i = 0; i < steps.size() && bad == steps.size(); ++i) {
    if (steps.attempt[i] != steps.attempt.back() || steps.iteration[i] == kNoValue) continue;
    if ((steps.not_a_number[i] & 1U) != 0)
      bad = i;
    else if (std::isfinite(steps.loss[i]))
      good.push_back(i);
  }
  const bool numbers = bad == steps.size() && !stopped_on_numbers(classified);
  if (good.size() < params.least + params.window) return {};
  std::vector<double> loss(good.size());
  std::transform(good.begin(), good.end(), loss.begin(),
                 [&](std::size_t i) { return steps.loss[i]; });
  const std::vector<double> smooth = smoothed(loss, params.window);
  const auto lowest = static_cast<std::size_t>(std::ranges::min_element(smooth) - smooth.begin());
  const bool far = smooth[lowest] >= params.least_loss &&
                   smooth.back() >= params.far * smooth[lowest] &&
                   good.size() - lowest >= params.for_long;
  if (numbers && !far) return {};
  if (good.size() - lowest < params.least || !rises(std::span(smooth).subspan(lowest), params)) {
    if (numbers) return {};
    if (const std::size_t grew = growing_norms(steps, good, params); grew > 0)
      return {grown_norms(facts, steps, good, grew)};
    return {};
  }

  Finding f = divergence_named("divergence/loss", "loss_diverged", say(Phrase::loss_diverged));
  const std::size_t from = good[lowest], to = good.back();
  if (steps.time[from] != kNoValue) f.start = steps.time[from];
  const std::size_t last = bad == steps.size() ? to : bad;
  if (steps.time[last] != kNoValue) f.end = steps.time[last];
  f.count = good.size() - lowest;
  f.why = say(Phrase::loss_rose, fmt::format("{:.4g}", steps.loss[from]), steps.iteration[from],
              fmt::format("{:.4g}", steps.loss[to]), steps.iteration[to]);
  f.facts =
      DivergenceFacts{steps.iteration[from], steps.iteration[to], steps.loss[from], steps.loss[to]};
  for (const std::size_t i : std::set{from, to, last})
    f.evidence.push_back(facts.evidence(
        steps.place[i],
        steps.iteration[i] == kNoValue
            ? fmt::format("loss={:.6g}", steps.loss[i])
            : fmt::format("iteration={} loss={:.6g}", steps.iteration[i], steps.loss[i])));
  return {f};
}

}  // namespace culprit::analyze
