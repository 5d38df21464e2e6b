// Whom a hang may be because of, whichever source named it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// `ranks` and `standing` are left to the finding that is made of it.
struct Suspect : HangFacts {
  std::vector<Rank> who;    // sorted
  std::vector<Host> hosts;  // of a stack whose rank nobody knows
  std::string native;       // what its machine code waits in
  Text why;
  Place place;  // of a process list that shows it
  double confidence = 0;
  std::string storage;        // the call that many hosts wait in
  bool common = false;        // network: several operations stand, one machine has an end of each
  bool synchronizes = false;  // its host waits until its GPU is done with all it was given
  bool traced = false;        // a debugger holds it: nothing goes on without it

  Suspect() { role = "trainer"; }

  // Another source says so, and would be this sure by itself; nothing where it adds no certainty.
  void confirm(std::string_view source, std::optional<double> sure) {
    sources.emplace_back(source);
    if (sure) confidence = both(confidence, *sure);
  }
  // What another source says of the same ranks: where it saw them, and how sure it is.
  void join(const Suspect& same) {
    confidence = both(confidence, same.confidence);
    sources.insert(sources.end(), same.sources.begin(), same.sources.end());
    group = same.group;
    operation = same.operation;
  }

 private:
  static double both(double a, double b) { return 1 - (1 - a) * (1 - b); }
};

}  // namespace culprit::analyze
