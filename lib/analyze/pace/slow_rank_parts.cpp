#include "analyze/pace/slow_rank_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "analyze/pace/regimes.hpp"
#include "model/ranges.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kLeastRanks = 3;  // of two, nobody knows which is the odd one

// Sum of a rank's parts of one kind, iteration by iteration. An iteration that misses a part the
// rank tells elsewhere is NaN.
struct RankSum {
  std::vector<double> own, waiting, mixed;
  bool has_own = false, has_waiting = false;
};

void add(std::vector<double>& sum, const std::vector<double>& ms) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += i < ms.size() && std::isfinite(ms[i]) && ms[i] >= 0 && ms[i] < 1e12
                  ? ms[i]
                  : std::numeric_limits<double>::quiet_NaN();
}

// What is not told adds nothing.
void add_told(std::vector<double>& sum, const std::vector<double>& ms, std::size_t iterations) {
  sum.resize(iterations, 0);
  for (std::size_t i = 0; i < std::min(ms.size(), iterations); ++i)
    if (std::isfinite(ms[i]) && ms[i] >= 0 && ms[i] < 1e12) sum[i] += ms[i];
}

using SumsByRank = std::map<Rank, RankSum>;
using Kinds = std::map<std::string, PartKind, std::less<>>;  // of parts, by name

double spread(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return most - least;
}

// Of every rank that tells it, what the parts of that name take, and that with the rank's waiting.
struct PartAndWait {
  std::vector<double> part, both;

  void add(double of_part, double wait) {
    part.push_back(of_part);
    both.push_back(of_part + wait);
  }
  // Who takes longer in the part waits as much less.
  bool complement(std::size_t ranks, const SlowPartsParams& params) const {
    return part.size() == ranks && spread(part) >= params.effect * median_of(both) &&
           spread(both) <= params.complement * spread(part);
  }
};

// Whether it is so in most iterations, where it is another rank each time.
bool complement_in_most(const std::vector<const PartSeries*>& part,
                        const std::map<Rank, std::vector<double>>& waits,
                        const SlowPartsInput& input, const SlowPartsParams& params) {
  constexpr std::size_t kLeastTold = 3;
  std::size_t told = 0, good = 0;
  for (std::size_t i = 0; i < input.iterations.size(); ++i) {
    if (input.iterations[i] < input.first || input.iterations[i] > input.last) continue;
    PartAndWait values;
    for (const PartSeries* p : part)
      if (const auto wait = waits.find(p->rank);
          wait != waits.end() && i < p->ms.size() && std::isfinite(p->ms[i] + wait->second[i]))
        values.add(p->ms[i], wait->second[i]);
    if (values.part.size() < kLeastRanks) continue;
    ++told;
    good += values.complement(values.part.size(), params);
  }
  return told >= kLeastTold && good * 5 >= told * 4;
}

// Parts whose names say nothing, or that may hold both: where who takes longer in one waits as much
// less, it is work. In a synchronous step all ranks take equally long.
void place_by_complement(const SlowPartsInput& input, const SlowPartsParams& params, Kinds& kinds) {
  std::map<Rank, std::vector<double>> waits;
  std::map<Rank, double> medians;
  std::map<std::string_view, std::vector<const PartSeries*>> mixed;
  for (const PartSeries& p : input.parts) {
    const PartKind kind = kinds.at(p.name);
    if (kind == PartKind::mixed) mixed[p.name].push_back(&p);
    if (kind != PartKind::waiting) continue;
    if (const Halves h = halves(p.ms, input); h.within > 0) medians[p.rank] += h.inside;
    std::vector<double>& wait = waits[p.rank];
    wait.resize(input.iterations.size(), 0);
    add(wait, p.ms);
  }
  if (medians.size() < kLeastRanks) return;
  for (const auto& [name, series] : mixed) {
    PartAndWait values;
    for (const PartSeries* p : series)
      if (const auto wait = medians.find(p->rank); wait != medians.end())
        if (const Halves h = halves(p->ms, input); h.within > 0) values.add(h.inside, wait->second);
    if (values.complement(medians.size(), params) ||
        complement_in_most(series, waits, input, params))
      kinds.find(name)->second = PartKind::own;
  }
}

