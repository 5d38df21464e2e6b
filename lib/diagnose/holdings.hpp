// What of a job was collected, by machine and rank.
#pragma once

#include <map>
#include <set>
#include <string>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "decide/case.hpp"

namespace culprit::diagnose {

decide::Holdings holdings_of(const analyze::Facts& facts, const analyze::Topology& topology);
// Hosts without those that only files name which nothing ties to the job.
std::size_t hosts_in_question(const analyze::Facts& facts);
// Hosts of which the bundle holds a file, or a line that carries their name.
std::size_t hosts_heard(const analyze::Facts& facts);
// Hosts that a kernel log, a rank, a host list or a line of NCCL tells of: no job's name that a
// file carries in place of a host's.
std::set<Host> machines_of(const analyze::Facts& facts, const decide::Holdings& holds);
// PCI addresses of the GPUs that ranks run on, by host; only where all ranks of the job are known.
std::map<Host, std::set<std::string>> gpus_of_job(const analyze::Facts& facts);

// By the names of what was collected: "qstat.txt", "mom_logs/20260303", "bhist.out".
decide::Scheduler scheduler_of(const analyze::Facts& facts);
// Base Command Manager (Bright) runs the machines: its folders, its daemon, or what it says to
// Slurm when it drains a node.
bool has_command_manager(const analyze::Facts& facts);

}  // namespace culprit::diagnose
