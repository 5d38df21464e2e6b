// Which port, or which rail, counts errors between two looks: hand-made readings.
#include "analyze/metrics/port_counters.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace culprit::analyze {
namespace {

struct Looks {
  Facts facts;
  std::vector<SeriesPoints> points;

  Looks() {
    for (const MemberId id : {1, 2}) {
      MemberRow member;
      member.id = id;
      member.path = fmt::format("look_{}.txt", id);
      facts.members.push_back(member);
    }
  }
  void add(const std::string& counter, const std::string& host, const std::string& nic,
           double first, double second, const std::string& labels = {}) {
    for (const MemberId member : {1, 2}) {
      SeriesRow s;
      s.id = static_cast<SeriesId>(points.size() + 1);
      s.member = member;
      s.name = counter;
      s.kind = "counter";
      s.labels = labels;
      s.host = Host(host);
      s.nic = nic;
      s.clock = Clock::none;
      facts.series.push_back(s);
      SeriesPoints p;
      p.values.push_back(member == 1 ? first : second);
      points.push_back(std::move(p));
    }
  }
  // Links of one GPU, as nvidia-smi nvlink -e prints them.
  void add_link(const std::string& host, const std::string& gpu, int link, double first,
                double second) {
    add("nvlink_crc_errors", host, {}, first, second, fmt::format("link={}", link));
    for (std::size_t i = facts.series.size() - 2; i < facts.series.size(); ++i) {
      facts.series[i].nic.reset();
      facts.series[i].gpu = gpu;
    }
  }
  std::vector<Finding> found() const {
    return port_counters(facts, rules::Catalogue::built_in(),
                         [&](SeriesId id) { return points[static_cast<std::size_t>(id) - 1]; });
  }
};

TEST(PortCounters, ThePortWhoseWireTakesErrorsAndNotTheOneThatTookThemLongAgo) {
  Looks l;
  for (int h = 1; h <= 6; ++h) l.add("SymbolErrorCounter", fmt::format("n{}", h), "mlx5_0", 0, 2);
  l.add("SymbolErrorCounter", "n7", "mlx5_2", 1822, 14454);
  l.add("SymbolErrorCounter", "n8", "mlx5_0", 65535, 65535);
  const auto found = l.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::nic, "n7/mlx5_2"}));
  EXPECT_EQ(found[0].hosts, std::vector<Host>{Host("n7")});
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

TEST(PortCounters, ALinkOfAGpuThatTakesErrorsIsItsMachines) {
  Looks l;
  for (const char* host : {"n1", "n2"})
    for (int link = 0; link < 12; ++link)
      l.add_link(host, "3", link, 5, std::string(host) == "n2" && link == 4 ? 90'000 : 5);
  const auto found = l.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::gpu, "n2/gpu3"}));
  EXPECT_EQ(found[0].hosts, std::vector<Host>{Host("n2")});
}

TEST(PortCounters, APortOfASwitchIsNoMachines) {
  Looks l;
  for (int port = 1; port <= 8; ++port)
    l.add("symbol_error_counter", "leaf-1", std::to_string(port), 0, port == 5 ? 4000 : 0,
          std::string(kOfSwitch));
  const auto found = l.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::network_switch, "leaf-1/5"}));
  EXPECT_TRUE(found[0].hosts.empty());
}

TEST(PortCounters, ManyPortsThatTakeErrorsAreNotOnesFault) {
  Looks l;
  for (int h = 1; h <= 8; ++h)
    l.add("SymbolErrorCounter", fmt::format("n{}", h), "mlx5_0", 0, h <= 3 ? 5000 : 0);
  EXPECT_TRUE(l.found().empty());
}

TEST(PortCounters, TheRailOnWhichAllRepeatWhatTheySend) {
  Looks l;
  for (int h = 1; h <= 4; ++h)
    for (int rail = 0; rail < 4; ++rail)
      l.add("packet_seq_err", fmt::format("n{}", h), fmt::format("mlx5_{}/1", rail), 100,
            rail == 3 ? 40'000 : 104);
  const auto found = l.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::network_switch, "rail mlx5_3"}));
}

TEST(PortCounters, WhoRepeatsBesideADamagedWireIsItsVictim) {
  Looks l;
  for (int h = 1; h <= 4; ++h)
    for (int rail = 0; rail < 4; ++rail) {
      l.add("packet_seq_err", fmt::format("n{}", h), fmt::format("mlx5_{}", rail), 0,
            rail == 3 ? 40'000 : 0);
      l.add("rx_symbol_err_phy", fmt::format("n{}", h), fmt::format("mlx5_{}", rail), 0,
            h == 2 && rail == 3 ? 9000 : 0);
    }
  const auto found = l.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject.id, "n2/mlx5_3");
}

TEST(PortCounters, OneLookTellsNothing) {
  Looks l;
  for (int h = 1; h <= 6; ++h) l.add("SymbolErrorCounter", fmt::format("n{}", h), "mlx5_0", 0, 0);
  l.facts.members.pop_back();
  SeriesPoints many;
  many.values.push_back(60'000);
  l.points[0] = many;
  EXPECT_TRUE(l.found().empty());
}

}  // namespace
}  // namespace culprit::analyze
