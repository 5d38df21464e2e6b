#include "analyze/pace/loss_spikes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

// Above what the values before it did anyway.
bool beyond_noise(const std::vector<LossRecord>& rows, std::size_t at, const Spike& spike,
                  const LossSpikeParams& params) {
  double highest = 0;
  for (std::size_t i = at < params.loss.window ? 0 : at - params.loss.window; i < at; ++i)
    highest = std::max(highest, *rows[i].loss);
  return spike.peak > params.above_highest * highest;
}

}  // namespace

std::vector<Finding> loss_spike_findings(const Facts& facts, const JobSteps& steps,
                                         const LossSpikeParams& params) {
  std::vector<LossRecord> rows;
  std::vector<std::size_t> step_of;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.attempt[i] != steps.attempt.back() || steps.iteration[i] == kNoValue ||
        !std::isfinite(steps.loss[i]))
      continue;
    if (steps.loss[i] <= 0) return {};
    rows.push_back({steps.iteration[i], steps.loss[i], {}});
    step_of.push_back(i);
  }
  if (rows.size() <= params.loss.least) return {};
  const std::vector<Spike> spikes = loss_signals(rows, {}, params.loss).spikes;
  if (spikes.empty()) return {};
  const Spike& spike = spikes.back();
  const auto row_of = [&](std::int64_t iteration) {
    return static_cast<std::size_t>(std::ranges::find(rows, iteration, &LossRecord::iteration) -
                                    rows.begin());
  };
  const std::size_t from = row_of(spike.first), to = row_of(spike.last);
  if (!beyond_noise(rows, from, spike, params)) return {};

  Finding f{.id = "loss_spike/loss",
            .analysis = Analysis::divergence,
            .subject = {SubjectKind::job, "job"}};
  const bool open = to + 1 == rows.size() && spike.rows >= params.stays;
  f.event_class = open ? "loss_jumped" : "loss_spike";
  f.symptom = Symptom::nan_value;
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.scope = Scope::job_wide;
  f.confidence = confidence::kDiverged;
  const std::size_t first = step_of[from], last = step_of[to];
  const std::int64_t usual_until = from == 0 ? spike.first : rows[from - 1].iteration;
  if (steps.time[first] != kNoValue) f.start = steps.time[first];
  if (steps.time[last] != kNoValue) f.end = steps.time[last];
  f.count = spike.rows;
  f.title = say(Phrase::loss_jumped);
  f.why = say(open ? Phrase::loss_jumped_and_stayed : Phrase::loss_jumped_and_came_back,
              fmt::format("{:.4g}", spike.usual), fmt::format("{:.4g}", spike.peak), spike.first,
              spike.last);
  f.facts = DivergenceFacts{usual_until, spike.last, spike.usual, spike.peak};
  f.evidence.push_back(facts.evidence(
      steps.place[first], fmt::format("iteration={} loss={:.6g}", spike.first, steps.loss[first])));
  return {f};
}

}  // namespace culprit::analyze
