// Digests of runs that should be equal: who differs, what nobody can tell, what is missing.
#include <gtest/gtest.h>

#include "plan/compare.hpp"

namespace {

using namespace culprit::plan;

DigestRun run(std::string name, std::string_view text) {
  auto read = read_digests(text, name);
  EXPECT_TRUE(read) << read.error().what;
  return read ? *read : DigestRun{};
}

TEST(Compare, NamesTheRankThatDiffers) {
  const auto out =
      compare_digests({run("a", "0 11111111\n1 22222222\n"), run("b", "0 11111111\n1 2222222f\n"),
                       run("c", "0 11111111\n1 22222222\n")});
  ASSERT_EQ(out.different.size(), 1u);
  EXPECT_EQ(out.different[0].item, "rank 1");
  EXPECT_EQ(out.different[0].runs, (std::vector<std::string>{"b"}));
  EXPECT_EQ(out.different[0].agree, 2u);
  EXPECT_EQ(out.suspects, (std::vector<std::string>{"b"}));
  EXPECT_EQ(out.equal, 1u);
}

TEST(Compare, TellsATieAndAccusesNobody) {
  const auto out = compare_digests({run("a", "0 11111111\n"), run("b", "0 22222222\n")});
  ASSERT_EQ(out.different.size(), 1u);
  EXPECT_EQ(out.different[0].majority, "");
  EXPECT_EQ(out.different[0].runs, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(out.suspects.empty());
  // Half is no majority either.
  const auto four = compare_digests({run("a", "0 11111111\n"), run("b", "0 22222222\n"),
                                     run("c", "0 11111111\n"), run("d", "0 33333333\n")});
  EXPECT_TRUE(four.suspects.empty());
}

TEST(Compare, TellsWhatIsMissing) {
  const auto out = compare_digests(
      {run("a", "0 11111111\n1 22222222\n"), run("b", "0 11111111\n"), run("c", "0 11111111\n")});
  ASSERT_EQ(out.missing.size(), 1u);
  EXPECT_EQ(out.missing[0].item, "rank 1");
  EXPECT_EQ(out.missing[0].runs, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(out.different.empty());
  EXPECT_EQ(out.equal, 1u) << "a state that one run has is not equal to anything";
}

TEST(Compare, ReadsWhatDigestToolsPrint) {
  const std::string sum(64, 'A');
  const auto one = run(
      "x", sum + "  /runs/1/iter_10/__0_0.distcp\n" + sum + " */runs/1/iter_10/__12_0.distcp\r\n");
  ASSERT_EQ(one.digests.size(), 2u);
  EXPECT_EQ(one.digests[1].item, "rank 12");
  EXPECT_EQ(one.digests[1].digest, std::string(64, 'a'));
  EXPECT_EQ(run("x", "SHA256 (ckpt/rank_0007.pt) = " + sum + "\n").digests[0].item, "rank 7");
  EXPECT_EQ(run("x", sum + "  a/mp_rank_00_001/model.pt\n" + sum + "  a/mp_rank_01_001/model.pt\n")
                .digests[0]
                .item,
            "mp_rank_00_001/model.pt");
  EXPECT_EQ(run("x", "# run 1\n\n3 deadbeef").digests[0].item, "rank 3");
}

TEST(Compare, PathsOfDifferentFoldersAreTheSameState) {
  const auto out =
      compare_digests({run("a", "11111111  /r/1/rank0.pt\n22222222  /r/1/rank1.pt\n"),
                       run("b", "11111111  /r/2/rank0.pt\n22222222  /r/2/rank1.pt\n")});
  EXPECT_EQ(out.equal, 2u);
  EXPECT_TRUE(out.missing.empty());
}

TEST(Compare, RefusesLinesThatAreNone) {
  const auto bad = read_digests("0 11111111\nhello\n", "f");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().where->line, 2u);
  EXPECT_FALSE(read_digests("", "f"));
  EXPECT_FALSE(read_digests("0 12\n", "f"));
  EXPECT_FALSE(read_digests("0 11111111\n0 22222222\n", "f"));
  EXPECT_TRUE(read_digests("0 11111111\n0 11111111\n", "f"));
}

TEST(Compare, OrderOfRanksIsNumeric) {
  const auto out = compare_digests(
      {run("a", "10 11111111\n9 11111111\n"), run("b", "10 22222222\n9 22222222\n")});
  EXPECT_EQ(out.different[0].item, "rank 9");
}

TEST(Compare, NothingToCompare) {
  EXPECT_TRUE(compare_digests({}).suspects.empty());
  EXPECT_NE(compare_digests({run("a", "0 11111111\n")}).summary.find("nothing to compare"),
            std::string::npos);
}

}  // namespace
