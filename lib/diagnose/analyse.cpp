#include "analyse.hpp"

#include <algorithm>
#include <iterator>

#include "analyze/faults/by_signals.hpp"
#include "analyze/faults/device_of_runs.hpp"
#include "analyze/hang/collectives.hpp"
#include "analyze/faults/drift.hpp"
#include "analyze/faults/run_changes.hpp"
#include "analyze/pace/divergence.hpp"
#include "analyze/pace/learning_rate.hpp"
#include "analyze/pace/loss_spikes.hpp"
#include "analyze/faults/shared_address.hpp"
#include "analyze/pace/nan_again.hpp"
#include "analyze/pace/own_numbers.hpp"
#include "analyze/pace/efficiency.hpp"
#include "analyze/hang/hang.hpp"
#include "analyze/hang/hang_pictures.hpp"
#include "analyze/metrics/port_counters.hpp"
#include "analyze/metrics/shared_changes.hpp"
#include "analyze/metrics/snapshots.hpp"
#include "analyze/metrics/metric_panels.hpp"
#include "analyze/faults/settings_picture.hpp"
#include "analyze/pace/growing_steps.hpp"
#include "analyze/pace/rhythm.hpp"
#include "analyze/pace/slow.hpp"
#include "analyze/pace/slow_start.hpp"
#include "analyze/pace/slower_run.hpp"
#include "analyze/pace/slow_what_if.hpp"
#include "analyze/pace/spikes.hpp"
#include "analyze/pace/step_gap.hpp"
#include "analyze/hang/stacks.hpp"
#include "analyze/hang/standstill.hpp"
#include "calls.hpp"
#include "more_work.hpp"
#include "outcomes.hpp"
#include "pace.hpp"
#include "step_chart.hpp"
#include "model/phrases.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose {

namespace {

// Only of what a log says of steps: calls alone tell no part of the time.
std::vector<TimePart> time_parts(const analyze::Facts& facts, const Pace& pace) {
  if (pace.steps.size() == 0 || !pace.steps.from_calls.empty()) return {};
  const analyze::Efficiency known = analyze::efficiency(job_times(facts, pace.steps));
  if (!known.enough) return {};
  const analyze::TimeParts& p = known.parts;
  std::vector<TimePart> out = {{"training", p.productive},         {"slow", p.slow},
                               {"recomputation", p.recomputation}, {"detection", p.detection},
                               {"localisation", p.localisation},   {"restart", p.restart},
                               {"between steps", p.between_steps}, {"start-up", p.start_up},
                               {"after the last step", p.after},   {"unexplained", p.unexplained}};
  std::erase_if(out, [](const TimePart& part) { return part.time <= 0; });
  return out;
}

// What the steps say of a training that left its way.
std::vector<Finding> divergence_of(const store::Database& db, const analyze::Facts& facts,
                                   const Pace& pace, std::span<const Finding> all) {
  const auto load = [&](SeriesId id) { return db.points(id); };
  std::vector<Finding> out = analyze::divergence_findings(facts, pace.steps, all);
  for (auto more :
       {analyze::loss_spike_findings(facts, pace.steps), analyze::learning_rate_jump(facts, load),
        analyze::own_numbers_gone(facts, load), analyze::nan_again(facts, pace.steps),
        analyze::same_device_in_each_run(facts)})
    std::ranges::move(more, std::back_inserter(out));
  return out;
}

// Nothing is told of who or what: no machine, no part of the step, no more work.
bool unexplained(const Finding& f) {
  const auto* slow = std::get_if<SlowFacts>(&f.facts);
  return f.outcome != Outcome::fired ||
         (f.subject.kind == SubjectKind::job && slow != nullptr && slow->grown.empty());
}

// Stretches of slow steps; where there are none, those that come again and again, and where nothing
// explains them, steps that grow since the process began.
std::vector<Finding> slow_stretches(const analyze::Facts& facts, const Pace& pace,
                                    const analyze::OutlierReport& outliers,
                                    std::span<const Finding> all) {
  std::vector<Finding> out =
      analyze::slow_findings(facts, pace.steps, pace.report, pace.parts, outliers, all);
  if (auto spikes = analyze::explained_spikes(facts, pace.steps, all)) {
    std::erase_if(out, [](const Finding& f) { return !f.fired(); });
    out.push_back(*std::move(spikes));
  }
  const auto none = [&] {
    return std::ranges::none_of(out, [](const Finding& f) { return f.fired(); });
  };
  if (none())
    if (const auto rhythm = analyze::rhythm_of(pace.steps))
      out = {analyze::rhythm_finding(facts, pace.steps, *rhythm)};
  if (none())
    if (const auto gap = analyze::longest_gap(pace.steps, pace.checkpoints))
      out = {analyze::gap_finding(facts, pace.steps, *gap)};
  if (none())
    if (auto slower = analyze::slower_run(facts, pace.steps, pace.jobs, pace.checkpoints))
      out = {*std::move(slower)};
  if (std::ranges::all_of(out, unexplained))
    if (const auto growing = analyze::growing_steps(pace.steps))
      out = {analyze::growing_finding(facts, pace.steps, *growing)};
  return out;
}

std::vector<Finding> start_of(const store::Database& db, const analyze::Facts& facts,
                              const Pace& pace) {
  return analyze::slow_start(
      facts, pace.steps, analyze::restart_parts(facts, pace.steps, db.start_marks(), pace.loads));
}

}  // namespace

