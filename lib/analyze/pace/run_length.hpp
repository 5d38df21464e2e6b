// How long has this regime lasted? The posterior of the run length, sample by sample.
//
// Source: R. P. Adams and D. MacKay, "Bayesian Online Changepoint Detection" (2007), as GREYHOUND
// §4.2 uses it on iteration times. Model: within a regime the samples of a dimension are
// independent and normal with unknown mean and variance (normal-inverse-gamma prior), dimensions
// are independent of each other, and any sample opens a new regime with probability 1 / lambda. A
// run that has learned n samples has kappa0 + n and alpha0 + n / 2, so lgamma is tabulated; mu and
// beta are its own. One log and one exp per live run and sample; all sums are of normalised terms.
//
// GREYHOUND's printed rule, "P(r = 0) > 0.9", cannot fire: with a constant hazard that probability
// is 1 / lambda whatever the data are. The rule here: s is the start of the most probable run; s is
// reported once the runs that start within `window` of s hold `threshold` of the probability, if it
// lies behind the change reported last.
//
// Samples are numbered from 0; a change point is the first sample of the new regime. NaN and
// infinities are missing: the time advances and nothing is learned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace culprit::analyze {

struct NormalPrior {
  double mean = 0, kappa = 1, alpha = 1,
         beta = 1;  // TCPDBench's BOCPD on standardised data (arXiv 2003.06222)
};

struct RunLengthParams {
  double lambda = 100;  // samples a regime lasts on average; TCPDBench's default
  NormalPrior prior;
  double least = 1e-6;  // runs less probable are dropped; 1e-4 is visible as spurious changes
  double tail = 1e-6;   // so are the longest runs that hold less together
  std::size_t most =
      2000;  // live runs; the most probable stay. A bound on runs, not on their length: a cap on
             // the length would make a steady job look as if it began anew
  double threshold = 0.9;  // GREYHOUND §4.2; 0.5 finds weaker changes earlier and errs more often
  std::size_t window = 1;
};

// A series of `size` numbers a dimension. The spans of all dimensions are of one length.
using Dimensions = std::span<const std::span<const double>>;

class RunLengths {
 public:
  explicit RunLengths(const RunLengthParams& params, std::size_t dimensions = 1);

  // One sample, a number a dimension. Returns its log evidence given the past; 0 when all of it is
  // missing.
  double step(std::span<const double> sample);

  std::size_t samples() const { return time_; }
  std::size_t live() const { return start_.size(); }
  // P(the regime holds the last r samples); 0 for a run that was dropped. They sum to 1.
  double probability(std::size_t run_length) const;
  // The start of the most probable run that holds a sample, and the mass of the starts within
  // `window` of it.
  std::size_t best_start() const { return best_start_; }
  // A change point that the last sample confirmed.
  std::optional<std::size_t> change() const { return change_; }

 private:
  struct Dimension {
    std::vector<double> mean, beta, log_beta;
    std::vector<std::int32_t> learned;  // samples
  };
  struct Constants {
    std::vector<double> c, shrink, spread;
  };  // by samples learned; see provide()

  void learn(Dimension& dimension, double x);
  void provide(std::size_t learned);
  void open();
  void prune(double sum);
  void keep(std::span<const std::uint32_t> kept);
  void decide();

  RunLengthParams params_;
  double log_hazard_, log_survival_, log_beta0_;
  std::size_t time_ = 0;
  Constants constants_;
  // Live runs, the oldest first; the last one has learned nothing yet.
  std::vector<std::size_t> start_;
  std::vector<double> log_p_, weight_;
  std::vector<Dimension> dimensions_;
  std::vector<double> ranked_;
  std::vector<std::uint32_t> kept_;
  std::size_t best_start_ = 0;
  double best_mass_ = 0;
  std::size_t reported_ = 0;
  std::optional<std::size_t> change_;
};

// All change points that the online rule reports.
std::vector<std::size_t> online_change_points(Dimensions series, const RunLengthParams& params);

// (x - mean) / sd with n - 1 (TCPDBench); all 0 when the series is constant. NaN stays.
std::vector<double> standardised(std::span<const double> series);

}  // namespace culprit::analyze
