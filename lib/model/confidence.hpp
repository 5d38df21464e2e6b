// How much a kind of evidence weighs: one table, so that a weight can be found and set. They were
// set by hand, and order the evidence; how sure a verdict is follows from the comparison
// (decide/compare.hpp).
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

// Of the surety of a whole verdict: a part of the bundle could not be read, and what is missing may
// name another cause.
inline constexpr double kIncompleteBundle = 0.85;

// Below this an isolation is not printed as one: it costs a machine, and four in ten would be
// innocent.
inline constexpr double kLeastToIsolate = 0.6;
inline constexpr double kComputesWrongly =
    0.85;  // wrong numbers in the job, and the only machine that fails the diagnostic
inline constexpr double kOtherGpuDiffers =
    0.9;  // a step repeated on two GPUs: the first agrees with itself, the second with neither
inline constexpr double kSameGpuDiffersAgain =
    0.9;  // one GPU, and no other, does not reproduce its own results at separate times
inline constexpr double kSameGpuDiffersOnce = 0.55;  // once: a particle may have passed
inline constexpr double kSettled = 0.9;              // an isolation of which nothing more is asked
// From here on a machine's own fault counts as the failure of a job of which nothing else says that
// it failed.
inline constexpr double kSureOfMachine = 0.9;

inline constexpr double kCheckFailed = 0.95;  // a check failed on it, or it alone is left
inline constexpr double kInAllThatFailed =
    0.75;  // in every group that failed, as others are in some
// Answers, by the kind of cause that gives them. What a count of simulated incidents says of a
// step is in decide/calibration.cpp.
inline constexpr double kOneOfTwoEnds = 0.45;   // the connection between two hosts failed first
inline constexpr double kThrottled = 0.6;       // its GPUs report throttling, and no step time does
inline constexpr double kSchedulerEnded = 0.8;  // the scheduler says that it ended the job
inline constexpr double kAddressOfTwo = 0.95;   // by what both machines list as their own
inline constexpr double kSettingCritical =
    0.6;  // a difference of settings that no communication survives
inline constexpr double kSettingMet =
    0.9;  // one, of the machine that all others wait for, in a job that never made a step
inline constexpr double kSettingChanged =
    0.6;  // since the run before, and it explains what happened
inline constexpr double kSettingDiffers = 0.45;  // one that it may survive
inline constexpr double kSettingSlows =
    0.75;  // one host alone has a slower setting, and the job is slow or its metrics say so too
inline constexpr double kTrainedDown =
    0.65;  // a device at half of what all others have: it is to be seen to, whatever it costs
inline constexpr double kSettingMaySlow = 0.5;  // the same, and nothing says that it matters
inline constexpr double kHostOfSetting = 0.4;   // a host that has the odd setting
inline constexpr double kOneOfUndated = 0.4;  // one of several machines with faults without a time
inline constexpr double kUnnamedMachine = 0.5;  // a fault of a machine that nothing names
inline constexpr double kPartWithoutHost =
    0.9;  // factor: a part is known and its host is not, or a resource and not its limit
inline constexpr double kSwitchNamed = 0.85;  // hosts below one switch fail together
inline constexpr double kSharedUnnamed =
    0.6;  // hosts fail together, and what they share has no name
inline constexpr double kServiceSeenByOne = 0.5;   // one host of several reports a shared service
inline constexpr double kServiceSeenByMany = 0.8;  // several do
inline constexpr double kSharedSpaceFull = 0.85;   // a full file system that several hosts see
inline constexpr double kLimitReached = 0.8;       // a limit of the job that was reached
inline constexpr double kMemoryOfOneRank = 0.6;    // one rank of several ran out of GPU memory
inline constexpr double kExceptionPlain = 0.7;     // an exception of no known class, by its place
inline constexpr double kExceptionKnown = 0.95;    // one of a known class
inline constexpr double kExceptionRank = 0.9;      // the rank that raised it alone
inline constexpr double kProgramUnplaced = 0.6;    // the program, no place known
inline constexpr double kDeviceAgainAndAgain =
    0.7;                                           // illegal accesses on one GPU at separate times
