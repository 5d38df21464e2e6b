// Which recognisers want to see a line, by their place in recognisers().
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace culprit::ingest {

class RecogniserSet {
 public:
  static constexpr std::size_t kMost = 256;  // a wider set is a larger number here

  void insert(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void erase(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  bool empty() const { return words_ == decltype(words_){}; }
  bool meets(const RecogniserSet& other) const {
    std::uint64_t common = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) common |= words_[w] & other.words_[w];
    return common != 0;
  }
  RecogniserSet& operator|=(const RecogniserSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  friend RecogniserSet operator|(RecogniserSet a, const RecogniserSet& b) { return a |= b; }

  // In the order of their places.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
  }

 private:
  std::array<std::uint64_t, kMost / 64> words_{};
};

}  // namespace culprit::ingest
