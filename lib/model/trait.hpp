// What a rule says of its lines beyond severity, role and cause, for judgements that need to know
// more. A rule names its traits (rules/*.json, schemas/rule-v1.json); code asks for a trait and
// never for the class of a rule, so that another rule may say the same of other words.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

// clang-format off
#define CULPRIT_TRAITS(TRAIT) \
  /* the scheduler or a person ended the job */ \
  TRAIT(scheduler_ended) \
  /* the job used up the time it was granted */ \
  TRAIT(time_limit) \
  /* the machine was taken away for another job */ \
  TRAIT(preempted) \
  /* pods were ended or moved off their node */ \
  TRAIT(pods_evicted) \
  /* the scheduler no longer hears a node */ \
  TRAIT(node_missed) \
  /* a node was taken out of service */ \
  TRAIT(node_drained) \
  /* a launcher stops its processes and names them */ \
  TRAIT(launcher_stop) \
  /* a launcher says that one of its jobs failed */ \
  TRAIT(launcher_failed) \
  /* a launcher says that one of its jobs succeeded */ \
  TRAIT(launcher_completed) \
  /* the framework's closing line of a whole run */ \
  TRAIT(completed) \
  /* how a process ended: signal, exit code, limit */ \
  TRAIT(process_end) \
  /* a process left with another code than 0 */ \
  TRAIT(nonzero_exit) \
  /* an exception of which nothing but its type is known */ \
  TRAIT(any_exception) \
  /* a program reports an error of CUDA */ \
  TRAIT(by_gpu) \
  /* the program asked for more GPU memory than is free */ \
  TRAIT(gpu_memory_full) \
  /* a kernel touched memory that is not its own */ \
  TRAIT(illegal_access) \
  /* the driver's side of an illegal access */ \
  TRAIT(access_fault) \
  /* the driver cleans up after another fault of the GPU */ \
  TRAIT(channel_removed) \
  /* a number of the GPU's driver */ \
  TRAIT(gpu_xid) \
  /* a number that the driver of a GPU or switch alone can print */ \
  TRAIT(driver_number) \
  /* GPUs, CUDA or NCCL were at work */ \
  TRAIT(gpu_in_use) \
  /* the store of rank 0 was never reached */ \
  TRAIT(store_unreached) \
  /* the connection to the store of rank 0 broke */ \
  TRAIT(store_lost) \
  /* a collective took longer than its time-out */ \
  TRAIT(watchdog_timeout) \
  /* a watchdog ends its process */ \
  TRAIT(watchdog_stop) \
  /* the other end of a connection between ranks closed it */ \
  TRAIT(remote_closed) \
  /* the agents' meeting broke up */ \
  TRAIT(rendezvous) \
  /* not all agents came to the meeting */ \
  TRAIT(rendezvous_timeout) \
  /* there is no way to an address */ \
  TRAIT(no_route) \
  /* nobody listens at an address */ \
  TRAIT(connection_refused) \
  /* a machine does not answer to ssh */ \
  TRAIT(ssh_unreachable) \
  /* the address of a name is not known */ \
  TRAIT(name_lookup) \
  /* what a job lacks before its first step or never */ \
  TRAIT(setup_only) \
  /* what is a fault only where several machines have it */ \
  TRAIT(of_several) \
  /* a limit of the machine itself was reached, whatever asked for more */ \
  TRAIT(own_limit) \
  /* said of one machine alone it is not that one's: others keep it, or need it not */ \
  TRAIT(not_of_host) \
  TRAIT(of_image) \
  /* no job can use the machine until somebody has mended its software */ \
  TRAIT(unfit_machine) \
  TRAIT(taken_back) \
  /* a device works below its rate until somebody mends it */ \
  TRAIT(below_rate) \
  /* a test measured that it is slower than all others that were measured alike */ \
  TRAIT(measured_slow) \
  /* it makes the steps of all ranks longer from the start on, whatever the machines are */ \
  TRAIT(slows_all) \
  /* programs that are none of the job's take what it needs on that machine */ \
  TRAIT(beside_job) \
  /* it held ranks up for a while, as it says */ \
  TRAIT(held_up) \
  /* it makes the start of a job take longer, and no step */ \
  TRAIT(delays_start) \
  /* it may make steps longer while it lasts, and says nothing where they are not */ \
  TRAIT(may_slow) \
  TRAIT(in_storms) \
  /* it gives ranks unequal work, whatever their machines are */ \
  TRAIT(unequal_work) \
  /* what a port of the network, or a way through it, says of itself */ \
  TRAIT(of_network) \
  /* a setting that was changed stays so until it is changed again */ \
  TRAIT(lasting) \
  /* a file is not there */ \
  TRAIT(file_missing) \
  /* what a tool prints on a machine that lacks or refuses something */ \
  TRAIT(refused_or_missing) \
  /* the clock was set while the machine ran */ \
  TRAIT(clock_set) \
  /* a file system of the machine that says so has no room */ \
  TRAIT(file_system_full) \
  /* the clock of the machine that says so is wrong */ \
  TRAIT(clock_wrong) \
  /* a machine lost its power */ \
  TRAIT(power_lost) \
  /* a machine started again without having been shut down */ \
  TRAIT(restarted) \
  /* the kernel names a process that does not move */ \
  TRAIT(hung_task) \
  /* a client names the server of files that does not answer */ \
  TRAIT(storage_missed) \
  /* a server of files speaks */ \
  TRAIT(storage_server) \
  /* the vendor's diagnostic of a GPU failed */ \
  TRAIT(diagnostic_failed) \
  /* ranks hold different numbers where they must be the same */ \
  TRAIT(replicas_differ) \
  /* the program stopped because of numbers that are none */ \
  TRAIT(nan_stop) \
  /* it saw them in what its own GPU computed, before it was summed over ranks */ \
  TRAIT(own_numbers) \
  /* gradients overflow at the smallest scale of the loss */ \
  TRAIT(scale_exhausted) \
  /* a step repeated on its GPU gave another result */ \
  TRAIT(rerun_same_gpu_differs) \
  /* a step repeated on its GPU gave the same result */ \
  TRAIT(rerun_same_gpu_agrees) \
  /* a step repeated on another GPU gave another result */ \
  TRAIT(rerun_other_gpu_differs) \
  /* a step repeated on another GPU gave the same result */ \
  TRAIT(rerun_other_gpu_agrees) \
  /* work that is no step was not done when the log ended */ \
  TRAIT(unfinished_work) \
  /* a logger left lines out and counts them */ \
  TRAIT(suppressed)
// clang-format on

namespace culprit {

#define CULPRIT_TRAIT(word) word,
enum class Trait : std::uint8_t { CULPRIT_TRAITS(CULPRIT_TRAIT) };
#undef CULPRIT_TRAIT

std::string_view name(Trait trait);
std::optional<Trait> trait_named(std::string_view word);

class Traits {
 public:
  bool has(Trait trait) const { return bits_.test(static_cast<std::size_t>(trait)); }
  bool has_any(std::initializer_list<Trait> traits) const {
    for (const Trait trait : traits)
      if (has(trait)) return true;
    return false;
  }
  bool none() const { return bits_.none(); }
  void add(Trait trait) { bits_.set(static_cast<std::size_t>(trait)); }
  void add(const Traits& others) { bits_ |= others.bits_; }
  bool operator==(const Traits&) const = default;

 private:
  std::bitset<128> bits_;
};

// Their words, in the order of the list.
std::vector<std::string_view> names(const Traits& traits);

}  // namespace culprit
