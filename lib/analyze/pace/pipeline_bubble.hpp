// The bubble of a pipeline: of a step of m micro-batches over p stages (p - 1) / (m + p - 1), with
// v chunks a stage (p - 1) / (v m + p - 1) (Narayanan et al., Efficient Large-Scale Language Model
// Training, sections 2.2.1 and 2.2.2).
#pragma once

#include <optional>

#include "analyze/facts/facts.hpp"
#include "model/pipeline_bubble.hpp"

namespace culprit::analyze {

// Of the run in question, as its log prints sizes and number of micro-batches; nullopt: it does
// not, or it has no pipeline.
std::optional<PipelineBubble> pipeline_bubble(const Facts& facts);

}  // namespace culprit::analyze
