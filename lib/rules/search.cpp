#include "rules/search.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace culprit::rules {

namespace {

// 2^17 bits are 16 KiB: the bitmap stays in the first-level cache beside the text.
constexpr unsigned kBits = 17;
constexpr std::uint32_t kFold = 0x20202020;
constexpr std::uint64_t kFold8 = 0x2020202020202020;
// Probes between two looks at what they met: their list stays in the first-level cache, too.
constexpr std::size_t kRound = 1024;

std::uint32_t gram_at(const char* p) {
  std::uint32_t value;
  std::memcpy(&value, p, 4);
  return value | kFold;
}

std::uint64_t eight_at(const char* p) {
  std::uint64_t value;
  std::memcpy(&value, p, 8);
  return value | kFold8;
}

std::uint32_t hash_of(std::uint32_t gram) { return (gram * 0x9E3779B1u) >> (32 - kBits); }

std::uint64_t side(char c) { return 1ULL << ((static_cast<unsigned char>(c) | 0x20) & 63); }

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
    for (std::size_t k = 0; k < stride_; ++k) {
      const std::size_t offset = chosen + k;
      const std::size_t known = std::min<std::size_t>(word.size(), 8);
      const std::size_t begin = std::min(offset > 2 ? offset - 2 : 0, word.size() - known);
      char bytes[8] = {};
      char mask[8] = {};
      std::memcpy(bytes, word.data() + begin, known);
      std::memset(mask, 0xff, known);
      Entry entry{0, 0, gram_at(word.data() + offset), w, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset - begin)};
      std::memcpy(&entry.context, bytes, 8);
      std::memcpy(&entry.mask, mask, 8);
      entries_.push_back(entry);
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    const std::uint32_t x = hash_of(a.gram);
    const std::uint32_t y = hash_of(b.gram);
    return x != y ? x < y : a.word != b.word ? a.word < b.word : a.offset < b.offset;
  });
  marked_.assign((1u << kBits) / 64, 0);
  first_.assign((1u << kBits) + 1, 0);
  sides_.resize(1u << kBits);
  for (const Entry& entry : entries_) {
    const std::uint32_t h = hash_of(entry.gram);
    marked_[h >> 6] |= 1ULL << (h & 63);
    ++first_[h + 1];
    const std::string& word = words_[entry.word];
    sides_[h].before |= entry.offset > 0 ? side(word[entry.offset - 1]) : ~0ULL;
    sides_[h].after |= entry.offset + 4 < word.size() ? side(word[entry.offset + 4]) : ~0ULL;
  }
  for (std::size_t h = 0; h < (1u << kBits); ++h) first_[h + 1] += first_[h];
}

bool WordSearch::is_at(std::string_view text, std::size_t at, const Entry& entry) const {
  if (at < entry.offset) return false;
  const std::size_t begin = at - entry.offset;
  const std::string& word = words_[entry.word];
  if (begin + word.size() > text.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (static_cast<char>(static_cast<unsigned char>(text[begin + i]) | 0x20) != word[i]) return false;
  return true;
}

// A marked gram may stand at `at`, somewhere within the text.
void WordSearch::probe(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  const std::uint32_t gram = gram_at(text.data() + at);
  const std::uint32_t h = hash_of(gram);
  for (std::uint32_t e = first_[h]; e < first_[h + 1]; ++e)
    if (const Entry& entry = entries_[e]; entry.gram == gram && is_at(text, at, entry)) hits.push_back({at - entry.offset, entry.word});
}

// The same, where at least eight bytes stand before `at` and after it.
void WordSearch::check(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  const std::uint32_t h = hash_of(gram_at(text.data() + at));
  for (std::uint32_t e = first_[h]; e < first_[h + 1]; ++e) {
    const Entry& entry = entries_[e];
    if (((eight_at(text.data() + at - entry.back) ^ entry.context) & entry.mask) == 0 && is_at(text, at, entry)) hits.push_back({at - entry.offset, entry.word});
  }
}

void WordSearch::find(std::string_view text, std::vector<Hit>& hits) const {
  if (text.size() < 4 || words_.empty()) return;
  const std::size_t before = hits.size();
  const char* const base = text.data();
  const std::uint64_t* const marked = marked_.data();
  const std::size_t end = text.size() - 3;
  const std::size_t step = stride_;
  const auto is_marked = [=](std::size_t at) {
    const std::uint32_t h = hash_of(gram_at(base + at));
    return (marked[h >> 6] >> (h & 63)) & 1;
  };
  std::size_t at = 0;
  for (; at < end && at < 8; at += step)
    if (is_marked(at)) probe(text, at, hits);
  std::uint32_t met[kRound];   // relative to where the round began
  while (at + 8 + 4 * step < end) {
    const std::size_t begin = at;
    const std::size_t rounds = std::min((end - 8 - at) / (4 * step), kRound / 4);
    std::size_t n = 0;
    // Four probes a turn: their loads and multiplications run side by side.
    for (std::size_t i = 0; i < rounds; ++i, at += 4 * step)
      for (std::size_t k = 0; k < 4; ++k) {
        met[n] = static_cast<std::uint32_t>(at + k * step - begin);
        n += is_marked(at + k * step);
      }
    std::size_t left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t place = begin + met[i];
      const Sides& sides = sides_[hash_of(gram_at(base + place))];
      met[left] = met[i];
      left += static_cast<std::size_t>((sides.before & side(base[place - 1])) != 0) & static_cast<std::size_t>((sides.after & side(base[place + 4])) != 0);
    }
    for (std::size_t i = 0; i < left; ++i) check(text, begin + met[i], hits);
  }
  for (; at < end; at += step)
    if (is_marked(at)) probe(text, at, hits);
  // A word is met up to its length late, so that the hits are nearly in order.
  const auto less = [](const Hit& x, const Hit& y) { return x.offset != y.offset ? x.offset < y.offset : x.word < y.word; };
  for (std::size_t i = before + 1; i < hits.size(); ++i)
    for (std::size_t k = i; k > before && less(hits[k], hits[k - 1]); --k) std::swap(hits[k], hits[k - 1]);
  hits.erase(std::unique(hits.begin() + static_cast<std::ptrdiff_t>(before), hits.end(),
                         [](const Hit& x, const Hit& y) { return x.offset == y.offset && x.word == y.word; }),
             hits.end());
}

}  // namespace culprit::rules
