// `culprit plan checks solve`: what the outcomes of checks say of the machines.
#pragma once

#include "command.hpp"
#include "input.hpp"

namespace culprit::cli {

// path: what `plan checks --json` printed with `passed` filled in, or a table of task, hosts and
// outcome.
Result<Exit> solve_plan_checks(const Arguments& arguments, const PlanInput& input,
                               const std::string& path);

}  // namespace culprit::cli
