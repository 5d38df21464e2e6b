// What holds the devices of one machine down, on a clock of its own.
#include "analyze/pace/held_since.hpp"

#include <algorithm>
#include <cmath>

#include "analyze/facts/zone_joins.hpp"
#include "analyze/metrics/incident_metrics.hpp"

namespace culprit::analyze {

namespace {

constexpr double kFarOut = 8;  // deviations, of what else a machine has to do

class Held {
 public:
  explicit Held(const HeldSearch& search)
      : search_(search), slack_(std::max<Nanoseconds>(3 * kMinute, 2 * search.bin)) {}

  std::vector<const MetricOutlier*> find() const {
    std::vector<const MetricOutlier*> held;
    for (const MetricOutlier& o : search_.outliers)
      if (holds(o)) held.push_back(&o);
    if (!search_.slow_since) return of_one_host(std::move(held));
    std::vector<const MetricOutlier*> same_clock;
    std::ranges::copy_if(held, std::back_inserter(same_clock),
                         [&](const MetricOutlier* o) { return shift_of(*o) == 0; });
    if (!same_clock.empty()) return of_one_host(std::move(same_clock));
    if (one_clock()) return {};
    std::erase_if(held, [&](const MetricOutlier* o) { return !shift_of(*o); });
    const bool one_shift = std::ranges::all_of(
        held, [&](const MetricOutlier* o) { return shift_of(*o) == shift_of(*held.front()); });
    return one_shift ? of_one_host(std::move(held)) : std::vector<const MetricOutlier*>();
  }

 private:
  // It began while the metrics were taken, lasts to their end, and is no effect of having no work.
  bool holds(const MetricOutlier& o) const {
    if (o.known == nullptr || o.host.empty() || !search_.of_job(o.host)) return false;
    const bool busy = search_.slow_since && o.known->entity == "host" && o.outlier.score >= kFarOut;
    return (o.known->slows || busy) &&
           o.outlier.start > search_.metrics_start + std::max(kMinute, search_.bin) &&
           o.outlier.end + slack_ >= o.covered && !idle(o);
  }
  bool idle(const MetricOutlier& o) const {
    return std::ranges::any_of(search_.outliers, [&](const MetricOutlier& other) {
      return other.metric == kUtilization && other.outlier.entity == o.outlier.entity &&
             other.outlier.side == rules::MetricSide::low &&
             2 * other.outlier.value < other.outlier.crowd;
    });
  }
  // From its begin to that of the slow steps: whole hours, or the half hours of some
  // country whose clocks the metrics print.
  std::optional<Nanoseconds> shift_of(const MetricOutlier& o) const {
    const Nanoseconds apart = *search_.slow_since - o.outlier.start;
    if (const Nanoseconds zone = rounded(apart, kHour);
        std::abs(apart - zone) <= slack_ && std::abs(zone) <= kFarthestZone)
      return zone;
    const Nanoseconds zone = rounded(apart, kHour / 4);
    const bool odd = std::abs(apart - zone) <= std::min(slack_, 3 * kMinute) && is_zone(-zone);
    return odd ? std::optional(zone) : std::nullopt;
  }
  // The steps fall into the time of the metrics as both are printed.
  bool one_clock() const {
    if (!search_.first_step || !search_.last_step) return false;
    const Nanoseconds both = std::min(*search_.last_step, search_.metrics_end) -
                             std::max(*search_.first_step, search_.metrics_start);
    return 2 * both >= *search_.last_step - *search_.first_step;
  }
  static std::vector<const MetricOutlier*> of_one_host(std::vector<const MetricOutlier*> held) {
    const bool one = std::ranges::all_of(
        held, [&](const MetricOutlier* o) { return o->host == held.front()->host; });
    return one ? held : std::vector<const MetricOutlier*>();
  }

  const HeldSearch& search_;
  Nanoseconds slack_;
};

}  // namespace

std::vector<const MetricOutlier*> held_since(const HeldSearch& search) {
  return Held(search).find();
}

}  // namespace culprit::analyze
