// Puts the parts that ranks and machines tell of beside the steps, and asks who works more.
#include "own_work.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "analyze/facts/topology.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "model/contains.hpp"
#include "model/median.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"
#include "step_series.hpp"
#include "step_tables.hpp"

namespace culprit::diagnose {

namespace {

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
      if (!whole_run && !clock.of_moments)
        out.back().reading += fmt::format(" in step {}", clock.step_of(points, i, offset));
    }
  }
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

}  // namespace

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

namespace {

// How long the slow stretch of a log without times took: what its rows stand for.
double length_ms(const analyze::JobSteps& steps, const analyze::SlowInterval& interval) {
  double out = 0;
  for (std::size_t i = std::max<std::size_t>(interval.start, 1); i < interval.end; ++i)
    if (std::isfinite(steps.ms[i]) && steps.iteration[i] > steps.iteration[i - 1])
      out += steps.ms[i] * static_cast<double>(steps.iteration[i] - steps.iteration[i - 1]);
  return out;
}

// As long, and slower by as much: a table may be of another day or another job.
bool same_stretch(const Pace& log, const Pace& table) {
  constexpr double kLength = 1.5, kFactor = 1.35;
  const analyze::SlowInterval &a = log.report.intervals.front(),
                              &b = table.report.intervals.front();
  const double by_log = length_ms(log.steps, a);
  const double by_clock =
      static_cast<double>(table.steps.time[b.end - 1] - table.steps.time[b.start]) / 1e6;
  const auto alike = [](double x, double y, double times) {
    return x > 0 && y > 0 && x <= times * y && y <= times * x;
  };
  return alike(by_log, by_clock, kLength) && alike(a.factor, b.factor, kFactor);
}

}  // namespace

// Steps without times, and a table of the machines' parts by the clock: where each has one slow
// stretch, which lasts to its end, as long and as slow, that is the same.
void own_work_of_moments(const store::Database& db, const analyze::Facts& facts,
                         const analyze::FailSlowParams& params, Pace& out) {
  const auto lasts = [](const Pace& pace) {
    return pace.report.intervals.size() == 1 && !pace.report.intervals.front().relieved &&
           pace.report.intervals.front().end == pace.steps.size();
  };
  const auto tells = [](const Pace& pace) {
    return std::ranges::any_of(
        pace.parts, [](const analyze::OwnWork& own) { return !own.parts.ranks.empty(); });
  };
  if (tells(out) || !lasts(out)) return;
  Pace by_clock;
  by_clock.steps = steps_from_tables(db, facts, CountedBy::moment);
  by_clock.report = analyze::find_fail_slow(by_clock.steps, {}, by_clock.steps.size(), params);
  if (!lasts(by_clock) || !same_stretch(out, by_clock)) return;
  own_work_of(db, facts, {}, by_clock);
  if (tells(by_clock)) out.parts = std::move(by_clock.parts);
}

void own_work_of_other_steps(const store::Database& db, const analyze::Facts& facts,
                             const analyze::FailSlowParams& params, Pace& out) {
  if (std::ranges::any_of(out.steps.time, [](Nanoseconds t) { return t != kNoValue; })) return;
  Pace table;
  table.steps = steps_from_tables(db, facts, CountedBy::step);
  if (table.steps.size() == 0) return;
  const bool common = std::ranges::any_of(out.steps.iteration, [&](std::int64_t n) {
    return std::ranges::binary_search(table.steps.iteration, n);
  });
  if (common) return;
  table.report = analyze::find_fail_slow(table.steps, {}, table.steps.size(), params);
  own_work_of(db, facts, {}, table);
  if (table.report.intervals.empty()) return;
  table.loads = std::move(out.loads);
  out = std::move(table);
}

}  // namespace culprit::diagnose
