// Steps behind a line of the same log: whatever an undated line tells, the run went on after it, or
// another one did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// UTC, of the last step that any log of the job reports; progress bars tell of any work.
std::optional<Nanoseconds> last_step(const Facts& facts);

class StepLines {
 public:
  explicit StepLines(const Facts& facts);
  // More than ten, as far as their lines are spread evenly: a buffer may print some steps behind
  // the error that ended them. Of a dated line only steps without a time count, since times tell
  // more; unless its time lies so far from all of theirs that it is quoted, or another clock's.
  // And of an undated line in the output of a run before this one.
  bool follow(MemberId member, std::uint64_t line, const std::optional<Nanoseconds>& time) const;
  // So far behind it in the bytes of the log that no buffer explains it: what an exception ended
  // did not print them, whether they have times or not.
  bool follow_far(const Place& place) const;

 private:
  std::map<MemberId, std::vector<const ProgressSpan*>> spans_;
  std::set<MemberId> earlier_;  // with steps of their own
};

}  // namespace culprit::analyze
