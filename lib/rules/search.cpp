#include "rules/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CULPRIT_NO_SIMD)
#define CULPRIT_SEARCH_AVX2 1
#include <immintrin.h>
#endif

namespace culprit::rules {

namespace {

// 2^17 bits are 16 KiB: the bitmap stays in the first-level cache beside the text.
constexpr unsigned kMostBits = 17;
constexpr unsigned kLeastBits = 10;
constexpr unsigned kRoomBits = 3;  // eight hashes a gram, where that is less: few are met by chance
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

constexpr std::uint32_t kFactor = 0x9E3779B1u;
std::uint32_t hash_of(std::uint32_t gram, unsigned shift) { return (gram * kFactor) >> shift; }

// How often grams stand in a text, in an open table: a map took half of the making of a search.
class GramCounts {
 public:
  explicit GramCounts(std::string_view text)
      : cells_(std::bit_ceil(2 * std::max<std::size_t>(text.size(), 8))) {
    for (std::size_t i = 0; i + 4 <= text.size(); ++i) {
      Cell& cell = cells_[place_of(gram_at(text.data() + i))];
      cell.gram = gram_at(text.data() + i);
      ++cell.count;
    }
  }
  long of(std::uint32_t gram) const { return cells_[place_of(gram)].count; }

 private:
  struct Cell {
    std::uint32_t gram = 0;
    std::uint32_t count = 0;  // 0: nothing stands here
  };
  // Where it stands or would.
  std::size_t place_of(std::uint32_t gram) const {
    std::size_t at = (gram * kFactor >> 8) & (cells_.size() - 1);
    while (cells_[at].count != 0 && cells_[at].gram != gram) at = (at + 1) & (cells_.size() - 1);
    return at;
  }

  std::vector<Cell> cells_;
};

std::uint64_t side(char c) { return 1ULL << ((static_cast<unsigned char>(c) | 0x20) & 63); }

bool is_marked(const std::uint32_t* marked, unsigned shift, const char* p) {
  const std::uint32_t h = hash_of(gram_at(p), shift);
  return ((marked[h >> 5] >> (h & 31)) & 1) != 0;
}

// Writes down which of the `turns` * 8 probes from `text` on, `step` bytes apart, are marked: their
// distances from `text`. `met` has room for all of them. Probes of a turn run side by side: without
// a branch, their loads and multiplications overlap.
std::size_t meet(const std::uint32_t* marked, unsigned shift, const char* text, std::size_t turns,
                 std::size_t step, std::uint32_t* met) {
  std::size_t n = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < turns; ++i)
    for (std::size_t k = 0; k < 8; ++k, at += step) {
      met[n] = static_cast<std::uint32_t>(at);
      n += is_marked(marked, shift, text + at);
    }
  return n;
}

#ifdef CULPRIT_SEARCH_AVX2

// For each mask of eight probes the numbers of those in it, a byte each.
constexpr std::array<std::uint64_t, 256> kChosen = [] {
  std::array<std::uint64_t, 256> out{};
  for (unsigned mask = 0; mask < 256; ++mask)
    for (unsigned k = 0, n = 0; k < 8; ++k)
      if ((mask >> k & 1) != 0) out[mask] |= static_cast<std::uint64_t>(k) << (8 * n++);
  return out;
}();

// The same, eight probes at once: their grams by a shuffle of two halves, their marks by a gather.
// Steps of 2, 3 and 4: four grams must lie within 16 bytes. Reads up to 15 bytes from the fifth
// probe of a turn on. Of `met`, up to eight places past the last one are overwritten.
__attribute__((target("avx2"))) std::size_t meet_avx2(const std::uint32_t* marked, unsigned shift,
                                                      const char* text, std::size_t turns,
                                                      std::size_t step, std::uint32_t* met) {
  alignas(32) std::uint8_t order[32];
  alignas(32) std::uint32_t distances[8];
  for (unsigned k = 0; k < 32; ++k)
    order[k] = static_cast<std::uint8_t>((k % 16 / 4) * step + k % 4);
  for (unsigned k = 0; k < 8; ++k) distances[k] = static_cast<std::uint32_t>(k * step);
  const __m256i shuffle = _mm256_load_si256(reinterpret_cast<const __m256i*>(order));
  const __m256i forward = _mm256_set1_epi32(static_cast<int>(8 * step));
  const __m256i fold = _mm256_set1_epi32(static_cast<int>(kFold));
  const __m256i factor = _mm256_set1_epi32(static_cast<int>(kFactor));
  const __m256i low = _mm256_set1_epi32(31);
  const __m128i down = _mm_cvtsi32_si128(static_cast<int>(shift));
  __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(distances));
  std::size_t n = 0;
  for (std::size_t i = 0; i < turns; ++i, text += 8 * step) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 4 * step));
    const __m256i grams = _mm256_or_si256(
        _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1),
                            shuffle),
        fold);
    const __m256i hash = _mm256_srl_epi32(_mm256_mullo_epi32(grams, factor), down);
    const __m256i words =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(marked), _mm256_srli_epi32(hash, 5), 4);
    const __m256i marks =
        _mm256_sllv_epi32(words, _mm256_andnot_si256(hash, low));  // the bit of each into its sign
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(marks)));
    const __m256i chosen =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kChosen[mask])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(met + n),
                        _mm256_permutevar8x32_epi32(at, chosen));
    n += static_cast<std::size_t>(std::popcount(mask));
    at = _mm256_add_epi32(at, forward);
  }
  return n;
}

