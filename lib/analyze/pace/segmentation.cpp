#include "analyze/pace/segmentation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "analyze/facts/vector_math.hpp"

namespace culprit::analyze {

namespace {

// Starts are dropped with every so manieth sample: a start that stays for some more is only work.
// Not whenever a group is looked at, since that is when a sample fits none: all but the newest
// starts are far behind then, and come back with the next sample.
constexpr std::size_t kDrop = 8;
constexpr std::size_t kSeldom = 64;    // a group that could not be the best is asked as seldom
constexpr std::size_t kTogether = 64;  // starts that are looked at together
constexpr std::int32_t kAhead = 64;    // samples for which the bound of a group holds

struct Sums {
  double one, two;
  std::int32_t count;
};  // of the samples before a start

// Starts of one dimension: the sums before each, and what another sample adds to each at most.
struct Learned {
  std::vector<double> one, two, rise;
  std::vector<std::int32_t> counted;
};

// What the marginal likelihood of a regime takes from its number of samples alone; by that number.
struct OfSamples {
  std::vector<double> constants, inverses;
  std::vector<double> rises;  // of the constants, with each of the next kAhead samples, at most
};

// total = past + log marginal of the samples from each start to here. rise: see Group.
CULPRIT_VECTOR_CLONES void marginals(std::size_t n, Sums now, double alpha0, double beta0,
                                     const double* __restrict constants,
                                     const double* __restrict inverses,
                                     const double* __restrict rises, const double* __restrict one,
                                     const double* __restrict two,
                                     const std::int32_t* __restrict counted, const double* past,
                                     double* total, double* __restrict rise) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t samples = now.count - counted[i];
    const double sum = now.one - one[i];
    const double squares = now.two - two[i];
    // inverse = 1 / (k0 + n). SSE + k0 n mean^2 / (k0 + n) = squares - sum^2 / (k0 + n): what is 0
    // samples comes out as 0, too. mu0 was taken off.
    const double spread = squares - sum * sum * inverses[samples];
    const double beta = beta0 + 0.5 * (spread > 0 ? spread : 0);
    const double log_beta = fast_log(beta);
    total[i] =
        past[i] + constants[samples] - (alpha0 + 0.5 * static_cast<double>(samples)) * log_beta;
    rise[i] = rises[samples] - 0.5 * log_beta;
  }
}

CULPRIT_VECTOR_CLONES_FINITE double largest_of(std::size_t n,
                                               const double* __restrict v) {  // n > 0
  double out = v[0];
  for (std::size_t i = 1; i < n; ++i) out = v[i] > out ? v[i] : out;
  return out;
}

CULPRIT_VECTOR_CLONES std::size_t how_many_below(std::size_t n, double limit,
                                                 const double* __restrict v) {
  double count = 0;
  double lane[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) lane[k] += v[i + k] < limit ? 1.0 : 0.0;
  for (; i < n; ++i) count += v[i] < limit ? 1.0 : 0.0;
  return static_cast<std::size_t>(count + (lane[0] + lane[1]) + (lane[2] + lane[3]));
}

OfSamples of_samples(std::size_t most, const NormalPrior& prior) {
  const double log_beta0 = std::log(prior.beta);
  const double log_gamma = std::lgamma(prior.alpha);
  OfSamples out;
  const std::size_t size = most + 1 + kAhead;
  out.constants.resize(size);
  out.inverses.resize(size);
  out.rises.resize(most + 1);
  for (std::size_t n = 0; n < size; ++n) {
    const double m = static_cast<double>(n);
    out.inverses[n] = 1 / (prior.kappa + m);
    out.constants[n] = std::lgamma(prior.alpha + m / 2) - log_gamma + prior.alpha * log_beta0 +
                       0.5 * std::log(prior.kappa / (prior.kappa + m)) -
                       m / 2 * std::log(2 * std::numbers::pi);
  }
  for (std::size_t n = 0; n <= most; ++n)
    out.rises[n] = out.constants[n + kAhead] - out.constants[n + kAhead - 1];
  return out;
}

