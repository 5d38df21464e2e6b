// What a finding says of itself, whatever its place in the story: of which kind of cause it would
// be, what it leads to, and whether the job went on after it. Inside of this room only.
#pragma once

#include <optional>
#include <string>

#include "decide/decide.hpp"

namespace culprit::decide {

// What a finding would be as a cause; nullopt for consequences, remarks and everything ruled out.
std::optional<CauseKind> kind_of(const Finding& finding);

// The job completed steps after it.
bool went_on(const Case& incident, const DecideParams& params, const Finding& f);
// In the log with that line, before its last step, which came long after that time: what ended then
// ended an earlier run, if any.
bool outlived(const Case& incident, const Evidence& line, Nanoseconds end);
// The same of a finding, by any of its lines.
bool survived(const Case& incident, const Finding& f);
// Each of its lines stands before steps of the same log, and not all of these have a time.
bool steps_after(const Finding& f);

// The machines that a finding of that kind is about. What is said of the whole job has none: its
// hosts are those in whose files it stands.
const std::vector<Host>& places_of(CauseKind kind, const Finding& f);

// Its rule says that this follows, or a family of classes that this is of.
bool leads_to(const Finding& cause, const std::string& event_class);

bool consequence(const Finding& f);
// A GPU, or its memory, has failed.
bool gpu_fault(const Finding& f);
// A setting that differs and by which machines find each other.
bool explains_communication(const Finding& f);
bool out_of_gpu_memory(const Finding& f);
// A program tells so of the GPU that it ran on.
bool told_of_gpu(const Finding& f);
// It would be the fault of the machine that reports it.
bool of_machine(const Finding& f, CauseKind kind);
// Counters of a switch's ports, read at no known time: they may be of any day.
bool counters_of_switch(const Finding& f);
// The kernel names a process that is none of a job's.
bool of_foreign_process(const Finding& f);

// Surely: both have a time.
bool came_before(const Finding& a, const Finding& b);

}  // namespace culprit::decide
