// What stacks say of whom a hang is because of: they name suspects of their own, and bear out or
// contradict those of the counters.
#pragma once

#include <map>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/hang/stacks.hpp"
#include "analyze/hang/suspect.hpp"

namespace culprit::analyze {

class StackWitness {
 public:
  // Keeps references to all of them. contradiction: what is left of a certainty, 0 to 1, when the
  // stack of a rank that the counters call stopped on its host is inside a collective.
  StackWitness(const Facts& facts, const Topology& topology, const StackReport& stacks,
               double contradiction);

  // The end of a chain of waits.
  Suspect suspect_of(const StackSink& sink) const;
  // Many hosts wait in the same call. REQUIRES: the report names one.
  Suspect stalled_storage() const;
  // Adds what they show of a suspect that the counters named. all_wait: all others wait for it.
  void testify(Suspect& s, bool all_wait) const;

 private:
  const StackProcess* stack_of(Rank rank) const;
  bool synchronizes(const StackProcess& p) const;
  void explain(Suspect& s, const StackProcess& p) const;
  void keep_within(Suspect& s) const;

  const Facts& facts_;
  const Topology& topology_;
  const StackReport& stacks_;
  const double contradiction_;
  std::map<Rank, const StackProcess*> trainer_;
};

}  // namespace culprit::analyze
