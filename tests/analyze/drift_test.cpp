#include "analyze/faults/drift.hpp"
#include "report/phrases.hpp"
#include "support/hosts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace culprit::analyze {
namespace {

// One member a host, "hosts/NAME/settings".
class Bundle {
 public:
  Bundle& say(const std::string& host, const std::string& name, const std::string& value) {
    auto it = std::find_if(facts.members.begin(), facts.members.end(),
                           [&](const MemberRow& m) { return m.host == host; });
    if (it == facts.members.end()) {
      MemberRow m;
      m.id = static_cast<MemberId>(facts.members.size()) + 1;
      m.path = "hosts/" + host + "/settings";
      m.host = Host(host);
      facts.members.push_back(m);
      it = facts.members.end() - 1;
    }
    ConfigRow row;
    row.place = {it->id, ++lines_, 0, 10};
    row.name = name;
    row.value = value;
    facts.configs.push_back(row);
    return *this;
  }
  Bundle& each(int from, int to, const std::string& name, const std::string& value) {
    for (int i = from; i < to; ++i) say("n" + std::to_string(i), name, value);
    return *this;
  }
  DriftReport report() const { return compare_settings(facts, rules::DriftRules::built_in()); }
  std::vector<Finding> findings() const { return drift_findings(report(), facts); }
  Facts facts;

 private:
  std::uint64_t lines_ = 0;
};

TEST(Drift, TheHostsOutsideOfTheMajorityAreNamed) {
  Bundle b;
  b.each(0, 5, "driver_version", "550.90.07").each(5, 7, "driver_version", "550.54.15");
  const auto found = b.findings();
  ASSERT_EQ(found.size(), 1u);
  const Finding& f = found[0];
  EXPECT_EQ(f.id, "drift/driver_version");
  EXPECT_EQ(f.outcome, Outcome::fired);
  EXPECT_EQ(f.role, Role::confirmation) << "a difference accuses nobody";
  EXPECT_EQ(f.subject, (Subject{SubjectKind::config, "driver_version"}));
  EXPECT_EQ(f.hosts, Hosts({"n5", "n6"}));
  EXPECT_EQ(report::words(f.why),
            "5 of 7 hosts have driver version 550.90.07; 550.54.15 on n5 and n6.");
  ASSERT_EQ(f.evidence.size(), 3u);
  EXPECT_EQ(f.evidence[0].path, "hosts/n5/settings");
  EXPECT_EQ(f.evidence[0].excerpt, "550.54.15");
  EXPECT_EQ(f.evidence[2].excerpt, "550.90.07");
}

TEST(Drift, HalfAndHalfNamesNobody) {
  Bundle b;
  b.each(0, 3, "nccl_version", "2.20.5").each(3, 6, "nccl_version", "2.19.3");
  const auto found = b.findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::fired);
  EXPECT_TRUE(found[0].hosts.empty());
  EXPECT_NE(report::words(found[0].why).find("is unknown"), std::string::npos);
  EXPECT_EQ(b.report().items[0].state, DriftState::no_majority);
  // 60 %: three of five are a majority, five of nine are none.
  EXPECT_EQ(Bundle()
                .each(0, 3, "nccl_version", "2")
                .each(3, 5, "nccl_version", "3")
                .report()
                .items[0]
                .state,
            DriftState::differs);
  EXPECT_EQ(Bundle()
                .each(0, 5, "nccl_version", "2")
                .each(5, 9, "nccl_version", "3")
                .report()
                .items[0]
                .state,
            DriftState::no_majority);
}

TEST(Drift, OneHostOrNothing) {
  EXPECT_TRUE(Bundle().findings().empty());
  const auto one = Bundle().say("n0", "driver_version", "550").findings();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].outcome, Outcome::not_enough_evidence);
  const auto two = Bundle().each(0, 2, "driver_version", "550").findings();
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0].outcome, Outcome::ruled_out);
}

bool slows(const Bundle& b) { return std::get<SettingFacts>(b.findings().at(0).facts).slows; }

