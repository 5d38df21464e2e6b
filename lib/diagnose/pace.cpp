#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/pace/job_calls.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/metrics/memory_growth.hpp"
#include "analyze/metrics/metric_stalls.hpp"
#include "analyze/metrics/snapshots.hpp"
#include "analyze/pace/slow_groups.hpp"
#include "analyze/pace/slow_saves.hpp"
#include "analyze/pace/step_jobs.hpp"
#include "analyze/facts/topology.hpp"
#include "ingest/engine/name_moment.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/median.hpp"
#include "model/sort.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::diagnose {

namespace {

bool ends_with(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return text.ends_with(e); });
}

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

// Figures without units: a column of whole steps tells, or all parts of a step together, beside
// what the job's log says that its steps took.
class Units {
 public:
  Units(const store::Database& db, const analyze::Facts& facts, const std::vector<double>& ms) {
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

  double ms(const SeriesRow& s) const {
    if (const double known = in_ms(s); known > 0) return known;
    const auto at = of_member_.find(s.member);
    return at == of_member_.end() || !s.unit.empty() ||
                   (rules::part_name(s.name).part == rules::StepPart::none &&
                    !rules::whole_of_step(s.name))
               ? 0
               : at->second;
  }

 private:
  std::map<MemberId, double> of_member_;
};

// Which step was the last when something was said of a time, and of no step.
class StepClock {
 public:
  explicit StepClock(const analyze::JobSteps& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps.time[i] != kNoValue) at_.emplace_back(steps.time[i], steps.iteration[i]);
    sort_rows(at_);
  }
  // offset: of the clock of the series; none: its times are tied to nothing.
  std::int64_t step_of(const SeriesPoints& points, std::size_t i,
                       std::optional<Nanoseconds> offset) const {
    if (i < points.steps.size() && points.steps[i] != kNoValue) return points.steps[i];
    const std::int64_t time = i < points.times.size() ? points.times[i] : kNoValue;
    if (time == kNoValue || !offset) return kNoValue;
    const auto after = std::ranges::upper_bound(at_, std::pair(time + *offset, kLast));
    return after == at_.begin() ? kNoValue : std::prev(after)->second;
  }

 private:
  static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::vector<std::pair<std::int64_t, std::int64_t>> at_;
};

// A machine works as long as the slowest of its devices, which waits the least.
std::vector<double> of_slowest(const std::string& part,
                               std::map<std::string, std::vector<double>>& devices) {
  std::vector<double> out = std::move(devices.begin()->second);
  const bool waits = analyze::part_kind(part) == analyze::PartKind::waiting;
  for (auto device = std::next(devices.begin()); device != devices.end(); ++device)
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double other = device->second[i];
      if (std::isnan(out[i]) || (waits ? other < out[i] : other > out[i])) out[i] = other;
    }
  return out;
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

// Which iterations what is told once, and of no step, speaks of: from one to before another.
struct ToldOnce {
  std::size_t begin = 0, end = 0;
};

// All of a steady run; of one that is slow to its end the last, which was when somebody looked.
ToldOnce told_once(const Pace& pace, std::size_t iterations) {
  if (pace.report.intervals.empty()) return {0, iterations};
  return pace.report.intervals.back().end >= pace.steps.size()
             ? ToldOnce{iterations - 1, iterations}
             : ToldOnce{};
}

