// What everybody prints, in the order of time: the start, the steps, what happens, and ordinary
// lines that mean nothing.
#pragma once

#include <string>
#include <vector>

#include "simulate/cast.hpp"

namespace culprit::simulate {

struct Line {
  Nanoseconds time = 0;
  Speaker who;
  std::string place;     // rank, agent, sched, kernel, or a name of "places" in world.json
  std::string text;      // may have several lines
  Nanoseconds boot = 0;  // of the machine, when it was started anew
};

// One step that the job logs: how long its parts took, in seconds, for each rank.
struct Step {
  std::int64_t number = 0;
  Nanoseconds time = 0;
  double seconds = 0;  // of the whole step, which is the same for all ranks
  struct Parts {
    double compute = 0, communication = 0, data = 0;
  };
  std::vector<Parts> ranks;
};

// Adds the words of the job that depend on how far it came: step, step_before, total.
std::vector<Step> steps_of(Cast& cast, const Dice& dice);

// Sets cast.collected, which is after the last line.
std::vector<Line> tell(Cast& cast, const std::vector<Step>& steps, const Dice& dice);

}  // namespace culprit::simulate