// Neighbouring starts, looked at only when one of them could be the best.
//
// A bound says when: beta never shrinks as samples come, and the constants grow by more with each
// sample. So with j samples more, up to kAhead, the total of a start grows by no more than
// j * (the last of these rises of its constants - log(beta) / 2): as if all samples fell on its
// mean. The best loses half a nat a sample against that, so that a group that is a dozen nats
// behind is looked at every twenty samples or so, and the answer is that of looking always.
struct Group {
  explicit Group(std::size_t dimensions)
      : learned(dimensions), seen(dimensions), rise(dimensions) {}

  std::vector<std::uint32_t> start;  // ascending
  std::vector<double> base, total;   // by start
  std::vector<Learned> learned;      // by dimension
  // When it was looked at last:
  std::vector<std::int32_t> seen;  // samples of each dimension
  double best = 0;                 // the largest total
  std::vector<double> rise;        // by dimension: the largest
  std::size_t looked = 0;          // with which sample, + 1; 0: never
  std::size_t thinned = 0;         // the last sample with which starts were dropped

  void add(std::size_t t, double past, const std::vector<Sums>& now) {
    start.push_back(static_cast<std::uint32_t>(t));
    base.push_back(past);
    for (std::size_t d = 0; d < learned.size(); ++d) {
      learned[d].one.push_back(now[d].one);
      learned[d].two.push_back(now[d].two);
      learned[d].counted.push_back(now[d].count);
    }
    looked = 0;
  }

  // The starts of the group that follows; so small a group is no work, so the next look is now.
  void take(const Group& next) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(start, next.start);
    append(base, next.base);
    for (std::size_t d = 0; d < learned.size(); ++d) {
      append(learned[d].one, next.learned[d].one);
      append(learned[d].two, next.learned[d].two);
      append(learned[d].counted, next.learned[d].counted);
    }
    looked = 0;
  }

  void look(std::size_t t, const std::vector<Sums>& now, const NormalPrior& prior,
            const OfSamples& known) {
    const std::size_t n = start.size();
    total.resize(n);
    for (std::size_t d = 0; d < learned.size(); ++d) {
      Learned& l = learned[d];
      l.rise.resize(n);
      marginals(n, now[d], prior.alpha, prior.beta, known.constants.data(), known.inverses.data(),
                known.rises.data(), l.one.data(), l.two.data(), l.counted.data(),
                d == 0 ? base.data() : total.data(), total.data(), l.rise.data());
      seen[d] = now[d].count;
      rise[d] = largest_of(n, l.rise.data());
    }
    best = largest_of(n, total.data());
    looked = t + 1;
  }

  // What the best total can be by now.
  double bound(const std::vector<Sums>& now) const {
    if (looked == 0) return std::numeric_limits<double>::infinity();
    double out = best;
    for (std::size_t d = 0; d < rise.size(); ++d) {
      const std::int32_t more = now[d].count - seen[d];
      if (more > kAhead) return std::numeric_limits<double>::infinity();
      out += more * rise[d];
    }
    return out;
  }

  // Drops the starts below `limit`. REQUIRES: it was looked at with this sample. Dropping moves
  // everything, so a sixteenth of the starts must be worth it.
  bool drop_below(double limit) {
    const std::size_t n = start.size();
    if (how_many_below(n, limit, total.data()) * 16 <= n) return false;
    std::size_t to = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (total[i] < limit) continue;
      start[to] = start[i], base[to] = base[i], total[to] = total[i];
      for (Learned& l : learned)
        l.one[to] = l.one[i], l.two[to] = l.two[i], l.counted[to] = l.counted[i];
      ++to;
    }
    start.resize(to), base.resize(to), total.resize(to);
    for (Learned& l : learned) l.one.resize(to), l.two.resize(to), l.counted.resize(to);
    return true;
  }
};

// Where the regime that holds the present sample may have begun.
class Starts {
 public:
  explicit Starts(std::size_t dimensions) : now_(dimensions, Sums{0, 0, 0}) {}

  // base: score of the past, hazard, and survival so far taken off.
  void begin(std::size_t t, double base) {
    if (groups_.empty() || groups_.back().start.size() >= kTogether)
      groups_.emplace_back(now_.size());
    groups_.back().add(t, base, now_);
  }

