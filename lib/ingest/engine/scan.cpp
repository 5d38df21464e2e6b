#include "ingest/engine/scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "rules/grammar.hpp"
#include "rules/literals.hpp"

namespace culprit::ingest {

namespace {

// A record longer than this around a hit is cut: a JSON file on one line, a megabyte of progress
// bar.
constexpr std::size_t kReach = 32 * 1024;

// The last '\n' or '\r' before `at`, or the floor. Records are hundreds of bytes: worth two calls
// of the fast search.
std::size_t record_begin(std::string_view block, std::size_t at, std::size_t floor) {
  const void* newline = memrchr(block.data() + floor, '\n', at - floor);
  if (newline != nullptr)
    floor = static_cast<std::size_t>(static_cast<const char*>(newline) - block.data()) + 1;
  const void* carriage = memrchr(block.data() + floor, '\r', at - floor);
  return carriage == nullptr
             ? floor
             : static_cast<std::size_t>(static_cast<const char*>(carriage) - block.data()) + 1;
}

// `floor`: where the record before ended.
RecordBounds record_around(std::string_view block, std::size_t at, std::size_t floor = 0) {
  return {record_begin(block, at, std::max(floor, at > kReach ? at - kReach : 0)),
          record_end(block, at, std::min(block.size(), at + kReach))};
}

}  // namespace

// No early exit: compilers turn this loop into vector code.
bool mentions(std::string_view text, std::string_view word) {
  unsigned char found = 0;
  const std::size_t last = word.size() - 1;
  // Its first two bytes and its last two: what passes is asked again.
  for (std::size_t i = 0; i + word.size() <= text.size(); ++i)
    found = static_cast<unsigned char>(found | (((text[i] | 0x20) == word[0]) &
                                                ((text[i + 1] | 0x20) == word[1]) &
                                                ((text[i + last - 1] | 0x20) == word[last - 1]) &
                                                ((text[i + last] | 0x20) == word[last])));
  return found != 0 && (word.size() <= 4 || rules::fold(text).find(word) != std::string::npos);
}

std::size_t record_end(std::string_view block, std::size_t at, std::size_t ceiling) {
  const void* newline = std::memchr(block.data() + at, '\n', ceiling - at);
  if (newline != nullptr)
    ceiling = static_cast<std::size_t>(static_cast<const char*>(newline) - block.data());
  const void* carriage = std::memchr(block.data() + at, '\r', ceiling - at);
  return carriage == nullptr
             ? ceiling
             : static_cast<std::size_t>(static_cast<const char*>(carriage) - block.data());
}

std::uint64_t count_newlines(std::string_view text) {
  std::uint64_t n = 0;
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128i newline = _mm_set1_epi8('\n');
  while (i + 16 <= text.size()) {
    __m128i lanes = _mm_setzero_si128();
    const std::size_t stop = std::min(i + 255 * 16, text.size() - (text.size() - i) % 16);
    for (; i < stop; i += 16)
      lanes = _mm_sub_epi8(
          lanes, _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + i)),
                                newline));
    const __m128i sums = _mm_sad_epu8(lanes, _mm_setzero_si128());
    n += static_cast<std::uint64_t>(_mm_cvtsi128_si64(sums)) +
         static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(sums, 8)));
  }
#endif
  for (; i < text.size(); ++i) n += text[i] == '\n';
  return n;
}

Scanner::Table Scanner::make_table(const rules::RulePack& pack) {
  std::map<std::string, std::pair<bool, RecogniserSet>> words;
  // A rule's word that ordinary progress lines print ("number of nan iterations: ") would send each
  // of them through the whole pack; the recognisers of such lines ask the rules themselves when
  // there is something to judge.
  const rules::OrdinaryText ordinary(rules::ordinary_lines());
  for (const std::string& word : pack.search_words())
    if (ordinary.occurrences(word) == 0) words[word].first = true;
  const auto list = recognisers();
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const std::string_view word : list[i]->words) words[rules::fold(word)].second.insert(i);
    if (list[i]->table_words != nullptr)
      for (const std::string& word : list[i]->table_words())
        words[rules::fold(word)].second.insert(i);
  }
  const std::vector<std::string>& markers = rules::Grammar::built_in().markers();
  for (const std::string& marker : markers) words[marker];
  std::vector<RecogniserSet> of_word;
  std::vector<bool> rule, marker;
  std::vector<std::string> all;
  for (const auto& [word, use] : words) {
    all.push_back(word);
    marker.push_back(std::binary_search(markers.begin(), markers.end(), word));
    rule.push_back(use.first);
    of_word.push_back(use.second);
  }
  RecogniserSet wants_more;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!list[i]->also.empty()) wants_more.insert(i);
  return {.recognisers = std::move(of_word),
          .rule = std::move(rule),
          .marker = std::move(marker),
          .wants_more = wants_more,
          .search = rules::WordSearch(std::move(all), rules::ordinary_lines())};
}

Scanner::Scanner(const rules::RulePack& pack) : pack_(pack) {}

const Scanner::Table& Scanner::table() const {
  std::call_once(once_, [this] { table_.emplace(make_table(pack_)); });
  return *table_;
}

