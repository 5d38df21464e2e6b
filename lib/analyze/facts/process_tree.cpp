#include "analyze/facts/process_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyze/facts/sibling_ranks.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::analyze {

namespace {

// --- What gives a role away
// ---------------------------------------------------------------------------------------

// In a stack, the innermost of these decides: a forked worker's stack ends in the frames of the
// trainer it was forked from. `functions` "" is any; `file` is the end of the path, "" for any.
struct RoleMarker {
  std::string_view functions, file, role;
  bool sure;  // no other role has it; the others are names that many scripts use
};
constexpr RoleMarker kRoleMarkers[] = {
    {"_worker_loop", "", "dataloader", true},
    {"_pin_memory_loop", "", "trainer", true},
    {"do_one_step", "utils/data/_utils/pin_memory.py", "trainer", true},
    {"_async_write async_write", "", "checkpoint", true},
    {"async_loop", "dist_checkpointing/strategies/async_utils.py", "checkpoint", true},
    {"write_preloaded_data", "", "checkpoint", true},
    {"_execute_save _checkpointing_subprocess", "checkpoint/_async_process_executor.py",
     "checkpoint", true},
    {"_save_async", "checkpoint/_async_executor.py", "checkpoint", true},
    {"_saver", "flash_checkpoint/", "checkpoint", true},
    {"_invoke_run _monitor_workers launch_agent", "", "agent", true},
    {"run main", "torch/distributed/run.py", "agent", true},
    {"main", "torch/distributed/launch.py", "agent", true},
    {"main", "deepspeed/launcher/launch.py", "agent", true},
    {"main", "deepspeed/launcher/runner.py", "agent", true},
    {"main", "multiprocessing/resource_tracker.py", "noise", true},
    {"main", "multiprocessing/forkserver.py", "noise", true},
    {"", "_inductor/compile_worker/", "noise", true},
    {"train_step training_step train_batch train_one_epoch forward_backward forward_step "
     "_inner_training_loop get_batch fit train pretrain main",
     "", "trainer", false},
};

// Programs, by the name of the executable, the script or the module that an interpreter runs.
struct Programs {
  std::string_view role, names;
};
constexpr Programs kPrograms[] = {
    {"agent",
     "torchrun torch.distributed.run torch.distributed.launch ft_launcher "
     "nvidia_resiliency_ext.fault_tolerance.launcher deepspeed "
     "deepspeed.launcher.runner deepspeed.launcher.launch accelerate-launch "
     "accelerate.commands.launch dlrover-run dlrover.trainer.torch.main "
     "dlrover.trainer.torch.elastic_run"},
    {"noise",
     "wandb-service wandb-core nvidia-smi dcgmi gcc g++ cc1 cc1plus collect2 ld as "
     "nvcc cicc ptxas fatbinary ninja torch._inductor.compile_worker "
     "torch._inductor.compile_worker.__main__ py-spy gdb eu-stack pstack gstack "
     "tensorboard"},
};

// Text after python -c, which names the helper it starts.
constexpr std::string_view kHelperCode =
    "multiprocessing.resource_tracker multiprocessing.forkserver torch._inductor triton wandb";

// What may stand between an agent and the trainer.
constexpr std::string_view kWrappers[] = {
    "bash",    "sh",   "dash", "zsh",    "numactl", "taskset",   "env",    "nice",
    "timeout", "nsys", "ncu",  "stdbuf", "tini",    "dumb-init", "strace", "time"};

// --- Command lines
// -------------------------------------------------------------------------------------------------

std::vector<std::string_view> command_words(std::string_view command, std::size_t most = 16) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < command.size() && words.size() < most;) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string_view program_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool interpreter(std::string_view word) {
  const std::string_view name = program_name(word);
  return name.substr(0, 6) == "python" || name.substr(0, 4) == "pypy";
}

struct Invocation {
  std::string_view program;  // executable, module or script, without folder and ".py"
  std::string_view next;     // its first argument
  std::string_view code;     // after -c
  bool python = false;
};

Invocation invocation_of(std::string_view command) {
  Invocation out;
  const auto words = command_words(command);
  if (words.empty()) return out;
  std::size_t i = 0;
  out.python = interpreter(words[0]);
  if (out.python) {
    for (i = 1; i < words.size() && words[i][0] == '-'; ++i) {
      if (words[i] == "-m") {
        ++i;
        break;
      }
      if (words[i] == "-c") {
        out.code = command.substr(static_cast<std::size_t>(words[i].data() - command.data()) + 2);
        return out;
      }
      if (words[i] == "-X" || words[i] == "-W") ++i;
    }
  }
  if (i >= words.size()) return out;
  out.program = program_name(words[i]);
  if (out.program.ends_with(".py")) out.program.remove_suffix(3);
  if (i + 1 < words.size()) out.next = words[i + 1];
  return out;
}

