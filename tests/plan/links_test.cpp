// Passes over the links of rings and trees: every link once, nobody twice in a pass.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/links.hpp"

namespace {

using namespace culprit::plan;

void nobody_is_busy_twice(const std::vector<Pass>& passes) {
  for (const Pass& pass : passes) {
    std::set<std::size_t> busy;
    for (const Link& link : pass.links) {
      EXPECT_TRUE(busy.insert(link.from).second) << pass.what << ' ' << link.from;
      EXPECT_TRUE(busy.insert(link.to).second) << pass.what << ' ' << link.to;
    }
  }
}

std::multiset<Link> links_of(const std::vector<Pass>& passes) {
  std::multiset<Link> out;
  for (const Pass& pass : passes) out.insert(pass.links.begin(), pass.links.end());
  return out;
}

TEST(Links, RingTakesTwoPassesOrThree) {  // GREYHOUND figure 10
  for (std::size_t n = 2; n <= 200; ++n) {
    const auto passes = ring_passes(n);
    EXPECT_EQ(passes.size(), n % 2 == 0 ? 2u : 3u) << n;
    nobody_is_busy_twice(passes);
    std::multiset<Link> wanted;
    for (std::size_t i = 0; i < n; ++i) wanted.insert({i, (i + 1) % n});
    EXPECT_EQ(links_of(passes), wanted) << n;
  }
  EXPECT_TRUE(ring_passes(0).empty());
  EXPECT_TRUE(ring_passes(1).empty());
  EXPECT_EQ(ring_passes(5)[0].links, (std::vector<Link>{{0, 1}, {2, 3}}));
}

TEST(Links, TreeTakesFourPasses) {
  // 0 - (1 - (3, 4), 2 - (5, 6)); levels: 0 / 1 2 / 3 4 5 6
  const std::vector<std::size_t> parents{kNoParent, 0, 0, 1, 1, 2, 2};
  const auto passes = tree_passes(parents);
  ASSERT_TRUE(passes);
  ASSERT_EQ(passes->size(), 4u);
  EXPECT_EQ((*passes)[0].links, (std::vector<Link>{{3, 1}, {5, 2}}));
  EXPECT_EQ((*passes)[1].links, (std::vector<Link>{{4, 1}, {6, 2}}));
  EXPECT_EQ((*passes)[2].links, (std::vector<Link>{{1, 0}}));
  EXPECT_EQ((*passes)[3].links, (std::vector<Link>{{2, 0}}));
}

TEST(Links, DoubleBinaryTreeTakesFourPassesEach) {
  for (std::size_t n = 1; n <= 300; ++n) {
    std::vector<int> leaf(n, 0);
    for (const auto& parents : double_binary_tree(n)) {
      const auto passes = tree_passes(parents);
      ASSERT_TRUE(passes) << n << ": " << passes.error().what;
      EXPECT_LE(passes->size(), 4u) << n;
      nobody_is_busy_twice(*passes);
      std::multiset<Link> wanted;
      std::vector<bool> inner(n, false);
      for (std::size_t i = 0; i < n; ++i)
        if (parents[i] != kNoParent) {
          wanted.insert({i, parents[i]});
          inner[parents[i]] = true;
        }
      EXPECT_EQ(wanted.size(), n - 1);
      EXPECT_EQ(links_of(*passes), wanted) << n;
      for (std::size_t i = 0; i < n; ++i) leaf[i] += !inner[i];
    }
    if (n % 2 != 0) continue;
    for (const int times : leaf) EXPECT_GE(times, 1) << n;
  }
}

TEST(Links, AnyTreeHasEveryLinkOnce) {
  const std::vector<std::size_t> star{3, 3, 3, kNoParent, 3, 3};
  const auto passes = tree_passes(star);
  ASSERT_TRUE(passes);
  EXPECT_EQ(passes->size(), 5u);
  nobody_is_busy_twice(*passes);
  EXPECT_EQ(links_of(*passes).size(), 5u);
}

TEST(Links, RefusesWhatIsNoTree) {
  EXPECT_FALSE(tree_passes(std::vector<std::size_t>{kNoParent, kNoParent}));
  EXPECT_FALSE(tree_passes(std::vector<std::size_t>{1, 0}));
  EXPECT_FALSE(tree_passes(std::vector<std::size_t>{kNoParent, 2, 1}));
  EXPECT_FALSE(tree_passes(std::vector<std::size_t>{kNoParent, 7}));
  EXPECT_FALSE(tree_passes(std::vector<std::size_t>{kNoParent, 1}));
  EXPECT_TRUE(tree_passes({}));
}

}  // namespace
