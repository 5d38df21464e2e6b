// Which part of the step grew when the job became slow: where no rank is an outlier, the part that
// grew on all of them says where to look, at the data, at the network or at the program.
#pragma once

#include <optional>
#include <string>

#include "analyze/pace/slow_rank_parts.hpp"
#include "rules/step_parts.hpp"

namespace culprit::analyze {

struct GrownPart {
  std::string name;                              // as printed: "data_time"
  rules::StepPart part = rules::StepPart::none;  // what time is spent on in it
  double inside_ms = 0, outside_ms = 0;          // medians, over the ranks that tell of it
  double explains = 0;                           // share of what the iterations grew by
};

struct GrownPartParams {
  std::size_t least = 5;         // iterations inside and outside that tell of it
  double least_explained = 0.5;  // of what the iterations grew by
  double most_explained = 1.5;   // more: the unit is another one, or parts overlap
  double whole = 0.95;           // of the iteration inside and outside: no part of it
  double as_good = 0.8;          // of the best: among these the shortest part is the most exact
};

// Of input.parts the ranks do not matter. Nothing when no part explains what the iterations of the
// interval took longer than all others.
std::optional<GrownPart> grown_part(const SlowPartsInput& input,
                                    const GrownPartParams& params = {});

// The part that takes this share of the iterations in each of the ranks that tell of it, though a
// step has little of it: loading of data, not computation. outside_ms is 0.
std::optional<GrownPart> dominant_part(const SlowPartsInput& input, double share = 0.4,
                                       std::size_t least = 5);

}  // namespace culprit::analyze
