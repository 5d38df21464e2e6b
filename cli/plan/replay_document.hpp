// A replay plan as a JSON document: what `replay plan --json` prints and `replay solve --plan`
// reads back, with the outcomes so far.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/result.hpp"
#include "plan/group_command.hpp"
#include "plan/replay.hpp"
#include "plan/replay_solve.hpp"

namespace culprit::cli {

struct ReplayDocument {
  plan::ReplayPlan plan;
  std::vector<std::string> hosts;  // by machine, spares after the suspects; empty: no names
  std::string command;             // the template
  std::vector<plan::ReplayOutcome> outcomes;  // by test

  std::string host(plan::MachineIndex machine) const;        // its name, or "machine 13"
  plan::GroupRun run(const plan::ReplayGroup& group) const;  // what the template is filled with
};

// Errors (usage): the template's.
Result<nlohmann::ordered_json> to_json(const ReplayDocument& document);
nlohmann::ordered_json to_json(const ReplayDocument& document,
                               const plan::ReplaySolution& solution);
// A plan, or a solution, which holds one. Errors (usage) name the file and the key.
Result<ReplayDocument> read_replay_document(const std::string& text, const std::string& path);

// "pass", "fail", or "2/5" for two failures in five runs.
Result<plan::ReplayOutcome> parse_outcome(const std::string& text);
// Adds the outcome to what is known of the test. Errors (usage): no such test, with a suggestion.
Result<> add_outcome(ReplayDocument& document, const std::string& test, const std::string& outcome);

}  // namespace culprit::cli
