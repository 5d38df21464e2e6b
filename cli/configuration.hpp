// What is configured outside of the command line: CULPRIT_* of the environment, and a file.
// The command line counts before the environment, that before the file, that before what is built
// in.
//
//   # ~/.config/culprit/config
//   timezone = Asia/Singapore
//   rules = ~/cluster-rules
//   [diagnose]
//   format = md
#pragma once

#include "arguments.hpp"
#include "command.hpp"

namespace culprit::cli {

// Gives the options that the command line does not. Errors (usage) name the file and the line, or
// the variable.
Result<> apply_configuration(const Command& command, Arguments& arguments);

}  // namespace culprit::cli