bool spawn_helper(const Invocation& one) {
  return one.code.find("spawn_main") != std::string_view::npos ||
         one.next == "--multiprocessing-fork";
}

bool wrapper(const Invocation& one) { return !one.python && contains(kWrappers, one.program); }

// One listing prints the interpreter's folder and another does not; a terminal's width cuts both.
bool same_command(std::string_view a, std::string_view b) {
  constexpr std::size_t kTelling = 60;
  const auto plain = [](std::string_view text) {
    return text.substr(text.substr(0, text.find(' ')).size() -
                       program_name(text.substr(0, text.find(' '))).size());
  };
  a = plain(a);
  b = plain(b);
  const std::size_t common = std::min(a.size(), b.size());
  return common > 0 && a.substr(0, common) == b.substr(0, common) &&
         (a.size() == b.size() || common >= kTelling);
}

// --- Stacks
// -------------------------------------------------------------------------------------------------

const RoleMarker* marker_of(const Frame& frame) {
  for (const RoleMarker& marker : kRoleMarkers) {
    if (!marker.functions.empty() && !has_word(marker.functions, frame.function)) continue;
    const bool there =
        marker.file.empty() ||
        (marker.file.back() == '/' ? frame.file.find(marker.file) != std::string::npos
                                   : frame.file.ends_with(marker.file));
    if (there) return &marker;
  }
  return nullptr;
}

const RoleMarker* marker_of(const StackTable& table, const std::vector<const RoleMarker*>& of_frame,
                            std::int32_t stack) {
  if (stack < 0 || static_cast<std::size_t>(stack) >= table.stacks.size()) return nullptr;
  for (const std::uint32_t frame : table.stacks[static_cast<std::size_t>(stack)])
    if (frame < of_frame.size() && of_frame[frame] != nullptr) return of_frame[frame];
  return nullptr;
}

// --- The tree
// -------------------------------------------------------------------------------------------------

struct TreeNode {
  std::optional<std::int64_t> parent;
  std::optional<Rank> rank;
  std::string command, name, state;
  const RoleMarker* marker = nullptr;  // of the main thread
  std::string role;
  bool visited = false;
};
using Key = std::pair<std::string, std::int64_t>;  // host, pid

class Tree {
 public:
  explicit Tree(const Facts& facts) : facts_(facts) {}

  TreeNode& at(const Key& key) {
    hosts_of_[key.second].insert(key.first);
    return processes_[key];
  }

  // Dumps of one machine need not all name it.
  const TreeNode* find(const Key& key) const {
    if (const auto it = processes_.find(key); it != processes_.end()) return &it->second;
    const auto hosts = hosts_of_.find(key.second);
    if (hosts == hosts_of_.end() || hosts->second.size() != 1 ||
        (!key.first.empty() && !hosts->second.begin()->empty()))
      return nullptr;
    return &processes_.at({*hosts->second.begin(), key.second});
  }

  Key key(const std::optional<Host>& host, MemberId member, std::int64_t pid) const {
    if (host) return {*host, pid};
    const MemberRow* m = facts_.member(member);
    return {m != nullptr ? name_of(m->host) : "", pid};
  }

  void settle() {
    for (auto& [key, process] : processes_) settle(key, process, 0);
    settle_siblings();
  }

 private:
  // What a process nobody knows starts are trainers where one of them is: a launcher starts the
  // same program for each rank.
  void settle_siblings() {
    std::map<Key, const TreeNode*> trainers;  // of one parent
    for (const auto& [key, process] : processes_)
      if (process.role == "trainer" && process.parent && !process.command.empty())
        trainers.emplace(Key{key.first, *process.parent}, &process);
    for (auto& [key, process] : processes_) {
      if (!process.role.empty() || !process.parent) continue;
      const auto it = trainers.find({key.first, *process.parent});
      if (it != trainers.end() && same_command(process.command, it->second->command))
        process.role = "trainer";
    }
  }

  TreeNode* parent_of(const Key& key, const TreeNode& process) {
    if (!process.parent || *process.parent == key.second) return nullptr;
    const auto it = processes_.find({key.first, *process.parent});
    return it == processes_.end() ? nullptr : &it->second;
  }

  void settle(const Key& key, TreeNode& process, int depth) {
    if (process.visited || depth > 256) return;  // a tree that bites its tail
    process.visited = true;
    TreeNode* parent = parent_of(key, process);
    if (parent != nullptr) settle({key.first, *process.parent}, *parent, depth + 1);
    process.role = role_of(process, parent, key);
  }

