#include "rules/search.hpp"

#include <memory>

#include "kit.hpp"
#include "rules/literals.hpp"

namespace culprit::rules {
namespace {

using Hits = std::vector<std::pair<std::size_t, std::uint32_t>>;

Hits naive(const std::vector<std::string>& words, std::string_view text) {
  const std::string folded = fold(text);
  Hits hits;
  for (std::size_t at = 0; at < folded.size(); ++at)
    for (std::uint32_t w = 0; w < words.size(); ++w)
      if (folded.compare(at, words[w].size(), words[w]) == 0) hits.emplace_back(at, w);
  return hits;
}

Hits found(const WordSearch& search, std::string_view text) {
  const std::unique_ptr<char[]> exact(
      new char[text.size()]);  // the sanitizer sees a read past the end
  std::copy(text.begin(), text.end(), exact.get());
  std::vector<WordSearch::Hit> hits;
  search.find({exact.get(), text.size()}, hits);
  Hits out;
  for (const auto& hit : hits) out.emplace_back(hit.offset, hit.word);
  return out;
}

TEST(WordSearch, AgreesWithTheNaiveSearch) {
  test::Random random;
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t letters = 2 + random.below(4);
    const std::size_t least = 4 + random.below(9);
    const auto letter = [&] {
      return static_cast<char>((random.below(8) == 0 ? 'A' : 'a') +
                               static_cast<int>(random.below(letters)));
    };
    std::vector<std::string> words;
    for (std::size_t n = 1 + random.below(12); n > 0; --n) {
      std::string word;
      for (std::size_t i = least + random.below(6); i > 0; --i) word.push_back(letter());
      word = fold(word);
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
    std::string text;
    for (std::size_t n = random.below(200); n > 0; --n) {
      if (random.below(4) == 0)
        text += words[random.below(words.size())];
      else
        text.push_back(random.below(10) == 0 ? static_cast<char>(random.below(256)) : letter());
    }
    if (random.below(2) == 0) text += words[random.below(words.size())];  // at the end of the block
    const WordSearch search(words,
                            random.below(2) == 0 ? std::string_view(text) : std::string_view());
    ASSERT_EQ(found(search, text), naive(words, text)) << text;
  }
}

TEST(WordSearch, EdgesOfTheText) {
  const WordSearch search({"traceback", "backtrace", "trace", "elapsed time per iteration"}, "");
  EXPECT_EQ(found(search, ""), Hits{});
  EXPECT_EQ(found(search, "tra"), Hits{});
  EXPECT_EQ(found(search, "trace"), (Hits{{0, 2}}));
  EXPECT_EQ(found(search, "Backtraceback"), (Hits{{0, 1}, {4, 0}, {4, 2}}));
  EXPECT_EQ(found(search, "xxtracebac"), (Hits{{2, 2}}));
  EXPECT_EQ(found(WordSearch({}, ""), "anything"), Hits{});
}

TEST(WordSearch, WithTheWordsOfThePack) {
  const auto& words = test::embedded().search_words();
  for (const std::string& word : words) {
    EXPECT_GE(word.size(), 5u) << word;
    EXPECT_EQ(word, fold(word));
  }
  const WordSearch search(words, ordinary_lines());
  std::string text;
  test::Random random;
  for (const Rule& rule : test::embedded().rules())
    for (const std::string& line : rule.fires)
      if (random.below(4) == 0 && text.size() < 20'000) text += line + "\n";
  EXPECT_EQ(found(search, text), naive(words, text));
}

}  // namespace
}  // namespace culprit::rules
