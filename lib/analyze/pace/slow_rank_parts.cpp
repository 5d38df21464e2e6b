#include "analyze/pace/slow_rank_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "analyze/pace/regimes.hpp"
#include "model/ranges.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr std::string_view kWaiting[] = {
    "sync",      "wait",      "waiting", "comm",    "communication", "allreduce",
    "reduce",    "allgather", "gather",  "scatter", "reducescatter", "alltoall",
    "recv",      "receive",   "send",    "p2p",     "barrier",       "nccl",
    "broadcast", "idle",      "bubble",  "exposed", "all",           "collective"};
constexpr std::string_view kOwn[] = {
    "compute", "data",       "forward", "backward", "fwd",       "bwd",        "fw",  "bw",
    "loader",  "dataloader", "batch",   "load",     "optimizer", "optim",      "opt", "checkpoint",
    "gc",      "h2d",        "cpu",     "kernel",   "gpu",       "preprocess", "eval"};
constexpr std::string_view kWhole[] = {"iter",    "iteration", "step", "total",
                                       "elapsed", "epoch",     "wall"};
constexpr std::string_view kUnits[] = {"ms",   "us",       "ns",  "s",    "sec", "secs", "seconds",
                                       "time", "duration", "avg", "mean", "max", "min"};

template <std::size_t N>
bool among(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Sum of a rank's parts of one kind, iteration by iteration. An iteration that misses a part the
// rank tells elsewhere is NaN.
struct RankSum {
  std::vector<double> own, waiting;
  bool has_own = false, has_waiting = false;
};

void add(std::vector<double>& sum, const std::vector<double>& ms) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += i < ms.size() && std::isfinite(ms[i]) && ms[i] >= 0 && ms[i] < 1e12
                  ? ms[i]
                  : std::numeric_limits<double>::quiet_NaN();
}

struct Halves {
  double inside = 0, outside = 0;
  std::size_t within = 0, without = 0;
};

Halves halves(std::span<const double> values, const SlowPartsInput& input) {
  std::vector<double> in, out;
  for (std::size_t i = 0; i < std::min(values.size(), input.iterations.size()); ++i) {
    if (!std::isfinite(values[i])) continue;
    (input.iterations[i] >= input.first && input.iterations[i] <= input.last ? in : out)
        .push_back(values[i]);
  }
  return {median_of(in), median_of(out), in.size(), out.size()};
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

PartKind part_kind(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  }
  bool waiting = false, own = false, whole = false, forward = false, backward = false,
       compute = false;
  for (const std::string& w : words) {
    if (w.empty() || among(kUnits, w)) continue;
    waiting |= among(kWaiting, w);
    whole |= among(kWhole, w);
    own |= among(kOwn, w);
    forward |= w == "forward" || w == "fwd" || w == "fw";
    backward |= w == "backward" || w == "bwd" || w == "bw";
    compute |= w == "compute" || w == "kernel";
  }
  if (waiting) return PartKind::waiting;
  if (whole || (forward && backward && !compute)) return PartKind::mixed;
  return own ? PartKind::own : PartKind::mixed;
}