// Parts of steps by who tells of them in `rows`, in the order of the iterations, which are sorted;
// what `teller` gives nobody is left out.
std::vector<analyze::PartSeries> parts_of(
    const store::Database& db, const analyze::Facts& facts, const Units& units,
    std::span<const SeriesRow* const> rows, const std::vector<std::int64_t>& iterations,
    const StepClock& clock, ToldOnce once,
    const std::function<std::optional<Rank>(const SeriesRow&)>& teller) {
  // By who tells and part, and then by the device of a machine that it is told of.
  std::map<std::pair<Rank, std::string>, std::map<std::string, std::vector<double>>> found;
  for (const SeriesRow* s : rows) {
    const MemberRow* m = facts.member(s->member);
    const double unit = units.ms(*s);
    if (m == nullptr || m->duplicate_of != 0 || facts.foreign(*m) || unit == 0) continue;
    const std::optional<Rank> rank = teller(*s);
    if (!rank) continue;
    const SeriesPoints points = db.points(s->id);
    if (points.size() == 0) continue;
    const auto offset = facts.clock_offset(s->member, s->clock);
    const std::optional<LocalRank> local = s->local_rank ? s->local_rank : m->local_rank;
    const std::string device = s->rank ? std::string()
                               : local ? fmt::format("{}", number_of(*local))
                                       : s->gpu.value_or("");
    std::vector<double>& ms = found[{*rank, s->name}][device];
    if (ms.empty()) ms.assign(iterations.size(), kNoFigure);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::int64_t step = clock.step_of(points, i, offset);
      const auto at = std::ranges::upper_bound(iterations, step);
      if (at == iterations.begin()) continue;
      // A log that prints every tenth step stands for those between as well.
      const auto place = static_cast<std::size_t>(at - iterations.begin()) - 1;
      const bool printed = iterations[place] == step;
      if (printed || (at != iterations.end() && std::isnan(ms[place])))
        ms[place] = points.values[i] * unit;
    }
    if (of_whole_run(points))
      for (std::size_t i = once.begin; i < once.end; ++i) ms[i] = points.values.front() * unit;
  }
  std::vector<analyze::PartSeries> out;
  for (auto& [key, devices] : found)
    out.push_back({key.first, key.second, of_slowest(key.second, devices)});
  return out;
}

std::optional<Host> host_of_series(const analyze::Facts& facts, const SeriesRow& s) {
  const MemberRow* m = facts.member(s.member);
  return s.host || m == nullptr ? s.host : m->host;
}

// Whose steps a series tells of: those of a rank, or of the host where no rank tells of any. The
// place of a host in `hosts` stands for its rank.
struct Tellers {
  std::vector<Host> hosts;  // sorted; empty: ranks tell

  std::optional<Rank> of(const analyze::Facts& facts, const SeriesRow& s) const {
    if (hosts.empty()) return s.rank;
    const std::optional<Host> host = host_of_series(facts, s);
    if (!host || s.rank) return std::nullopt;
    const auto at = std::ranges::lower_bound(hosts, *host);
    return at != hosts.end() && *at == *host ? std::optional(Rank(at - hosts.begin()))
                                             : std::nullopt;
  }
  std::string name(Rank rank) const {
    return hosts.empty() ? fmt::format("rank {}", number_of(rank))
                         : std::string(hosts[static_cast<std::size_t>(number_of(rank))]);
  }
};

// A part that one does while the others wait, or in which it waits.
bool told_of_one(const SeriesRow& s) {
  return analyze::part_kind(s.name) != analyze::PartKind::mixed;
}

// Ranks, unless more hosts tell than ranks: one rank's log beside a table of all hosts is no crowd.
Tellers tellers_of(const analyze::Facts& facts, const Units& units) {
  Tellers out;
  std::set<Rank> ranks;
  for (const SeriesRow& s : facts.series) {
    if (units.ms(s) == 0 || !told_of_one(s)) continue;
    if (s.rank)
      ranks.insert(*s.rank);
    else if (auto host = host_of_series(facts, s))
      out.hosts.push_back(*std::move(host));
  }
  sort_unique(out.hosts);
  if (ranks.size() >= out.hosts.size()) out.hosts.clear();
  return out;
}

