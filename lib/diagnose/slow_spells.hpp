// The stretches of an incident in which steps took longer, as plans of mitigation take them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/finding.hpp"
#include "resolve.hpp"

namespace culprit::diagnose {

struct SlowSpell {
  std::int64_t first = 0, last = 0;  // iterations, both included
  double healthy_ms = 0, level_ms = 0;
  double mean_ms = 0;  // what makes the cost of the verdict; level_ms is a median
  bool over = false;
  Subject subject;          // the job when no rank, host or device is an outlier
  std::vector<Rank> ranks;  // of the subject, sorted; empty when nothing ties it to ranks
};

struct SlowSpells {
  std::vector<SlowSpell> spells;  // in the order of time
  Text why;                       // when there is none

  // Those that go on; when all are over, all: what would have helped then.
  std::vector<SlowSpell> to_act_on() const;
};

SlowSpells slow_spells(const std::vector<Finding>& findings, const Resolved& incident);

}  // namespace culprit::diagnose
