// Slow hosts and slow links, told apart by the times of transfers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "plan/link_times.hpp"
#include "plan/links.hpp"

namespace {

using namespace culprit::plan;

std::vector<LinkTime> ring_and_trees(std::size_t hosts) {
  std::mt19937_64 engine(5);
  std::vector<LinkTime> out;
  const auto add = [&](const std::vector<Pass>& passes) {
    for (const Pass& p : passes)
      for (const Link& l : p.links)
        out.push_back({l.from, l.to, 10 + 0.3 * static_cast<double>(engine() % 1000) / 1000});
  };
  add(ring_passes(hosts));
  for (const auto& tree : double_binary_tree(hosts)) add(*tree_passes(tree));
  return out;
}

TEST(LinkTimes, AHostIsSlowWithAllItsPartners) {
  auto times = ring_and_trees(24);
  for (LinkTime& t : times)
    if (t.from == 7 || t.to == 7) t.time *= 1.4;
  const LinkTimes answer = attribute_link_times(times, 24);
  ASSERT_TRUE(answer.enough);
  ASSERT_EQ(answer.hosts.size(), 1u);
  EXPECT_EQ(answer.hosts[0].host, 7u);
  EXPECT_EQ(answer.hosts[0].side, SlowEnd::Side::both);
  EXPECT_NEAR(answer.hosts[0].factor, 1.4, 0.05);
  EXPECT_EQ(answer.hosts[0].slow, answer.hosts[0].links);
  EXPECT_TRUE(answer.links.empty());
}

TEST(LinkTimes, ALinkIsSlowAlone) {
  auto times = ring_and_trees(24);
  const LinkTime slow = times[9];
  for (LinkTime& t : times)
    if (t.from == slow.from && t.to == slow.to) t.time *= 1.5;
  const LinkTimes answer = attribute_link_times(times, 24);
  EXPECT_TRUE(answer.hosts.empty());
  ASSERT_EQ(answer.links.size(), 1u);
  EXPECT_EQ(answer.links[0].from, slow.from);
  EXPECT_EQ(answer.links[0].to, slow.to);
}

TEST(LinkTimes, ASenderIsToldFromAReceiver) {
  std::vector<LinkTime> times;
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < 8; ++b)
      if (a != b)
        times.push_back({a, b, (a == 3 ? 14.0 : 10.0) + 0.01 * static_cast<double>(a * b % 7)});
  const LinkTimes answer = attribute_link_times(times, 8);
  ASSERT_EQ(answer.hosts.size(), 1u);
  EXPECT_EQ(answer.hosts[0].host, 3u);
  EXPECT_EQ(answer.hosts[0].side, SlowEnd::Side::sends);
}

TEST(LinkTimes, EqualOrFewTimesAccuseNobody) {
  std::vector<LinkTime> equal;
  for (std::size_t a = 0; a < 6; ++a) equal.push_back({a, (a + 1) % 6, 10});
  const LinkTimes same = attribute_link_times(equal, 6);
  EXPECT_TRUE(same.enough && same.hosts.empty() && same.links.empty());
  EXPECT_FALSE(attribute_link_times(std::span(equal).first(3), 6).enough);
  EXPECT_FALSE(attribute_link_times({}, 0).enough);
}

TEST(LinkTimes, WhatIsNoTimeIsCounted) {
  auto times = ring_and_trees(8);
  const std::size_t good = times.size();
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()})
    times.push_back({0, 1, bad});
  times.push_back({2, 2, 10});
  times.push_back({2, 99, 10});
  EXPECT_EQ(attribute_link_times(times, 8).unusable, times.size() - good);
}

TEST(LinkTimes, OrderDoesNotMatter) {
  auto times = ring_and_trees(24);
  for (LinkTime& t : times)
    if (t.from == 7 || t.to == 7 || (t.from == 2 && t.to == 3)) t.time *= 1.4;
  const LinkTimes one = attribute_link_times(times, 24);
  std::reverse(times.begin(), times.end());
  const LinkTimes other = attribute_link_times(times, 24);
  ASSERT_EQ(one.hosts.size(), other.hosts.size());
  ASSERT_EQ(one.links.size(), other.links.size());
  for (std::size_t i = 0; i < one.hosts.size(); ++i) {
    EXPECT_EQ(one.hosts[i].host, other.hosts[i].host);
    EXPECT_EQ(one.hosts[i].factor, other.hosts[i].factor);
  }
}

bool names_host(const LinkTimes& answer, std::size_t host) {
  return std::any_of(answer.hosts.begin(), answer.hosts.end(),
                     [&](const SlowEnd& end) { return end.host == host; }) ||
         std::find(answer.once.begin(), answer.once.end(), host) != answer.once.end();
}

// As far off as the weights give up on a transfer, a partner once got what the slow host was over.
TEST(LinkTimes, AVerySlowHostLeavesNothingToItsPartner) {
  for (const auto& [hosts, slow] : {std::pair<std::size_t, std::size_t>{9, 3}, {21, 12}, {29, 16}})
    for (int hundredths = 200; hundredths < 300; ++hundredths) {
      auto times = ring_and_trees(hosts);
      for (LinkTime& t : times)
        if (t.from == slow || t.to == slow) t.time *= hundredths / 100.0;
      const LinkTimes answer = attribute_link_times(times, hosts);
      ASSERT_EQ(answer.hosts.size(), 1u) << hosts << " hosts, " << hundredths;
      EXPECT_EQ(answer.hosts[0].host, slow);
      EXPECT_NEAR(answer.hosts[0].factor, hundredths / 100.0, 0.1);
    }
}

// The passes of a ring, and of both trees, with up to 3 % between healthy links: a slow host is
// named and no other, a slow link is named, or an end of it where its ends have no other link.
RC_GTEST_PROP(LinkTimes, TheCulpritSurvivesThePasses, ()) {
  const auto hosts = *rc::gen::inRange<std::size_t>(8, 33);
  auto times = ring_and_trees(hosts);
  const double factor = *rc::gen::inRange(130, 400) / 100.0;
  if (*rc::gen::arbitrary<bool>()) {
    const auto slow = *rc::gen::inRange<std::size_t>(0, hosts);
    for (LinkTime& t : times)
      if (t.from == slow || t.to == slow) t.time *= factor;
    const LinkTimes answer = attribute_link_times(times, hosts);
    RC_ASSERT(answer.enough);
    RC_ASSERT(names_host(answer, slow));
    for (const SlowEnd& end : answer.hosts) RC_ASSERT(end.host == slow);
  } else {
    const LinkTime slow = times[*rc::gen::inRange<std::size_t>(0, times.size())];
    for (LinkTime& t : times)
      if (t.from == slow.from && t.to == slow.to) t.time *= factor;
    const LinkTimes answer = attribute_link_times(times, hosts);
    RC_ASSERT(answer.enough);
    RC_ASSERT(names_host(answer, slow.from) || names_host(answer, slow.to) ||
              std::any_of(answer.links.begin(), answer.links.end(), [&](const SlowLink& l) {
                return l.from == slow.from && l.to == slow.to;
              }));
  }
}

}  // namespace
