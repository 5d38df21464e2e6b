// The shape of the job that a plan is about: from --tp, --pp, --dp, --cp, or from the database of
// an incident.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "plan/backup.hpp"
#include "from_incident.hpp"
#include "input.hpp"

namespace culprit::cli {

struct JobShape {
  plan::Shape shape;
  std::vector<std::string>
      hosts;            // names of the numbers in shape.host, or of the ranks when that is empty
  std::string source;   // for people: where it is from
  std::int64_t ep = 1;  // of the incident's layout; experts lie inside of dp and cp
  std::int64_t size(std::string_view dimension) const;  // 1 when there is none
  std::string host_of(Rank rank) const;
  std::string name_of_host(std::int32_t number) const;
  std::string place_of(Rank rank) const;  // "tp1 pp0 dp3"
  // As shape.host numbers it, or of its rank when that is empty; none: not of the job.
  std::optional<std::int32_t> number_of_host(const std::string& name) const;
};

// A flag wins over the incident: `open`, or the one that the arguments name. Errors: neither is
// given, or the incident knows no layout.
Result<JobShape> job_shape(const PlanInput& input, const Arguments& arguments,
                           const PlanIncident* open = nullptr);

// A layout that options tell has no places; those of the incident are taken where it knows all.
void place(const analyze::Topology& topology, JobShape& job);

// Ranks that words name: ranks ("12", "0-7"), hosts ("node-07", "host3") and groups ("pp/3", as the
// reports number them).
Result<std::vector<Rank>> ranks_named(const PlanInput& input, const std::string& option,
                                      const JobShape& job);

inline constexpr OptionSpec kShapeOptions[] = {
    {"tp", "N", "size of the tensor-parallel groups (default 1)"},
    {"pp", "N", "pipeline stages (default 1)"},
    {"dp", "N", "data-parallel replicas (default 1)"},
    {"cp", "N", "size of the context-parallel groups (default 1)"},
    {"order", "ORDER", "how ranks run through the dimensions, fastest first (default tp-cp-dp-pp)"},
    {"gpus-per-host", "N", "ranks of one host, which are consecutive (default 8)"}};

}  // namespace culprit::cli
