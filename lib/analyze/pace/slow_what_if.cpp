#include "analyze/pace/slow_what_if.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

// Stage and replica of each rank, by its place in its groups; without a layout every rank is a
// replica of its own.
std::vector<WorkerPlace> places_of(const Topology& topology, std::span<const PartSeries> parts) {
  std::map<Rank, WorkerPlace> places;
  std::map<Rank, double> work;  // of all steps, to find the slowest of a tensor group
  for (const PartSeries& p : parts) {
    places[p.rank] = {p.rank, 0, number_of(p.rank)};
    if (part_kind(p.name) == PartKind::own)
      for (const double ms : p.ms)
        if (std::isfinite(ms)) work[p.rank] += ms;
  }
  if (topology.layout && (topology.layout->tp > 1 || topology.layout->pp > 1)) {
    std::map<Rank, std::int64_t> stage;
    std::map<Rank, std::int64_t> replica;  // by its lowest rank
    for (const ParallelGroup& g : topology.groups) {
      if (g.dimension == "pp")
        for (std::size_t i = 0; i < g.ranks.size(); ++i)
          stage[g.ranks[i]] = static_cast<std::int64_t>(i);
      if (g.dimension == (topology.layout->tp > 1 && topology.layout->pp > 1 ? "mp"
                          : topology.layout->tp > 1                          ? "tp"
                                                                             : "pp"))
        for (const Rank rank : g.ranks) replica[rank] = number_of(g.ranks.front());
    }
    for (auto& [rank, place] : places) {
      if (const auto it = stage.find(rank); it != stage.end()) place.stage = it->second;
      if (const auto it = replica.find(rank); it != replica.end()) place.replica = it->second;
    }
  }
  // Ranks of one tensor group work in step: the one with most work of its own stands for them.
  std::map<std::pair<std::int64_t, std::int64_t>, WorkerPlace> one;
  for (const auto& [rank, place] : places) {
    const auto [it, fresh] = one.emplace(std::pair(place.replica, place.stage), place);
    if (!fresh && work[rank] > work[it->second.rank]) it->second = place;
  }
  std::vector<WorkerPlace> out;
  for (const auto& [key, place] : one) out.push_back(place);
  return out;
}

OperationKind operation_of(std::string_view name) {
  return contains(name, "data") || contains(name, "batch") ? OperationKind::data
                                                           : OperationKind::forward;
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

std::vector<Finding> what_if_findings(const Facts& facts, const Topology& topology,
                                      const JobSteps& steps, const FailSlow& report,
                                      std::span<const std::int64_t> iterations,
                                      std::span<const PartSeries> parts,
                                      const SlowWhatIfParams& params) {
  std::vector<Finding> out;
  if (parts.empty()) return out;
  const auto places = places_of(topology, parts);
  for (const SlowInterval& interval : report.intervals) {
    const std::int64_t first = steps.iteration[interval.start],
                       last = steps.iteration[interval.end - 1];
    if (first == kNoValue || last == kNoValue) continue;
    const auto from = std::ranges::lower_bound(iterations, first),
               to = std::upper_bound(from, iterations.end(), last);
    const auto count = static_cast<std::size_t>(to - from);
    const std::size_t every =
        std::max<std::size_t>(1, count / std::max<std::size_t>(1, params.steps));
    std::vector<OperationTime> operations;
    for (const PartSeries& p : parts) {
      if (part_kind(p.name) != PartKind::own) continue;
      for (std::size_t i = 0; i < count; i += every) {
        const auto at = static_cast<std::size_t>(from - iterations.begin()) + i;
        if (at < p.ms.size() && std::isfinite(p.ms[at]))
          operations.push_back({iterations[at], p.rank, operation_of(p.name), 0, p.ms[at]});
      }
    }
    const WhatIf answer = what_if(operations, places, params.simulation);
    Finding f{.id = fmt::format("what_if/{}", first),
              .analysis = Analysis::what_if,
              .outcome = answer.answer == WhatIfAnswer::not_enough    ? Outcome::not_enough_evidence
                         : answer.answer == WhatIfAnswer::no_slowdown ? Outcome::ruled_out
                                                                      : Outcome::fired,
              .subject = {SubjectKind::job, "job"},
              .event_class = "what_if/shares",
              .symptom = Symptom::mfu_decline,
              .scope = Scope::job_wide};
    f.confidence = f.outcome == Outcome::fired ? confidence::kSlowSimulated : 0;
    f.why = answer.why;
    f.count = count;
    std::map<std::string, std::string> numbers{
        {"slowdown", fmt::format("{:.3f}", answer.slowdown)},
        {"measured_ms", fmt::format("{:.4g}", answer.measured_ms)},
        {"ideal_ms", fmt::format("{:.4g}", answer.ideal_ms)},
        {"answer", name(answer.answer)}};
    std::vector<std::string> words;
    for (const Share& s : answer.workers) {
      if (s.explains < params.worth) continue;
      numbers[fmt::format("rank_{}", s.id)] = fmt::format("{:.3f}", s.explains);
      if (words.size() < 3)
        words.push_back(fmt::format("rank {} {}", s.id, share_text(s.explains)));
    }
    for (const Share& s : answer.stages) {
      if (s.explains < params.worth || answer.stages.size() < 2) continue;
      numbers[fmt::format("stage_{}", s.id)] = fmt::format("{:.3f}", s.explains);
      words.push_back(fmt::format("stage {} {}", s.id, share_text(s.explains)));
    }
    for (const Share& s : answer.kinds) {
      if (s.explains < params.worth) continue;
      const char* kind = static_cast<OperationKind>(s.id) == OperationKind::forward
                             ? "compute"
                             : name(static_cast<OperationKind>(s.id));
      numbers[fmt::format("kind_{}", kind)] = fmt::format("{:.3f}", s.explains);
      words.push_back(fmt::format("{} {}", kind, share_text(s.explains)));
    }
    f.figures.assign(numbers.begin(), numbers.end());
    f.title = f.outcome == Outcome::fired && !words.empty()
                  ? say(Phrase::would_explain_alone, fmt::format("{}", fmt::join(words, ", ")))
                  : say(Phrase::who_explains);
    f.start = interval.start > 0 && steps.time[interval.start - 1] != kNoValue
                  ? std::optional(steps.time[interval.start - 1])
                  : std::nullopt;
    f.end = steps.time[interval.end - 1] != kNoValue ? std::optional(steps.time[interval.end - 1])
                                                     : std::nullopt;
    if (steps.place[interval.start].line > 0)
      f.evidence.push_back(facts.evidence(steps.place[interval.start], fmt::format("{}", first)));
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
