// Finds any of hundreds of words in a block of text, at a good part of the speed at which memory
// can be read.
//
// Design (reference: Wu & Manber 1994, "A fast algorithm for multi-pattern searching", with the
// shift fixed to a stride): the 4-byte grams of every word at `stride` neighbouring offsets are
// marked in a bitmap; the text is probed every `stride` bytes only, so that whichever way a word
// lies under the probes, one of its marked grams is met. A probe that hits looks the gram up and
// compares the word. Text without a marked gram is touched once per stride and never split into
// lines. Among the windows of a word the one whose grams are rarest in ordinary logs is taken.
//
// Marked grams are still met all the time ("iter", "step", "http"), too irregularly for a branch
// predictor. So the places are first written down without a branch, a stretch of text at a time,
// and thinned out in the same way by the bytes before and after the gram; then eight bytes around
// each are compared at once, which few that are no word survive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::rules {

// Which instructions the search uses on this processor: AVX2, or the plain ones.
std::string_view search_instructions();

class WordSearch {
 public:
  struct Hit {
    std::size_t offset;  // of the word's first byte
    std::uint32_t word;  // index into the words given
  };

  // REQUIRES: words folded (literals.hpp), each at least 4 bytes long.
  WordSearch(std::vector<std::string> words, std::string_view ordinary);

  // Appends the hits in `text` in order of offset; the same place may be hit by several words.
  void find(std::string_view text, std::vector<Hit>& hits) const;

  const std::vector<std::string>& words() const { return words_; }
  std::size_t stride() const { return stride_; }

 private:
  struct Entry {
    std::uint64_t context;  // eight bytes of the word around the gram; all of a shorter word
    std::uint64_t mask;     // which of them
    std::uint32_t gram;
    std::uint32_t word;
    std::uint32_t offset;  // of the gram in the word
    std::uint32_t back;    // from the gram to the first byte of the context
  };

  // What may stand before and after a gram: one bit for each value of the lowest six bits.
  struct Sides {
    std::uint64_t before = 0, after = 0;
  };

  void index();
  void check(std::string_view text, std::size_t at, std::vector<Hit>& hits) const;
  bool is_at(std::string_view text, std::size_t at, const Entry& entry) const;
  void probe(std::string_view text, std::size_t at, std::vector<Hit>& hits) const;

  std::vector<std::string> words_;
  std::size_t stride_ = 1;
  unsigned shift_ = 15;                // hashes are of 32 - shift_ bits
  std::vector<std::uint32_t> marked_;  // one bit a hash
  std::vector<Entry> entries_;         // ordered by hash
  std::vector<Sides> sides_;           // by the first entry of a hash
  std::vector<std::uint32_t> first_;   // hash -> first entry
};

}  // namespace culprit::rules
