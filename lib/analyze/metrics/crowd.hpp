// Middle and spread of a crowd that holds bad ones: median and median absolute deviation (Iglewicz
// & Hoaglin 1993, "How to detect and handle outliers"; Leys et al. 2013). Up to a third of the
// crowd may be bad without moving them far.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace culprit::analyze {

// The middle value, of an even number the mean of the two in the middle. NaN for none. Permutes.
double median_in_place(std::vector<double>& values);

struct Crowd {
  double center = 0;
  double scale = 0;  // in standard deviations of a normal crowd
  std::size_t size = 0;
};

// Measures a crowd again and again, one instant after another. What it found last tells where to
// look next, so that an instant costs about two passes over the values; the answer does not depend
// on it.
class CrowdMeter {
 public:
  // median and 1.4826 MAD. More than half of the values equal (MAD 0): 1.2533 times the mean
  // absolute deviation of the two thirds nearest to the median, since with all of them (as commonly
  // printed) a quarter of bad ones hides itself. From 16 values on, mean and deviation of those
  // within 3 deviations (one reweighting step: Rousseeuw & Leroy 1987), so that bad ones do not
  // widen the crowd they are held against. values: finite.
  Crowd robust(std::span<const double> values);
  // mean and population standard deviation: Aegis §5.1 as published.
  static Crowd published(std::span<const double> values);

 private:
  static void reweigh(std::span<const double> values, Crowd& crowd);
  double middle(std::span<const double> values, double guess, double width);
  std::vector<double> scratch_, deviations_;
  double last_center_ = 0, last_mad_ = 0;
};

// The score above which one of `entities` entities in one of `metrics` metrics counts, in standard
// deviations: `base` (Iglewicz & Hoaglin: 3.5), or where healthy Gaussian spread between hosts
// alone would reach it with more than probability `false_alarm`: sqrt(2 ln(entities x metrics /
// false_alarm)). A MAD of few is itself uncertain; measured on Gaussian crowds, (1 + (5/n)^1.5)
// keeps the same probability from 4 entities on.
double outlier_threshold(std::size_t entities, std::size_t metrics, double base,
                         double false_alarm);

}  // namespace culprit::analyze