// A machine has ports of several rates: each is held against the same port elsewhere.
TEST(Drift, APortIsComparedWithTheSamePortOfOthers) {
  const auto ports = [](const char* odd) {
    Bundle b;
    for (int h = 0; h < 5; ++h)
      for (const char* port : {"mlx5_0", "mlx5_1", "eth0"})
        b.say("n" + std::to_string(h), "nic.rate[" + std::string(port) + "]",
              std::string_view(port) == "eth0"          ? "100"
              : h == 4 && std::string(port) == "mlx5_1" ? odd
                                                        : "400");
    return b;
  };
  EXPECT_TRUE(slows(ports("200")));
  EXPECT_FALSE(slows(ports("800")));
}

TEST(Drift, APortThatIsAsSlowAsAnotherOfItsMachine) {
  const auto ports = [](const char* second) {
    Bundle b;
    for (int h = 0; h < 6; ++h) {
      b.say("n" + std::to_string(h), "nic.rate[mlx5_0]", h == 4 ? "100" : "400");
      b.say("n" + std::to_string(h), "nic.rate[mlx5_1]", h == 2 ? second : "400");
      b.say("n" + std::to_string(h), "nic.rate[mlx5_8]", "100");
    }
    return b;
  };
  EXPECT_TRUE(slows(ports("400")));
  EXPECT_EQ(ports("100").findings().at(0).outcome, Outcome::ruled_out) << "two machines";
}

// Two of many that were installed alike; a part of two machines is a second crowd.
TEST(Drift, AFewHostsWithASlowerSetting) {
  EXPECT_TRUE(slows(Bundle()
                        .each(0, 14, "cpu.governor", "performance")
                        .each(14, 16, "cpu.governor", "powersave")));
  EXPECT_FALSE(slows(
      Bundle().each(0, 4, "cpu.governor", "performance").each(4, 6, "cpu.governor", "powersave")));
}

TEST(Drift, OneGpuOfAHostIsNamedAndTheirNumberDoesNotCount) {
  Bundle b;
  for (int h = 0; h < 4; ++h)
    for (int g = 0; g < (h == 3 ? 1 : 2); ++g)
      b.say("n" + std::to_string(h), "gpu.ecc_mode[0000:0" + std::to_string(g) + ":00]",
            h == 2 && g == 1 ? "Disabled" : "Enabled");
  const auto report = b.report();
  ASSERT_EQ(report.items.size(), 1u);
  const DriftItem& item = report.items[0];
  EXPECT_EQ(item.name, "gpu.ecc_mode");
  ASSERT_EQ(item.values.size(), 2u);
  EXPECT_EQ(item.values[0].hosts, Hosts({"n0", "n1", "n3"}));
  EXPECT_EQ(item.values[1].value, "Disabled | Enabled");
  EXPECT_EQ(item.values[1].devices, (std::vector<std::string>{"n2 0000:01:00"}));
  ASSERT_EQ(item.values[1].places.size(), 1u);
  EXPECT_EQ(item.values[1].places[0].value, "Disabled") << "the place of what differs";
}

TEST(Drift, MissingIsToldAndIsNoDifference) {
  Bundle b;
  b.each(0, 4, "env.NCCL_IB_TIMEOUT", "22").each(0, 3, "env.NCCL_IB_HCA", "mlx5_0");
  for (const DriftItem& item : b.report().items) {
    EXPECT_EQ(item.state, DriftState::same) << item.name;
    EXPECT_EQ(item.missing, item.name == "env.NCCL_IB_HCA" ? Hosts({"n3"}) : Hosts());
  }
}

TEST(Drift, AnUpgradeWithinALogIsNoDifference) {
  Bundle b;
  b.say("n0", "driver_version", "550.54.15").each(0, 4, "driver_version", "550.90.07");
  EXPECT_EQ(b.report().items[0].state, DriftState::same);
  b.say("n2", "driver_version", "535.1");
  ASSERT_EQ(b.report().items[0].state, DriftState::differs);
  EXPECT_EQ(b.report().items[0].values[1].value, "535.1");
  // Ranks of one host share a file: what one of them says later is no news of the others.
  EXPECT_EQ(Bundle()
                .each(0, 4, "nccl_version", "2.19.3")
                .say("n1", "nccl_version", "2.20.5")
                .report()
                .items[0]
                .values[1]
                .value,
            "2.19.3 | 2.20.5");
}

