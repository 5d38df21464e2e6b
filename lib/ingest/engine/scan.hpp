// The fast half of reading text: a block of bytes in, the few lines that matter out, with all that
// can be said of a line by itself. Pure, so that blocks can be scanned on several threads and
// consumed in order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/recogniser_set.hpp"
#include "line/line.hpp"
#include "rules/pack.hpp"
#include "rules/search.hpp"

namespace culprit::ingest {

// Whether a folded word of two bytes or more stands in the text, in letters of any case.
bool mentions(std::string_view text, std::string_view word);

// What only the lines that hold a rule's word need.
struct Judged {
  line::Line line;
  std::optional<rules::Match> match;
};

// Small: logs of progress have thousands in a block. Most are for recognisers only, and are peeled
// by who reads them.
struct Candidate {
  std::size_t begin = 0;              // within the block
  std::size_t length = 0;             // without the line end; a '\r' ends a record too
  std::uint64_t newlines_before = 0;  // in the block
  RecogniserSet recognisers;          // that want to see it
  bool first = true;                  // of its record: the habit of the file holds for it
  bool marker = false;                // a word of the grammar stands in it
  std::unique_ptr<Judged> judged;     // if the rules had to see it
};

struct BlockScan {
  std::vector<Candidate> candidates;  // in order; torn lines give several
  std::uint64_t newlines = 0;
};

// Where a record stands in its block.
struct RecordBounds {
  std::size_t begin = 0, end = 0;
  std::string_view of(std::string_view block) const { return block.substr(begin, end - begin); }
};

class Scanner {
 public:
  explicit Scanner(const rules::RulePack& pack);

  // rules: false for texts in which the words mean nothing (stack dumps, metrics).
  BlockScan scan(std::string_view block, std::string_view text_kind, line::Habit habit,
                 bool rules) const;

  const rules::RulePack& pack() const { return pack_; }
  std::size_t words() const { return table().search.words().size(); }
  std::size_t stride() const { return table().search.stride(); }
  // The search alone, for benchmarks: lines that hold a word.
  std::size_t count_lines_with_words(std::string_view block) const;

 private:
  struct Table {
    std::vector<RecogniserSet> recognisers;  // by word
    std::vector<bool> rule, marker;          // by word
    RecogniserSet wants_more;                // recognisers with a second word
    rules::WordSearch search;
  };
  static Table make_table(const rules::RulePack& pack);
  // Made when the first block is scanned: that takes a fifth of the time of a bundle without text.
  const Table& table() const;
  // A record that holds a word, and whose words those are.
  struct Found {
    RecordBounds bounds;
    RecogniserSet recognisers;
    bool rule = false;
    bool marker = false;  // of an error, for the grammar
    void add(const Table& table, std::uint32_t word);
  };
  std::vector<Found> records_with_words(std::string_view block) const;
  static void merge_overlapping(std::vector<Found>& found);
  RecogniserSet recognisers_in(std::string_view piece) const;
  RecogniserSet still_wanted(RecogniserSet wanted, std::string_view raw) const;

  const rules::RulePack& pack_;
  mutable std::once_flag once_;
  mutable std::optional<Table> table_;
};

std::uint64_t count_newlines(std::string_view text);
// The first '\n' or '\r' at or after `at`, or the ceiling.
std::size_t record_end(std::string_view block, std::size_t at, std::size_t ceiling);

}  // namespace culprit::ingest
