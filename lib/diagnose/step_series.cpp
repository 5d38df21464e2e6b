// Units of what series tell of steps, and their place among the steps.
#include "step_series.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>
#include <tuple>

#include "analyze/facts/facts.hpp"
#include "model/median.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"

namespace culprit::diagnose {

namespace {

bool ends_with(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return text.ends_with(e); });
}

}  // namespace

// Milliseconds in one of the series' units; 0 when it does not measure time.
double in_ms(const SeriesRow& s) {
  const std::string_view name = rules::statistic_of(s.name).time;
  if (s.unit == "ms" || ends_with(name, {"_ms", "(ms)", "_msec", " in ms"})) return 1;
  if (s.unit == "s" || ends_with(name, {"_s", "_sec", "_secs", "_seconds", "(s)", " in s"}))
    return 1e3;
  if (s.unit == "us" || ends_with(name, {"_us", "_usec"})) return 1e-3;
  if (s.unit.empty() && (name.ends_with("time") || name.starts_with("t_")))
    return 1e3;  // what Python's clocks count in
  return 0;
}

// What is told once of the whole run: a profile's medians, a summary by rank.
bool of_whole_run(const SeriesPoints& points) {
  const auto none = [](std::int64_t v) { return v == kNoValue; };
  const auto first = [](std::int64_t v) { return v == kNoValue || v == 0; };  // of one scrape
  return points.size() == 1 && std::ranges::all_of(points.steps, first) &&
         std::ranges::all_of(points.times, none);
}
Units::Units(const store::Database& db, const analyze::Facts& facts,
             const std::vector<double>& ms) {
  std::vector<double> told;
  for (const double v : ms)
    if (std::isfinite(v)) told.push_back(v);
  const double step = median_of(std::move(told));
  if (!(step > 0)) return;
  const auto fits = [&](MemberId member, double each) {
    for (const double scale : {1.0, 1e3})
      if (each * scale > step / 2 && each * scale < step * 2) of_member_[member] = scale;
  };
  std::map<std::tuple<MemberId, std::optional<Rank>, std::optional<Host>>, double> parts;
  for (const SeriesRow& s : facts.series) {
    const bool part = rules::part_name(s.name).part != rules::StepPart::none;
    if (in_ms(s) > 0 || !s.unit.empty() || (!part && !rules::whole_of_step(s.name))) continue;
    const SeriesPoints points = db.points(s.id);
    if (points.size() == 0 || (points.steps.empty() && !of_whole_run(points))) continue;
    const double each = median_of({points.values.begin(), points.values.end()});
    if (part)
      parts[{s.member, s.rank, s.host}] += each;
    else
      fits(s.member, each);
  }
  for (const auto& [owner, sum] : parts)
    if (of_member_.count(std::get<MemberId>(owner)) == 0) fits(std::get<MemberId>(owner), sum);
}

double Units::ms(const SeriesRow& s) const {
  if (const double known = in_ms(s); known > 0) return known;
  const auto at = of_member_.find(s.member);
  return at == of_member_.end() || !s.unit.empty() ||
                 (rules::part_name(s.name).part == rules::StepPart::none &&
                  !rules::whole_of_step(s.name))
             ? 0
             : at->second;
}

namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

}  // namespace

StepClock::StepClock(const analyze::JobSteps& steps) : of_moments(steps.of_moments) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps.time[i] != kNoValue) at_.emplace_back(steps.time[i], steps.iteration[i]);
  sort_rows(at_);
}

std::int64_t StepClock::step_of(const SeriesPoints& points, std::size_t i,
                                std::optional<Nanoseconds> offset) const {
  if (i < points.steps.size() && points.steps[i] != kNoValue) return points.steps[i];
  const std::int64_t time = i < points.times.size() ? points.times[i] : kNoValue;
  if (time == kNoValue || (!offset && !of_moments)) return kNoValue;
  const auto after = std::ranges::upper_bound(at_, std::pair(time + offset.value_or(0), kLast));
  return after == at_.begin() ? kNoValue : std::prev(after)->second;
}

// Of one time in several statistics those that stand for it; a maximum does where nothing else is
// told.
std::vector<const SeriesRow*> comparable(const analyze::Facts& facts) {
  std::set<std::pair<MemberId, std::string_view>> middles;
  for (const SeriesRow& s : facts.series)
    if (const rules::TimeStatistic one = rules::statistic_of(s.name); !one.any || one.middle)
      middles.emplace(s.member, one.time);
  std::vector<const SeriesRow*> out;
  for (const SeriesRow& s : facts.series)
    if (const rules::TimeStatistic one = rules::statistic_of(s.name);
        !one.any || one.middle || middles.count({s.member, one.time}) == 0)
      out.push_back(&s);
  sort_by(out, [&](const SeriesRow* a) { return facts.order(a->member); });
  return out;
}

}  // namespace culprit::diagnose
