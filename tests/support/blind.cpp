// Runs a fuzz target on damaged copies of its corpus, without libFuzzer and hence with any
// compiler: NAME_blind CORPUS [RUNS [SEED]]. Says which run it was when one fails; RUNS -N runs the
// N-th only.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kSeconds = 10;  // of processor time, one input may take
constexpr std::size_t kMost = 64 << 10;
long current = 0;

void tell(int signal) {
  char line[80];
  const int size = std::snprintf(line, sizeof line, "run %ld: signal %d%s\n", current, signal,
                                 signal == SIGPROF ? ", it hangs" : "");
  static_cast<void>(!write(STDERR_FILENO, line, static_cast<std::size_t>(size)));
  std::signal(signal, SIG_DFL);
  std::raise(signal == SIGPROF ? SIGABRT : signal);
}

std::string damaged(std::mt19937_64& random, const std::vector<std::string>& corpus) {
  const auto below = [&](std::size_t most) { return most == 0 ? 0 : random() % most; };
  std::string text = corpus[below(corpus.size())];
  for (std::size_t n = 1 + below(6); n > 0; --n) {
    const std::size_t at = below(text.size() + 1);
    switch (below(8)) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, 1 + below(16)); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 3:
        if (at < text.size()) text[at] ^= static_cast<char>(1 << below(8));
        break;
      case 4: text.insert(at, text.substr(below(text.size()), below(200))); break;
      case 5: {
        const std::string& other = corpus[below(corpus.size())];
        text.insert(at, other.substr(below(other.size()), below(200)));
        break;
      }
      case 6: {
        constexpr const char* kWords[] = {"99999999999999999999",
                                          "-1",
                                          "1e999",
                                          "NaN",
                                          "\"",
                                          "[[[[[[[[",
                                          "{\"a\":",
                                          "\n",
                                          "\r",
                                          "\x1b[",
                                          "\xff\xfe",
                                          "\\u0000",
                                          ",,,",
                                          "\t",
                                          "0"};
        text.insert(at, kWords[below(std::size(kWords))]);
        break;
      }
      default: text.insert(at, 1 + below(64), static_cast<char>(random()));
    }
  }
  if (text.size() > kMost) text.resize(kMost);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<std::string> files, corpus;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) return 2;
  const long runs = argc > 2 ? std::atol(argv[2]) : 10'000;
  const auto seed = static_cast<std::uint64_t>(argc > 3 ? std::atoll(argv[3]) : 1);
  for (const int signal : {SIGPROF, SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, tell);
  double slowest = 0;
  long slowest_run = 0;
  for (current = runs < 0 ? -runs : 1; current <= std::labs(runs); ++current) {
    std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(current));
    const std::string text = damaged(random, corpus);
    if (runs < 0) std::ofstream("blind-input", std::ios::binary) << text;
    const auto exact = std::make_unique<std::uint8_t[]>(text.size());  // a read beyond it is seen
    std::copy(text.begin(), text.end(), exact.get());
    itimerval timer{};
    timer.it_value.tv_sec = kSeconds;
    setitimer(ITIMER_PROF, &timer, nullptr);
    const std::clock_t begun = std::clock();
    LLVMFuzzerTestOneInput(exact.get(), text.size());
    const double took = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    if (took > slowest) {
      slowest = took;
      slowest_run = current;
    }
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%ld inputs, none failed; %ld s, slowest %.2f s (run %ld), peak memory %ld MB\n",
              std::labs(runs), static_cast<long>(used.ru_utime.tv_sec + used.ru_stime.tv_sec),
              slowest, slowest_run, used.ru_maxrss / 1024);
}
