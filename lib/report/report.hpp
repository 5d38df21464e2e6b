// Reports. The verdict is put into one JSON document once (schemas/diagnosis-v1.json), stored, and every format is
// made from that document: no two reports can disagree, and none computes a number.
#pragma once

#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/rows.hpp"

namespace culprit::report {

struct Incident {
  Verdict verdict;
  std::vector<Finding> findings;
  std::vector<MemberRow> members;
  std::vector<ProblemRow> problems;
  std::vector<HostRow> hosts;
  std::vector<RankRow> ranks;
  std::vector<std::string> notes;
  std::int64_t world_size = 0;
  bool complete = true;          // the whole bundle was read
};

// The document, indented, keys sorted, a line end at its end. The same incident gives the same bytes.
std::string to_json(const Incident& incident);

struct TextOptions {
  bool color = false;
  bool explain = false;          // the walk down the ladder
  bool verbose = false;          // every finding, the whole ledger
  std::size_t width = 100;
};
// From the document.
std::string to_text(const std::string& document, const TextOptions& options);
std::string to_markdown(const std::string& document, bool explain);

}  // namespace culprit::report