inline constexpr double kIllegalAccessOnce = 0.4;  // one illegal access: program or device
inline constexpr double kCrashOnce = 0.5;          // one crash, its rank
inline constexpr double kDiverged = 0.7;  // a loss that rose for long before NaN: the training
inline constexpr double kNumericsUnnamed = 0.5;  // NaN or Inf, on no single rank
inline constexpr double kNumericsRank = 0.55;    // NaN or Inf, first on this rank
inline constexpr double kAfterHistory = 0.4;     // what is left after the answers that were tried
inline constexpr double kSwitchAfterHistory = 0.5;  // a switch above all machines that were evicted
inline constexpr double kLead = 0.3;                // the strongest line that proves nothing
inline constexpr double kEndUnexplained = 0.3;  // the process that ended first, without a reason
inline constexpr double kRecurringAlert =
    0.85;  // it was active when an earlier run ended as well as now: one part, two ends
inline constexpr double kTransientAlert =
    0.5;  // an alert that was cleared, and connections failed while it was active
inline constexpr double kAsSure = 0.15;       // suspects that differ by less are suspects together
inline constexpr double kExactWait = 0.7;     // from here on whom all wait for is named exactly
inline constexpr double kMostOfDumps = 0.95;  // dumps and metrics together, at most

// What single analyses say of their findings.
inline constexpr double kFoldedXid = 0.7;         // an Xid that follows another
inline constexpr double kNobodySilent = 0.3;      // all ranks timed out, or too many did not
inline constexpr double kSilentMissing = 0.35;    // the rank that is silent has no file
inline constexpr double kSilentAlone = 0.65;      // one rank alone did not time out
inline constexpr double kSilentOfSeveral = 0.45;  // several did not
inline constexpr double kBrokeFirstLeast =
    0.6;  // connections that failed first touch one host (Aegis RootDiag) ...
inline constexpr double kBrokeFirstCover = 0.3;   // ... and by the share of them that do
inline constexpr double kSwitchCrossed = 0.75;    // all of them cross one switch (Aegis NetDiag)
inline constexpr double kNoHostStandsOut = 0.5;   // no host stands out among them
inline constexpr double kSettingMajority = 0.9;   // a setting that most hosts share, and few do not
inline constexpr double kSettingSplit = 0.6;      // settings without a majority
inline constexpr double kSettingsCompared = 0.8;  // settings of several hosts are equal
inline constexpr double kSettingsUnknown = 0.3;   // there are none to compare
inline constexpr double kUnknownLine = 0.2;       // an error line that no rule knows

// Who waits for whom, by the source that says so (FT-HSDP section 5, ByteRobust section 5).
inline constexpr double kCollectivesOpen = 0.6;  // collectives are unfinished, and nobody is named
inline constexpr double kOpenedLate = 0.85;      // factor: the group was opened within the window
inline constexpr double kDoubtful = 0.75;        // factor: counters that may lag behind
inline constexpr double kNeverLaunched = 0.9;    // a rank never launched what its peers wait in
inline constexpr double kNeverFinished = 0.88;   // its device never finished it
inline constexpr double kMismatch = 0.85;        // ranks launched different operations
inline constexpr double kTie = 0.5;              // as many ranks on either side, or the network
inline constexpr double kLastOfEachRank =
    0.85;  // factor: the source has the last operation of each rank
inline constexpr double kLastOfSome = 0.7;    // factor: of some ranks
inline constexpr double kFewCulprits = 0.8;   // factor: three or four culprits
inline constexpr double kManyCulprits = 0.5;  // factor: more
inline constexpr double kCutOff = 0.95;       // factor: some dumps are cut off
inline constexpr double kUnresponsive =
    0.6;  // ranks that did not answer (ncclras), shared among them
inline constexpr double kStorageWait =
    0.75;  // most hosts wait in storage, or a trainer is in an odd state
