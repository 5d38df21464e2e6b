#include "analyze/faults/failure_moment.hpp"

#include <algorithm>

#include "analyze/facts/step_lines.hpp"

namespace culprit::analyze {

FailureMoment::FailureMoment(const Facts& facts, const std::vector<Signal>& signals,
                             const FailureMomentParams& params)
    : params_(params),
      last_step_(last_step(facts)),
      begin_(facts.start_is_known ? facts.job_start : std::nullopt) {
  for (const Signal& s : signals) {
    if (s.meaning.role != Role::cascade || s.meaning.severity != Severity::distributed ||
        s.speaker != Speaker::job || !s.takes_part() || s.origin == Origin::kernel)
      continue;
    // What broke while the job stepped on was tried again.
    if (s.start && last_step_ && *s.start + params.slack < *last_step_) continue;
    broke_ = true;
    if (!s.start) continue;
    first_break_ = std::min(first_break_.value_or(*s.start), *s.start);
    if (const auto waited = ran_for(s.message))
      stuck_ = std::min(stuck_.value_or(*s.start), *s.start - *waited);
  }
  // Steps without a time end where the first collective began to wait in vain.
  if (!last_step_) last_step_ = stuck_;
}

bool FailureMoment::began_with(Nanoseconds time, Nanoseconds uncertainty) const {
  const Nanoseconds slack = params_.slack + uncertainty;
  if (!broke_ || (last_step_ && time + slack < *last_step_)) return false;
  if (first_break_ && *first_break_ + slack < time) return false;
  if (stuck_ && *stuck_ + slack < time) return false;  // it stood already
  if (last_step_) return time <= *last_step_ + params_.longest_timeout;
  return first_break_ && begin_ && *begin_ <= time &&
         *first_break_ <= time + params_.longest_timeout;
}

}  // namespace culprit::analyze