// The lines in which a rank tells of its first and last step of the interval.
void tell_places(const store::Database& db, const analyze::Facts& facts, const Tellers& tellers,
                 const StepClock& clock, Rank rank, const std::string& part, std::int64_t first,
                 std::int64_t last, std::vector<Evidence>& out) {
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (s.name != part || m == nullptr || m->duplicate_of != 0 || tellers.of(facts, s) != rank)
      continue;
    const SeriesPoints points = db.points(s.id);
    const auto offset = facts.clock_offset(s.member, s.clock);
    // The first and the last that it tells of within these steps.
    std::vector<std::size_t> within;
    const bool whole_run = of_whole_run(points);
    for (std::size_t i = 0; i < points.lines.size(); ++i)
      if (const std::int64_t step = clock.step_of(points, i, offset);
          (whole_run || (step >= first && step <= last)) && points.lines[i] > 0)
        within.push_back(i);
    if (within.size() > 2) within = {within.front(), within.back()};
    for (const std::size_t i : within) {
      out.push_back(facts.evidence({s.member, static_cast<std::uint64_t>(points.lines[i]),
                                    static_cast<std::uint64_t>(points.offsets[i]), 0},
                                   fmt::format("{}", points.values[i])));
      out.back().reading = fmt::format("{} of {}", s.name, tellers.name(rank));
      if (!whole_run)
        out.back().reading += fmt::format(" in step {}", clock.step_of(points, i, offset));
    }
  }
}

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
analyze::JobSteps steps_from_tables(const store::Database& db, const analyze::Facts& facts) {
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
    for (std::size_t i = 0; i < points.steps.size(); ++i) {
      const double ms = points.values[i] * unit;
      if (points.steps[i] == kNoValue || !(ms > 0) || !std::isfinite(ms)) continue;
      std::pair<double, Place>& sum = sums[{points.steps[i], {s->member, s->rank, s->host}}];
      if (sum.first == 0) sum.second = analyze::place_of_sample(*s, points, i);
      sum.first = of_parts ? sum.first + ms : std::max(sum.first, ms);
    }
  }
  std::map<std::int64_t, std::pair<double, Place>> found;
  for (const auto& [key, sum] : sums)
    if (std::pair<double, Place>& longest = found[key.first]; sum.first > longest.first)
      longest = sum;
  analyze::JobSteps out;
  for (const auto& [iteration, one] : found) {
    out.iteration.push_back(iteration);
    out.time.push_back(kNoValue);
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

// What every iteration took, NaN: not told.
std::vector<double> whole_steps(const analyze::JobSteps& steps,
                                const std::vector<std::int64_t>& iterations) {
  std::vector<double> out(iterations.size(), kNoFigure);
  for (std::size_t i = 0; i < steps.size(); ++i)
    out[static_cast<std::size_t>(std::ranges::lower_bound(iterations, steps.iteration[i]) -
                                 iterations.begin())] = steps.ms[i];
  return out;
}

// One rank or machine, or several ranks that all run on one machine.
bool on_one_machine(const analyze::Facts& facts, const Tellers& tellers,
                    const std::vector<Rank>& ranks) {
  if (ranks.size() == 1) return true;
  std::set<Host> hosts;
  std::size_t placed = 0;
  for (const RankRow& r : facts.ranks)
    if (r.host && contains(ranks, r.rank)) hosts.insert(*r.host), ++placed;
  return tellers.hosts.empty() && placed == ranks.size() && hosts.size() == 1;
}

// The whole run as a slow interval: of each step so much is lost.
analyze::SlowInterval whole_run(double step_ms, double lost_ms, std::size_t steps) {
  return {.end = steps,
          .level = step_ms,
          .baseline = step_ms - lost_ms,
          .factor = step_ms / (step_ms - lost_ms),
          .from_start = true,
          .against_peers = true};
}

// The whole run as a slow interval, where one works much more in each step than all others do, and
// they wait for it.
std::optional<analyze::SlowInterval> slow_throughout(const analyze::SlowParts& parts,
                                                     bool on_one_machine, std::size_t steps) {
  constexpr double kLeastShare = 0.15;   // of a step: stages of a pipeline differ by less
  constexpr double kLeastUnseen = 0.35;  // where no wait of the others shows it
  // Of each rank, one may be of a test at the start; and of all that stand out.
  constexpr std::size_t kLeastOfRank = 2, kLeastReadings = 3;
  const double step_ms = parts.iteration_ms;
  if (parts.answer != analyze::SlowPartsAnswer::ranks || !on_one_machine || parts.against_outside ||
      parts.excess_ms < kLeastShare * step_ms || parts.readings < kLeastOfRank ||
      parts.readings * parts.ranks.size() < kLeastReadings)
    return std::nullopt;
  std::vector<double> theirs, others;
  bool any_waits = false;
  for (const analyze::RankExcess& r : parts.all) {
    (contains(parts.ranks, r.rank) ? theirs : others).push_back(r.waiting_inside);
    any_waits = any_waits || r.waiting_inside > 0;
  }
  // Where nobody tells of waiting, work that fills so much of every step leaves them no choice.
  const double waited =
      any_waits ? median_of(others) - median_of(theirs) : std::min(parts.excess_ms, step_ms);
  if (waited < parts.excess_ms / 2 || waited >= step_ms ||
      (!any_waits && waited < kLeastUnseen * step_ms))
    return std::nullopt;
  return whole_run(step_ms, waited, steps);
}

// What each rank was given to do in each step.
std::vector<analyze::PartSeries> loads_of(const store::Database& db, const analyze::Facts& facts,
                                          const std::vector<std::int64_t>& iterations) {
  std::vector<analyze::PartSeries> out;
  for (const SeriesRow& s : facts.series) {
    if (!s.rank || !s.unit.empty() || !rules::tells_load(s.name) || in_ms(s) > 0 ||
        !facts.counts(facts.member(s.member)))
      continue;
    analyze::PartSeries load{*s.rank, s.name, std::vector<double>(iterations.size(), kNoFigure)};
    const SeriesPoints points = db.points(s.id);
    for (std::size_t i = 0; i < points.steps.size(); ++i)
      if (const auto at = std::ranges::lower_bound(iterations, points.steps[i]);
          at != iterations.end() && *at == points.steps[i])
        load.ms[static_cast<std::size_t>(at - iterations.begin())] = points.values[i];
    out.push_back(std::move(load));
  }
  return out;
}

// Whom the program named as its slowest, when and where.
struct NamedLines {
  std::vector<analyze::NamedAt> names;
  std::vector<Place> places;

  // Whom it names within these steps, and two of the lines, where no rank's own numbers say who.
  void tell(const analyze::Facts& facts, std::int64_t first, std::int64_t last,
            analyze::OwnWork& own) const {
    constexpr std::size_t kCited = 2;
    own.named = analyze::named_slowest(names, first, last);
    if (!own.named || !own.parts.ranks.empty()) return;
    for (std::size_t i = 0; i < names.size() && own.evidence.size() < kCited; ++i)
      if (const auto& [step, rank] = names[i];
          rank == own.named->rank && step >= first && step <= last) {
        own.evidence.push_back(facts.evidence(places[i], std::string(kSlowestRank)));
        own.evidence.back().reading = fmt::format("rank {} in step {}", number_of(rank), step);
      }
  }
};
NamedLines names_of(const store::Database& db, const analyze::Facts& facts,
                    const StepClock& clock) {
  NamedLines out;
  for (const SeriesRow& s : facts.series) {
    if (s.name != kSlowestRank || !facts.counts(facts.member(s.member))) continue;
    const SeriesPoints points = db.points(s.id);
    const auto offset = facts.clock_offset(s.member, s.clock);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (const std::int64_t step = clock.step_of(points, i, offset); step != kNoValue) {
        out.names.push_back({step, Rank(static_cast<std::int64_t>(points.values[i]))});
        out.places.push_back(analyze::place_of_sample(s, points, i));
      }
  }
  return out;
}

// The whole run, if all ranks have more to wait for than to do, or load data for much of it.
std::optional<analyze::SlowInterval> slow_for_all(const std::optional<analyze::UnequalLoad>& load,
                                                  const std::optional<analyze::GrownPart>& part,
                                                  double step_ms, std::size_t steps) {
  const double lost = load ? load->excess_ms : part ? part->inside_ms : 0;
  if (!(lost > 0) || !(step_ms > lost)) return std::nullopt;
  return whole_run(step_ms, lost, steps);
}

// Who did what in the slow intervals, or in the whole run where it has none.
void own_work_of(const store::Database& db, const analyze::Facts& facts,
                 const std::vector<MemberId>& logs, Pace& out) {
  // A step that was done twice is judged as it was done the last time.
  std::vector<std::int64_t> iterations = out.steps.iteration;
  sort_unique(iterations);
  if (iterations.empty()) return;
  const Units units(db, facts, out.steps.ms);
  const StepClock clock(out.steps);
  const Tellers tellers = tellers_of(facts, units);
  const bool steady = out.report.intervals.empty();
  const std::vector<const SeriesRow*> rows = comparable(facts);
  std::vector<analyze::PartSeries> parts =
      parts_of(db, facts, units, rows, iterations, clock, told_once(out, iterations.size()),
               [&](const SeriesRow& s) {
                 return rules::whole_of_step(s.name) ? std::nullopt : tellers.of(facts, s);
               });
  const std::vector<double> whole = whole_steps(out.steps, iterations);
  const std::vector<analyze::KernelTime> kernels =
      analyze::kernel_times(facts, [&](SeriesId id) { return db.points(id); });
  // A profiler is on for three steps, mostly, and measures the thousand kernels of each.
  analyze::SlowPartsParams params;
  if (!kernels.empty()) params.least = std::min<std::size_t>(params.least, 3);
  // What grew on all may be read from the log that reports the steps, whosever it is; of a steady
  // run, what a step should have little of.
  const auto wanted = [&](std::string_view name) {
    return !steady || rules::overhead(rules::part_name(name).part);
  };
  const auto of_log = [&](const SeriesRow& s) -> std::optional<Rank> {
    const bool told = told_of_one(s) && tellers.of(facts, s);
    return wanted(s.name) && !told && !s.rank && contains(logs, s.member) ? std::optional(Rank(0))
                                                                          : std::nullopt;
  };
  std::vector<analyze::PartSeries> all =
      parts_of(db, facts, units, rows, iterations, clock, {}, of_log);
  std::ranges::copy_if(parts, std::back_inserter(all),
                       [&](const analyze::PartSeries& p) { return wanted(p.name); });
  const std::vector<analyze::PartSeries> loads = loads_of(db, facts, iterations);
  if (steady) {
    const analyze::SlowPartsInput of_ranks{iterations, parts, whole, iterations.front(),
                                           iterations.back()};
    const analyze::SlowParts found = analyze::slow_rank_parts(of_ranks, params);
    const auto load = analyze::unequal_load(of_ranks, loads);
    auto interval = load ? std::nullopt
                         : slow_throughout(found, on_one_machine(facts, tellers, found.ranks),
                                           out.steps.size());
    if (!interval)
      interval = slow_for_all(
          load, analyze::dominant_part({iterations, all, whole, of_ranks.first, of_ranks.last}),
          analyze::halves(whole, of_ranks).inside, out.steps.size());
    if (!interval) return;
    out.report.intervals.push_back(*interval);
  }
  if (tellers.hosts.empty()) out.series = parts;
  const NamedLines named = names_of(db, facts, clock);
  if (all.empty() && parts.empty() && named.names.empty()) return;
  for (const analyze::SlowInterval& interval : out.report.intervals) {
    const std::int64_t first = out.steps.iteration[interval.start],
                       last = out.steps.iteration[interval.end - 1];
    const analyze::SlowPartsInput of_ranks{iterations, parts, whole, first, last},
        of_all{iterations, all, whole, first, last};
    analyze::OwnWork own{
        .parts = analyze::slow_rank_parts(of_ranks, params),
        .tellers = tellers.hosts,
        .grown = steady ? analyze::dominant_part(of_all) : analyze::grown_part(of_all),
        .evidence = {},
        .kernels = {},
        .load = analyze::unequal_load(of_ranks, loads, {.effect_of_work = steady ? 0 : 0.25}),
        .named = {}};
    if (own.parts.ranks.size() == 1 && tellers.hosts.empty())
      own.kernels = analyze::slow_kernels(kernels, own.parts.ranks.front());
    for (const Rank rank : own.parts.ranks)
      if (own.evidence.size() < 4)
        tell_places(db, facts, tellers, clock, rank, own.parts.part, first, last, own.evidence);
    named.tell(facts, first, last, own);
    out.parts.push_back(std::move(own));
  }
  out.iterations = std::move(iterations);
}

}  // namespace

