#include "measured_job.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/pace/efficiency.hpp"
#include "analyze/pace/interruptions.hpp"
#include "analyze/pace/restart_parts.hpp"
#include "diagnose/pace.hpp"
#include "model/median.hpp"

namespace culprit::cli {

namespace {

double seconds_of(Nanoseconds ns) { return static_cast<double>(ns) / 1e9; }

// The usual excess of the distance between the steps around a save over the usual step.
void measure_saves(const diagnose::Pace& pace, MeasuredJob& out) {
  const analyze::JobSteps& steps = pace.steps;
  const double usual = analyze::usual_step_ms(steps) / 1e3;
  if (std::isnan(usual)) return;
  out.step = usual;
  std::vector<double> stalls, apart;
  std::size_t before = steps.size();
  for (const analyze::JobCheckpoint& c : pace.checkpoints) {
    if (c.event == CheckpointEvent::loading || c.event == CheckpointEvent::loaded) continue;
    const std::size_t next = c.row + 1;
    if (c.row == before || next >= steps.size() || steps.attempt[next] != steps.attempt[c.row] ||
        steps.time[next] == kNoValue || steps.time[c.row] == kNoValue)
      continue;
    stalls.push_back(std::max(0.0, seconds_of(steps.time[next] - steps.time[c.row]) - usual));
    if (before < c.row && steps.attempt[before] == steps.attempt[c.row])
      apart.push_back(seconds_of(steps.time[c.row] - steps.time[before]));
    before = c.row;
  }
  out.saves = stalls.size();
  if (!stalls.empty()) out.stall = median_of(std::move(stalls));
  if (!apart.empty()) out.interval = std::max(0.0, median_of(std::move(apart)) - *out.stall);
}

void measure_restarts(const PlanIncident& incident, const diagnose::Pace& pace, MeasuredJob& out) {
  const analyze::Facts& facts = incident.resolved.facts;
  const analyze::Efficiency e = analyze::efficiency(diagnose::job_times(facts, pace.steps));
  std::vector<double> restarts, requeues;
  for (std::size_t i = 0; i < e.runs.size(); ++i) {
    out.trace.runs.push_back(seconds_of(e.runs[i].end - e.runs[i].begin));
    if (i > 0) restarts.push_back(std::max(0.0, seconds_of(e.runs[i].begin - e.runs[i - 1].end)));
  }
  const auto starts =
      analyze::restart_parts(facts, pace.steps, incident.db.start_marks(), pace.loads);
  for (const analyze::Interruption& i : analyze::interruptions(facts, pace.steps, starts))
    if (i.located && i.restarted) requeues.push_back(seconds_of(*i.restarted - *i.located));
  if (!restarts.empty()) out.restart = median_of(restarts);
  if (!requeues.empty())
    out.new_start = {median_of(requeues), requeues.size(), true};
  else if (out.restart)
    out.new_start = {*out.restart, restarts.size(), false};
  for (auto start = starts.rbegin(); start != starts.rend() && !out.regroup; ++start)
    for (const analyze::StartPart& part : start->parts)
      if (part.took && (part.name == "rendezvous" || part.name == "nccl"))
        out.regroup = out.regroup.value_or(0) + seconds_of(*part.took);
}

}  // namespace

MeasuredJob measured_job(const PlanIncident& incident) {
  MeasuredJob out;
  const analyze::Facts& facts = incident.resolved.facts;
  const diagnose::Pace pace = diagnose::pace_of(incident.db, facts);
  measure_restarts(incident, pace, out);
  // An incident ends with a failure, unless all its processes say that they ended well.
  out.trace.last_failed =
      facts.exits.empty() ||
      std::ranges::any_of(facts.exits, [](const ExitRow& x) { return x.code != 0; });
  measure_saves(pace, out);
  return out;
}

}  // namespace culprit::cli
