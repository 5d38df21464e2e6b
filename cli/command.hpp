// What a command is. One file per command; each is little more than load, call, save, print.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "model/result.hpp"

namespace culprit::cli {

// The exit status of every command; the table in culprit(1).
enum class Exit : int {
  finished = 0,    // whatever was found
  gate = 1,        // --fail-on tripped
  usage = 2,       // arguments, configuration, rules
  input = 3,       // input unreadable
  incomplete = 4,  // --strict, and something could not be read
  internal = 70,   // our own fault
};

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view usage;  // "diagnose BUNDLE... [options]"
  std::string_view text;   // examples first, then what it does
  std::span<const OptionSpec> options;
  Result<Exit> (*run)(const Arguments& arguments);
  // Commands of its own, each with its own table of options: `culprit plan standby`. Their names
  // begin with ours
  // ("plan standby"). `run` is then what happens without one of them.
  std::span<const Command* const> subcommands{};
};

// Each is defined at the end of its own file.
extern const Command kDiagnose, kBatch, kFleet, kOutcome, kLike, kClaim, kCompare, kIngest, kMerge,
    kClassify, kReport, kShow, kExplain, kStacks, kCollectives, kDrift, kOutliers, kChangepoints,
    kEfficiency, kReplay, kRedact, kExport, kSql, kMcp, kProve, kPlan, kCollect, kNext, kSimulate,
    kScore, kRules, kFormats, kSchema, kCompletion, kVersion, kHelp;
extern const Command kPlanBackup, kPlanCheckpoints, kPlanChecks, kPlanCompare, kPlanGemm,
    kPlanHolders, kPlanIngest, kPlanIsolate, kPlanLinks, kPlanMicrobatch, kPlanMitigate,
    kPlanReplicas, kPlanStandby, kPlanSurvival, kPlanTopology, kPlanUpdates, kPlanZones;

std::span<const Command* const> commands();
const Command* find_command(std::string_view name);
// The last word of a name: "standby" of "plan standby".
std::string_view last_word(std::string_view name);
// The subcommand that `word` names; a usage error with a suggestion when there is none.
Result<const Command*> find_subcommand(const Command& command, const std::string& word);
std::string help_of(const Command& command);

// stderr, as it is. Nobody may be listening: what cannot be written there is nobody's business.
inline void complain(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}
// stdout. What cannot be written is told once, at the end of the program; a reader that went away
// is no error.
void print(std::string_view text);
// A remark on stderr, "culprit: " in front, control bytes made visible; nothing with -q.
void remark(const Arguments& arguments, std::string_view text);
void print_error(const Error& error);

}  // namespace culprit::cli
