// What the open verdict of an incident asks for, as a script that collects it.
#pragma once

#include <string>

#include "arguments.hpp"
#include "collect/script.hpp"
#include "diagnosed.hpp"

namespace culprit::cli {

// Puts its wishes into the request, and where the job ran unless that is known: Slurm where the
// incident has the number of a Slurm job, else its hosts. Hosts whose names cannot stand in a
// script are left out, with a remark. Errors: those of `wishes_of`.
Result<> ask_of_verdict(const Arguments& arguments, const Diagnosed& incident,
                        collect::Request& request);

// The script of such a request. Errors (usage): nothing is asked for, or no hosts are known.
Result<std::string> script_of_verdict(const Diagnosed& incident, const collect::Request& request);

}  // namespace culprit::cli
