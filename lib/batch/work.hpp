// One bundle of a batch: everything that `diagnose` does, and what the fleet remembers of it.
#pragma once

#include <filesystem>

#include "batch/entry.hpp"
#include "batch/inputs.hpp"
#include "diagnose/read.hpp"
#include "rules/pack.hpp"

namespace culprit::batch {

struct Work {
  const rules::RulePack* pack = nullptr;
  diagnose::ReadRequest request;  // without its sources
  bool keep_database = false;     // incident.db beside the reports
};

// Reads and judges the bundle and leaves its reports in `folder`, which exists. A bundle that
// cannot be read is an entry with its reason; an error is a report that cannot be written.
Result<Entry> diagnose_bundle(const Bundle& bundle, const Work& work,
                              const std::filesystem::path& folder);

}  // namespace culprit::batch
