// What a collective library counts for each rank of each communicator: launches (CL), work requests
// handed to the network (WR), requests that are over (WC), and how long the last of them took
// (Aegis, NSDI 2025, sections 4.2.2 and 5.2).
//   CL behind that of the others    the rank never launched what they are in (figure 7b); the
//                                   wait-for graph says so, of which these counters are a source
//   CL equal, WR and WC differ      its requests are not over: the network at their sources or
//                                   destinations (figure 7c). The paper prints WR < WC; requests
//                                   are launched before they are over, so WR > WC is what is meant,
//                                   and any difference counts
//   time a byte > 1.5 of the group  requests that take longer (figure 9b). The paper prints this of
//                                   a throughput; its inequality fits a time
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/hang/collectives.hpp"
#include "analyze/hang/wait_source.hpp"

namespace culprit::analyze {

// The counters as a source of wait-for evidence: where CL is equal and requests are not over, the
// last operation is not; where all is equal, nothing is open; where CL differs, nothing tells. Nor
// where a member waits, in another communicator, for somebody who never launched: that explains
// requests of its own.
WaitRows rows_of_requests(CollectiveSource id, const Facts& facts,
                          const Communicators& communicators);

// Operations that all have entered and none completes (leaves of kind network), whatever source
// told of them: their ranks become those whose requests on that communicator are not over, with the
// peers to which these go, one leaf a pair; unchanged where all members are alike and no peer is
// told.
void narrow_to_requests(CollectiveReport& report, const Facts& facts, const Topology& topology,
                        const Communicators& communicators);

struct RequestParams {
  double slow = 1.5;  // Aegis: beta
  // Of a group with fewer ranks that tell a time, nothing is average.
  std::size_t ranks = 3;
};

struct SlowRequests {
  GroupId group = GroupId::none;
  Rank rank{}, peer = kNoRank;
  double ms_per_mb = 0, others_ms_per_mb = 0;  // others: mean of those that are not slow
  const FrontierRow* row = nullptr;            // of `facts`
  double factor() const { return ms_per_mb / others_ms_per_mb; }
};

// By factor, the highest first. A rank is slow when its time a byte is above 1.5 times the mean of
// its communicator; the mean is then taken of the others, until nobody is added: two slow ranks of
// few raise the mean above each other.
std::vector<SlowRequests> slow_requests(const Facts& facts, const Communicators& communicators,
                                        const RequestParams& params = {});

}  // namespace culprit::analyze