Result<std::vector<Finding>> analyse(store::Database& db, const Resolved& incident,
                                     const rules::RulePack& pack, Pictures* pictures) {
  const analyze::Facts& facts = incident.facts;
  const analyze::Topology& topology = incident.topology;
  const auto signals = analyze::collect_signals(facts, pack);
  const auto load = [&](SeriesId id) { return db.points(id); };
  std::vector<Finding> all;
  const auto keep = [&](Analysis analysis, std::vector<Finding> findings) -> Result<> {
    // No claim without a place in the bundle that a person can look at.
    for (Finding& f : findings)
      if (f.outcome == Outcome::fired && f.evidence.empty()) {
        f.outcome = Outcome::not_enough_evidence;
        f.why += say(Phrase::no_line_to_show);
      }
    CULPRIT_CHECK(db.save_findings(analysis, findings, report::words));
    if (all.empty())
      all = std::move(findings);  // of 100,000 hosts, perhaps
    else
      std::move(findings.begin(), findings.end(), std::back_inserter(all));
    return {};
  };
#define CULPRIT_KEPT(name) CULPRIT_CHECK(keep(Analysis::name, analyze::name(facts, signals)));
  CULPRIT_SIGNAL_ANALYSES(CULPRIT_KEPT)
#undef CULPRIT_KEPT
  // Who waits for whom: by counters, by stacks, and one answer from both.
  const analyze::CollectiveReport collectives = collectives_of(facts, topology, signals);
  CULPRIT_CHECK(
      keep(Analysis::collectives,
           analyze::collective_findings(collectives, slow_ranks_of(db, facts), facts, topology)));
  const analyze::StackReport stacks =
      analyze::aggregate_stacks(facts, topology, analyze::hang_known(facts, signals));
  CULPRIT_CHECK(keep(Analysis::stacks, analyze::stack_findings(stacks, facts, topology)));
  CULPRIT_CHECK(
      keep(Analysis::hang, analyze::hang(facts, topology, signals, collectives, stacks, all)));
  // Was it slow, since when, and because of whom.
  const Pace pace = pace_of(db, facts);
  const analyze::IncidentMetrics metrics = metrics_of(db, facts);
  const analyze::OutlierReport outliers = outliers_of(db, facts, metrics, fitting(pace));
  analyze::DriftReport drift;
  if (!facts.configs.empty())  // the rules are not read for nothing
    drift = analyze::compare_settings(facts, rules::DriftRules::built_in());
  std::vector<Finding> settings = analyze::drift_findings(drift, facts);
  std::ranges::move(analyze::shared_addresses(facts), std::back_inserter(settings));
  if (pace.report.intervals.empty())
    std::ranges::move(
        analyze::held_devices(outliers, metrics.readings, rules::Catalogue::built_in()),
        std::back_inserter(settings));
  CULPRIT_CHECK(keep(Analysis::drift, std::move(settings)));
  if (pictures != nullptr)
    *pictures = {chart_of(pace),
                 time_parts(facts, pace),
                 analyze::wait_graph(topology, facts, collectives, stacks, all),
                 analyze::stack_icicle(topology, stacks),
                 analyze::metric_panels(outliers, metrics.metrics, rules::Catalogue::built_in()),
                 analyze::settings_picture(drift)};
  if (!outliers.searched.empty())
    CULPRIT_CHECK(keep(Analysis::outliers, analyze::outlier_findings(outliers)));
  CULPRIT_CHECK(keep(Analysis::stall, stalls_of(db, facts, metrics)));
  CULPRIT_CHECK(keep(Analysis::growth, growth_of(db, facts)));
  CULPRIT_CHECK(keep(Analysis::slow_group, slow_groups_of(db, facts)));
  CULPRIT_CHECK(
      keep(Analysis::what_if, analyze::what_if_findings(facts, topology, pace.steps, pace.report,
                                                        pace.iterations, pace.series)));
  // A pace that was counted from calls is no news before there is enough of it.
  if (pace.steps.size() > 0 && (pace.steps.from_calls.empty() || pace.report.enough)) {
    std::vector<Finding> slow = slow_stretches(facts, pace, outliers, all);
    note_more_work(db, facts, pace.steps, slow);
    CULPRIT_CHECK(keep(Analysis::shared_change, analyze::shared_changes(facts, slow, load)));
    CULPRIT_CHECK(keep(Analysis::slow, std::move(slow)));
  }
  CULPRIT_CHECK(keep(Analysis::port_counters,
                     analyze::port_counters(facts, rules::Catalogue::built_in(), load)));
  CULPRIT_CHECK(keep(Analysis::saves, slow_saves_of(db, facts, pace)));
  CULPRIT_CHECK(keep(Analysis::slow_start, start_of(db, facts, pace)));
  CULPRIT_CHECK(keep(Analysis::divergence, divergence_of(db, facts, pace, all)));
  CULPRIT_CHECK(keep(Analysis::changes, analyze::run_changes(facts)));
  if (!facts.outcomes.empty()) CULPRIT_CHECK(keep(Analysis::outcomes, outcomes_of(facts)));
  return all;
}

}  // namespace culprit::diagnose
