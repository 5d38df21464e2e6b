// Thousands of damaged files through the whole of `culprit diagnose`, in one process. Under the
// sanitizers this finds what a parser does with text that nobody wrote: it must neither crash nor
// hang nor leak, and every promise that whole_path.cpp checks must hold.
//
// mutate SAMPLES: seeded by CULPRIT_SEED (1); CULPRIT_MUTATIONS (10000) says how many. A failure
// prints the number of the mutation and leaves the damaged bundle in ./mutation-N; CULPRIT_ONLY=N
// runs just that one.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "whole_path.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMost = 64 << 10;  // bytes taken from a sample: what matters is variety
constexpr int kSeconds = 10;             // of processor time, one mutation may take
constexpr int kIdleSeconds = 600;        // by the clock: that waits for something
constexpr double kSlow = 2;              // from here on it is worth a look

struct Sample {
  std::string path;
  std::string bytes;
};

// For when there are no samples: one file of each kind of text.
const Sample kOwn[] = {
    {"node-01/dmesg.txt",
     "[  812.113402] NVRM: Xid (PCI:0000:3b:00): 79, pid=41172, GPU has fallen off the bus.\n[  "
     "813.1] NVRM: Xid (PCI:0000:3b:00): 45, pid=41172, Ch 00000008\n"},
    {"logs/0/stderr.log",
     "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/job/train.py\", line 41, in "
     "<module>\n[rank3]:     main()\n[rank3]: RuntimeError: CUDA error: an illegal memory access "
     "was encountered\n"},
    {"attempt_0/3/error.json",
     R"({"message": {"message": "RuntimeError: x", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nRuntimeError: x\n", "timestamp": "1770797642"}}})"},
    {"slurm-1.out",
     "gpu-a17:41172:41931 [3] NCCL INFO comm 0x55d0c8 rank 19 nranks 128 cudaDev 3 busId 5d000 "
     "commId 0x9b11 - Init COMPLETE\nsrun: error: gpu-a18: task 9: Out Of Memory\nRoot Cause "
     "(first observed failure):\n[0]:\n  time      : 2026-02-11_08:14:02\n  host      : gpu-a17\n  "
     "rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 41172)\n"},
    {"pods.json",
     R"({"kind":"List","items":[{"kind":"Pod","metadata":{"name":"w-3"},"spec":{"nodeName":"gpu-a17"},"status":{"containerStatuses":[{"state":{"terminated":{"exitCode":137,"reason":"OOMKilled","finishedAt":"2026-02-11T08:14:02Z"}}}]}}]})"},
    {"job.json",
     R"({"schema": "culprit.job/1", "world_size": 16, "gpus_per_node": 8, "hosts": ["gpu-a17", "gpu-a18"], "timezone": "+01:00"})"},
};

