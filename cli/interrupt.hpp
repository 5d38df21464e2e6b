// SIGINT and SIGTERM. While a bundle is read, the first one is only noted: the reading stops at the
// next block, the member that was being read is rolled back, and the program ends by that signal
// without an answer. At any other time, and the second time, it ends the program at once, as a kill
// does: the database is made to survive that.
#pragma once

#include <atomic>

namespace culprit::cli {

void catch_signals();

// Signals are noted while one of these lives.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;
  const std::atomic<bool>& came() const;
};

// The signal that was noted; 0 when none was.
int noted_signal();

// Ends the program by this signal, so that a shell sees 128 + signal and knows that somebody
// stopped it.
[[noreturn]] void end_by(int signal);

}  // namespace culprit::cli