Pace pace_of(const store::Database& db, const analyze::Facts& facts,
             const analyze::FailSlowParams& params) {
  Pace out;
  std::vector<StepTable> tables;
  const std::vector<MemberId> logs = analyze::step_logs(facts);
  for (const MemberId member : logs) tables.push_back(db.steps(member));
  out.steps = analyze::job_steps(facts, tables);
  tables.clear();
  const auto silent = [&] {
    return std::ranges::all_of(out.steps.ms, [](double v) { return std::isnan(v); });
  };
  if (silent())
    if (analyze::JobSteps counted = steps_from_calls(db, facts); counted.size() > 0)
      out.steps = std::move(counted);
  if (silent()) take_times(steps_from_tables(db, facts), out.steps);
  analyze::JobCheckpoints checkpoints(facts, out.steps);
  db.each_checkpoint([&](const CheckpointRow& row) {
    checkpoints.take(row);
    if (row.event == CheckpointEvent::loading || row.event == CheckpointEvent::loaded)
      out.loads.push_back(row);
  });
  out.checkpoints = checkpoints.found();
  out.jobs = analyze::step_jobs(facts, out.steps, [&](SeriesId id) { return db.points(id); });
  out.report = analyze::find_fail_slow(out.steps, out.jobs, out.steps.size(), params);
  const bool numbered =
      std::ranges::none_of(out.steps.iteration, [](std::int64_t n) { return n == kNoValue; });
  if (numbered) own_work_of(db, facts, logs, out);
  return out;
}