// Where no part tells of waiting and all ranks take equally long, they wait in the work at whose
// end they meet: who takes less time in it has more to do before it.
void place_by_meeting(const SlowPartsInput& input, const SlowPartsParams& params, Kinds& kinds) {
  if (std::ranges::any_of(kinds, [](const auto& k) { return k.second == PartKind::waiting; }))
    return;
  std::map<Rank, std::pair<double, double>> sums;  // in such work, and in all
  for (const PartSeries& p : input.parts) {
    const Halves h = halves(p.ms, input);
    if (kinds.at(p.name) != PartKind::own || h.within == 0) continue;
    sums[p.rank].first += rules::synchronises(p.name) ? h.inside : 0;
    sums[p.rank].second += h.inside;
  }
  if (sums.size() < params.many) return;
  std::vector<double> meeting, all;
  for (const auto& [rank, sum] : sums) meeting.push_back(sum.first), all.push_back(sum.second);
  if (spread(meeting) < params.effect * median_of(all) ||
      spread(all) > params.complement * spread(meeting))
    return;
  for (auto& [name, kind] : kinds)
    if (kind == PartKind::own && rules::synchronises(name)) kind = PartKind::waiting;
}

// Where no part tells of work or of waiting by itself, what holds both is all there is to compare:
// in a wait for one rank all others are as long as it.
void place_alone(Kinds& kinds) {
  const auto sure = [](const auto& kind) { return kind.second != PartKind::mixed; };
  if (std::ranges::any_of(kinds, sure)) return;
  for (auto& [name, kind] : kinds)
    if (rules::part_name(name).part == rules::StepPart::compute) kind = PartKind::own;
}

Kinds kinds_of(const SlowPartsInput& input, const SlowPartsParams& params) {
  Kinds out;
  for (const PartSeries& p : input.parts)
    if (out.count(p.name) == 0) out.emplace(p.name, params.kind(p.name));
  place_by_complement(input, params, out);
  place_by_meeting(input, params, out);
  place_alone(out);
  return out;
}

// Parts that one of many ranks tells, where all tell others: its log has timers that a table of all
// ranks has not, and no other rank's work could be held against them.
std::set<std::string_view> told_by_one(const SlowPartsInput& input) {
  constexpr std::size_t kMany = 8;
  std::map<std::string_view, std::set<Rank>> tellers;
  std::set<Rank> all;
  for (const PartSeries& p : input.parts) tellers[p.name].insert(p.rank), all.insert(p.rank);
  std::set<std::string_view> out;
  if (all.size() < kMany) return out;
  for (const auto& [name, ranks] : tellers)
    if (ranks.size() == 1) out.insert(name);
  return out;
}

SumsByRank sums_by_rank(const SlowPartsInput& input, const Kinds& kinds) {
  SumsByRank ranks;
  const std::set<std::string_view> alone = told_by_one(input);
  for (const PartSeries& p : input.parts) {
    if (alone.contains(p.name)) continue;
    const PartKind kind = kinds.at(p.name);
    RankSum& r = ranks[p.rank];
    if (kind == PartKind::mixed) {
      if (!rules::whole_of_step(p.name)) add_told(r.mixed, p.ms, input.iterations.size());
      continue;
    }
    auto& sum = kind == PartKind::own ? r.own : r.waiting;
    if (sum.empty()) sum.assign(input.iterations.size(), 0);
    add(sum, p.ms);
    (kind == PartKind::own ? r.has_own : r.has_waiting) = true;
  }
  return ranks;
}

