// Work in child processes: one that crashes, hangs or wants too much memory takes nobody with it,
// and what it used goes back to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace culprit::batch {

struct PoolOptions {
  std::size_t jobs = 1;
  std::uint64_t memory = 0;  // bytes of data a child may have; 0 = no bound
  double timeout_s = 0;      // of one child; 0 = none
  const std::atomic<bool>* interrupted = nullptr;
};

struct Outcome {
  std::size_t task = 0;
  int status = 0;  // what the child returned; -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::uint64_t peak = 0;  // bytes of memory, at most
  std::string said;        // the end of what it wrote to standard error
};

// Whether PoolOptions::memory takes effect: not in a sanitized build.
bool memory_is_bounded();

// What a child returns that ran out of memory where it could still say so.
inline constexpr int kOutOfMemory = 71;

struct PoolEvents {
  std::function<void(std::size_t task)> started = [](std::size_t) {};
  std::function<void(const Outcome&)> ended = [](const Outcome&) {};
  std::function<void()> tick = [] {};  // a few times a second
};

// Runs `work` for each task, in their order, each in a child of its own. To be called while this
// process has one thread. False when interrupted: the children were stopped, and no `ended` came
// for them.
bool run_pool(std::span<const std::size_t> tasks, const PoolOptions& options,
              const std::function<int(std::size_t task)>& work, const PoolEvents& events);

// Memory that this machine, or the control group it is confined to, has left.
std::uint64_t free_memory();

}  // namespace culprit::batch
