// A word is one of a list only as a whole.
#include "model/word_list.hpp"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(WordList, WordsAreWhole) {
  constexpr std::string_view kWords = "nic hca rdma_dev ic";
  static_assert(has_word(kWords, "nic") && has_word(kWords, "hca") && has_word(kWords, "ic"));
  static_assert(!has_word(kWords, "rdma") && !has_word(kWords, "dev") && !has_word(kWords, ""));
  static_assert(!has_word(kWords, "nic hca") && !has_word("", "nic") && !has_word("nics", "nic"));
  static_assert(list_of([] { return "nic hca"; }) == std::array<std::string_view, 2>{"nic", "hca"});
  std::string_view rest = kWords;
  EXPECT_EQ(take_word(rest), "nic");
  EXPECT_EQ(rest, "hca rdma_dev ic");
  while (!rest.empty()) take_word(rest);
  EXPECT_EQ(take_word(rest), "");
  const auto long_one = [](std::string_view word) { return word.size() > 8; };
  EXPECT_FALSE(any_word(kWords, ' ', long_one));
  EXPECT_TRUE(any_word("psu,fabric manager", ',', long_one));
}

}  // namespace
}  // namespace culprit
