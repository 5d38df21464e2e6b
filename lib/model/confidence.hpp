// How much a kind of evidence weighs: one table, so that a weight can be found and set. They were
// set by hand, and order the evidence; what is printed as "% sure" is calibrated
// (decide/calibration.hpp).
#pragma once

#include "model/rows.hpp"

namespace culprit::confidence {

// A line that a rule knows, by its severity.
inline constexpr double kCritical = 0.95;
inline constexpr double kDistributed = 0.6;
inline constexpr double kWarning = 0.5;
inline constexpr double kInfo = 0.2;
constexpr double of(Severity severity) {
  return severity == Severity::critical      ? kCritical
         : severity == Severity::distributed ? kDistributed
         : severity == Severity::warning     ? kWarning
                                             : kInfo;
}

// The same line with a weaker place in the story.
inline constexpr double kUndated = 0.75;  // nothing ties its time to the job's
inline constexpr double kStateReading =
    0.5;                                 // a counter or a port state: it may be older than the job
inline constexpr double kHearsay = 0.3;  // a program's output quotes it

// Who reports, against who does not.
inline constexpr double kLinkAndPeers =
    0.9;  // a link alert, and the connections that broke point at the same host
inline constexpr double kLinkAlone = 0.7;  // a link alert before connections broke
inline constexpr double kFirstByOrder =
    0.75;  // the connections that broke first touch one host, by their order alone
inline constexpr double kSameOnSeveral = 0.75;  // the same fault of a process on several machines
inline constexpr double kBrokeFirstUnseen =
    0.5;  // the connections of a host broke first, and nothing of that host was collected
inline constexpr double kFewReporters =
    0.65;  // two hosts of many report broken communication (Aegis section 4.1.1)

inline constexpr double kNameUnknown =
    0.8;  // a name that no host could look up, of a job that never made a step

// What speaks against a suspicion.
inline constexpr double kRuledOutByTime =
    0.9;  // before the job, or of a machine that had no part in it
inline constexpr double kTransient =
    0.7;  // taken back, below its tolerance (ByteRobust section 4.1)

// Below this an isolation is not printed as one: it costs a machine, and four in ten would be
// innocent.
inline constexpr double kLeastToIsolate = 0.6;
// From here on a machine's own fault counts as the failure of a job of which nothing else says that
// it failed.
inline constexpr double kSureOfMachine = 0.9;

}  // namespace culprit::confidence
