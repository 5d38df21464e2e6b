// Where a time or a line lies in the life of the job.
#include "analyze/facts/story.hpp"

#include <algorithm>
#include <cstdlib>

namespace culprit::analyze {

namespace {

// As far apart as two zones are, and as clocks of one zone never are.
bool apart_as_zones(const StoryParams& params, Nanoseconds a, Nanoseconds b) {
  const Nanoseconds apart = std::abs(a - b), rest = apart % params.zone_grid;
  return apart > params.least_zone && apart <= 14 * kHour + params.zone_slack &&
         std::min(rest, params.zone_grid - rest) < params.zone_slack;
}

}  // namespace

Story::Story(const Facts& facts, const StoryParams& params)
    : facts_(facts), params_(params), steps_(facts) {
  if (!facts.end_is_known || !facts.job_end) return;
  known_end_ = facts.job_end;
  // Steps of its own output behind the record: that is of an earlier run, or of another clock.
  for (const ProgressSpan& p : facts.progress) {
    const MemberRow* m = facts.member(p.member);
    if (p.framework != "tqdm" && p.last.time_ns && m != nullptr &&
        m->belonging != Belonging::machine &&
        *p.last.time_ns > *facts.job_end + params_.after_known_end)
      known_end_.reset();
  }
}

Relation Story::relate(const std::optional<Nanoseconds>& start,
                       const std::optional<Nanoseconds>& end, Nanoseconds uncertainty) const {
  if (end && facts_.job_start &&
      *end + uncertainty + (facts_.start_is_known ? 0 : params_.before_first_output) <
          *facts_.job_start)
    return Relation::before_start;
  if (!start || !known_end_) return Relation::unknown;
  if (*start - uncertainty - params_.after_known_end <= *known_end_) return Relation::during;
  // Where nobody names the scheduler's zone the distance may be the zones'.
  const bool zone_given = facts_.manifest && !facts_.manifest->timezone.empty();
  if (!zone_given && apart_as_zones(params_, *start, *known_end_)) return Relation::unknown;
  return Relation::after;
}

Relation Story::relate(const Place& place, std::uint64_t last_line,
                       const std::optional<Nanoseconds>& time) const {
  return steps_.follow(place.member, last_line, time) ? Relation::lived_with : Relation::unknown;
}

bool Story::outside(const Place& place, const std::optional<Nanoseconds>& time) const {
  const MemberRow* m = facts_.member(place.member);
  if (m == nullptr || m->belonging != Belonging::machine) return false;
  const Relation when = relate(time, time, 0);
  return when == Relation::before_start || when == Relation::after;
}

void drop_other_stories(Facts& facts) {
  const Story story(facts);
  const auto lines = [](CollectiveSource source) {
    return source == CollectiveSource::watchdog || source == CollectiveSource::desync ||
           source == CollectiveSource::barrier || source == CollectiveSource::fingerprint;
  };
  std::erase_if(facts.progress,
                [&](const ProgressSpan& p) { return story.outside(p.last.place, p.last.time_ns); });
  std::erase_if(facts.exits, [&](const ExitRow& x) { return story.outside(x.place, x.time_ns); });
  const auto over = [&](const auto& row) {
    if (!lines(row.source)) return false;
    std::optional<Nanoseconds> time;
    if (const auto offset = facts.clock_offset(row.place.member, row.time.clock))
      time = row.time.ns + *offset;
    return story.outside(row.place, time) ||
           story.relate(row.place, row.place.line, time) == Relation::lived_with;
  };
  std::erase_if(facts.frontiers, over);
  std::erase_if(facts.collectives, [&](const CollectiveSample& c) { return over(c.row); });
}

}  // namespace culprit::analyze
