// The command that runs one group of a test: a template of the user's with the group's names and
// sizes filled in, and a batch script that runs them all. What comes from outside is quoted for the
// shell.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct GroupRun {
  std::string tag;  // H3
  int phase = 1, wave = 0;
  std::vector<std::string> hosts;  // the first one is the rendezvous
  std::int64_t nproc = 8;          // on each host
  std::int64_t tp = 1, pp = 1, dp = 1;
};

// {hosts} a,b  {hostlist} Slurm's short form n[1-4]  {first}  {nnodes}  {nproc}  {world}  {tp} {pp}
// {dp}  {tag}
// {{ and }} are braces, and ${NAME} is the shell's.
inline constexpr std::string_view kSlurmTemplate =
    "srun --nodes={nnodes} --ntasks={nnodes} --ntasks-per-node=1 --nodelist={hosts} "
    "--job-name=replay-{tag} "
    "torchrun --nnodes={nnodes} --nproc-per-node={nproc} --rdzv-id={tag} --rdzv-backend=c10d "
    "--rdzv-endpoint={first}:29500 "
    "train.py --tensor-model-parallel-size {tp} --pipeline-model-parallel-size {pp}";

// Errors (usage): a name that a shell takes for an option, or none; a host twice.
Result<> check_hosts(std::span<const std::string> hosts);

// Words in braces by their values, which are put in as they stand.
// Errors (usage): a placeholder that is none, a brace without its partner.
Result<std::string> fill_words(std::string_view text,
                               const std::map<std::string_view, std::string>& values);
// With the words above. Errors: those of fill_words().
Result<std::string> fill_template(std::string_view text, const GroupRun& run);

// A command over several lines of at most `width` columns where its blanks allow, each but the last
// with a \ at its end, so that a shell still takes it as one; nothing within quotes is broken.
// Later lines begin with `indent` blanks.
std::string folded_command(std::string_view command, std::size_t width, std::size_t indent);

// An sbatch script: per phase and wave all groups at once, each `repeats` times, one after the
// other. Outcomes are appended to a file as "H3=pass" or "H3=fail", which `culprit replay solve
// --outcomes` reads. No array job. Errors (usage): a host name that Slurm's lists cannot hold, and
// those of fill_template().
Result<std::string> slurm_script(std::string_view text, std::span<const GroupRun> runs,
                                 std::int64_t repeats, double minutes);

}  // namespace culprit::plan
