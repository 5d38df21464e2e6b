#include "batch/pool.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::batch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 200;
constexpr int kPatienceMs = 3000;  // for a child that was asked to stop
constexpr std::size_t kMostSaid = 2000;

struct Child {
  std::size_t task = 0;
  pid_t pid = -1;
  int alive = -1;  // read end of a pipe: closed when the child is gone
  int said = -1;   // its standard error, a file in memory
  Clock::time_point begin;
  bool timed_out = false;
};

// Shadow memory of the sanitizers counts as data.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CULPRIT_SHADOWED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(CULPRIT_SHADOWED)
constexpr bool kBounded = false;
#else
constexpr bool kBounded = true;
#endif

[[noreturn]] void be_child(const Child& self, int alive, const PoolOptions& options, pid_t parent,
                           const std::function<int(std::size_t)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  setpgid(0, 0);  // Ctrl-C is for the parent, which stops its children itself
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, 0);
    dup2(null, 1);
  }
  if (self.said >= 0) dup2(self.said, 2);
  fcntl(alive, F_SETFD, FD_CLOEXEC);
  if (kBounded && options.memory > 0) {
    const rlimit bound{options.memory, options.memory};
    setrlimit(RLIMIT_DATA, &bound);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::set_new_handler([] { _exit(kOutOfMemory); });  // libraries do not survive an exception
  int status = 70;
  try {
    status = work(self.task);
  } catch (const std::bad_alloc&) { status = kOutOfMemory; } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  _exit(status);
}

// pid -1: no child could be made.
Child start(std::size_t task, const PoolOptions& options,
            const std::function<int(std::size_t)>& work) {
  Child child;
  child.task = task;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return child;
  child.alive = ends[0];
  child.said = memfd_create("stderr", MFD_CLOEXEC);
  child.begin = Clock::now();
  const pid_t parent = getpid();
  child.pid = fork();
  if (child.pid == 0) be_child(child, ends[1], options, parent, work);
  close(ends[1]);
  return child;
}

std::string tail_of(int fd) {
  const off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
  if (size <= 0) return "";
  std::string out(std::min<std::size_t>(kMostSaid, static_cast<std::size_t>(size)), '\0');
  const ssize_t got = pread(fd, out.data(), out.size(), size - static_cast<off_t>(out.size()));
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

Outcome reap(Child& child) {
  Outcome out{.task = child.task, .timed_out = child.timed_out};
  int status = 0;
  rusage used{};
  while (wait4(child.pid, &status, 0, &used) < 0 && errno == EINTR) {}
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out.peak = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  out.said = tail_of(child.said);
  if (child.alive >= 0) close(child.alive);
  if (child.said >= 0) close(child.said);
  return out;
}

// Waits until one of them is gone; at most `milliseconds`.
void wait_for_one(const std::vector<Child>& children, std::vector<pollfd>& fds, int milliseconds) {
  fds.clear();
  for (const Child& c : children) fds.push_back({c.alive, POLLIN, 0});
  poll(fds.data(), fds.size(), milliseconds);
}

void stop(std::vector<Child>& children) {
  for (const Child& c : children) kill(c.pid, SIGTERM);
  std::vector<pollfd> fds;
  const auto begin = Clock::now();
  while (!children.empty()) {
    wait_for_one(children, fds, kTickMs);
    const bool late = Clock::now() - begin > std::chrono::milliseconds(kPatienceMs);
    for (std::size_t i = children.size(); i-- > 0;) {
      if (late) kill(children[i].pid, SIGKILL);
      if (!late && fds[i].revents == 0) continue;
      reap(children[i]);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

std::uint64_t number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (key.empty())
      return word == "max" ? std::numeric_limits<std::uint64_t>::max()
                           : std::strtoull(word.c_str(), nullptr, 10);
    if (word == key && file >> word) return std::strtoull(word.c_str(), nullptr, 10);
  }
  return 0;
}

}  // namespace

bool memory_is_bounded() { return kBounded; }

bool run_pool(std::span<const std::size_t> tasks, const PoolOptions& options,
              const std::function<int(std::size_t task)>& work, const PoolEvents& events) {
  std::vector<Child> children;
  std::vector<pollfd> fds;
  std::size_t next = 0;
  const std::size_t jobs = std::max<std::size_t>(1, options.jobs);
  const auto interrupted = [&] { return options.interrupted != nullptr && *options.interrupted; };
  while (next < tasks.size() || !children.empty()) {
    while (!interrupted() && next < tasks.size() && children.size() < jobs) {
      Child child = start(tasks[next], options, work);
      if (child.pid < 0) {  // too many processes: with one of ours gone there is room again
        if (child.alive >= 0) close(child.alive);
        if (child.said >= 0) close(child.said);
        if (!children.empty()) break;
        events.ended({tasks[next++], -1, 0, false, 0, "no process could be started"});
        continue;
      }
      events.started(tasks[next++]);
      children.push_back(child);
    }
    wait_for_one(children, fds, kTickMs);
    if (interrupted()) {
      stop(children);
      return false;
    }
    for (std::size_t i = fds.size(); i-- > 0;) {
      Child& child = children[i];
      const double age = std::chrono::duration<double>(Clock::now() - child.begin).count();
      if (options.timeout_s > 0 && age > options.timeout_s && !child.timed_out) {
        child.timed_out = true;
        kill(child.pid, SIGKILL);
      }
      if (fds[i].revents == 0) continue;
      const Outcome outcome = reap(child);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      events.ended(outcome);
    }
    events.tick();
  }
  return true;
}

std::uint64_t free_memory() {
  std::uint64_t out = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max", "");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current", "");
  if (most > 0 && most != std::numeric_limits<std::uint64_t>::max())
    out = std::min(out, most > used ? most - used : 0);
  return out;
}

}  // namespace culprit::batch
