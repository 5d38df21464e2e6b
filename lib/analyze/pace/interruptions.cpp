#include "analyze/pace/interruptions.hpp"

#include <algorithm>
#include <set>

#include "model/contains.hpp"

namespace culprit::analyze {

namespace {

// The moments of one interruption.
class Gap {
 public:
  Gap(const Facts& facts, const JobSteps& steps, Nanoseconds from, Nanoseconds to, double exact)
      : facts_(facts), from_(from), to_(to), exact_(exact) {
    for (const Place& place : steps.place) logs_.insert(place.member);
    one_line_ = facts.zone_known && !facts.day_assumed && !facts.zone_moved;
  }

  // Behind `after`, before the next step, on the clock of the steps.
  bool holds(const Place& place, std::optional<Nanoseconds> time, Nanoseconds uncertainty,
             Nanoseconds after) const {
    return time && *time > after && *time < to_ && (one_line_ || logs_.contains(place.member)) &&
           facts_.counts(facts_.member(place.member)) &&
           static_cast<double>(uncertainty) <= exact_ * static_cast<double>(to_ - from_);
  }

  std::optional<Nanoseconds> reported() const {
    std::optional<Nanoseconds> out;
    for (const EventRow& e : facts_.events) {
      const bool error = e.traits.has(Trait::watchdog_timeout) ||
                         (e.severity >= Severity::distributed && e.role > Role::teardown);
      if (error && !e.elsewhere && holds(e.place, e.time_ns, e.uncertainty, from_))
        out = std::min(out.value_or(*e.time_ns), *e.time_ns);
    }
    for (const TracebackRow& t : facts_.tracebacks)
      if (!t.elsewhere && holds(t.place, t.time_ns, t.uncertainty, from_))
        out = std::min(out.value_or(*t.time_ns), *t.time_ns);
    return out;
  }

  std::optional<Nanoseconds> restart(const Start& start, Nanoseconds after) const {
    std::optional<Nanoseconds> out;
    constexpr std::string_view kDecided[] = {"allocation", "rendezvous"};
    for (const StartPart& p : start.parts)
      if (p.start && p.first && contains(kDecided, p.name) &&
          holds({.member = p.first->member}, p.start, 0, after))
        out = std::min(out.value_or(*p.start), *p.start);
    return out;
  }

 private:
  const Facts& facts_;
  Nanoseconds from_, to_;
  double exact_;
  bool one_line_;  // all files have one time line
  std::set<MemberId> logs_;
};

}  // namespace

std::vector<Interruption> interruptions(const Facts& facts, const JobSteps& steps,
                                        std::span<const Start> starts,
                                        const InterruptionParams& params) {
  std::vector<Interruption> out;
  for (const Start& start : starts) {
    if (!start.since || !start.until || *start.since >= *start.until) continue;
    const Gap gap(facts, steps, *start.since, *start.until, params.exact);
    Interruption one{.attempt = start.attempt - 1, .failed = start.since};
    one.reported = gap.reported();
    one.located = gap.restart(start, one.reported.value_or(*start.since));
    if (one.reported || one.located) out.push_back(one);
  }
  return out;
}

}  // namespace culprit::analyze
