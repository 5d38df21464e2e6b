#include "interrupt.hpp"

#include <csignal>
#include <unistd.h>

#include "answer.hpp"

namespace culprit::cli {

namespace {

std::atomic<bool> noting{false}, came_one{false};
std::atomic<int> which{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  if (!noting || came_one) end_by(signal);
  which = signal;
  came_one = true;
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler =
      on_signal;  // without SA_RESTART: a pipe on which nothing arrives is left, too
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

NotedSignals::NotedSignals() { noting = true; }
NotedSignals::~NotedSignals() { noting = false; }
const std::atomic<bool>& NotedSignals::came() const { return came_one; }

int noted_signal() { return which; }

// Called in a signal handler, too.
void end_by(int signal) {
  drop_answer();
  std::signal(signal, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  raise(signal);
  _exit(128 + signal);  // the first process of a container is not ended by a signal of its own
}

}  // namespace culprit::cli
