// When others began to notice that something had failed, and when the scheduler spoke. Inside of
// this room only.
#pragma once

#include <map>
#include <optional>
#include <set>

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

  const Case& incident_;
  const DecideParams& params_;
  std::map<Host, std::set<Nanoseconds>> evictions_;  // when pods of a host had to leave
};

}  // namespace culprit::decide
