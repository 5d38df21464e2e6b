// What an assistant may ask of an incident: the tools and resources of `culprit mcp`.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "diagnosed.hpp"
#include "mcp/server.hpp"
#include "rules/pack.hpp"

namespace culprit::cli {

// What is open while the server runs.
struct Served {
  const Arguments& arguments;
  const rules::RulePack& pack;
  Diagnosed& incident;
  std::vector<std::string> sources;  // what the command line names
  std::vector<std::string> bundles;  // of them and of --bundle: where raw lines may be read
  std::string baseline;              // of --baseline; "" = none
};

// served outlives the service. Its tools read the database, the bundles and the baseline, and
// nothing else; nothing is written.
mcp::Service service_of(const Served& served);

}  // namespace culprit::cli
