// A setting of a job as people write it: an argument, a key of a configuration, a variable, a
// version of a package.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::ingest {

struct JobSetting {
  std::string name;   // "moe_aux_loss_coeff", "env.NCCL_IB_DISABLE", "package.torch"
  std::string value;  // without quotes; "" of a flag or a key that stands alone
};

// One line of a file of settings: "--lr 3e-4 \", "lr: 3.0e-4", "\"lr\": 0.0003,", "export A=b",
// "torch==2.6.0", "lr ........ 0.0003", "ii  libnccl2  2.23.4-1  amd64". Nothing for code. The
// value of a name that holds a secret is "(not kept)".
std::optional<JobSetting> job_setting(std::string_view line);

// The same of a line that may have several: a command and its options, "srun --mem-bind=local
// numactl --membind=0 python train.py --lr 1e-4".
std::vector<JobSetting> job_settings(std::string_view line);

// Whether libraries of a training read a variable of that name; none that may hold a secret.
bool library_variable(std::string_view key);

// "#SBATCH --cpus-per-task=14": a remark for the shell, and a setting for the scheduler.
bool batch_directive(std::string_view line);

}  // namespace culprit::ingest