  std::string role_of(const TreeNode& process, const TreeNode* parent, const Key& key) const {
    // What an agent started as Python and has not buried yet was a trainer.
    if (process.state.substr(0, 1) == "Z" ||
        process.command.find("<defunct>") != std::string::npos) {
      const bool python = (process.name + process.command).find("python") != std::string::npos ||
                          process.name.substr(0, 7) == "pt_main";
      return parent != nullptr && parent->role == "agent" && python ? "trainer" : "noise";
    }
    if (process.marker != nullptr && process.marker->sure) return std::string(process.marker->role);
    if (const std::string_view role = role_of_command(process.command); !role.empty())
      return std::string(role);
    const Invocation one = invocation_of(process.command);
    if (process.name.substr(0, 14) == "pt_data_worker") return "dataloader";
    if (parent != nullptr) {
      if (parent->role == "agent") return wrapper(one) ? "" : "trainer";
      if (parent->role == "trainer") {
        if (spawn_helper(one))
          return "checkpoint";  // any helper that Python spawns looks so; a worker's stack has been
                                // asked above
        if (same_command(process.command, parent->command)) return "dataloader";
        return "";
      }
      if (parent->role.empty() && wrapper(invocation_of(parent->command)) && !wrapper(one)) {
        const TreeNode* grand = parent->parent ? find({key.first, *parent->parent}) : nullptr;
        if (grand != nullptr && grand->role == "agent") return "trainer";
      }
      if (parent->role == "checkpoint") return "checkpoint";  // spawned savers fork writers
      if (parent->role == "dataloader" || parent->role == "noise") return "";
    }
    if (spawn_helper(one)) return process.rank ? "checkpoint" : "";
    // Without an agent in sight: the first of a family that has the rank.
    if (process.rank && !wrapper(one) &&
        (parent == nullptr || !parent->rank || wrapper(invocation_of(parent->command))))
      return "trainer";
    if (process.marker != nullptr && (parent == nullptr || parent->role.empty()))
      return std::string(process.marker->role);
    return "";
  }

  const Facts& facts_;
  std::map<Key, TreeNode> processes_;
  std::map<std::int64_t, std::set<std::string>> hosts_of_;
};

}  // namespace

std::string_view role_of_command(std::string_view command) {
  const Invocation one = invocation_of(command);
  if (!one.code.empty())
    return any_word(kHelperCode, ' ', [&](std::string_view c) { return contains(one.code, c); })
               ? "noise"
               : "";
  if (one.program == "accelerate" && one.next == "launch") return "agent";
  for (const Programs& programs : kPrograms)
    if (has_word(programs.names, one.program)) return programs.role;
  return {};
}

void assign_roles(Facts& facts) {
  std::vector<const RoleMarker*> of_frame;
  of_frame.reserve(facts.stacks.frames.size());
  for (const Frame& frame : facts.stacks.frames) of_frame.push_back(marker_of(frame));

  Tree tree(facts);
  for (const ProcessRow& row : facts.processes) {
    TreeNode& process = tree.at(tree.key(row.host, row.place.member, row.pid));
    if (!process.parent || row.source == "proc")
      process.parent = row.parent ? row.parent : process.parent;
    if (!process.rank) process.rank = row.rank;
    if (process.state.empty()) process.state = row.state;
    if (process.name.empty()) process.name = row.name;
    // pstree leaves out the path of the executable, and a terminal's width cuts lines: the longest
    // tells most.
    if (row.command.size() > process.command.size()) process.command = row.command;
  }
  for (const StackSample& sample : facts.samples) {
    if (!sample.row.main || !sample.row.pid) continue;
    const RoleMarker* marker = marker_of(facts.stacks, of_frame, sample.stack);
    if (marker == nullptr) continue;
    TreeNode& process =
        tree.at(tree.key(sample.row.host, sample.row.place.member, *sample.row.pid));
    if (process.marker == nullptr || (marker->sure && !process.marker->sure))
      process.marker = marker;
    if (process.command.empty()) process.command = sample.row.command;
  }
  tree.settle();
  for (ProcessRow& row : facts.processes) {
    const TreeNode* process = tree.find(tree.key(row.host, row.place.member, row.pid));
    row.role = process != nullptr ? process->role : "";
  }
  rank_siblings(facts);
  for (StackSample& sample : facts.samples) {
    sample.role.clear();
    if (sample.row.pid)
      if (const TreeNode* process =
              tree.find(tree.key(sample.row.host, sample.row.place.member, *sample.row.pid)))
        sample.role = process->role;
    if (!sample.role.empty()) continue;
    const RoleMarker* marker = marker_of(facts.stacks, of_frame, sample.stack);
    if (marker != nullptr && (marker->sure || sample.row.main))
      sample.role = marker->role;
    else if (!sample.row.ranks.empty())
      sample.role = "trainer";  // an aggregate counts ranks, one process each
  }
  rank_dumped_siblings(facts);
}

}  // namespace culprit::analyze