TEST(Drift, SpellingsOfOneVersionAreOne) {
  EXPECT_EQ(Bundle()
                .each(0, 3, "nccl_version", "2.20.5+cuda12.4")
                .each(2, 5, "nccl_version", "2.20.5")
                .report()
                .items[0]
                .state,
            DriftState::same);
}

TEST(Drift, IgnoredCopiedAndHostlessSettingsDoNotCount) {
  Bundle b;
  b.each(0, 3, "env.LOCAL_RANK", "0").say("n3", "env.LOCAL_RANK", "1");
  EXPECT_TRUE(b.report().items.empty());
  b = Bundle();
  b.each(0, 3, "driver_version", "550").say("n3", "driver_version", "535");
  b.facts.members[3].duplicate_of = 1;
  EXPECT_EQ(b.report().hosts.size(), 3u);
  b.facts.members[3].duplicate_of = 0;
  b.facts.members[3].host.reset();
  EXPECT_EQ(b.report().hosts.size(), 3u);
}

TEST(Drift, TheMostSevereComesFirst) {
  Bundle b;
  b.each(0, 4, "os_release", "a")
      .each(0, 4, "nccl_version", "2.20.5")
      .each(0, 3, "kernel_version", "5.15")
      .say("n3", "kernel_version", "6.8")
      .each(0, 4, "gpu.mig_mode[g]", "Disabled")
      .say("n1", "gpu.mig_mode[h]", "Enabled");
  const auto items = b.report().items;
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].name, "gpu.mig_mode");
  EXPECT_EQ(items[1].name, "kernel_version");
  EXPECT_EQ(items[2].state, DriftState::same);
}

TEST(Drift, BeyondTheLimitTheyAreSummedUp) {
  Bundle b;
  for (int i = 0; i < 120; ++i)
    b.each(0, 3, "sysctl.vm.x" + std::to_string(i), "1")
        .say("n3", "sysctl.vm.x" + std::to_string(i), "2");
  b.each(0, 3, "nccl_version", "2.20.5").say("n3", "nccl_version", "2.19.3");
  const auto found = b.findings();
  ASSERT_EQ(found.size(), 101u);
  EXPECT_EQ(found[0].id, "drift/nccl_version");
  EXPECT_EQ(found[100].id, "drift/more");
  EXPECT_EQ(found[100].count, 21u);
}

RC_GTEST_PROP(Drift, TheOrderOfRowsDoesNotMatter, ()) {
  Bundle b;
  const auto n = *rc::gen::inRange(1, 40);
  for (int i = 0; i < n; ++i)
    b.say("n" + std::to_string(*rc::gen::inRange(0, 6)),
          *rc::gen::element<std::string>("driver_version", "nccl_version", "gpu.ecc_mode[a]",
                                         "gpu.ecc_mode[b]", "env.NCCL_ALGO"),
          std::to_string(*rc::gen::inRange(0, 3)));
  const auto told = [](const Bundle& one) {
    std::string out;
    for (const Finding& f : one.findings()) {
      out += f.id + " " + std::string(name(f.outcome)) + " " + report::words(f.why) + "\n";
      for (const Evidence& e : f.evidence)
        out += "  " + e.path + ":" + std::to_string(e.line) + " " + e.excerpt + "\n";
    }
    for (const DriftItem& item : one.report().items)
      for (const DriftValue& v : item.values) {
        out += item.name + " " + v.value;
        for (const auto& host : v.hosts) out += " " + host;
        for (const auto& device : v.devices) out += " (" + device + ")";
        out += "\n";
      }
    return out;
  };
  const std::string before = told(b);
  // Another order of rows; a row keeps its place.
  std::vector<std::size_t> keys;
  for (int i = 0; i < n; ++i) keys.push_back(*rc::gen::inRange<std::size_t>(0, 1000));
  std::vector<std::pair<std::size_t, ConfigRow>> rows;
  for (std::size_t i = 0; i < b.facts.configs.size(); ++i)
    rows.emplace_back(keys[i], b.facts.configs[i]);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  for (std::size_t i = 0; i < rows.size(); ++i) b.facts.configs[i] = rows[i].second;
  RC_ASSERT(told(b) == before);
  // A host is in one group of each setting, and nobody is named without a majority of 60 %.
  for (const DriftItem& item : b.report().items) {
    std::size_t total = 0;
    std::vector<std::string> all;
    for (const DriftValue& v : item.values) {
      total += v.hosts.size();
      all.insert(all.end(), v.hosts.begin(), v.hosts.end());
    }
    std::sort(all.begin(), all.end());
    RC_ASSERT(std::adjacent_find(all.begin(), all.end()) == all.end());
    RC_ASSERT(item.state != DriftState::differs || 10 * item.values[0].hosts.size() >= 6 * total);
  }
}

