// Which machines and GPUs are the job's, as far as the bundle tells: nothing else is accused.
// Inside of this room only.
#pragma once

#include <map>
#include <vector>

#include "decide/decide.hpp"

namespace culprit::decide {

class JobMachines {
 public:
  JobMachines(const Case& incident, const DecideParams& params);

  bool serves_storage(const Host& host) const;
  // Schedulers keep the books of whole clusters: a machine that only they name, beside machines
  // whose own logs were collected, need not be one of the job.
  bool named_from_elsewhere_only(const Finding& f) const;
  // Of a GPU that no rank of the job runs on: another program had it. Or what the program that had
  // such a GPU says of it.
  bool of_other_gpu(const Finding& f) const;

 private:
  bool on_other_gpu(const Finding& f) const;

  const Case& incident_;
  const DecideParams& params_;
  std::map<Host, std::vector<const Finding*>> other_gpus_;  // faults of GPUs that no rank has
};

}  // namespace culprit::decide
