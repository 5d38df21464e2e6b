// Which machines and GPUs are the job's.
#include "decide/job_machines.hpp"

#include <algorithm>
#include <cstdlib>

#include "decide/candidate.hpp"

namespace culprit::decide {

JobMachines::JobMachines(const Case& incident, const DecideParams& params)
    : incident_(incident), params_(params) {
  for (const Finding& f : incident.findings)
    if (f.fired() && gpu_fault(f) && on_other_gpu(f)) other_gpus_[*f.host].push_back(&f);
}

bool JobMachines::serves_storage(const Host& host) const {
  const std::vector<Host>& servers = incident_.storage_servers;
  return std::binary_search(servers.begin(), servers.end(), host);
}

bool JobMachines::named_from_elsewhere_only(const Finding& f) const {
  return f.host && !incident_.any_training_output && incident_.job_hosts.empty() &&
         f.ranks.empty() && !incident_.machines.empty() && incident_.machines.count(*f.host) == 0 &&
         incident_.holds.outputs.count(*f.host) == 0;
}

bool JobMachines::on_other_gpu(const Finding& f) const {
  if (f.subject.kind != SubjectKind::gpu || !f.host) return false;
  const auto own = incident_.job_gpus.find(*f.host);
  return own != incident_.job_gpus.end() && f.subject.id.size() > f.host->size() &&
         own->second.count(f.subject.id.substr(f.host->size() + 1)) == 0;
}

bool JobMachines::of_other_gpu(const Finding& f) const {
  if (on_other_gpu(f)) return true;
  if (!told_of_gpu(f) || !f.ranks.empty() || f.hosts.size() != 1) return false;
  const auto own = other_gpus_.find(*f.host);  // told_of_gpu: it has one
  return own != other_gpus_.end() && std::ranges::any_of(own->second, [&](const Finding* other) {
           return !f.start || !other->start ||
                  std::abs(*f.start - *other->start) < params_.same_moment;
         });
}

}  // namespace culprit::decide
