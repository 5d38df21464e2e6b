// Lines of two runs as templates: what a program prints again and again with other numbers, names
// and addresses, counted for each run. Numbers, hexadecimal words and host names are masked; then a
// word that takes many values where everything else stays the same is a variable, too (the
// fixed-depth tree of Drain, He et al., ICWS 2017, decides by the order of lines; this decides by
// all of them, so the order of files does not matter). Memory is bounded: when there are too many
// kinds of lines, only their first words are kept apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace culprit::analyze {

struct TemplateParams {
  std::size_t most_keys = 60'000;  // kinds of lines kept apart
  std::size_t most_bytes = 400;    // of a message that are looked at
  std::size_t variable_from = 5;   // so many words at one place, all else equal: a variable
  std::size_t rounds = 3;          // of looking for variables: a line may have several
};

// Where a line stands in its file, as bytes of the file as it was read.
struct LineBytes {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

// One run's share of a template. path, line, text: its first line, by path.
struct TemplateCount {
  std::uint64_t lines = 0, files = 0;
  std::string path, text, kind;  // kind: of the text (kernel, training ...); "" not known
  std::uint64_t line = 0;
  LineBytes bytes = {};
};

struct LineTemplate {
  std::string text;                   // "# " numbers, <host> hosts, <*> other variables
  std::array<TemplateCount, 2> runs;  // the good and the bad one
};

class TemplateMiner {
 public:
  explicit TemplateMiner(TemplateParams params = {}) : params_(params) {}

  // Names of machines, of either run.
  void add_host(std::string name) {
    shortest_host_ = std::min(shortest_host_, name.size());
    hosts_.insert(std::move(name));
  }
  // The lines that follow are of this file of run 0 or 1. A file is added as a whole.
  void begin_file(std::size_t run, std::string path, std::string kind = {});
  // message: without its prefixes. times: of a line that stands for several.
  void line(std::string_view message, std::uint64_t number, std::uint64_t times = 1,
            LineBytes bytes = {});

  // All templates, sorted by text. Ends the mining.
  std::vector<LineTemplate> templates();
  // How many words of a line are kept apart; 0: all.
  std::size_t words_kept() const;

  std::string mask(std::string_view message) const;

 private:
  struct Counted {
    std::array<TemplateCount, 2> runs;
    std::uint64_t last_file = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Table = std::unordered_map<std::string, Counted, Hash, std::equal_to<>>;
  void mask(std::string_view message, std::string& out) const;
  void coarsen();
  std::string_view cut(std::string_view masked) const;
  static void merge(Counted& into, const Counted& from);
  void find_variables();

  TemplateParams params_;
  std::unordered_set<std::string, Hash, std::equal_to<>> hosts_;
  std::size_t shortest_host_ = std::string::npos;
  Table table_;
  std::size_t level_ = 0;
  std::size_t run_ = 0;
  std::string path_, kind_, masked_;
  std::uint64_t file_ = 0;
};

}  // namespace culprit::analyze