std::vector<Sample> samples(const std::string& folder) {
  std::vector<Sample> out(std::begin(kOwn), std::end(kOwn));
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_regular_file()) continue;
    std::ifstream stream(it->path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    if (bytes.size() > kMost) bytes.erase(0, bytes.size() - kMost);  // failures are told at the end
    out.push_back({fs::relative(it->path(), folder).string(), std::move(bytes)});
  }
  // Equal on every machine, and no file twice: the ranks' logs of a sample are much alike, but
  // their names tell them apart.
  std::sort(out.begin(), out.end(),
            [](const Sample& a, const Sample& b) { return a.path < b.path; });
  return out;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t most) {
    return most == 0 ? 0 : static_cast<std::size_t>(random_() % most);
  }

  void mutate(std::string& text, const std::vector<Sample>& others) {
    switch (below(12)) {
      case 0: text.resize(below(text.size() + 1)); break;
      case 1: text.erase(0, below(text.size() + 1)); break;
      case 2:
        for (std::size_t n = 1 + below(32); n > 0 && !text.empty(); --n)
          text[below(text.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 3: shuffle_lines(text); break;
      case 4: {  // a block again, somewhere else
        const std::size_t from = below(text.size());
        const std::string block = text.substr(from, 1 + below(2000));
        const std::size_t to = below(text.size() + 1);
        for (std::size_t n = 1 + below(8); n > 0; --n) text.insert(to, block);
        break;
      }
      case 5: text.insert(below(text.size() + 1), std::string(1 + below(100), '\0')); break;
      case 6: {
        static constexpr std::string_view kEscapes[] = {
            "\x1b[31m", "\x1b]0;title\x07", "\x1b[",          "\x1b", "\r", "\xff\xfe",
            "\xf0\x9f", "\xe2\x80\xae",     "\x1b[2K\x1b[1A", "\n\n", "\t", "\x7f"};
        for (std::size_t n = 1 + below(10); n > 0; --n)
          text.insert(below(text.size() + 1), kEscapes[below(std::size(kEscapes))]);
        break;
      }
      case 7: {  // a very long line, of one byte, of the text itself, or without an end
        std::string line = below(2) == 0
                               ? std::string(1 + below(3 << 20), static_cast<char>(32 + below(95)))
                               : std::string();
        if (line.empty() && !text.empty())
          for (const std::string piece = text.substr(below(text.size()), 500);
               line.size() < 200'000;)
            line += piece;
        if (below(2) == 0) std::replace(line.begin(), line.end(), '\n', ' ');
        text.insert(below(text.size() + 1), line);
        break;
      }
      case 8: {  // numbers beyond all bounds
        static constexpr std::string_view kNumbers[] = {
            "99999999999999999999", "-1",    "0",          "9223372036854775807",
            "-9223372036854775808", "1e999", "4294967296", "0x",
            "00000000000000000001"};
        for (std::size_t n = 1 + below(6); n > 0; --n) {
          const std::size_t digit = text.find_first_of("0123456789", below(text.size()));
          if (digit == std::string::npos) break;
          std::size_t end = digit;
          while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
          text.replace(digit, end - digit, kNumbers[below(std::size(kNumbers))]);
        }
        break;
      }
      case 9: {  // another file's lines among these
        const std::string& other = others[below(others.size())].bytes;
        text.insert(below(text.size() + 1), other.substr(below(other.size()), below(4000)));
        break;
      }
      case 10:  // torn: two processes wrote at once
        for (std::size_t n = 1 + below(5); n > 0 && !text.empty(); --n) {
          const std::size_t from = below(text.size());
          text.insert(below(text.size() + 1), text.substr(from, below(120)));
        }
        break;
      default: {  // line ends change or go
        const std::size_t kind = below(3);
        std::string out;
        for (const char c : text) {
          if (c != '\n')
            out.push_back(c);
          else if (kind == 0)
            out += "\r\n";
          else if (kind == 1)
            out.push_back('\r');
          else if (below(4) != 0)
            out.push_back('\n');
        }
        text = std::move(out);
      }
    }
    if (text.size() > (4u << 20)) text.resize(4u << 20);
  }

 private:
  void shuffle_lines(std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      lines.push_back(text.substr(at, end - at));
      at = end;
    }
    std::shuffle(lines.begin(), lines.end(), random_);
    text.clear();
    for (const std::string& line : lines) text += line;
  }

  std::mt19937_64 random_;
};

std::size_t number(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0'
             ? otherwise
             : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

std::size_t current = 0;
void too_long(int) {
  char line[64];
  const int n = std::snprintf(line, sizeof line, "mutation %zu hangs\n", current);
  if (n > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(n)) < 0) _exit(1);
  std::abort();
}

// Of processor time first: at the lowest priority a process may get none for a minute.
void limit(int processor, int clock) {
  itimerval timer{};
  timer.it_value.tv_sec = processor;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(clock));
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto files = samples(argc > 1 ? argv[1] : "samples");
  const std::size_t most = number("CULPRIT_MUTATIONS", 10'000);
  const std::uint64_t seed = number("CULPRIT_SEED", 1);
  const std::size_t only = number("CULPRIT_ONLY", 0);
  std::signal(SIGALRM, too_long);
  std::signal(SIGPROF, too_long);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t done = 0, failures = 0, fired = 0, rejected = 0;
  double slowest = 0;
  std::size_t slowest_one = 0;
  rusage warm{};
  const culprit::test::Scratch scratch;
  for (std::size_t i = 1; i <= most; ++i) {
    if (only != 0 && i != only) continue;
    current = i;
    ++done;
    Mutator mutator(seed * 1'000'003 + i);
    scratch.clear();
    // Mostly one file; now and then a few that belong together, which gives identities and clocks
    // something to do.
    const std::size_t first = mutator.below(files.size());
    const std::size_t count = mutator.below(4) == 0 ? 1 + mutator.below(6) : 1;
    for (std::size_t k = 0; k < count; ++k) {
      Sample sample = files[(first + k) % files.size()];
      for (std::size_t n = 1 + mutator.below(3); n > 0; --n) mutator.mutate(sample.bytes, files);
      scratch.write(sample.path, sample.bytes.data(), sample.bytes.size());
    }
    culprit::test::Check check;
    check.threads = mutator.below(16) == 0 ? 3 : 1;
    const double start = processor_seconds();
    limit(kSeconds, kIdleSeconds);
    const auto outcome = culprit::test::diagnose(scratch.path(), check);
    limit(0, 0);
    const double seconds = processor_seconds() - start;
    if (seconds > slowest) {
      slowest = seconds;
      slowest_one = i;
    }
    if (seconds > kSlow) std::printf("mutation %zu took %.1f s\n", i, seconds);
    fired += outcome.fired;
    rejected += outcome.rejected;
    if (!outcome.broken.empty()) {
      const std::string kept = "mutation-" + std::to_string(i);
      std::error_code error;
      fs::remove_all(kept, error);
      fs::copy(scratch.path(), kept, fs::copy_options::recursive, error);
      for (const std::string& broken : outcome.broken)
        std::printf("mutation %zu: %s\n", i, broken.c_str());
      if (++failures >= 10) break;
    }
    if (i == (most + 3) / 4) getrusage(RUSAGE_SELF, &warm);
  }
  rusage end{};
  getrusage(RUSAGE_SELF, &end);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf(
      "%zu mutations of %zu files in %.0f s, %zu failures; %zu findings fired, %zu lines rejected; "
      "slowest %.2f s (mutation %zu); peak memory %ld MB, %ld MB after a quarter\n",
      done, files.size(), seconds, failures, fired, rejected, slowest, slowest_one,
      end.ru_maxrss / 1024, warm.ru_maxrss / 1024);
  if (only == 0 && most > 0 && fired == 0) {
    std::printf("not one finding fired: these mutations test nothing\n");
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