// Compares every rank's work inside of the interval with its work outside of it, where enough is
// told of that, else with nothing. Says whether all tell how long they waited; what is too little
// to compare leaves `why`.
bool compare_own_work(const SumsByRank& ranks, const SlowPartsInput& input,
                      const SlowPartsParams& params, SlowParts& result) {
  std::size_t inside = SIZE_MAX, outside = SIZE_MAX;
  bool waits = true;
  for (const auto& [id, r] : ranks) {
    if (!r.has_own) continue;
    const Halves own = halves(r.own, input), waiting = halves(r.waiting, input);
    if (own.within == 0) continue;
    inside = std::min(inside, own.within);
    outside = std::min(outside, own.without);
    waits = waits && r.has_waiting && waiting.within > 0;
    result.all.push_back({id, own.inside, own.outside, 0, waiting.inside, waiting.outside});
  }
  if (result.all.size() < kLeastRanks) {
    result.why = say(Phrase::three_ranks_needed, result.all.size());
    return waits;
  }
  if (inside == 0 || (inside < params.least && result.all.size() < params.many)) {
    result.why = say(Phrase::too_few_inside, inside);
    return waits;
  }
  result.readings = inside;
  result.against_outside =
      outside >= params.least || (outside > 0 && result.all.size() >= params.many);
  for (RankExcess& r : result.all) {
    r.excess = result.against_outside ? r.own_inside - r.own_outside : r.own_inside;
    if (!std::isfinite(r.own_outside)) r.own_outside = 0;
    if (!std::isfinite(r.waiting_inside)) r.waiting_inside = 0;
    if (!std::isfinite(r.waiting_outside)) r.waiting_outside = 0;
  }
  return waits;
}

// How long the iterations were: as told, else the largest sum of a rank's parts, of whatever kind.
Halves iteration_times(const SumsByRank& ranks, const SlowPartsInput& input) {
  if (const Halves told = halves(input.iteration_ms, input); told.within > 0) return told;
  std::vector<double> derived(input.iterations.size(), std::numeric_limits<double>::quiet_NaN());
  for (const auto& [id, r] : ranks)
    for (std::size_t i = 0; i < derived.size(); ++i) {
      const double sum = (r.has_own ? r.own[i] : 0) + (r.has_waiting ? r.waiting[i] : 0) +
                         (r.mixed.empty() ? 0 : r.mixed[i]);
      if (std::isfinite(sum) && !(derived[i] >= sum)) derived[i] = sum;
    }
  return halves(derived, input);
}

// Ranks by how much more they work, and how many of the first of them stand apart.
struct RanksByExcess {
  std::vector<const RankExcess*> order;
  std::size_t accused = 0;
  double level = 0, deviation = 0;  // of the others

  double lead(std::size_t i) const { return order[i]->excess - level; }
};

// The highest ranks up to the widest gap below them, if that gap is wide against the spread of
// all the others.
RanksByExcess ranks_by_excess(const SlowParts& result, double typical,
                              const SlowPartsParams& params) {
  RanksByExcess out;
  auto& order = out.order;
  for (const RankExcess& r : result.all) order.push_back(&r);
  sort_rows(order, [](const RankExcess* a, const RankExcess* b) { return a->excess > b->excess; });
  const auto most = std::max<std::size_t>(
      1, static_cast<std::size_t>(params.most_accused * static_cast<double>(order.size())));
  double widest = 0;
  for (std::size_t k = 1; k <= most && k < order.size(); ++k) {
    const double gap = order[k - 1]->excess - order[k]->excess;
    if (gap > widest) {
      widest = gap;
      out.accused = k;
    }
  }
  std::vector<double> rest, spread;
  for (std::size_t i = out.accused; i < order.size(); ++i) rest.push_back(order[i]->excess);
  out.level = median_of(rest);
  for (const double e : rest) spread.push_back(std::abs(e - out.level));
  const double floor = 0.005 * typical;  // clocks and rounding
  out.deviation = std::max(1.4826 * median_of(spread), floor);
  return out;
}

