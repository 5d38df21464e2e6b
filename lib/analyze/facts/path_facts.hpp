// What the names of files and folders tell of whose file it is: each by itself
// (rules/tables/paths.json), and beside its siblings. Collectors have no common convention, but
// within one bundle each keeps to its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/rows.hpp"

namespace culprit::analyze {

struct PathFacts {
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> attempt;
};
PathFacts facts_of_path(const std::string& path);

inline std::string folder_of(const std::string& path) {  // "" at the top
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// An archive often wraps everything in one folder of its own; a folder given as such does not show
// it.
void strip_wrapper(std::vector<MemberRow>& members);

// Hosts of members that have none yet, where siblings show which part of the path is the machine's
// name: kernel logs, tools' output and scrapes, of which a machine has one each; and folders that
// number themselves as machines do, or that are called by words and hold the same files of
// machines.
void hosts_from_siblings(std::vector<MemberRow>& members);

// "ray/driver_20250917.log" -> "ray/driver_#.log"; whether it is compressed is no part of a name.
std::string name_without_numbers(std::string_view name);

// A file that each run has one of: "args_before.yaml" and "args.yaml" are of one series, as
// "args-41.yaml" and "args-42.yaml" are.
struct FileOfRun {
  std::string series;  // without numbers and the words that tell runs apart
  int age = 0;         // by such a word: -1 the run before, 1 this one, 0 without one
};
FileOfRun file_of_run(std::string_view path);

// Named as a job's output is: "console.txt", "train_0.log", "slurm-4711.out".
bool named_as_output(std::string_view path);
// A machine called as servers of files are: "oss05", "weka-be-07".
bool named_as_storage(std::string_view host);
// "pods/trainer-1.log", "k8s/pod-logs/trainer-1.txt".
bool in_folder_of_pods(std::string_view path);
// Named as what machines, schedulers, services and tools keep: their lines say whom they are about.
bool named_as_record(std::string_view path);
// Named after a program that runs beside a training job: an evaluation, a server, a download.
bool of_other_program(std::string_view path);
// Named as output of a run before: "logs/previous/worker-0.log", what kubectl logs --previous gave.
bool of_earlier_run(std::string_view path);
// In a folder of one run, or with its number or date in its name: "run_0418/log.txt".
bool named_after_run(std::string_view path);

// Daemons' logs of a machine that its kernel writes into as well, by the names that systems give
// them.
bool system_log(std::string_view path);
// Files of which a machine has one: of its daemons and of tools about it.
bool one_per_machine(std::string_view path);
// Named after a program that tells of a machine and ends: nothing goes on in such a file.
bool tool_output(std::string_view path);

}  // namespace culprit::analyze
