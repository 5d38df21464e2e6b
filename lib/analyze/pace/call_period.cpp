#include "analyze/pace/call_period.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/pace/call_period_lag.hpp"
#include "analyze/pace/splitmix.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

struct SymbolHash {
  std::size_t operator()(const CallSymbol& s) const {
    return mix(mix(mix(s.operation) ^ s.communicator) ^ (s.elements ? *s.elements + 1 : 0));
  }
};

// A kind of call and where it stands in the log.
struct Kind {
  CallSymbol symbol;
  double elements = 0;  // of all its occurrences
  std::vector<std::uint32_t> at;
};

std::vector<Kind> kinds_of(std::span<const Call> calls, bool with_size) {
  std::unordered_map<CallSymbol, std::uint32_t, SymbolHash> ids;
  std::vector<Kind> kinds;
  std::vector<std::uint32_t> of(calls.size()), count;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& c = calls[i];
    CallSymbol symbol{c.operation, c.communicator, {}};
    if (with_size) symbol.elements = c.elements;
    const auto [it, fresh] = ids.try_emplace(symbol, static_cast<std::uint32_t>(kinds.size()));
    if (fresh) {
      kinds.push_back({symbol, 0, {}});
      count.push_back(0);
    }
    of[i] = it->second;
    ++count[it->second];
    kinds[it->second].elements += static_cast<double>(c.elements);
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) kinds[k].at.reserve(count[k]);
  for (std::size_t i = 0; i < calls.size(); ++i)
    kinds[of[i]].at.push_back(static_cast<std::uint32_t>(i));
  return kinds;
}

// Occurrences of one kind that recur evenly.
struct PeriodCandidate {
  const Kind* kind = nullptr;
  std::vector<std::uint32_t> starts;
  double period = 0;  // calls, median
  double even = 0;    // share of distances that agree with it
  bool burst = false;
  bool large = false;
  bool wide = false;  // bursts that fill most of the distance: a pause of something, rather than a
                      // call that begins it
  bool explains = false;  // most of the log lies in even intervals
};

double tolerance(double period, const CallPeriodParams& params) {
  return std::max(params.agree * period, period >= 10 ? 1.0 : 0.0);
}

// How many of `kinds` kinds of calls that come at random would agree as well: at least `agree` of
// `of` distances within the slack. A log with thousands of sizes has many kinds that come four or
// five times.
double by_chance(std::size_t agree, std::size_t of, double period, double slack,
                 std::size_t kinds) {
  if (period <= 2 || agree == 0) return 0;
  const double one = std::min(0.9, (2 * slack + 1) / period), n = static_cast<double>(of),
               a = static_cast<double>(agree);
  return std::exp(std::log(static_cast<double>(std::max<std::size_t>(kinds, 1))) +
                  std::lgamma(n + 1) - std::lgamma(a + 1) - std::lgamma(n - a + 1) +
                  (a - 1) * std::log(one));
}

bool recurs(PeriodCandidate& c, std::size_t calls, std::size_t kinds,
            const CallPeriodParams& params, bool must = true) {
  if (c.starts.size() < params.least_iterations) return false;
  std::vector<std::uint32_t> d(c.starts.size() - 1);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = c.starts[i + 1] - c.starts[i];
  std::vector<std::uint32_t> sorted = d;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  c.period = *middle;
  const double slack = tolerance(c.period, params);
  std::size_t agree = 0;
  double inside = 0;
  for (const std::uint32_t x : d)
    if (std::abs(static_cast<double>(x) - c.period) <= slack) {
      ++agree;
      inside += x;
    }
  c.even = static_cast<double>(agree) / static_cast<double>(d.size());
  const double covered =
      static_cast<double>(c.starts.back() - c.starts.front()) / static_cast<double>(calls);
  c.explains = inside >= 0.75 * covered * static_cast<double>(calls);
  return !must || (c.even >= params.even && covered >= params.cover &&
                   by_chance(agree, d.size(), c.period, slack, kinds) <= params.chance);
}

// Natural breaks of the distances between occurrences: thresholds with nothing near them. Above the
// threshold is a distance between bursts, below it one within a burst.
template <class T>
std::vector<T> breaks(std::vector<T> distances, std::size_t least) {
  sort_rows(distances);
  std::vector<T> out;
  for (std::size_t i = 1; i + least <= distances.size() + 1; ++i)
    if (distances[i - 1] > 0 &&
        static_cast<double>(distances[i]) >= 1.5 * static_cast<double>(distances[i - 1]))
      out.push_back(distances[i]);
  constexpr std::size_t kMost =
      8;  // hierarchies are not deeper: layer, micro-batch, step, evaluation, checkpoint
  if (out.size() > kMost) out.erase(out.begin(), out.end() - kMost);
  return out;
}