// No rank stands out: either all rose together, or nobody did.
void judge_all(const RanksByExcess& by, double typical, const SlowPartsParams& params,
               SlowParts& result) {
  const bool rose = result.against_outside && by.level >= params.effect * typical &&
                    result.iteration_excess_ms >= params.effect * typical;
  result.answer = rose ? SlowPartsAnswer::shared : SlowPartsAnswer::nobody;
  result.why = rose ? say(Phrase::all_rose_together, by.order.size(), by.level)
                    : say(Phrase::no_rank_clear, std::max(0.0, by.lead(0)),
                          std::max(0.0, by.lead(0) / by.deviation));
}

// Who really holds the others up waits less than they do.
bool waits_no_less(const RanksByExcess& by, bool against_outside) {
  std::vector<double> theirs, others;
  for (std::size_t i = 0; i < by.order.size(); ++i) {
    const RankExcess& r = *by.order[i];
    (i < by.accused ? theirs : others)
        .push_back(r.waiting_inside - (against_outside ? r.waiting_outside : 0));
  }
  return median_of(theirs) >= median_of(others);
}

// Whether the iterations became longer by what the rank's work did; else `why` they did not.
bool explains_iterations(Rank rank, double typical, const SlowPartsParams& params,
                         SlowParts& result) {
  if (result.iteration_excess_ms < params.effect * typical) {
    result.why = say(Phrase::iterations_no_longer, rank, result.excess_ms);
    return false;
  }
  result.explains = std::min(1.0, result.excess_ms / result.iteration_excess_ms);
  if (result.explains >= params.least_explained) return true;
  result.why = say(Phrase::explains_only, rank, result.excess_ms, result.explains * 100);
  return false;
}

// Of work that nobody told before the iterations grew: 1 where it is as much above that of the
// others as they grew by, so that both began together; else 0.
double fits_excess(const SlowParts& result, Rank first, const Halves& iteration,
                   const SlowPartsParams& params) {
  constexpr double kLeastTold = 0.7, kMostTold = 1.15;  // of an iteration: else it is of others
  const double grown = iteration.inside - iteration.outside, excess_ms = result.excess_ms;
  const auto its = std::ranges::find(result.all, first, &RankExcess::rank);
  const double told = its->own_inside + its->waiting_inside;
  if (told < kLeastTold * iteration.inside || told > kMostTold * iteration.inside) return 0;
  return grown > params.effect * iteration.outside && excess_ms >= params.few_explain * grown &&
                 excess_ms * params.few_explain <= grown
             ? 1
             : 0;
}

// The part of the ranks' work that rose most: above its own past, or above the same part of the
// others.
std::string most_risen_part(const SlowPartsInput& input, const Kinds& kinds,
                            const SlowParts& result) {
  std::map<std::string, std::vector<double>> rises, others;
  for (const PartSeries& p : input.parts) {
    if (kinds.at(p.name) != PartKind::own) continue;
    const bool accused = std::ranges::binary_search(result.ranks, p.rank);
    const Halves h = halves(p.ms, input);
    if (!h.within || (!accused && result.against_outside)) continue;
    (accused ? rises : others)[p.name].push_back(
        h.inside - (result.against_outside && h.without ? h.outside : 0));
  }
  std::string out;
  double highest = -std::numeric_limits<double>::infinity();
  for (const auto& [part, rise] : rises) {
    const auto usual = others.find(part);
    const double m = median_of(rise) - (usual == others.end() ? 0 : median_of(usual->second));
    if (m > highest) {
      highest = m;
      out = part;
    }
  }
  return out;
}

}  // namespace

const char* name(SlowPartsAnswer answer) {
  switch (answer) {
    case SlowPartsAnswer::not_enough: return "not enough evidence";
    case SlowPartsAnswer::nobody: return "nobody in particular";
    case SlowPartsAnswer::shared: return "shared cause";
    case SlowPartsAnswer::ranks: return "ranks";
  }
  return "";
}

