// When others began to notice that something had failed, and when the scheduler spoke. Inside of
// this room only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "decide/decide.hpp"

namespace culprit::decide {

class Moments {
 public:
  Moments(const Case& incident, const DecideParams& params);

  // The job completed steps after it, and not because its node was still tolerated.
  bool went_on(const Finding& f) const;

  std::optional<Nanoseconds> first_consequence;
  const Finding* consequence = nullptr;  // that one
  std::optional<Nanoseconds> noticed;    // the same, or about when, where no consequence has a time
  std::optional<Nanoseconds> first_cascade;
  std::optional<Nanoseconds> scheduler_spoke;  // the last time that it ended the job or a step

  // What a job can only fail with at a start, some time after somebody had ended it (`word`) and
  // with no step since: it was started again, and that start failed.
  bool fails_new_start(const Finding& f, const Finding& word) const;
  bool fails_new_start(const Finding& f) const;               // after some word
  const Finding* new_start_after(const Finding& word) const;  // that failed; null: none

  // The earliest moment of trouble: a candidate's, or the first consequence's.
  struct First {
    std::optional<Nanoseconds> at;
    Nanoseconds uncertainty = 0;
    bool is_cause = false;
  };
  First first_trouble(const std::vector<const Finding*>& candidates) const;

 private:
  bool evicted_for(const Finding& f) const;
  void find_first_consequence();
  void find_undated_consequence();
  void find_failed_starts();

  const Case& incident_;
  const DecideParams& params_;
  std::map<Host, std::set<Nanoseconds>> evictions_;  // when pods of a host had to leave
  std::vector<Nanoseconds> ended_;                   // when somebody ended the job; sorted
  const Finding* last_failed_start_ = nullptr;
};

}  // namespace culprit::decide