template <class T>
void add_bursts(const Kind& kind, const std::vector<T>& distances, T threshold, std::size_t calls,
                std::size_t kinds, bool large, const CallPeriodParams& params,
                std::vector<PeriodCandidate>& out) {
  PeriodCandidate c{&kind, {}, 0, 0, true, large, false, false};
  std::vector<std::uint32_t> spans;  // from the first to the last call of a burst
  for (std::size_t i = 0; i < distances.size(); ++i)
    if (distances[i] >= threshold) {
      if (!c.starts.empty()) spans.push_back(kind.at[i] - c.starts.back());
      c.starts.push_back(kind.at[i + 1]);
    }
  if (!recurs(c, calls, kinds, params)) return;
  const auto middle = spans.begin() + static_cast<std::ptrdiff_t>(spans.size() / 2);
  std::nth_element(spans.begin(), middle, spans.end());
  c.wide = *middle > 0.55 * c.period;
  out.push_back(std::move(c));
}

void candidates_of(const Kind& kind, std::span<const Call> calls, std::size_t kinds, bool large,
                   const CallPeriodParams& params, std::vector<PeriodCandidate>& out) {
  if (kind.at.size() < params.least_iterations) return;
  PeriodCandidate all{&kind, kind.at, 0, 0, false, large, false, false};
  const bool even = recurs(all, calls.size(), kinds, params);
  const bool dense = all.period <= 2;
  if (even) out.push_back(std::move(all));

  std::vector<std::uint32_t> d(kind.at.size() - 1);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = kind.at[i + 1] - kind.at[i];
  for (const std::uint32_t threshold : breaks(d, params.least_iterations))
    add_bursts(kind, d, threshold, calls.size(), kinds, large, params, out);
  if (!dense) return;
  // Nothing lies between the calls of a burst and the next burst: the time between them tells.
  std::vector<Nanoseconds> t(d.size());
  for (std::size_t i = 0; i < t.size(); ++i) {
    const Nanoseconds a = calls[kind.at[i]].time, b = calls[kind.at[i + 1]].time;
    t[i] = b > a ? static_cast<Nanoseconds>(std::min<std::uint64_t>(
                       static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a), INT64_MAX))
                 : 0;
  }
  for (const Nanoseconds threshold : breaks(t, params.least_iterations))
    add_bursts(kind, t, threshold, calls.size(), kinds, large, params, out);
}

double gap_ns(Nanoseconds from, Nanoseconds to) {
  return static_cast<double>(to) - static_cast<double>(from);
}

std::string symbol_text(const CallSymbol& s) {
  return s.elements ? fmt::format("operation {} of {} elements on communicator {}", s.operation,
                                  *s.elements, s.communicator)
                    : fmt::format("operation {} on communicator {}", s.operation, s.communicator);
}

bool near(double a, double b) { return std::abs(a - b) <= std::max(0.03 * b, 1.0); }

// Does `mark` come with a pause, so that the base periods that hold it last much longer than the
// others? An evaluation or a checkpoint does that; the end of a step costs the optimizer only.
bool pauses(const PeriodCandidate& base, const PeriodCandidate& mark, std::span<const Call> calls) {
  std::vector<double> times, with, without;
  std::vector<char> holds;
  std::size_t m = 0;
  for (std::size_t i = 0; i + 1 < base.starts.size(); ++i) {
    while (m < mark.starts.size() && mark.starts[m] < base.starts[i]) ++m;
    holds.push_back(m < mark.starts.size() && mark.starts[m] < base.starts[i + 1]);
    times.push_back(gap_ns(calls[base.starts[i]].time, calls[base.starts[i + 1]].time));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (holds[i])
      with.push_back(i > 0 ? std::max(times[i], times[i - 1])
                           : times[i]);  // a burst begins after the pause
    else if (i + 1 == times.size() || !holds[i + 1])
      without.push_back(times[i]);
  }
  if (with.empty() || without.empty()) return false;
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  return median(with) > 2 * median(without);
}

