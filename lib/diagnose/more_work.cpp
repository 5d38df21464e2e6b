// Holds batches, lengths and throughput of a slow stretch against those before it.
#include "more_work.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/median.hpp"
#include "rules/metrics.hpp"

namespace culprit::diagnose {

namespace {

// Values of one figure of throughput before an iteration, and from it to another.
struct Throughput {
  std::vector<double> before, inside;
};

// A throughput of one GPU: that of the whole job follows how many there are. What a step is given
// to do: cumulative counts tell of the whole run.
enum class WorkFigure { throughput, batch, length };

std::optional<WorkFigure> work_figure(const SeriesRow& s) {
  const std::string name = lower(s.name);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return contains(name, word); });
  };
  if (has({"batch size", "batch_size", "batch-size"})) return WorkFigure::batch;
  if (has({"seq_len", "seqlen", "seq len", "sequence length", "sequence_length", "seq_length"}))
    return WorkFigure::length;
  if (has({"flop", "mfu", "tok/s/gpu", "tokens/s/gpu", "tokens_per_gpu", "tgs"}))
    return WorkFigure::throughput;
  const auto known = rules::Catalogue::built_in().find(s.name);
  return known && (known->metric->name == "throughput_per_gpu" || known->metric->name == "mfu")
             ? std::optional(WorkFigure::throughput)
             : std::nullopt;
}

double ratio_of(const Throughput& figure) {
  return median_of(figure.inside) / median_of(figure.before);
}

// Of all steps, the long ones too.
double ratio_of_means(const Throughput& figure) {
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  return mean(figure.inside) / mean(figure.before);
}

// Logs of the runs before the last, which may count the same steps.
std::set<MemberId> logs_before(const analyze::JobSteps& steps) {
  std::set<MemberId> before, last;
  if (steps.size() == 0 || steps.attempt.back() == 0) return before;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (i == 0 || steps.place[i].member != steps.place[i - 1].member ||
        steps.attempt[i] != steps.attempt[i - 1])
      (steps.attempt[i] < steps.attempt.back() ? before : last).insert(steps.place[i].member);
  for (const MemberId one : last) before.erase(one);
  return before;
}

// Whether steps that take `factor` times as long have so much more to do: a larger batch as much,
// longer sequences up to the square.
bool has_more_to_do(double batch, double length, double factor) {
  constexpr double kMore = 1.1, kSlack = 1.35, kOfLength = 1.4;  // ... power
  const double work = std::max(batch, 1.0) * std::pow(std::max(length, 1.0), kOfLength);
  return work >= kMore && factor <= kSlack * work;
}

}  // namespace

void note_more_work(const store::Database& db, const analyze::Facts& facts,
                    const analyze::JobSteps& steps, std::vector<Finding>& slow) {
  constexpr std::size_t kFewestValues = 5;
  constexpr double kAsHigh = 0.95, kMore = 1.1;
  if (slow.empty()) return;
  struct Figure {
    const SeriesRow* row;
    WorkFigure kind;
    SeriesPoints points;
  };
  std::vector<Figure> figures;
  for (const SeriesRow& s : facts.series)
    if (facts.counts(facts.member(s.member)))
      if (const auto kind = work_figure(s)) figures.push_back({&s, *kind, db.points(s.id)});
  const std::set<MemberId> before = logs_before(steps);
  for (Finding& f : slow) {
    auto* stretch = std::get_if<SlowFacts>(&f.facts);
    if (stretch == nullptr || f.subject.kind != SubjectKind::job || f.id == "slow/spikes" ||
        stretch->rhythm != SlowRhythm::none || stretch->stall)
      continue;
    std::map<std::pair<WorkFigure, std::string>, Throughput> told;  // by name: of all runs
    // Of steps that grow all the time those of the first tenth are what the others are held
    // against.
    const std::int64_t begin = stretch->grows > 0
                                   ? stretch->first + (stretch->last - stretch->first) / 10
                                   : stretch->first;
    for (const auto& [row, kind, points] : figures) {
      const bool of_run_before = stretch->from_start && before.contains(row->member);
      for (std::size_t i = 0; i < points.values.size() && i < points.steps.size(); ++i) {
        if (points.steps[i] == kNoValue || !(points.values[i] > 0)) continue;
        Throughput& figure = told[{kind, row->name}];
        if (of_run_before || points.steps[i] < begin)
          figure.before.push_back(points.values[i]);
        else if (points.steps[i] <= stretch->last)
          figure.inside.push_back(points.values[i]);
      }
    }
    std::erase_if(told, [&](const auto& one) {
      return one.second.before.size() < kFewestValues || one.second.inside.size() < kFewestValues;
    });
    double of_batch = 0, of_length = 0;  // how many times as much; 0: not told
    bool as_high = false, lower = false;
    for (const auto& [name, figure] : told) {
      const double ratio = ratio_of(figure);
      if (name.first == WorkFigure::batch) of_batch = std::max(of_batch, ratio);
      if (name.first == WorkFigure::length) of_length = std::max(of_length, ratio);
      if (name.first == WorkFigure::throughput)
        (std::min(ratio, ratio_of_means(figure)) >= kAsHigh ? as_high : lower) = true;
    }
    // A throughput that stays where a step has no more to do is no measurement.
    const bool unsized = of_batch == 0 && of_length == 0;
    const bool larger = std::max(of_batch, of_length) >= kMore;
    stretch->more_work = (as_high && !lower && (unsized || larger)) ||
                         has_more_to_do(of_batch, of_length, stretch->factor);
  }
}
}  // namespace culprit::diagnose
