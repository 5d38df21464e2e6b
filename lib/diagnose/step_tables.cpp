// Makes steps of calls and of tables.
#include "step_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/job_calls.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"
#include "step_series.hpp"

namespace culprit::diagnose {

// Groups one by one: the histories of ten thousand ranks need not be in memory at once.
analyze::JobSteps steps_from_calls(const store::Database& db, const analyze::Facts& facts) {
  std::map<MemberId, std::size_t> timed;
  for (std::size_t i = 0; i < facts.groups.size(); ++i)
    for (const HistoryRow& h : db.histories(group_at(i)))
      timed[h.member] += static_cast<std::size_t>(std::ranges::count_if(
          h.entries, [](const HistoryEntry& e) { return e.created_ns != 0; }));
  std::vector<MemberId> members;
  for (const auto& [member, n] : timed)
    if (n > 0 && facts.counts(facts.member(member))) members.push_back(member);
  if (members.empty()) return {};
  const MemberId most = *std::ranges::max_element(
      members, {}, [&](MemberId a) { return std::tuple(timed[a], -facts.order(a)); });
  std::vector<HistoryRow> histories;
  for (std::size_t i = 0; i < facts.groups.size(); ++i)
    for (HistoryRow& h : db.histories(group_at(i)))
      if (h.member == most) histories.push_back(std::move(h));
  const analyze::CallLog log = analyze::longest_call_log(facts, histories);
  return analyze::steps_of_calls(facts, log, analyze::call_period(log.calls));
}

// Tables that tell how long steps took, where no log does: of each step the longest. Where they
// tell of its parts only, a step takes as long as those of the rank that has most to do.
analyze::JobSteps steps_from_tables(const store::Database& db, const analyze::Facts& facts,
                                    CountedBy counted) {
  std::vector<const SeriesRow*> rows, parts;
  for (const SeriesRow* s : comparable(facts)) {
    if (in_ms(*s) == 0 || !facts.counts(facts.member(s->member))) continue;
    if (rules::whole_of_step(s->name))
      rows.push_back(s);
    else if (rules::part_name(s->name).of_step() && (s->rank || s->host))
      parts.push_back(s);
  }
  const bool of_parts = rows.empty();
  if (of_parts) rows = std::move(parts);
  using Owner = std::tuple<MemberId, std::optional<Rank>, std::optional<Host>>;
  std::map<std::pair<std::int64_t, Owner>, std::pair<double, Place>> sums;
  for (const SeriesRow* s : rows) {
    const SeriesPoints points = db.points(s->id);
    const double unit = in_ms(*s);
    const auto offset = facts.clock_offset(s->member, s->clock);
    const auto row_of = [&](std::size_t i) {
      if (counted == CountedBy::step) return i < points.steps.size() ? points.steps[i] : kNoValue;
      return i < points.times.size() && points.times[i] != kNoValue
                 ? points.times[i] + offset.value_or(0)  // one table has one clock
                 : kNoValue;
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double ms = points.values[i] * unit;
      const std::int64_t row = row_of(i);
      if (row == kNoValue || !(ms > 0) || !std::isfinite(ms)) continue;
      std::pair<double, Place>& sum = sums[{row, {s->member, s->rank, s->host}}];
      if (sum.first == 0) sum.second = analyze::place_of_sample(*s, points, i);
      sum.first = of_parts ? sum.first + ms : std::max(sum.first, ms);
    }
  }
  std::map<std::int64_t, std::pair<double, Place>> found;
  for (const auto& [key, sum] : sums)
    if (std::pair<double, Place>& longest = found[key.first]; sum.first > longest.first)
      longest = sum;
  const bool moment = counted == CountedBy::moment;
  analyze::JobSteps out;
  out.of_moments = moment;
  for (const auto& [row, one] : found) {
    out.iteration.push_back(moment ? static_cast<std::int64_t>(out.size()) : row);
    out.time.push_back(moment ? row : kNoValue);
    out.ms.push_back(one.first);
    out.loss.push_back(kNoFigure);
    out.grad_norm.push_back(kNoFigure);
    out.not_a_number.push_back(0);
    out.attempt.push_back(0);
    out.place.push_back(one.second);
  }
  if (!found.empty()) out.sources.push_back(facts.member(rows.front()->member)->path);
  return out;
}

// Times for the steps of a log that prints none; where the two tell of no common step, all that the
// tables know.
void take_times(analyze::JobSteps told, analyze::JobSteps& steps) {
  bool common = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto at = std::ranges::lower_bound(told.iteration, steps.iteration[i]);
    if (at == told.iteration.end() || *at != steps.iteration[i]) continue;
    steps.ms[i] = told.ms[static_cast<std::size_t>(at - told.iteration.begin())];
    common = true;
  }
  if (steps.size() == 0 || (!common && told.size() > 0)) steps = std::move(told);
}

}  // namespace culprit::diagnose
