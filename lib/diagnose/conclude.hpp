// Findings -> verdict: the last pass, and the document that all reports are made from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyse.hpp"
#include "history.hpp"
#include "model/finding.hpp"
#include "resolve.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct Conclusion {
  Verdict verdict;
  std::vector<Finding> findings;
  std::string document;  // schemas/diagnosis-v1.json
};

// Stored as a document. history: earlier incidents of the same job; one of another job, or of this
// incident itself, is an error (usage).
Result<Conclusion> conclude(store::Database& db, const Resolved& incident,
                            std::vector<Finding> findings,
                            std::span<const PastIncident> history = {}, Pictures pictures = {});

// Whether a gate at `level` fails: a finding that fired is at least that severe. Any action but
// `mitigate` says that the job ended or stands still, which is critical whatever the severity of
// the finding that led there; so is an unknown cause.
bool fails(Action action, std::span<const Finding> findings, Severity level);

}  // namespace culprit::diagnose
