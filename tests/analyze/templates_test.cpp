#include "analyze/compare/templates.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

const LineTemplate* find(const std::vector<LineTemplate>& all, const std::string& text) {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const LineTemplate& t) { return t.text == text; });
  return it == all.end() ? nullptr : &*it;
}

TEST(Templates, NumbersAddressesAndHostsAreMasked) {
  TemplateMiner miner;
  miner.add_host("gpu-n17");
  EXPECT_EQ(miner.mask("step 120/ 400 | loss: 3.2817E+00 | lr 1e-05"), "step # | loss: # | lr #");
  EXPECT_EQ(miner.mask("step 7/ 400 | loss: -0.5 | lr 0.00001"), "step # | loss: # | lr #");
  EXPECT_EQ(miner.mask("step 7/ 400 | loss: nan | lr 0.1"), "step # | loss: nan | lr #");
  EXPECT_EQ(miner.mask("peer 10.2.33.4:4791 at 0x7ff01a00 of gpu-n17.cluster.example"),
            "peer # at # of <host>");
  EXPECT_EQ(miner.mask("mlx5_3 port 1   up"), "mlx# port # up");
  EXPECT_EQ(miner.mask("digest 9fb31c77aa02 of model"), "digest # of model");
  EXPECT_EQ(miner.mask("======== done ========"), "== done ==");
  EXPECT_EQ(miner.mask("2026-11-21T03:26:24 saved"), miner.mask("2026-11-22T13:06:04 saved"));
}

TEST(Templates, CountsBothRunsAndKeepsTheFirstLineByPath) {
  TemplateMiner miner;
  miner.begin_file(0, "b.log");
  miner.line("checkpoint 12 saved", 4);
  miner.begin_file(1, "z.log");
  miner.line("checkpoint 3 saved", 9);
  miner.begin_file(1, "a.log");
  miner.line("checkpoint 4 saved", 7);
  miner.line("disk is nearly full", 8, 5);
  const auto all = miner.templates();
  const LineTemplate* saved = find(all, "checkpoint # saved");
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(saved->runs[0].lines, 1u);
  EXPECT_EQ(saved->runs[1].lines, 2u);
  EXPECT_EQ(saved->runs[1].files, 2u);
  EXPECT_EQ(saved->runs[1].path, "a.log");
  EXPECT_EQ(saved->runs[1].text, "checkpoint 4 saved");
  const LineTemplate* disk = find(all, "disk is nearly full");
  ASSERT_NE(disk, nullptr);
  EXPECT_EQ(disk->runs[0].lines, 0u);
  EXPECT_EQ(disk->runs[1].lines, 5u);
}

TEST(Templates, AWordOfManyValuesIsAVariableAndTwoOutcomesAreNot) {
  TemplateMiner miner;
  miner.begin_file(0, "a");
  std::uint64_t n = 0;
  for (const char* layer : {"attention", "norm", "embedding", "head", "router", "gate"})
    miner.line(std::string("layer ") + layer + " initialised in parallel", ++n);
  miner.line("link test on rail ok", ++n);
  miner.line("link test on rail failed", ++n);
  const auto all = miner.templates();
  EXPECT_NE(find(all, "layer <*> initialised in parallel"), nullptr);
  EXPECT_NE(find(all, "link test on rail ok"), nullptr);
  EXPECT_NE(find(all, "link test on rail failed"), nullptr);
  EXPECT_EQ(all.size(), 3u);
}

TEST(Templates, TheOrderOfFilesDoesNotMatterAndMemoryIsBounded) {
  const auto mined = [](bool backwards) {
    TemplateParams params;
    params.most_keys = 300;
    TemplateMiner miner(params);
    std::vector<int> files{0, 1, 2, 3};
    if (backwards) std::reverse(files.begin(), files.end());
    for (const int file : files) {
      miner.begin_file(static_cast<std::size_t>(file % 2),
                       std::string(1, static_cast<char>('a' + file)));
      for (int i = 0; i < 500; ++i) {
        std::string word;
        for (int v = i * 4 + file; v > 0; v /= 26) word += static_cast<char>('a' + v % 26);
        miner.line("the quick brown fox of kind " + std::string(i % 2 ? "one" : "two") +
                       " jumps over fence and field with " + word + " and goes " + word + word +
                       " home",
                   static_cast<std::uint64_t>(i));
      }
    }
    std::string out;
    EXPECT_GT(miner.words_kept(), 0u);
    for (const LineTemplate& t : miner.templates())
      out += t.text + " " + std::to_string(t.runs[0].lines) + " " +
             std::to_string(t.runs[1].lines) + " " + t.runs[0].path + t.runs[0].text + "\n";
    return out;
  };
  EXPECT_EQ(mined(false), mined(true));
  EXPECT_LT(mined(false).size(), 20000u);
}

TEST(Templates, HostileBytesAreHarmless) {
  TemplateMiner miner;
  miner.begin_file(0, "a");
  miner.line(std::string("\0\xff\xfe", 3) + std::string(100000, '9'), 1);
  miner.line("", 2);
  miner.line(std::string(5000, ' '), 3);
  miner.line("- - - 1 -2 --3 ...", 4);
  EXPECT_LE(miner.templates().size(), 3u);
}

}  // namespace
}  // namespace culprit::analyze