struct Choice {
  const PeriodCandidate* candidate = nullptr;
  bool ambiguous = false;
  Text why;
};

// Share of the base's intervals in which a call of this operation and communicator stands.
// Gradients are synchronised in one micro-batch of many; what an evaluation calls is called in
// every step.
double share_of_intervals(const PeriodCandidate& base, const Kind& kind) {
  std::size_t hit = 0;
  auto from = base.starts.begin();
  for (const std::uint32_t at : kind.at) {
    if (at < *from) continue;
    const auto next =
        std::upper_bound(from, base.starts.end(), at);  // the interval that holds it ends there
    if (next == base.starts.end()) break;
    ++hit;
    from = next;
  }
  return static_cast<double>(hit) /
         static_cast<double>(std::max<std::size_t>(base.starts.size() - 1, 1));
}

// From the shortest cycle that explains the log (a layer, a micro-batch, a step) upwards to the
// step.
class Ladder {
 public:
  Ladder(const std::vector<PeriodCandidate>& all, const std::vector<Kind>& unsized,
         std::span<const Call> calls)
      : all_(all), calls_(calls) {
    for (const Kind& k : unsized) operations_.emplace(k.symbol, &k);
  }

  Choice choose() const {
    // Of all sizes of one operation together, nothing shorter than a burst means anything.
    const PeriodCandidate* base = shortest([](const PeriodCandidate& c) {
      return c.large && !c.wide && c.explains && (c.kind->symbol.elements || c.period > 2);
    });
    if (!base)
      base = shortest([](const PeriodCandidate& c) { return c.large && !c.wide && c.explains; });
    const bool wide = !base;
    if (wide)
      base =
          shortest([](const PeriodCandidate& c) { return c.large && c.period > 2 && c.explains; });
    if (!base) {
      const PeriodCandidate* small =
          shortest([](const PeriodCandidate& c) { return !c.large && c.period > 2; });
      return small ? Choice{small, false, say(Phrase::even_small_calls)} : Choice{};
    }
    const auto [step, settled] = climb(base);
    const Choice plain{step, false, say(Phrase::cycle_of_large_calls)};
    const PeriodCandidate* mark = shortest([&, s = step](const PeriodCandidate& c) {
      if (!c.large) return c.period > 2 && c.period >= 0.97 * s->period;
      return c.wide && !wide && c.period > 2 && c.period >= 1.5 * s->period;
    });
    if (step->period > 2 && (settled || !mark || near(mark->period, step->period))) return plain;
    if (step->period > 1 && mark) return accumulated(step, mark);
    // Nothing but one call after the other: layers of a model in microseconds, or steps in tenths
    // of a second.
    const bool slow = typical_gap(*step) >= kShortestStep;
    if (mark)
      return slow ? accumulated(step, mark)
                  : Choice{mark, true, say(Phrase::even_beside_large_calls)};
    return slow ? Choice{step, true, say(Phrase::every_call_is_iteration)} : Choice{};
  }

 private:
  template <class Fits>
  const PeriodCandidate* shortest(Fits fits) const {
    const PeriodCandidate* best = nullptr;
    for (const PeriodCandidate& c : all_)
      if (fits(c) && (!best || c.period < best->period)) best = &c;
    if (!best) return nullptr;
    // The evenest of those with about this period; whole occurrences before bursts.
    const double period = best->period;
    for (const PeriodCandidate& c : all_)
      if (fits(c) && near(c.period, period) &&
          std::tuple(c.even, c.starts.size(), !c.burst) >
              std::tuple(best->even, best->starts.size(), !best->burst))
        best = &c;
    return best;
  }

  std::pair<const PeriodCandidate*, bool> climb(const PeriodCandidate* base) const {
    bool settled = false;
    for (;;) {
      std::unordered_map<const Kind*, bool> seldom;  // many sizes share one operation
      const PeriodCandidate* next = shortest([&](const PeriodCandidate& c) {
        if (!c.large || c.wide || !c.explains || c.period < 1.5 * base->period) return false;
        const auto operation =
            operations_.find(CallSymbol{c.kind->symbol.operation, c.kind->symbol.communicator, {}});
        if (operation == operations_.end()) return false;
        const auto [it, fresh] = seldom.try_emplace(operation->second, false);
        if (fresh) it->second = share_of_intervals(*base, *operation->second) <= 0.6;
        return it->second;
      });
      if (!next) return {base, settled};
      settled = base->period > 2;
      base = next;
    }
  }

