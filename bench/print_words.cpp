// print_words [scan FILE | search FILE]: without arguments the words that our search looks for, one
// a line, for `rg -F -i -f`. With them, how fast that search, or the whole scan with rules, goes
// through a file in memory: best of three after a warm-up, in MB/s by the clock and of processor
// time, and what it found.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/scan.hpp"
#include "rules/literals.hpp"
#include "rules/pack.hpp"

int main(int argc, char** argv) {
  using namespace culprit;
  auto rules = rules::load_rules({});
  if (!rules) return std::fprintf(stderr, "%s\n", rules.error().what.c_str()), 1;
  auto pack = rules::RulePack::compile(std::move(*rules));
  if (!pack) return std::fprintf(stderr, "%s\n", pack.error().what.c_str()), 1;
  if (argc < 3) {
    std::vector<std::string> words = pack->search_words();
    for (const auto* one : ingest::recognisers())
      for (const std::string_view word : one->words) words.push_back(rules::fold(word));
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (std::string word : words) {
      // Folding puts a few signs onto others; rg gets the likelier one back.
      for (char& c : word)
        c = c == 0x7f ? '_' : c == '{' ? '[' : c == '}' ? ']' : c == '`' ? '@' : c;
      if (std::all_of(word.begin(), word.end(), [](char c) { return c >= 32 && c < 127; }))
        std::printf("%s\n", word.c_str());
    }
    return 0;
  }
  const int fd = open(argv[2], O_RDONLY);
  struct stat about {};
  if (fd < 0 || fstat(fd, &about) != 0 || about.st_size == 0) return std::perror(argv[2]), 1;
  const auto size = static_cast<std::size_t>(about.st_size);
  const ingest::Scanner scanner(*pack);
  const bool scan = std::strcmp(argv[1], "scan") == 0;
  std::string block(1 << 20, '\0');
  double best = 1e9, best_processor = 1e9;
  std::size_t found = 0, rows = 0;
  for (int round = 0; round < 4; ++round) {
    found = rows = 0;
    std::size_t have = 0;
    if (lseek(fd, 0, SEEK_SET) != 0) return 1;
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    while (true) {
      const ssize_t n = read(fd, block.data() + have,
                             block.size() - have);  // the same way that ingest gets its bytes
      if (n < 0) return std::perror(argv[2]), 1;
      have += static_cast<std::size_t>(n);
      const std::string_view text(block.data(), have);
      const std::size_t newline = n == 0 ? have : text.rfind('\n') + 1;
      if (scan) {
        const auto result = scanner.scan(text.substr(0, newline), "", {}, true);
        found += result.candidates.size();
        for (const auto& c : result.candidates) rows += c.judged != nullptr && c.judged->match;
      } else {
        found += scanner.count_lines_with_words(text.substr(0, newline));
      }
      if (n == 0) break;
      std::memmove(block.data(), block.data() + newline, have - newline);
      have -= newline;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (round == 0) continue;
    best = std::min(best, seconds);
    best_processor =
        std::min(best_processor, static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
  }
  close(fd);
  std::printf(
      "%.0f MB/s, %.0f MB/s of processor time, %zu lines %zu matches (%zu words, stride %zu)\n",
      static_cast<double>(size) / 1e6 / best, static_cast<double>(size) / 1e6 / best_processor,
      found, rows, scanner.words(), scanner.stride());
}