Halves halves(std::span<const double> values, const SlowPartsInput& input) {
  std::vector<double> in, out;
  for (std::size_t i = 0; i < std::min(values.size(), input.iterations.size()); ++i) {
    if (!std::isfinite(values[i])) continue;
    (input.iterations[i] >= input.first && input.iterations[i] <= input.last ? in : out)
        .push_back(values[i]);
  }
  return {median_of(in), median_of(out), in.size(), out.size()};
}

PartKind part_kind(std::string_view name) {
  const rules::PartName part = rules::part_name(name);
  return part.waits ? PartKind::waiting : part.works ? PartKind::own : PartKind::mixed;
}

OwnParts own_parts(const SlowPartsInput& input, const SlowPartsParams& params) {
  const Kinds kinds = kinds_of(input, params);
  OwnParts out;
  for (auto&& [rank, sum] : sums_by_rank(input, kinds))
    if (sum.has_own) out.sums[rank] = std::move(sum.own);
  std::map<std::string, double> told;
  for (const PartSeries& p : input.parts)
    if (kinds.at(p.name) == PartKind::own) told[p.name] += halves(p.ms, input).inside;
  const auto largest = std::ranges::max_element(told, {}, [](const auto& t) { return t.second; });
  if (largest != told.end()) out.largest = largest->first;
  return out;
}

SlowParts slow_rank_parts(const SlowPartsInput& input, const SlowPartsParams& params) {
  SlowParts result;
  const Kinds kinds = kinds_of(input, params);
  const SumsByRank ranks = sums_by_rank(input, kinds);
  const bool waits = compare_own_work(ranks, input, params, result);
  if (!result.why.empty()) return result;

  const Halves iteration = iteration_times(ranks, input);
  const double typical =
      result.against_outside && iteration.outside > 0 ? iteration.outside : iteration.inside;
  if (!(typical > 0)) {
    result.why = say(Phrase::iterations_take_no_time);
    return result;
  }
  result.iteration_ms = iteration.inside;
  if (result.against_outside) result.iteration_excess_ms = iteration.inside - iteration.outside;

  const RanksByExcess by = ranks_by_excess(result, typical, params);
  const std::size_t accused = by.accused;
  const double lead = accused > 0 ? by.lead(accused - 1) : 0;
  result.clear = lead / by.deviation;
  if (accused == 0 || !(result.clear >= params.clear) || !(lead >= params.effect * typical)) {
    judge_all(by, typical, params, result);
    return result;
  }
  const Rank first = by.order[0]->rank;
  result.answer = SlowPartsAnswer::nobody;
  if (waits && waits_no_less(by, result.against_outside)) {
    result.why = say(Phrase::waits_no_less, first);
    return result;
  }
  std::vector<double> leads;
  for (std::size_t i = 0; i < accused; ++i) leads.push_back(by.lead(i));
  result.excess_ms = median_of(leads);
  if (result.against_outside && !explains_iterations(first, typical, params, result)) return result;
  if (!result.against_outside && iteration.without > 0)
    result.explains = fits_excess(result, first, iteration, params);

  // Few readings say enough where they are what the slow steps take longer, and all others wait, or
  // cannot but wait.
  const bool held_up = waits || result.excess_ms >= params.unseen_wait * result.iteration_ms;
  if (accused * result.readings < params.least &&
      !(held_up && result.all.size() >= params.many && result.explains >= params.few_explain)) {
    result.why = say(Phrase::too_few_inside, result.readings);
    result.answer = SlowPartsAnswer::not_enough;
    return result;
  }
  result.answer = SlowPartsAnswer::ranks;
  for (std::size_t i = 0; i < accused; ++i) result.ranks.push_back(by.order[i]->rank);
  sort_rows(result.ranks);
  result.part = most_risen_part(input, kinds, result);
  result.why = say(Phrase::ranks_work_longer, accused, to_ranges(result.ranks), result.excess_ms,
                   result.part);
  if (result.explains > 0) result.why += say(Phrase::of_what_was_lost, result.explains * 100);
  return result;
}

}  // namespace culprit::analyze