std::size_t Scanner::count_lines_with_words(std::string_view block) const {
  std::vector<rules::WordSearch::Hit> hits;
  table().search.find(block, hits);
  std::size_t lines = 0;
  std::size_t past = 0;
  for (const auto& hit : hits) {
    if (hit.offset < past) continue;
    ++lines;
    past = record_around(block, hit.offset).end + 1;
  }
  return lines;
}

// The recognisers whose second words are missing leave. Only a clean record shows that: a colour
// may stand inside a word.
RecogniserSet Scanner::still_wanted(RecogniserSet wanted, std::string_view raw) const {
  const auto list = recognisers();
  RecogniserSet out = wanted;
  wanted.each([&](std::size_t i) {
    const auto also = list[i]->also;
    if (!also.empty() &&
        std::ranges::none_of(also, [&](std::string_view word) { return mentions(raw, word); }))
      out.erase(i);
  });
  return out;
}

// The records of a block that hold words, in the order of the block, none twice.
std::vector<Scanner::Found> Scanner::records_with_words(std::string_view block) const {
  const Table& words = table();
  std::vector<Found> found;
  std::vector<rules::WordSearch::Hit> hits;
  words.search.find(block, hits);
  for (const auto& hit : hits) {
    if (found.empty() || hit.offset >= found.back().bounds.end) {
      // What is left of a record that was cut begins where it was cut.
      found.push_back(
          {record_around(block, hit.offset, found.empty() ? 0 : found.back().bounds.end),
           {},
           false,
           false});
    }
    found.back().add(words, hit.word);
  }
  // NULs and colours can stand inside a word; the records that hold them are searched again
  // without.
  const std::size_t plain = found.size();
  for (const char hidden : {'\0', '\x1b'}) {
    std::size_t at = 0;
    while (at < block.size()) {
      const void* p = std::memchr(block.data() + at, hidden, block.size() - at);
      if (p == nullptr) break;
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(p) - block.data());
      Found extra{record_around(block, offset), {}, false, false};
      at = extra.bounds.end + 1;
      const std::string text = line::clean(extra.bounds.of(block));
      hits.clear();
      words.search.find(text, hits);
      if (hits.empty()) continue;
      for (const auto& hit : hits) extra.add(words, hit.word);
      found.push_back(extra);
    }
  }
  if (found.size() > plain) merge_overlapping(found);
  return found;
}

void Scanner::Found::add(const Table& table, std::uint32_t word) {
  recognisers |= table.recognisers[word];
  rule = rule || table.rule[word];
  marker = marker || table.marker[word];
}

void Scanner::merge_overlapping(std::vector<Found>& found) {
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.bounds.begin < b.bounds.begin; });
  std::vector<Found> merged;
  for (const Found& one : found) {
    if (!merged.empty() && one.bounds.begin < merged.back().bounds.end) {
      merged.back().recognisers |= one.recognisers;
      merged.back().rule = merged.back().rule || one.rule;
      merged.back().marker = merged.back().marker || one.marker;
      merged.back().bounds.end = std::max(merged.back().bounds.end, one.bounds.end);
    } else {
      merged.push_back(one);
    }
  }
  found = std::move(merged);
}

// The recognisers that know a word of a part of a record.
RecogniserSet Scanner::recognisers_in(std::string_view piece) const {
  RecogniserSet out;
  std::vector<rules::WordSearch::Hit> hits;
  table().search.find(line::clean(piece), hits);
  for (const auto& hit : hits) out |= table().recognisers[hit.word];
  return out;
}

BlockScan Scanner::scan(std::string_view block, std::string_view text_kind, line::Habit habit,
                        bool rules) const {
  BlockScan out;
  std::vector<Found> found = records_with_words(block);
  std::size_t counted_to = 0;
  std::vector<std::size_t> heads;
  out.candidates.reserve(found.size());
  for (Found& one : found) {
    const std::string_view raw = one.bounds.of(block);
    const bool torn = line::may_hold_heads(raw);
    if (!torn && one.recognisers.meets(table().wants_more) && line::is_clean(raw)) {
      one.recognisers = still_wanted(one.recognisers, raw);
      if (one.recognisers.empty() && !one.rule && !one.marker) continue;
    }
    out.newlines += count_newlines(block.substr(counted_to, one.bounds.begin - counted_to));
    counted_to = one.bounds.begin;
    if (torn)
      heads = line::record_heads(raw);
    else
      heads.assign(1, 0);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      Candidate& c = out.candidates.emplace_back();
      c.begin = one.bounds.begin + heads[h];
      c.length = (h + 1 < heads.size() ? heads[h + 1] : raw.size()) - heads[h];
      c.newlines_before = out.newlines;
      const std::string_view piece = raw.substr(heads[h], c.length);
      c.recognisers = heads.size() > 1 ? recognisers_in(piece) : one.recognisers;
      c.first = h == 0;
      c.marker = one.marker;
      if (rules && one.rule) {
        c.judged = std::make_unique<Judged>();
        line::peel(piece, h == 0 ? habit : line::Habit{}, c.judged->line);
        c.judged->match = pack_.match(c.judged->line.message, text_kind);
      }
    }
  }
  out.newlines += count_newlines(block.substr(counted_to));
  return out;
}

}  // namespace culprit::ingest