inline constexpr double kSecondSource = 0.5;  // a second source agrees: 1 - (1-a)(1-b)
inline constexpr double kKernelSays = 0.4;    // the kernel agrees
inline constexpr double kStackSays = 0.6;     // a stack agrees
inline constexpr double kOddTrainer = 0.65;   // one trainer is in an odd state
inline constexpr double kTraced = 0.85;       // and the process that holds it is known
inline constexpr double kInNoCollective =
    0.9;                                   // a stack in no collective while the others wait in one
inline constexpr double kNoStack = 0.4;    // no stack of it
inline constexpr double kSomewhere = 0.3;  // any other stack
inline constexpr double kWithinOneMachine = 0.2;   // added when all of it is one machine
inline constexpr double kMostOfWait = 0.98;        // at most
inline constexpr double kNoHang = 0.7;             // no hang, or none that can be told
inline constexpr double kStacksSettled = 0.7;      // stacks that show no wait, or that differ
inline constexpr double kStacksOfOneMoment = 0.2;  // one look at the stacks
inline constexpr double kStackGroup = 0.6;    // a group of stacks apart from the others, at least
inline constexpr double kSecondSink = 0.1;    // less for every group but the first, and at least
inline constexpr double kStackRounds = 0.6;   // slow in most rounds of stacks
inline constexpr double kFewStacks = 0.3;     // too few rounds or stacks
inline constexpr double kMostOfRounds = 0.8;  // by the share of rounds, at most
inline constexpr double kStacksNoHang = 0.2;  // nothing says that the job stood still
inline constexpr double kStackBlocks =
    0.08;                                   // added: what blocks explains a hang, running code less
inline constexpr double kStacksMove = 0.2;  // taken off: another snapshot shows other lines
inline constexpr double kFewWait = 0.2;     // taken off: less than half of the ranks wait for it
inline constexpr double kStackElsewhere = 0.8;  // a stack in no collective, before other sources
inline constexpr double kStillLater = 0.05;     // the same in a later look
inline constexpr double kLooksUndated = 0.15;   // less when looks have no times

// Metrics and pace.
inline constexpr double kTrafficStopped = 0.4;  // traffic at zero when the job ended
inline constexpr double kMemoryGrows = 0.6;     // memory of most machines fills up
inline constexpr double kOutlierRobust =
    0.75;  // an outlier by robust statistics (bench/outlier_accuracy)
inline constexpr double kOutlierThreshold = 0.7;  // beyond a limit that the hardware has
inline constexpr double kOutlierMean = 0.65;      // by its mean over time
inline constexpr double kOutlierRelation =
    0.6;  // metrics that do not fit each other (bench/relation_accuracy)
inline constexpr double kOutlierFew = 0.5;  // among few peers
inline constexpr double kSlowOver =
    0.8;  // a slow stretch, by its steps (GREYHOUND section 4; bench/fail_slow_accuracy)
inline constexpr double kSlowNobody = 0.5;   // a slow stretch without an outlier
inline constexpr double kExplainsAll = 0.7;  // share of the loss that parts of a step must explain
inline constexpr double kSlowAgainstOutside =
    0.85;  // parts of its steps explain it, against ranks outside
inline constexpr double kSlowByParts = 0.75;   // parts of its steps explain it
inline constexpr double kSlowByStacks = 0.65;  // stacks name it
inline constexpr double kSlowOwnWork = 0.92;   // two sources name it, and its own work is longer
inline constexpr double kSlowByMetrics = 0.6;  // metrics name it
inline constexpr double kSlowEventToo = 0.8;   // and a fault of that machine within the stretch
inline constexpr double kSlowStacksToo = 0.9;  // own work, and its group is odd in most looks
inline constexpr double kSlowSettled = 0.9;    // steps enough, none slow for long
inline constexpr double kSlowSimulated = 0.7;  // shares of a what-if simulation
inline constexpr double kSlowGroup = 0.5;      // a process group slower than its siblings

}  // namespace culprit::confidence