analyze::OutlierParams fitting(const Pace& pace) {
  constexpr Nanoseconds kShortest = 60 * kSecond;  // fewer than a handful of scrapes prove nothing
  analyze::OutlierParams params;
  for (const analyze::SlowInterval& interval : pace.report.intervals) {
    const Nanoseconds first = interval.start == 0 ? kNoValue : pace.steps.time[interval.start - 1],
                      last = pace.steps.time[interval.end - 1];
    if (first == kNoValue || last == kNoValue || last <= first) continue;
    params.window = std::min(params.window, std::max(kShortest, (last - first) * 2 / 3));
    params.longest = std::min(params.longest, last - first);
  }
  return params;
}

analyze::IncidentMetrics metrics_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::incident_metrics(facts, rules::Catalogue::built_in(),
                                   [&](SeriesId id) { return db.points(id); });
}

analyze::OutlierReport outliers_of(const store::Database& db, const analyze::Facts& facts,
                                   const analyze::IncidentMetrics& metrics,
                                   const analyze::OutlierParams& params) {
  constexpr std::size_t kCited = 64;  // outliers: each reads its series again
  analyze::OutlierReport out;
  if (!metrics.metrics.empty())
    out = analyze::search_outliers(metrics.metrics, rules::Catalogue::built_in(), params);
  for (std::size_t i = 0; i < out.outliers.size() && i < kCited; ++i) {
    analyze::MetricOutlier& o = out.outliers[i];
    const bool counter =
        o.known != nullptr &&
        o.known->kind == rules::MetricKind::counter;  // its height is not what stood out
    o.evidence = analyze::sample_evidence(
        facts, [&](SeriesId id) { return db.points(id); }, o.printed, o.outlier.entity,
        o.outlier.start, o.outlier.end, counter ? kNoFigure : o.outlier.value);
  }
  out.readings = analyze::snapshot_outliers(metrics.readings, rules::Catalogue::built_in());
  for (std::size_t i = 0; i < out.readings.size() && i < kCited; ++i)
    out.readings[i].evidence = analyze::reading_evidence(
        facts, [&](SeriesId id) { return db.points(id); }, out.readings[i]);
  const auto named = std::ranges::count_if(
      facts.series, [](const SeriesRow& s) { return s.labels == ingest::kTimeOfName; });
  if (named > 0)
    out.notes.push_back(
        fmt::format("{} series take their time from the name of their file: nothing else says when "
                    "they were read",
                    named));
  if (metrics.unknown > 0)
    out.notes.push_back(
        fmt::format("{} series left out: the catalogue does not know which side of them is bad",
                    metrics.unknown));
  if (metrics.nameless > 0)
    out.notes.push_back(
        fmt::format("{} series left out: nothing says whose they are", metrics.nameless));
  if (metrics.timeless > 0)
    out.notes.push_back(
        fmt::format("{} series left out: no time that can be compared with those of other machines",
                    metrics.timeless));
  return out;
}

