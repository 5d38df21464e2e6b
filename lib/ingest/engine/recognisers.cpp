#include "ingest/engine/recogniser.hpp"

#include <iterator>

#include "ingest/engine/recogniser_set.hpp"

namespace culprit::ingest {

extern const Recogniser kTraceback, kIgnored, kTorchrunReport, kTorchrunExit, kSrunExit, kExitCode,
    kDebuggerSignal, kErrorLine;
extern const Recogniser kNcclDirect, kNcclInit, kNcclNetwork, kNcclSettings;
extern const Recogniser kMegatron, kDeepspeed, kNemo, kTorchtitan, kHuggingface, kComposer,
    kLoopLines, kStepTime, kRankParts, kProgressBar, kWorkBar, kFinished, kCheckpoint, kStartMark,
    kEpochSteps, kVerl, kStepJson;
extern const Recogniser kWatchdogTimeout, kWatchdogFrontier, kDesync, kMonitoredBarrier,
    kFingerprints, kNcclCalls, kRasText, kRasMonitor, kInspector;
extern const Recogniser kSmiHeading, kSmiList, kEccHistory, kNicHeading, kDriver, kCriPartial,
    kKernelBanner, kUncleanRestart, kRankLine, kNodeRankLine, kRankMap, kUname, kSmiSettings,
    kRdmaSettings, kSmiDmonBlock, kLspci, kEthtool, kCpupower, kSinfo, kKubernetesConditions,
    kSwitchPorts, kSwitchMtus, kLabelledRows;
extern const Recogniser kMegatronSizes, kMegatronArguments, kNemoGroups, kDeviceMesh, kGlobalRank,
    kNodelist;
extern const Recogniser kClockLines, kLoadLines, kNameLines, kScontrol, kSacct, kController,
    kPodTable, kNodeTable, kPodAssignment, kPodDescription, kHostBlocks, kOwnHeadings, kPingSizes,
    kClockReadings, kZoneNotes, kRdmaPortLines, kInterfaces, kPingNames, kFlowControl, kSelRows,
    kZoneComments, kRepeatedWork, kPciRows, kMachineAnswers, kMachineTable;
extern const Recogniser kPyspy, kGdb, kLldb, kEuStack, kFaulthandler, kProcessList, kStatusLines,
    kPstree, kDumpHeading;
extern const Recogniser kFieldFigures, kTitanFigures, kSamplesPerSecond, kStepTimes,
    kMegatronTimers, kMegatronStraggler;

namespace {

constexpr const Recogniser* kAll[] = {
    &kTraceback,
    &kIgnored,
    &kTorchrunReport,
    &kTorchrunExit,
    &kSrunExit,
    &kExitCode,
    &kDebuggerSignal,
    &kNcclDirect,
    &kNcclInit,
    &kNcclNetwork,
    &kNcclSettings,
    &kMegatron,
    &kDeepspeed,
    &kNemo,
    &kTorchtitan,
    &kHuggingface,
    &kComposer,
    &kEpochSteps,
    &kVerl,
    &kStepJson,
    &kLoopLines,
    &kStepTime,
    &kRankParts,
    &kProgressBar,
    &kWorkBar,
    &kFinished,
    &kCheckpoint,
    &kStartMark,
    &kSmiHeading,
    &kSmiList,
    &kEccHistory,
    &kNicHeading,
    &kDriver,
    &kCriPartial,
    &kKernelBanner,
    &kUncleanRestart,
    &kUname,
    &kRankLine,
    &kNodeRankLine,
    &kRankMap,
    &kDumpHeading,
    &kPyspy,
    &kGdb,
    &kLldb,
    &kEuStack,
    &kFaulthandler,
    &kProcessList,
    &kStatusLines,
    &kPstree,
    &kWatchdogTimeout,
    &kWatchdogFrontier,
    &kDesync,
    &kMonitoredBarrier,
    &kFingerprints,
    &kNcclCalls,
    &kMegatronSizes,
    &kMegatronArguments,
    &kNemoGroups,
    &kDeviceMesh,
    &kGlobalRank,
    &kNodelist,
    &kRasText,
    &kRasMonitor,
    &kInspector,
    &kFieldFigures,
    &kTitanFigures,
    &kSamplesPerSecond,
    &kStepTimes,
    &kMegatronTimers,
    &kMegatronStraggler,
    &kSmiSettings,
    &kRdmaSettings,
    &kLspci,
    &kEthtool,
    &kCpupower,
    &kSinfo,
    &kKubernetesConditions,
    &kSwitchMtus,
    &kLabelledRows,
    &kSwitchPorts,
    &kSmiDmonBlock,
    &kErrorLine,
    &kClockLines,
    &kLoadLines,
    &kNameLines,
    &kScontrol,
    &kSacct,
    &kController,
    &kPodTable,
    &kNodeTable,
    &kPodAssignment,
    &kPodDescription,
    &kHostBlocks,
    &kOwnHeadings,
    &kPingSizes,
    &kClockReadings,
    &kMachineAnswers,
    &kMachineTable,
    &kZoneNotes,
    &kRdmaPortLines,
    &kInterfaces,
    &kPingNames,
    &kFlowControl,
    &kSelRows,
    &kZoneComments,
    &kRepeatedWork,
    &kPciRows,
};
static_assert(std::size(kAll) <= RecogniserSet::kMost);

}  // namespace

std::span<const Recogniser* const> recognisers() { return kAll; }

}  // namespace culprit::ingest