  static constexpr double kShortestStep = 50e6;  // ns

  double typical_gap(const PeriodCandidate& c) const {
    std::vector<double> gaps;
    for (std::size_t i = 0; i + 1 < c.starts.size(); ++i)
      gaps.push_back(gap_ns(calls_[c.starts[i]].time, calls_[c.starts[i + 1]].time));
    std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2),
                     gaps.end());
    return gaps[gaps.size() / 2];
  }

  // How often the step's call stands between two marks.
  static double parts(const PeriodCandidate& step, const PeriodCandidate& mark) {
    std::vector<std::size_t> n;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < mark.starts.size(); ++i) {
      while (at < step.starts.size() && step.starts[at] < mark.starts[i]) ++at;
      const std::size_t from = at;
      while (at < step.starts.size() && step.starts[at] < mark.starts[i + 1]) ++at;
      n.push_back(at - from);
    }
    std::nth_element(n.begin(), n.begin() + static_cast<std::ptrdiff_t>(n.size() / 2), n.end());
    return static_cast<double>(n[n.size() / 2]);
  }

  // A A A .. g: micro-batches that end with g, or steps that log, evaluate or save with g. People
  // do that every 10, 50, 100 steps; micro-batches are 2, 3, 4, 8, 16.
  Choice accumulated(const PeriodCandidate* step, const PeriodCandidate* mark) const {
    const auto fit = [&](double n) {
      return n >= 2 && n <= 64 &&
             std::abs(mark->period - n * step->period) <= std::max(4.0, 0.02 * mark->period);
    };
    double times = parts(*step, *mark);
    if (!fit(times))
      times = std::round(mark->period /
                         step->period);  // not every part begins alike: a pipeline fills first
    if (!fit(times) && step->period <= 2) return {mark, true, say(Phrase::even_beside_large_calls)};
    if (!fit(times)) return {step, false, say(Phrase::cycle_of_large_calls)};
    const bool logs =
        times >= 10 && (static_cast<long>(times) % 5 == 0 || pauses(*step, *mark, calls_));
    if (logs) return {step, true, say(Phrase::mark_taken_for_logging, times)};
    return {mark, true, say(Phrase::parts_taken_for_micro_batches, times)};
  }

  const std::vector<PeriodCandidate>& all_;
  std::unordered_map<CallSymbol, const Kind*, SymbolHash> operations_;
  std::span<const Call> calls_;
};

}  // namespace

const char* name(PeriodMethod method) {
  switch (method) {
    case PeriodMethod::none: return "none";
    case PeriodMethod::anchor: return "anchor";
    case PeriodMethod::match_rate: return "match-rate";
    case PeriodMethod::acf: return "acf";
  }
  return "none";
}

namespace {

void measure(CallPeriod& result, std::span<const Call> calls, const CallPeriodParams& params) {
  const double slack = tolerance(static_cast<double>(result.period), params);
  std::vector<Nanoseconds> ordinary;
  for (std::size_t i = 0; i + 1 < result.starts.size(); ++i) {
    const std::size_t from = result.starts[i], to = result.starts[i + 1];
    const double ns = std::clamp(gap_ns(calls[from].time, calls[to].time), -9e18, 9e18);
    const Nanoseconds time =
        std::abs(ns) < 9e18 ? static_cast<Nanoseconds>(static_cast<std::uint64_t>(calls[to].time) -
                                                       static_cast<std::uint64_t>(calls[from].time))
                            : static_cast<Nanoseconds>(ns);
    const bool usual =
        std::abs(static_cast<double>(to - from) - static_cast<double>(result.period)) <= slack &&
        time > 0;
    result.times.push_back(time);
    result.ordinary.push_back(usual);
    if (usual) ordinary.push_back(time);
  }
  if (ordinary.empty()) return;
  const auto middle = ordinary.begin() + static_cast<std::ptrdiff_t>((ordinary.size() - 1) / 2);
  std::nth_element(ordinary.begin(), middle, ordinary.end());
  result.median = *middle;
}

CallPeriod none(Text why) {
  CallPeriod result;
  result.why = std::move(why);
  return result;
}

CallPeriod from_lag(const LagPeriod& lag, PeriodMethod method, std::span<const Call> calls,
                    const CallPeriodParams& params) {
  CallPeriod result{.method = method,
                    .period = lag.period,
                    .starts = lag.starts,
                    .confidence = lag.confidence,
                    .why = lag.why};
  measure(result, calls, params);
  if (lag.median) result.median = *lag.median;
  return result.median > 0 ? result : none(say(Phrase::clock_stands));
}

}  // namespace

