// Steps behind a line of the same log: whatever an undated line tells, the run went on after it, or
// another one did.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

class StepLines {
 public:
  explicit StepLines(const Facts& facts);
  // More than ten, as far as their lines are spread evenly: a buffer may print some steps behind
  // the error that ended them. Of a dated line only steps without a time count: others tell more.
  bool follow(MemberId member, std::uint64_t line, bool dated) const;

 private:
  std::map<MemberId, std::vector<const ProgressSpan*>> spans_;
};

}  // namespace culprit::analyze
