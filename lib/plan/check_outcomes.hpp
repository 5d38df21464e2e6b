// What the outcomes of checks say of the machines on which they ran: tests of one machine, of pairs
// and of larger groups (the list that checks.hpp makes; ByteRobust section 4.2, Aegis section 6).
//
// A test of one machine that failed names it. A test of several that failed has a culprit among
// them; who took part in a passed test of the same task cannot be that one, as far as faults show
// every time. What does not fit is named, never dropped: a machine that passed and failed the same
// test alone; a group that failed although each of its members passed that task with others (the
// link between them, or a fault that comes and goes).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace culprit::plan {

struct CheckOutcome {
  std::string task;                // the same word is the same test
  std::vector<std::size_t> hosts;  // positions in the list of hosts; sorted, each once
  bool passed = false;
};

// Where no fault that shows every time explains the outcomes.
struct CheckContradiction {
  enum class Kind {
    both,     // the same hosts passed and failed the same task
    between,  // all members of a failed group passed the task with others
  };
  Kind kind = Kind::both;
  std::string task;
  std::vector<std::size_t> hosts;
};

struct SuspectSet {
  std::string task;
  std::vector<std::size_t> hosts;   // the group that failed
  std::vector<std::size_t> within;  // of these, who may be at fault
};

// More machines failed a test alone than faults of machines explain: something that they share,
// such as a recent update, which is to be rolled back (Aegis section 6).
struct WidespreadFailure {
  std::string task;
  std::size_t failed = 0, tested = 0;  // machines
};

struct WidespreadParams {
  double usual = 0.02;        // Aegis section 6: 1 to 2 % of hosts fail before delivery
  double chance = 0.001;      // that so many fail when that is so
  std::size_t least = 3;      // that failed
  std::size_t of_tested = 8;  // fewer are suspects, and no sample of a fleet
};

struct CheckSolution {
  std::vector<std::size_t>
      failed;  // named: alone in a failed test, or the only one left of a group
  std::vector<std::size_t> candidates;  // one of a failed group, none of which is named; sorted
  // Of the candidates those who take part in every failed group that no named machine explains.
  std::vector<std::size_t> in_all;
  std::vector<SuspectSet> open;       // failed groups that no named machine explains
  std::vector<std::size_t> passed;    // took part in tests, and is neither of these
  std::vector<std::size_t> untested;  // of the hosts, in no outcome
  std::vector<CheckContradiction> contradictions;
  std::vector<WidespreadFailure> widespread;  // by task
};

// hosts: how many there are. Order does not matter.
CheckSolution solve_checks(std::span<const CheckOutcome> outcomes, std::size_t hosts,
                           const WidespreadParams& params = {});

}  // namespace culprit::plan