CallPeriod call_period(std::span<const Call> calls, const CallPeriodParams& params) {
  if (calls.size() < params.least_iterations + 1)
    return none(say(Phrase::too_few_calls, calls.size()));
  if (calls.size() > UINT32_MAX) return none(say(Phrase::too_many_calls));
  if (params.method == PeriodMethod::acf) {
    const LagPeriod lag = published_acf(calls, params);
    return lag.period ? from_lag(lag, PeriodMethod::acf, calls, params) : none(lag.why);
  }

  const std::vector<Kind> sized = kinds_of(calls, true), unsized = kinds_of(calls, false);
  double elements = 0;
  for (const Kind& k : unsized) elements += k.elements;
  if (params.method == PeriodMethod::anchor) {
    std::vector<PeriodCandidate> candidates;
    if (params.anchor) {
      const Kind* wanted = nullptr;
      for (const Kind& k : params.anchor->elements ? sized : unsized)
        if (k.symbol == *params.anchor) wanted = &k;
      if (!wanted) return none(say(Phrase::log_has_no, symbol_text(*params.anchor)));
      candidates_of(*wanted, calls, 1, true, params, candidates);
      if (candidates.empty()) {  // the user's word counts, evenly or not
        PeriodCandidate c{wanted, wanted->at, 0, 0, false, true, false, false};
        if (!recurs(c, calls.size(), 1, params, false))
          return none(say(Phrase::anchor_too_rare, symbol_text(*params.anchor), wanted->at.size()));
        candidates.push_back(std::move(c));
      } else {
        candidates.resize(1);  // single calls before bursts, short distances before long ones
      }
    } else {
      std::size_t kinds = 0;
      for (const auto* family : {&sized, &unsized})
        for (const Kind& k : *family) kinds += k.at.size() >= params.least_iterations;
      for (const Kind& k : sized)
        candidates_of(k, calls, kinds, elements > 0 && k.elements >= params.large * elements,
                      params, candidates);
      for (const Kind& k : unsized)
        candidates_of(k, calls, kinds, elements > 0 && k.elements >= params.large * elements,
                      params, candidates);
    }
    const Choice choice = params.anchor
                              ? Choice{&candidates.front(), false, say(Phrase::named_by_user)}
                              : Ladder(candidates, unsized, calls).choose();
    if (choice.candidate) {
      const PeriodCandidate& c = *choice.candidate;
      CallPeriod result{.method = PeriodMethod::anchor,
                        .period = static_cast<std::size_t>(c.period)};
      result.starts.assign(c.starts.begin(), c.starts.end());
      result.anchor = c.kind->symbol;
      result.burst = c.burst;
      result.ambiguous = choice.ambiguous;
      measure(result, calls, params);
      const double enough = std::min(1.0, static_cast<double>(c.starts.size()) / 10);
      result.confidence = c.even * enough * (choice.ambiguous ? 0.6 : 1.0);
      result.why = say(Phrase::calls_apart, c.burst ? 1 : 2, symbol_text(c.kind->symbol),
                       c.starts.size(), c.even * 100, result.period, choice.why);
      if (choice.ambiguous) result.why += say(Phrase::anchor_can_tell);
      if (result.median > 0) return result;
      if (params.anchor) return none(say(Phrase::clock_stands_between));
    }
  }
  std::vector<std::uint32_t> symbols(calls.size());
  // A size that never comes back is data, not a name.
  const auto data_dependent = [](const Kind& k) { return k.at.size() < 3; };
  for (std::size_t k = 0; k < unsized.size(); ++k)
    for (const std::uint32_t i : unsized[k].at) symbols[i] = static_cast<std::uint32_t>(k);
  for (std::size_t k = 0; k < sized.size(); ++k)
    if (!data_dependent(sized[k]))
      for (const std::uint32_t i : sized[k].at)
        symbols[i] = static_cast<std::uint32_t>(unsized.size() + k);
  const LagPeriod lag = match_rate(calls, symbols, params);
  return lag.period ? from_lag(lag, PeriodMethod::match_rate, calls, params) : none(lag.why);
}

}  // namespace culprit::analyze
