// What programs do that write into logs, by their names: rules/tables/programs.json.
#pragma once

#include <string_view>

namespace culprit::analyze {

// The kernel's own lines reach a log through it.
bool carries_kernel(std::string_view program);
// A job's own output reaches the journal through it.
bool carries_jobs(std::string_view program);
// A service that starts jobs, keeps their limits or watches their devices.
bool runs_jobs(std::string_view program);
// It has clients of its own, which are none of the job's.
bool serves_others(std::string_view program);
// A file of whoever made the bundle, and of a tool that he ran.
bool of_collector(std::string_view file_name);
bool of_tool(std::string_view file_name);
// The name that a job has when nobody gives it one.
bool is_default_name(std::string_view job);
// A process that trains is named in it.
bool names_trainer(std::string_view message);

}  // namespace culprit::analyze