std::vector<Finding> stalls_of(const store::Database& db, const analyze::Facts& facts,
                               const analyze::IncidentMetrics& metrics) {
  return analyze::stall_findings(facts, metrics, rules::Catalogue::built_in(),
                                 [&](SeriesId id) { return db.points(id); });
}

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

// Whether steps that take `factor` times as long have so much more to do: a larger batch as much,
// longer sequences up to the square.
bool has_more_to_do(double batch, double length, double factor) {
  constexpr double kMore = 1.1, kSlack = 1.35, kOfLength = 1.4;  // ... power
  const double work = std::max(batch, 1.0) * std::pow(std::max(length, 1.0), kOfLength);
  return work >= kMore && factor <= kSlack * work;
}

}  // namespace

void note_more_work(const store::Database& db, const analyze::Facts& facts,
                    std::vector<Finding>& slow) {
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
  for (Finding& f : slow) {
    auto* stretch = std::get_if<SlowFacts>(&f.facts);
    if (stretch == nullptr || f.subject.kind != SubjectKind::job) continue;
    std::map<std::pair<WorkFigure, std::string>, Throughput> told;  // by name: of all runs
    // Of steps that grow all the time those of the first tenth are what the others are held
    // against.
    const std::int64_t begin = stretch->grows > 0
                                   ? stretch->first + (stretch->last - stretch->first) / 10
                                   : stretch->first;
    for (const auto& [row, kind, points] : figures) {
      for (std::size_t i = 0; i < points.values.size() && i < points.steps.size(); ++i) {
        if (points.steps[i] == kNoValue || !(points.values[i] > 0)) continue;
        Throughput& figure = told[{kind, row->name}];
        if (points.steps[i] < begin)
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
      if (name.first == WorkFigure::throughput) (ratio >= kAsHigh ? as_high : lower) = true;
    }
    // A throughput that stays where a step has no more to do is no measurement.
    const bool unsized = of_batch == 0 && of_length == 0;
    const bool larger = std::max(of_batch, of_length) >= kMore;
    stretch->more_work = (as_high && !lower && (unsized || larger)) ||
                         has_more_to_do(of_batch, of_length, stretch->factor);
  }
}

std::vector<Finding> slow_saves_of(const store::Database& db, const analyze::Facts& facts,
                                   const Pace& pace) {
  std::vector<analyze::SaveTimes> told;
  for (const SeriesRow* s : comparable(facts)) {
    const MemberRow* m = facts.member(s->member);
    if (m == nullptr || m->duplicate_of != 0 || facts.foreign(*m) || !(in_ms(*s) > 0) ||
        rules::part_name(s->name).part != rules::StepPart::checkpoint)
      continue;
    told.push_back({s->member, db.points(s->id), in_ms(*s)});
  }
  std::vector<double> steps;
  for (const double ms : pace.steps.ms)
    if (ms > 0) steps.push_back(ms);
  std::vector<Finding> out =
      analyze::slow_saves(facts, told, steps.empty() ? 0 : median_of(std::move(steps)));
  if (out.empty())
    if (const auto between = analyze::between_steps(pace.steps, pace.checkpoints))
      out = analyze::pauses_between(facts, pace.steps, *between);
  return out;
}

std::vector<Finding> growth_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::memory_growth(facts, rules::Catalogue::built_in(),
                                [&](SeriesId id) { return db.points(id); });
}