const SettingFacts& setting_of(const std::vector<Finding>& found) {
  return std::get<SettingFacts>(found.at(0).facts);
}

TEST(Drift, AHostThatAloneHasASlowerValueSlowsAJob) {
  Bundle rate;
  rate.each(0, 5, "nic.rate[mlx5_0]", "400").each(0, 4, "nic.rate[mlx5_1]", "400");
  rate.say("n4", "nic.rate[mlx5_1]", "100");
  EXPECT_TRUE(setting_of(rate.findings()).slows);
  Bundle direct;
  direct.each(0, 4, "nccl.gpu_direct_rdma[mlx5_0]", "enabled");
  direct.say("n4", "nccl.gpu_direct_rdma[mlx5_0]", "disabled");
  EXPECT_TRUE(setting_of(direct.findings()).slows);
}

TEST(Drift, AFasterValueOrOneOfTwoHostsSlowsNobody) {
  Bundle faster;
  faster.each(0, 5, "gpu.power_limit", "500.00 W").say("n5", "gpu.power_limit", "700.00 W");
  EXPECT_FALSE(setting_of(faster.findings()).slows);
  Bundle two;
  two.each(0, 5, "gpu.power_limit", "700.00 W").each(5, 7, "gpu.power_limit", "350.00 W");
  EXPECT_FALSE(setting_of(two.findings()).slows);
  Bundle other;
  other.each(0, 5, "kernel_version", "6.8.0-58").say("n5", "kernel_version", "6.8.0-64");
  EXPECT_FALSE(setting_of(other.findings()).slows);
}

// Two hosts have no majority; fifteen of sixteen GPUs have one.
TEST(Drift, NearlyAllDevicesAreAMajorityOfTwoHosts) {
  Bundle b;
  for (int h = 0; h < 2; ++h)
    for (int g = 0; g < 8; ++g)
      b.say("n" + std::to_string(h), "gpu.pcie_width[0000:0" + std::to_string(g) + ":00]",
            h == 1 && g == 2 ? "8" : "16");
  const DriftItem item = b.report().items.at(0);
  EXPECT_EQ(item.state, DriftState::differs);
  EXPECT_TRUE(item.by_devices);
  EXPECT_EQ(item.values.at(1).hosts, Hosts({"n1"}));
  EXPECT_TRUE(std::get<SettingFacts>(b.findings().at(0).facts).slows);
  // Seven of eight ports as well; three of four are too few to tell.
  for (const int ports : {4, 2}) {
    Bundle few;
    for (int h = 0; h < 2; ++h)
      for (int p = 0; p < ports; ++p)
        few.say("n" + std::to_string(h), "nic.rate[mlx5_" + std::to_string(p) + "]",
                h == 1 && p == 1 ? "200" : "400");
    EXPECT_EQ(few.report().items.at(0).by_devices, ports == 4);
  }
}

}  // namespace
}  // namespace culprit::analyze