bool has_avx2() {
  static const bool the = __builtin_cpu_supports("avx2") != 0;
  return the;
}

#endif

}  // namespace

std::string_view search_instructions() {
#ifdef CULPRIT_SEARCH_AVX2
  if (has_avx2()) return "AVX2";
#endif
  return "scalar";
}

WordSearch::WordSearch(std::vector<std::string> words, std::string_view ordinary)
    : words_(std::move(words)) {
  std::size_t least = 12;
  for (const std::string& word : words_) least = std::min(least, word.size());
  stride_ = std::clamp<std::size_t>(least >= 4 ? least - 3 : 1, 1, 8);

  entries_.reserve(words_.size() * stride_);
  const GramCounts common(ordinary);
  for (std::uint32_t w = 0; w < words_.size(); ++w) {
    const std::string& word = words_[w];
    const std::size_t windows = word.size() - 3 - stride_ + 1;
    const auto seen_from = [&](std::size_t start) {
      long seen = 0;
      for (std::size_t k = 0; k < stride_; ++k) seen += common.of(gram_at(word.data() + start + k));
      return seen;
    };
    long least_seen = seen_from(0);
    std::size_t chosen = 0;
    for (std::size_t start = 1; start < windows && least_seen > 0; ++start)
      if (const long seen = seen_from(start); seen < least_seen) {
        least_seen = seen;
        chosen = start;
      }
    for (std::size_t k = 0; k < stride_; ++k) {
      const std::size_t offset = chosen + k;
      const std::size_t known = std::min<std::size_t>(word.size(), 8);
      const std::size_t begin = std::min(offset > 2 ? offset - 2 : 0, word.size() - known);
      char bytes[8] = {};
      char mask[8] = {};
      std::memcpy(bytes, word.data() + begin, known);
      std::memset(mask, 0xff, known);
      Entry entry{0,
                  0,
                  gram_at(word.data() + offset),
                  w,
                  static_cast<std::uint32_t>(offset),
                  static_cast<std::uint32_t>(offset - begin)};
      std::memcpy(&entry.context, bytes, 8);
      std::memcpy(&entry.mask, mask, 8);
      entries_.push_back(entry);
    }
  }
  index();
}

// Orders the entries by the hash of their gram; those of one hash keep their order.
void WordSearch::index() {
  shift_ = 32 - std::clamp(static_cast<unsigned>(std::bit_width(entries_.size())) + kRoomBits,
                           kLeastBits, kMostBits);
  const std::size_t hashes = std::size_t{1} << (32 - shift_);
  marked_.assign(hashes / 32, 0);
  first_.assign(hashes + 2, 0);
  for (const Entry& entry : entries_) ++first_[hash_of(entry.gram, shift_) + 2];
  for (std::size_t h = 0; h <= hashes; ++h) first_[h + 1] += first_[h];
  std::vector<Entry> ordered(entries_.size());
  // Afterwards what stood one place behind stands where it belongs.
  for (const Entry& entry : entries_) ordered[first_[hash_of(entry.gram, shift_) + 1]++] = entry;
  sides_.resize(entries_.size());
  for (const Entry& entry : ordered) {
    const std::uint32_t h = hash_of(entry.gram, shift_);
    marked_[h >> 5] |= 1u << (h & 31);
    const std::string& word = words_[entry.word];
    Sides& sides = sides_[first_[h]];
    sides.before |= entry.offset > 0 ? side(word[entry.offset - 1]) : ~0ULL;
    sides.after |= entry.offset + 4 < word.size() ? side(word[entry.offset + 4]) : ~0ULL;
  }
  entries_ = std::move(ordered);
}