std::vector<analyze::GroupTime> group_times_of(const store::Database& db,
                                               const analyze::Facts& facts) {
  // Groups without their like need not be read: that of all ranks has the longest histories.
  std::map<std::pair<std::string, std::int64_t>, std::size_t> like;
  const auto kind = [](const GroupRow& g) {
    return std::pair(analyze::dimension_of(g.description),
                     std::max<std::int64_t>(g.size, static_cast<std::int64_t>(g.ranks.size())));
  };
  for (const GroupRow& g : facts.groups) ++like[kind(g)];
  std::vector<analyze::GroupTime> times;
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    const auto id = group_at(i);
    if (like[kind(facts.groups[i])] < analyze::SlowGroupParams{}.least_groups) continue;
    auto histories = db.histories(id);
    std::erase_if(histories, [&](const HistoryRow& h) {
      const MemberRow* m = facts.member(h.member);
      return m == nullptr || m->duplicate_of != 0 || facts.foreign(*m);
    });
    for (analyze::GroupTime& g : analyze::group_times(facts, id, histories))
      times.push_back(std::move(g));
  }
  return times;
}

std::vector<Finding> slow_groups_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::slow_group_findings(facts, group_times_of(db, facts));
}

analyze::JobTimes job_times(const analyze::Facts& facts, const analyze::JobSteps& steps) {
  analyze::JobTimes out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MemberRow* m = facts.member(steps.place[i].member);
    if (steps.iteration[i] == kNoValue || (m != nullptr && analyze::of_earlier_run(m->path)))
      continue;
    analyze::StepRecord step{.attempt = static_cast<std::int64_t>(steps.attempt[i]),
                             .iteration = steps.iteration[i]};
    if (steps.time[i] != kNoValue) step.end = steps.time[i];
    if (!std::isnan(steps.ms[i])) step.ms = steps.ms[i];
    out.steps.push_back(step);
  }
  out.start = facts.job_start;
  out.end = facts.job_end;
  if (facts.world_size > 0) out.gpus = static_cast<double>(facts.world_size);
  return out;
}

