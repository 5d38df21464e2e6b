// What changed between a run that worked and one that did not: settings and versions, kinds of
// lines, metrics, the pace, the machines. Each change gets a score of how much it tells, and they
// are ranked; none of them accuses anybody.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/compare/templates.hpp"
#include "model/enum_name.hpp"
#include "rules/drift.hpp"
#include "rules/pack.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct CompareParams {
  // A shift of a metric by so many spreads (1.4826 MAD) of the values between machines; beyond the
  // metric's own floor.
  double shift_spreads = 4;
  // A machine this far from its peers stands out: Iglewicz and Hoaglin's 3.5, doubled for the
  // number of machines and metrics.
  double outlier_spreads = 7;
  // A change of the step time that is worth a word, and one that is worth the first place.
  double slower = 0.03, much_slower = 0.10;
  // A kind of line is more or less frequent by this factor ...
  double rate_factor = 2;
  // ... and by so many standard deviations of a Poisson count.
  double rate_sigmas = 5;
  // A line that would have been there this many times and is not.
  double gone_from = 3;
  // Changes of one kind of source (pip, sysctl) that say little each are told as one from here on.
  std::size_t bundle_from = 4;
};

// One of the two runs.
struct ComparedRun {
  const Facts* facts = nullptr;
  const JobSteps* steps = nullptr;
  const IncidentMetrics* metrics = nullptr;
  const std::vector<MetricSeries>* unknown =
      nullptr;  // of names that the catalogue does not have; counters as differences
  std::set<std::string> text_kinds;  // of the files whose lines were counted
};

enum class ChangeKind {
  setting,
  shape,
  new_lines,
  gone_lines,
  rate_of_lines,
  metric,
  machine,
  step_time,
  hosts
};
constexpr std::string_view name(ChangeKind kind) { return enum_name(kind); }

struct ChangePlace {
  bool in_bad = true;
  std::string path;
  std::uint64_t line = 0;
  LineBytes bytes = {};  // of lines of logs
};

struct Change {
  ChangeKind kind = ChangeKind::setting;
  double score = 0;       // 0 to 1: how much it tells
  std::string what;       // driver_version, a template, gpu_temperature, node-07
  Text title;             // a sentence
  std::string good, bad;  // values, or an example line
  double effect = 0;  // settings: 0; metrics: spreads; lines: log2 of the rate; step time: relative
  std::string event_class;  // what the rules say of the line; "" nothing
  std::vector<Host> hosts;  // of the bad run that show it; empty: all, or not known
  std::vector<ChangePlace> places;
};

struct Comparison {
  std::vector<Change> changes;  // most telling first
  std::vector<Text> notes;      // what was not compared, and why
};

Comparison compare_runs(const ComparedRun& good, const ComparedRun& bad,
                        const std::vector<LineTemplate>& lines, const rules::RulePack& pack,
                        const rules::DriftRules& drift, const rules::Catalogue& catalogue,
                        const CompareParams& params = {});

// The parts, each by itself. Scores are final; order is not.
std::vector<Change> changed_settings(const ComparedRun& good, const ComparedRun& bad,
                                     const rules::DriftRules& drift, const CompareParams& params);
std::vector<Change> changed_lines(const ComparedRun& good, const ComparedRun& bad,
                                  const std::vector<LineTemplate>& lines,
                                  const rules::RulePack& pack, const CompareParams& params,
                                  std::vector<Text>& notes);
std::vector<Change> changed_metrics(const ComparedRun& good, const ComparedRun& bad,
                                    const rules::Catalogue& catalogue, const CompareParams& params);
std::vector<Change> changed_pace(const ComparedRun& good, const ComparedRun& bad,
                                 const CompareParams& params);
std::vector<Change> changed_hosts(const ComparedRun& good, const ComparedRun& bad);

// "a, b, c and 4 more"
std::string named_some(const std::vector<std::string>& names, std::size_t most = 4);
std::string named_some(const std::vector<Host>& hosts, std::size_t most = 4);

}  // namespace culprit::analyze
