#include "analyze/facts/step_lines.hpp"

#include <algorithm>

namespace culprit::analyze {

std::optional<Nanoseconds> last_step(const Facts& facts) {
  std::optional<Nanoseconds> out;
  for (const ProgressSpan& p : facts.progress)
    if (p.framework != "tqdm" && p.last.time_ns)
      out = std::max(out.value_or(*p.last.time_ns), *p.last.time_ns);
  return out;
}

namespace {

// A pipe holds 64 kB, each process that prints steps 8 of its own, and whoever merges the ranks'
// output as many again.
std::uint64_t buffers_of(const ProgressSpan& p) {
  std::uint64_t printers = p.rows;
  if (p.first.iteration && p.last.iteration && *p.last.iteration > *p.first.iteration) {
    const auto steps = static_cast<std::uint64_t>(*p.last.iteration - *p.first.iteration) + 1;
    printers = (p.rows + steps - 1) / steps;
  }
  return (96 << 10) + (16 << 10) * printers;
}

}  // namespace

StepLines::StepLines(const Facts& facts) {
  for (const ProgressSpan& p : facts.progress)
    if (p.framework != "tqdm" && p.rows > 1 && p.last.place.line > p.first.place.line)
      spans_[p.member].push_back(&p);
  for (const MemberId member : facts.earlier_output)
    if (spans_.count(member) > 0) earlier_.insert(member);
}

bool StepLines::follow(MemberId member, std::uint64_t line,
                       const std::optional<Nanoseconds>& time) const {
  constexpr std::uint64_t kSteps = 10;
  constexpr Nanoseconds kForeign = 20 * kHour;  // more than zones lie apart
  const auto among = [&](const ProgressSpan& p) {
    return p.last.time_ns &&
           *time<*p.last.time_ns + kForeign&& * time> p.first.time_ns.value_or(*p.last.time_ns) -
               kForeign;
  };
  if (!time && earlier_.count(member) > 0) return true;
  const auto spans = spans_.find(member);
  return spans != spans_.end() && std::ranges::any_of(spans->second, [&](const ProgressSpan* p) {
           if (time && p->last.time_ns && among(*p)) return false;
           const std::uint64_t last = p->last.place.line, first = p->first.place.line;
           // Every rank may print each step: then steps are fewer than rows.
           std::uint64_t steps = p->rows - 1;
           if (p->first.iteration && p->last.iteration)
             steps = *p->last.iteration > *p->first.iteration
                         ? std::min(steps, static_cast<std::uint64_t>(*p->last.iteration -
                                                                      *p->first.iteration))
                         : 0;
           return line < last && (last - line) * steps > kSteps * (last - first);
         });
}

bool StepLines::follow_far(const Place& place) const {
  const auto spans = spans_.find(place.member);
  return spans != spans_.end() && std::ranges::any_of(spans->second, [&](const ProgressSpan* p) {
           return p->last.place.offset > place.offset + buffers_of(*p);
         });
}

}  // namespace culprit::analyze