namespace {

// The median of each point's rows; empty when no row has a value.
std::vector<double> thinned(const std::vector<double>& rows, std::size_t bucket) {
  std::vector<double> out;
  bool any = false;
  for (std::size_t begin = 0; begin < rows.size(); begin += bucket) {
    std::vector<double> values;
    for (std::size_t i = begin; i < std::min(begin + bucket, rows.size()); ++i)
      if (std::isfinite(rows[i])) values.push_back(rows[i]);
    sort_rows(values);
    any = any || !values.empty();
    out.push_back(values.empty() ? kNoFigure : values[values.size() / 2]);
  }
  return any ? out : std::vector<double>{};
}

}  // namespace

StepChart chart_of(const Pace& pace) {
  constexpr std::size_t kFewest = 20, kMost = 200;
  StepChart out;
  const std::vector<double>& ms = pace.steps.ms;
  out.rows = ms.size();
  if (out.rows < kFewest || std::ranges::none_of(ms, [](double v) { return std::isfinite(v); }))
    return {};
  out.bucket = (out.rows + kMost - 1) / kMost;
  for (std::size_t begin = 0; begin < out.rows; begin += out.bucket) {
    std::vector<double> values;
    for (std::size_t i = begin; i < std::min(begin + out.bucket, out.rows); ++i)
      if (std::isfinite(ms[i])) values.push_back(ms[i]);
    sort_rows(values);
    out.iteration.push_back(pace.steps.iteration[begin] == kNoValue
                                ? static_cast<std::int64_t>(begin)
                                : pace.steps.iteration[begin]);
    out.ms.push_back(values.empty() ? kNoFigure : values[values.size() / 2]);
    if (out.bucket > 1) out.high.push_back(values.empty() ? kNoFigure : values.back());
  }
  out.loss = thinned(pace.steps.loss, out.bucket);
  out.grad_norm = thinned(pace.steps.grad_norm, out.bucket);
  for (std::size_t i = 0; i < pace.steps.not_a_number.size(); ++i)
    if (pace.steps.not_a_number[i] != 0 && (out.bad.empty() || out.bad.back() != i / out.bucket))
      out.bad.push_back(i / out.bucket);
  for (std::size_t i = 1; i < pace.steps.attempt.size(); ++i)
    if (pace.steps.attempt[i] != pace.steps.attempt[i - 1]) out.restarts.push_back(i / out.bucket);
  for (const analyze::JobCheckpoint& c : pace.checkpoints)
    out.checkpoints.push_back({c.event, c.iteration, c.row / out.bucket});
  const auto iteration = [&](std::size_t row) {
    const std::int64_t n = pace.steps.iteration[row];
    return n == kNoValue ? static_cast<std::int64_t>(row) : n;
  };
  for (const analyze::SlowInterval& s : pace.report.intervals) {
    if (s.start >= s.end || s.end > out.rows) continue;
    out.slow.push_back({s.start / out.bucket, (s.end + out.bucket - 1) / out.bucket,
                        iteration(s.start), iteration(s.end - 1), s.factor, !s.relieved});
    out.baseline = s.baseline;
  }
  if (out.baseline == 0 && !pace.report.attempts.empty())
    out.baseline = pace.report.attempts.back().baseline;
  return out;
}

}  // namespace culprit::diagnose
