// Which of the jobs that a scheduler's records speak of is the one in question.
#pragma once

#include <set>
#include <string>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Its number: the manifest's, the one in the names of output, or the only one recorded. "" where
// that leaves several.
std::string job_by_number(const Facts& facts);

// That, else the only recorded one that had any of the machines that the bundle is of: good enough
// for a frame of time, and not to say that it went well.
std::string job_in_question(const Facts& facts);

// That, else the only recorded one that had all machines with output, of two or more.
std::string job_of_all_output(const Facts& facts);

// The one in question, else the only one whose step was cancelled in the output: enough to tell the
// steps of others from its own.
std::string job_of_steps(const Facts& facts);

// Whether no job of the records began after it.
bool began_last(const Facts& facts, const std::string& job);

// Files named after jobs of the same records that began before `job`.
std::set<MemberId> output_of_jobs_before(const Facts& facts, const std::string& job);

// Files named after jobs of the same records that are called otherwise than `job`.
std::set<MemberId> output_of_other_jobs(const Facts& facts, const std::string& job);

}  // namespace culprit::analyze
