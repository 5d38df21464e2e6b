// Which pods are the job's: those of which the bundle holds a log, and others of their name. Events
// of a cluster speak of all pods of all teams.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// "titan-d34b" of "titan-d34b-worker-13", "mxt-70b-slice" of "mxt-70b-slice-job-0-0-sww2z": without
// what controllers append, and without the role before it.
std::string pod_stem(std::string_view pod);

class JobPods {
 public:
  explicit JobPods(const Facts& facts);
  // It is about a pod, a workload or the like, and about none of the job's. Never where no pod is
  // known to be the job's.
  bool another(const EventRow& e) const;
  // It is called as the job's pods are.
  bool ours(std::string_view pod) const { return stems_.count(pod_stem(pod)) > 0; }

 private:
  void see_roles(const Facts& facts);
  void see_nodes(const Facts& facts);

  std::set<std::string> stems_;  // "titan-d34b" of titan-d34b-worker-13
};

// Of the nodes that a listing of pods names, those that the job's pods ran on.
std::set<Host> nodes_of_pods(const Facts& facts);

}  // namespace culprit::analyze