  // Takes sample `t` of every dimension, then sums up how well the starts explain all since.
  void observe(Dimensions series, std::size_t t, const NormalPrior& prior, const OfSamples& known) {
    // Rounding may break what the bound promises, by the last bits of the sums.
    double slack = 1e-3;
    for (std::size_t d = 0; d < now_.size(); ++d) {
      Sums& now = now_[d];
      if (t < series[d].size() && std::isfinite(series[d][t])) {
        const double x = std::clamp(series[d][t] - prior.mean, -1e100, 1e100);
        now.one += x;
        now.two += x * x;
        ++now.count;
      }
      slack += 4e-16 * now.two * (prior.alpha + 0.5 * now.count) / prior.beta;
    }
    best_group_ = std::min(best_group_, groups_.size() - 1);
    groups_[best_group_].look(t, now_, prior, known);
    best_ = groups_[best_group_].best;
    for (std::size_t g = groups_.size(); g-- > 0;) {
      Group& group = groups_[g];
      if (group.looked == t + 1) continue;
      const bool overdue = t % kDrop == 0 && t - group.thinned >= kSeldom;
      if (!overdue && group.bound(now_) + slack < best_) continue;
      group.look(t, now_, prior, known);
      best_ = std::max(best_, group.best);
    }
    best_group_ = 0;
    while (groups_[best_group_].looked != t + 1 || groups_[best_group_].best != best_)
      ++best_group_;
  }

  double best() const { return best_; }
  // Of the best; among equals the longest regime.
  std::uint32_t best_start() const {
    const Group& group = groups_[best_group_];
    std::size_t which = 0;
    while (which + 1 < group.start.size() && group.total[which] != best_) ++which;
    return group.start[which];
  }

  // Drops the starts that are so far behind the best, of the groups that sample `t` was shown to.
  void prune(std::size_t t, double behind) {
    bool dropped = false;
    for (Group& group : groups_) {
      if (group.looked != t + 1) continue;
      group.thinned = t;
      dropped |= group.drop_below(best_ - behind);
    }
    if (!dropped) return;
    std::size_t to = 0;  // the last group that stays
    for (std::size_t g = 1; g < groups_.size(); ++g) {
      if (groups_[to].start.size() + groups_[g].start.size() <= kTogether)
        groups_[to].take(groups_[g]);
      else if (++to != g)
        groups_[to] = std::move(groups_[g]);
      if (best_group_ == g) best_group_ = to;
    }
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(to) + 1, groups_.end());
  }

 private:
  std::vector<Group> groups_;  // ascending
  std::vector<Sums> now_;      // by dimension
  std::size_t best_group_ = 0;
  double best_ = 0;
};

}  // namespace

std::vector<std::size_t> most_probable_segmentation(Dimensions series,
                                                    const SegmentationParams& params) {
  const std::size_t size = series.size() == 0 ? 0 : series[0].size();
  if (size == 0) return {};
  const double lambda = std::max(params.lambda, 1.0 + 1e-9);
  const double log_hazard = -std::log(lambda);
  const double log_survival = std::log1p(-1.0 / lambda);
  const double behind = std::log(lambda) + params.slack;
  const OfSamples known = of_samples(size, params.prior);

  Starts starts(series.size());
  std::vector<double> score(size + 1, 0);
  std::vector<std::uint32_t> from(size + 1, 0);
  for (std::size_t t = 0; t < size; ++t) {
    const bool present = std::ranges::any_of(series, [&](const auto& dimension) {
      return t < dimension.size() && std::isfinite(dimension[t]);
    });
    if (t == 0 || present)  // a regime may begin with this sample
      starts.begin(t, score[t] + log_hazard - static_cast<double>(t + 1) * log_survival);
    starts.observe(series, t, params.prior, known);
    score[t + 1] = starts.best() + static_cast<double>(t + 1) * log_survival;
    from[t + 1] = starts.best_start();
    if (params.prune && t % kDrop == 0) starts.prune(t, behind);
  }

  std::vector<std::size_t> out;
  for (std::size_t t = size; from[t] > 0; t = from[t]) out.push_back(from[t]);
  std::ranges::reverse(out);
  return out;
}

}  // namespace culprit::analyze
