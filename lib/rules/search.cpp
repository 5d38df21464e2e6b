#include "rules/search.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace culprit::rules {

namespace {

// 2^17 bits are 16 KiB: the bitmap stays in the first-level cache beside the text.
constexpr unsigned kBits = 17;
constexpr std::uint32_t kFold = 0x20202020;

std::uint32_t gram_at(const char* p) {
  std::uint32_t value;
  std::memcpy(&value, p, 4);
  return value | kFold;
}

std::uint32_t hash_of(std::uint32_t gram) { return (gram * 0x9E3779B1u) >> (32 - kBits); }

}  // namespace

WordSearch::WordSearch(std::vector<std::string> words, std::string_view ordinary) : words_(std::move(words)) {
  std::size_t least = 12;
  for (const std::string& word : words_) least = std::min(least, word.size());
  stride_ = std::clamp<std::size_t>(least >= 4 ? least - 3 : 1, 1, 8);

  std::unordered_map<std::uint32_t, int> common;
  for (std::size_t i = 0; i + 4 <= ordinary.size(); ++i) ++common[gram_at(ordinary.data() + i)];

  for (std::uint32_t w = 0; w < words_.size(); ++w) {
    const std::string& word = words_[w];
    const std::size_t windows = word.size() - 3 - stride_ + 1;
    std::size_t chosen = 0;
    long least_seen = -1;
    for (std::size_t start = 0; start < windows; ++start) {
      long seen = 0;
      for (std::size_t k = 0; k < stride_; ++k)
        if (const auto it = common.find(gram_at(word.data() + start + k)); it != common.end()) seen += it->second;
      if (least_seen < 0 || seen < least_seen) { least_seen = seen; chosen = start; }
    }
    for (std::size_t k = 0; k < stride_; ++k)
      entries_.push_back({gram_at(word.data() + chosen + k), w, static_cast<std::uint32_t>(chosen + k)});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    const std::uint32_t x = hash_of(a.gram);
    const std::uint32_t y = hash_of(b.gram);
    return x != y ? x < y : a.word != b.word ? a.word < b.word : a.offset < b.offset;
  });
  marked_.assign((1u << kBits) / 64, 0);
  first_.assign((1u << kBits) + 1, 0);
  for (const Entry& entry : entries_) {
    const std::uint32_t h = hash_of(entry.gram);
    marked_[h >> 6] |= 1ULL << (h & 63);
    ++first_[h + 1];
  }
  for (std::size_t h = 0; h < (1u << kBits); ++h) first_[h + 1] += first_[h];
}

void WordSearch::probe(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  const std::uint32_t gram = gram_at(text.data() + at);
  const std::uint32_t h = hash_of(gram);
  for (std::uint32_t e = first_[h]; e < first_[h + 1]; ++e) {
    const Entry& entry = entries_[e];
    if (entry.gram != gram || at < entry.offset) continue;
    const std::size_t begin = at - entry.offset;
    const std::string& word = words_[entry.word];
    if (begin + word.size() > text.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < word.size() && same; ++i)
      same = static_cast<char>(static_cast<unsigned char>(text[begin + i]) | 0x20) == word[i];
    if (same) hits.push_back({begin, entry.word});
  }
}

void WordSearch::find(std::string_view text, std::vector<Hit>& hits) const {
  if (text.size() < 4 || words_.empty()) return;
  const std::size_t before = hits.size();
  const char* const base = text.data();
  const std::uint64_t* const marked = marked_.data();
  const std::size_t end = text.size() - 3;
  const std::size_t step = stride_;
  std::size_t at = 0;
  // Four probes a round: their loads and multiplications run side by side, one branch decides for all.
  for (; at + 3 * step < end; at += 4 * step) {
    const std::uint32_t a = hash_of(gram_at(base + at));
    const std::uint32_t b = hash_of(gram_at(base + at + step));
    const std::uint32_t c = hash_of(gram_at(base + at + 2 * step));
    const std::uint32_t d = hash_of(gram_at(base + at + 3 * step));
    const std::uint64_t any = (marked[a >> 6] >> (a & 63)) | (marked[b >> 6] >> (b & 63)) | (marked[c >> 6] >> (c & 63)) | (marked[d >> 6] >> (d & 63));
    if (__builtin_expect((any & 1) != 0, 0))
      for (std::size_t k = 0; k < 4; ++k) {
        const std::uint32_t h = hash_of(gram_at(base + at + k * step));
        if ((marked[h >> 6] >> (h & 63)) & 1) probe(text, at + k * step, hits);
      }
  }
  for (; at < end; at += step) {
    const std::uint32_t h = hash_of(gram_at(base + at));
    if ((marked[h >> 6] >> (h & 63)) & 1) probe(text, at, hits);
  }
  std::sort(hits.begin() + static_cast<std::ptrdiff_t>(before), hits.end(),
            [](const Hit& x, const Hit& y) { return x.offset != y.offset ? x.offset < y.offset : x.word < y.word; });
  hits.erase(std::unique(hits.begin() + static_cast<std::ptrdiff_t>(before), hits.end(),
                         [](const Hit& x, const Hit& y) { return x.offset == y.offset && x.word == y.word; }),
             hits.end());
}

}  // namespace culprit::rules
