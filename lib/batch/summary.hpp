// The summary of a batch: a document (schemas/batch-v1.json) that index, CSV and terminal are made
// from.
#pragma once

#include <string>
#include <vector>

#include "batch/entry.hpp"

namespace culprit::batch {

// Entries by name. Times, counts and names only: nothing of when or how fast it was made.
std::string summary_document(const std::vector<Entry>& entries,
                             const std::vector<std::string>& left_out);

// One row a bundle.
std::string summary_csv(const std::string& document);

}  // namespace culprit::batch