bool WordSearch::is_at(std::string_view text, std::size_t at, const Entry& entry) const {
  if (at < entry.offset) return false;
  const std::size_t begin = at - entry.offset;
  const std::string& word = words_[entry.word];
  if (begin + word.size() > text.size()) return false;
  std::size_t i = 0;
  for (; i + 8 <= word.size(); i += 8)
    if (eight_at(text.data() + begin + i) != eight_at(word.data() + i))
      return false;  // words are folded: folding them again changes nothing
  for (; i < word.size(); ++i)
    if (static_cast<char>(static_cast<unsigned char>(text[begin + i]) | 0x20) != word[i])
      return false;
  return true;
}

// A marked gram may stand at `at`, somewhere within the text.
void WordSearch::probe(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  const std::uint32_t gram = gram_at(text.data() + at);
  const std::uint32_t h = hash_of(gram, shift_);
  for (std::uint32_t e = first_[h]; e < first_[h + 1]; ++e)
    if (const Entry& entry = entries_[e]; entry.gram == gram && is_at(text, at, entry))
      hits.push_back({at - entry.offset, entry.word});
}

// The same, where at least eight bytes stand before `at` and after it.
void WordSearch::check(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  const std::uint32_t h = hash_of(gram_at(text.data() + at), shift_);
  for (std::uint32_t e = first_[h]; e < first_[h + 1]; ++e) {
    const Entry& entry = entries_[e];
    if (((eight_at(text.data() + at - entry.back) ^ entry.context) & entry.mask) == 0 &&
        is_at(text, at, entry))
      hits.push_back({at - entry.offset, entry.word});
  }
}

void WordSearch::find(std::string_view text, std::vector<Hit>& hits) const {
  if (text.size() < 4 || words_.empty()) return;
  const std::size_t before = hits.size();
  const char* const base = text.data();
  const std::uint32_t* const marked = marked_.data();
  const std::size_t end = text.size() - 3;
  const std::size_t step = stride_;
  std::size_t at = 0;
  for (; at < end && at < 8; at += step)
    if (is_marked(marked, shift_, base + at)) probe(text, at, hits);
  std::uint32_t met[kRound + 8];  // relative to where the round began
  while (at + 8 + 8 * step < end) {
    const std::size_t begin = at;
    const std::size_t turns = std::min((end - 8 - at) / (8 * step), kRound / 8);
    std::size_t n = 0;
#ifdef CULPRIT_SEARCH_AVX2
    if (step >= 2 && step <= 4 && has_avx2())
      n = meet_avx2(marked, shift_, base + begin, turns, step, met);
    else
#endif
      n = meet(marked, shift_, base + begin, turns, step, met);
    at += turns * 8 * step;
    std::size_t left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t place = begin + met[i];
      const Sides& sides = sides_[first_[hash_of(gram_at(base + place), shift_)]];
      met[left] = met[i];
      left += static_cast<std::size_t>((sides.before & side(base[place - 1])) != 0) &
              static_cast<std::size_t>((sides.after & side(base[place + 4])) != 0);
    }
    for (std::size_t i = 0; i < left; ++i) check(text, begin + met[i], hits);
  }
  for (; at < end; at += step)
    if (is_marked(marked, shift_, base + at)) probe(text, at, hits);
  // A word is met up to its length late, so that the hits are nearly in order.
  const auto less = [](const Hit& x, const Hit& y) {
    return x.offset != y.offset ? x.offset < y.offset : x.word < y.word;
  };
  for (std::size_t i = before + 1; i < hits.size(); ++i)
    for (std::size_t k = i; k > before && less(hits[k], hits[k - 1]); --k)
      std::swap(hits[k], hits[k - 1]);
  hits.erase(std::unique(hits.begin() + static_cast<std::ptrdiff_t>(before), hits.end(),
                         [](const Hit& x, const Hit& y) {
                           return x.offset == y.offset && x.word == y.word;
                         }),
             hits.end());
}

}  // namespace culprit::rules
