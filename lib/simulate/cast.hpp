// Who takes part in one incident: machines, ranks, the guilty one, clocks and layout, all drawn by
// the seed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "model/time.hpp"
#include "simulate/dice.hpp"
#include "simulate/kinds.hpp"

namespace culprit::simulate {

using WordMap = std::map<std::string, std::string, std::less<>>;

// A machine, or one rank on it.
struct Speaker {
  int host = 0;
  int rank = -1;  // of the job; -1: the machine itself
  bool operator==(const Speaker&) const = default;
};

struct Machine {
  std::string name, ip, leaf;
  Nanoseconds boot = 0;  // UTC, as all times here
};

struct Size {
  int hosts = 0, ranks = 0;  // 0: drawn
};

struct Cast {
  const Kind* kind = nullptr;
  // Of world(); kernel is null when no kernel log was collected.
  nlohmann::json layout, kernel, progress;
  std::vector<Machine> hosts;
  int per_host = 8;
  Speaker guilty, peer;   // peer: the next rank, on another machine
  Nanoseconds begin = 0;  // of the job
  Nanoseconds onset = 0;  // of the incident
  Nanoseconds until = 0;  // progress ends
  Nanoseconds collected = 0;
  int zone_s = 0;          // of all local clocks
  Nanoseconds before = 0;  // the logs of machines tell of the time since then
  int attempt = 0;         // of the job: 0 for its first start
  std::int64_t first_step = 0, interval = 10;
  double step_s = 3;
  WordMap words;  // of the job; values are templates themselves

  int world() const { return static_cast<int>(hosts.size()) * per_host; }
  std::string_view scheduler() const;
  const nlohmann::json& data() const { return kind->data; }
  // The rank of a machine that its launcher sees failing first.
  Speaker failing(int host) const;
  // Who is meant by the word of an event: "guilty", "ranks", "hosts", "leaf" ...
  std::vector<Speaker> speakers(std::string_view who) const;
};

// Errors (usage): fewer hosts than the kind needs, ranks that do not divide among the hosts.
Result<Cast> draw_cast(const Kind& kind, const Size& size, const Dice& dice);

// The same job on the same machines, started earlier, of a kind that that of `now` names under
// "before": what ended it is over long before `now` begins.
Cast cast_before(const Cast& now, const Dice& dice);
// `now` is its next attempt: from its last checkpoint on, and after its last line.
void go_on_from(const Cast& before, Nanoseconds last_line, Cast& now);

}  // namespace culprit::simulate
