// Offline localisation by halves (Aegis §4.1.2): the reference model that shows the fault is
// trained on two halves of the hosts at once; a half that passes goes back to service, a half that
// fails is halved again, both when both fail. Halves are cut along the borders of data centers,
// pods and ToR groups, so that their traffic shares no link: a bad link between them would fail
// both, and congestion would look like a fault. When nothing fails in any half, what they did not
// use is left: the aggregation or core switches between them.
//
// The paper leaves open how uneven a cut along a border may be. Here a half never has more hosts
// than halves of halves can still end in time: one host is left after ceil(log2(hosts)) rounds,
// plus one that confirms it. Where no border allows that, the cut goes through a pod or ToR group,
// and if the halves then share links they run one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

inline constexpr std::size_t kMostIsolated = 1 << 16;

struct IsolateHost {
  std::string name;
  std::string tor, pod;  // "" = not known. With several ToRs a host, as in rail-optimised networks:
                         // their names together
  std::string center = {};  // data center; "" = all are in one
};

using HostSet = std::vector<std::size_t>;  // positions in the list of hosts, sorted

struct Cut {
  HostSet first, second;
  std::string border;                // datacenter, pod, tor, host: what the line runs along
  std::vector<std::string> between;  // what only both halves together use: "core switches",
                                     // "aggregation switches of pod p1", "switches of tor t1"
};

// Requires two hosts or more.
Cut cut_in_half(const std::vector<IsolateHost>& hosts, const HostSet& set);

// Links above the hosts that training on this set uses: "uplinks of tor t1", "uplinks of pod p1".
// Sorted.
std::vector<std::string> links_used(const std::vector<IsolateHost>& hosts, const HostSet& set);

struct IsolateTest {
  std::string name;             // A, B of all; AA, AB of A; "AB.confirm"
  std::size_t set = 0;          // index of the state's `active`
  HostSet hosts;                // suspects
  HostSet fillers;              // hosts that passed, where the reference model needs more
  int wave = 0;                 // tests of one wave run at the same time and share no link
  bool short_of_hosts = false;  // fewer than the reference model needs, and nobody to fill up
};

struct IsolateSet {
  std::string name;  // "" = all
  HostSet hosts;
};

// What halving cannot say: the fault needs both halves, or does not always show.
struct IsolateClue {
  std::string set;
  HostSet hosts;
  std::vector<std::string>
      suspects;  // as Cut::between; empty: a single host that failed and then passed
  std::string text;
};

struct IsolateRound {
  std::int64_t round = 1;
  std::string test;
  bool failed = false;
  std::size_t hosts = 0;
};

struct IsolateState {
  std::vector<IsolateHost> hosts;
  std::size_t smallest = 1;  // hosts that the reference model needs
  std::int64_t round = 1;
  std::vector<IsolateSet> active;  // sets that failed
  HostSet cleared, faulty;
  std::vector<IsolateClue> clues;
  std::vector<IsolateRound> history;
  bool done() const { return active.empty(); }
};

// All hosts as one set that failed. Errors (usage): no hosts, more than kMostIsolated, one of them
// twice or without a name.
Result<IsolateState> start_isolation(std::vector<IsolateHost> hosts, std::size_t smallest = 1);

// The tests of the state's round, by set, then by name.
std::vector<IsolateTest> tests_of(const IsolateState& state);

// The next state. `failed` has each test of the round. Errors (usage): a test that is not of this
// round or missing.
Result<IsolateState> step(const IsolateState& state, const std::map<std::string, bool>& failed);

// ceil(log2(hosts)): rounds until one is left, without the confirmation.
std::int64_t halving_rounds(std::size_t hosts);

}  // namespace culprit::plan