SlowParts slow_rank_parts(const SlowPartsInput& input, const SlowPartsParams& params) {
  SlowParts result;
  const std::size_t n = input.iterations.size();
  std::map<std::int64_t, RankSum> ranks;
  for (const PartSeries& p : input.parts) {
    const PartKind kind = params.kind(p.name);
    if (kind == PartKind::mixed) continue;
    RankSum& r = ranks[p.rank];
    auto& sum = kind == PartKind::own ? r.own : r.waiting;
    if (sum.empty()) sum.assign(n, 0);
    add(sum, p.ms);
    (kind == PartKind::own ? r.has_own : r.has_waiting) = true;
  }
  std::size_t inside = SIZE_MAX, outside = SIZE_MAX;
  bool waits = true;
  for (auto& [id, r] : ranks) {
    if (!r.has_own) continue;
    const Halves own = halves(r.own, input), waiting = halves(r.waiting, input);
    if (own.within == 0) continue;
    inside = std::min(inside, own.within);
    outside = std::min(outside, own.without);
    waits = waits && r.has_waiting && waiting.within > 0;
    result.all.push_back({id, own.inside, own.outside, 0, waiting.inside, waiting.outside});
  }
  if (result.all.size() < 3) {
    result.why = say(Phrase::three_ranks_needed, result.all.size());
    return result;
  }
  if (inside < params.least) {
    result.why = say(Phrase::too_few_inside, inside);
    return result;
  }
  result.against_outside = outside >= params.least;
  for (RankExcess& r : result.all) {
    r.excess = result.against_outside ? r.own_inside - r.own_outside : r.own_inside;
    if (!std::isfinite(r.own_outside)) r.own_outside = 0;
    if (!std::isfinite(r.waiting_inside)) r.waiting_inside = 0;
    if (!std::isfinite(r.waiting_outside)) r.waiting_outside = 0;
  }

  std::vector<double> derived;
  if (input.iteration_ms.empty()) {
    derived.assign(n, std::numeric_limits<double>::quiet_NaN());
    for (const auto& [id, r] : ranks)
      for (std::size_t i = 0; i < n; ++i) {
        const double sum = (r.has_own ? r.own[i] : 0) + (r.has_waiting ? r.waiting[i] : 0);
        if (std::isfinite(sum) && !(derived[i] >= sum)) derived[i] = sum;
      }
  }
  const Halves iteration = halves(
      input.iteration_ms.empty() ? std::span<const double>(derived) : input.iteration_ms, input);
  const double typical =
      result.against_outside && iteration.outside > 0 ? iteration.outside : iteration.inside;
  if (!(typical > 0)) {
    result.why = say(Phrase::iterations_take_no_time);
    return result;
  }
  if (result.against_outside) result.iteration_excess_ms = iteration.inside - iteration.outside;

  // The highest ranks up to the widest gap below them, if that gap is wide against the spread of
  // all the others.
  std::vector<const RankExcess*> order;
  for (const RankExcess& r : result.all) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(),
                   [](const RankExcess* a, const RankExcess* b) { return a->excess > b->excess; });
  const auto most = std::max<std::size_t>(
      1, static_cast<std::size_t>(params.most_accused * static_cast<double>(order.size())));
  std::size_t accused = 0;
  double widest = 0;
  for (std::size_t k = 1; k <= most && k < order.size(); ++k) {
    const double gap = order[k - 1]->excess - order[k]->excess;
    if (gap > widest) {
      widest = gap;
      accused = k;
    }
  }
  std::vector<double> rest, spread, rest_waiting;
  for (std::size_t i = accused; i < order.size(); ++i) rest.push_back(order[i]->excess);
  const double level = median_of(rest);
  for (const double e : rest) spread.push_back(std::abs(e - level));
  const double floor = 0.005 * typical;  // clocks and rounding
  const double deviation = std::max(1.4826 * median_of(spread), floor);
  const double lead = accused ? order[accused - 1]->excess - level : 0;
  result.clear = lead / deviation;
  const bool stands_out =
      accused > 0 && result.clear >= params.clear && lead >= params.effect * typical;
  if (!stands_out) {
    const bool rose = result.against_outside && level >= params.effect * typical &&
                      result.iteration_excess_ms >= params.effect * typical;
    result.answer = rose ? SlowPartsAnswer::shared : SlowPartsAnswer::nobody;
    result.why = rose ? say(Phrase::all_rose_together, order.size(), level)
                      : say(Phrase::no_rank_clear, std::max(0.0, order[0]->excess - level),
                            std::max(0.0, (order[0]->excess - level) / deviation));
    return result;
  }
  // Who really holds the others up waits less than they do.
  if (waits) {
    std::vector<double> theirs, others;
    const auto change = [&](const RankExcess* r) {
      return r->waiting_inside - (result.against_outside ? r->waiting_outside : 0);
    };
    for (std::size_t i = 0; i < order.size(); ++i)
      (i < accused ? theirs : others).push_back(change(order[i]));
    if (median_of(theirs) >= median_of(others)) {
      result.answer = SlowPartsAnswer::nobody;
      result.why = say(Phrase::waits_no_less, order[0]->rank);
      return result;
    }
  }
  std::vector<double> leads;
  for (std::size_t i = 0; i < accused; ++i) leads.push_back(order[i]->excess - level);
  result.excess_ms = median_of(leads);
  if (result.against_outside) {
    if (result.iteration_excess_ms < params.effect * typical) {
      result.answer = SlowPartsAnswer::nobody;
      result.why = say(Phrase::iterations_no_longer, order[0]->rank, result.excess_ms);
      return result;
    }
    result.explains = std::min(1.0, result.excess_ms / result.iteration_excess_ms);
    if (result.explains < params.least_explained) {
      result.answer = SlowPartsAnswer::nobody;
      result.why =
          say(Phrase::explains_only, order[0]->rank, result.excess_ms, result.explains * 100);
      return result;
    }
  }
  result.answer = SlowPartsAnswer::ranks;
  for (std::size_t i = 0; i < accused; ++i) result.ranks.push_back(order[i]->rank);
  std::sort(result.ranks.begin(), result.ranks.end());
  std::map<std::string, std::vector<double>> rises;
  for (const PartSeries& p : input.parts) {
    if (params.kind(p.name) != PartKind::own ||
        !std::binary_search(result.ranks.begin(), result.ranks.end(), p.rank))
      continue;
    const Halves h = halves(p.ms, input);
    if (h.within)
      rises[p.name].push_back(h.inside - (result.against_outside && h.without ? h.outside : 0));
  }
  double highest = -std::numeric_limits<double>::infinity();
  for (const auto& [part, rise] : rises)
    if (const double m = median_of(rise); m > highest) {
      highest = m;
      result.part = part;
    }
  result.why = say(Phrase::ranks_work_longer, std::max<std::size_t>(1, accused),
                   to_ranges(result.ranks), result.excess_ms, result.part);
  if (result.explains > 0) result.why += say(Phrase::of_what_was_lost, result.explains * 100);
  return result;
}

}  // namespace culprit::analyze
