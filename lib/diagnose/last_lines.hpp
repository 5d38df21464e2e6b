// What the logs said last, beside an answer that leaves the cause open.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::diagnose {

// The lines before the first trouble that the verdict rests on, or before the end of the log in
// which the job was seen last. nullopt: the verdict needs none, or no log holds any.
std::optional<Finding> last_lines_for(const Verdict& verdict, std::span<const Finding> findings,
                                      const analyze::Facts& facts,
                                      const std::function<std::vector<LastLineRow>()>& load);

}  // namespace culprit::diagnose
