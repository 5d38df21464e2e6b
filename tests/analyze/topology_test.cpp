#include "analyze/facts/topology.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "model/json.hpp"
#include "model/ranges.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"

namespace culprit::analyze {
namespace {

std::map<std::string, std::vector<Ranks>> by_dimension(const std::vector<ParallelGroup>& groups) {
  std::map<std::string, std::vector<Ranks>> out;
  for (const ParallelGroup& g : groups) out[g.dimension].push_back(g.ranks);
  return out;
}

GroupRow group(std::string description, Ranks ranks) {
  GroupRow row;
  row.description = std::move(description);
  row.size = static_cast<std::int64_t>(ranks.size());
  row.ranks = std::move(ranks);
  row.name = row.description + to_ranges(row.ranks);
  return row;
}

Facts with_manifest(const std::string& parallelism, std::int64_t world) {
  Facts facts;
  facts.world_size = world;
  facts.manifest.emplace();
  facts.manifest->parallelism = parallelism;
  if (world > 0) facts.manifest->world_size = world;
  return facts;
}

void print(Facts& facts, const std::string& name, const std::string& value,
           std::uint64_t line = 1) {
  if (facts.members.empty()) {
    facts.members.emplace_back();
    facts.members.back().id = 1;
    facts.members.back().path = "train.log";
  }
  ConfigRow row;
  row.place = {1, line, 0, 0};
  row.name = name;
  row.value = value;
  facts.configs.push_back(row);
}

TEST(ParallelGroups, OrderOfMegatron) {
  const auto groups = by_dimension(parallel_groups({2, 2, 2, 1, 1, 1, "tp-cp-ep-dp-pp"}));
  EXPECT_EQ(groups.at("tp"), (std::vector<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups.at("dp"), (std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups.at("pp"), (std::vector<Ranks>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups.at("mp"), (std::vector<Ranks>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(groups.count("cp") + groups.count("ep"), 0u);
  const auto other = by_dimension(parallel_groups({2, 2, 2, 1, 1, 1, "tp-cp-ep-pp-dp"}));
  EXPECT_EQ(other.at("pp"), (std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(other.at("dp"), (std::vector<Ranks>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(ParallelGroups, ExpertsHaveTheirOwnGenerator) {
  Layout layout{2, 4, 2, 1, 4, 1, "tp-cp-ep-dp-pp"};
  auto groups = by_dimension(parallel_groups(layout));
  EXPECT_EQ(groups.at("ep"),
            (std::vector<Ranks>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  EXPECT_EQ(groups.at("dp").front(), (Ranks{0, 2}));
  EXPECT_EQ(groups.at("pp").front(), (Ranks{0, 4, 8, 12}));
  EXPECT_EQ(groups.count("etp") + groups.count("edp"), 0u);
  layout = {2, 1, 4, 1, 2, 2, "tp-cp-ep-dp-pp"};
  groups = by_dimension(parallel_groups(layout));
  EXPECT_EQ(groups.at("etp").front(), (Ranks{0, 1}));
  EXPECT_EQ(groups.at("ep").front(), (Ranks{0, 2}));
  EXPECT_EQ(groups.at("edp").front(), (Ranks{0, 4}));
  // Experts take cp as 1: their groups run through it.
  layout = {1, 1, 2, 2, 4, 1, "tp-cp-ep-dp-pp"};
  groups = by_dimension(parallel_groups(layout));
  EXPECT_EQ(groups.at("cp"), (std::vector<Ranks>{{0, 1}, {2, 3}}));
  EXPECT_EQ(groups.at("ep"), (std::vector<Ranks>{{0, 1, 2, 3}}));
}

TEST(ParallelGroups, OrdersThatAreNone) {
  EXPECT_TRUE(parallel_groups({2, 2, 2, 1, 1, 1, "tp-dp-zp"}).empty());
  EXPECT_TRUE(parallel_groups({2, 2, 2, 1, 1, 1, "tp-tp-dp-pp"}).empty());
  EXPECT_TRUE(parallel_groups({2, 2, 2, 1, 1, 1, "tp-dp"}).empty());
  EXPECT_TRUE(parallel_groups({2, 2, 2, 1, 1, 1, ""}).empty());
  EXPECT_FALSE(
      parallel_groups({2, 2, 2, 1, 1, 1, "tp-dp-pp"}).empty());  // axes of size 1 may be left out
  EXPECT_TRUE(parallel_groups({0, 2, 2, 1, 1, 1, "tp-cp-ep-dp-pp"}).empty());
  EXPECT_TRUE(parallel_groups({-2, -2, 2, 1, 1, 1, "tp-cp-ep-dp-pp"}).empty());
  EXPECT_TRUE(
      parallel_groups({1'000'000'000, 1'000'000'000, 1'000'000'000, 7, 1, 1, "tp-cp-ep-dp-pp"})
          .empty());
  EXPECT_EQ(by_dimension(parallel_groups({2, 2, 2, 1, 3, 1, "tp-cp-ep-dp-pp"})).count("ep"),
            0u);  // 3 does not divide 8
}

rc::Gen<Layout> any_layout() {
  return rc::gen::exec([] {
    Layout l;
    l.tp = *rc::gen::inRange(1, 5);
    l.pp = *rc::gen::inRange(1, 5);
    l.dp = *rc::gen::inRange(1, 5);
    l.cp = *rc::gen::inRange(1, 4);
    std::vector<std::string> axes{"tp", "cp", "ep", "dp", "pp"};
    const int swaps = *rc::gen::inRange(0, 6);
    for (int i = 0; i < swaps; ++i)
      std::swap(axes[static_cast<std::size_t>(*rc::gen::inRange(0, 5))],
                axes[static_cast<std::size_t>(*rc::gen::inRange(0, 5))]);
    l.order = axes[0] + "-" + axes[1] + "-" + axes[2] + "-" + axes[3] + "-" + axes[4];
    std::vector<std::pair<std::int64_t, std::int64_t>> experts;
    for (std::int64_t ep = 1; ep <= 8; ++ep)
      for (std::int64_t etp = 1; etp <= 4; ++etp)
        if (l.world() % (ep * etp * l.pp) == 0) experts.emplace_back(ep, etp);
    if (!experts.empty()) std::tie(l.ep, l.etp) = *rc::gen::elementOf(experts);
    return l;
  });
}

RC_GTEST_PROP(ParallelGroups, PartitionTheWorld, ()) {
  const Layout l = *any_layout();
  std::map<std::string, std::int64_t> want{
      {"tp", l.tp},
      {"pp", l.pp},
      {"dp", l.dp},
      {"cp", l.cp},
      {"mp", l.tp > 1 && l.pp > 1 ? l.tp * l.pp : 1},
      {"ep", l.ep},
      {"etp", l.ep > 1 ? l.etp : 1},
      {"edp", l.ep > 1 ? l.world() / (l.ep * l.etp * l.pp) : 1}};
  const auto groups = by_dimension(parallel_groups(l));
  for (const auto& [dimension, size] : want) {
    RC_ASSERT((groups.count(dimension) == 1) == (size > 1));
    if (size == 1) continue;
    std::set<Rank> seen;
    for (const Ranks& ranks : groups.at(dimension)) {
      RC_ASSERT(static_cast<std::int64_t>(ranks.size()) == size);
      RC_ASSERT(std::is_sorted(ranks.begin(), ranks.end()));
      for (const Rank rank : ranks) RC_ASSERT(seen.insert(rank).second);
    }
    RC_ASSERT(static_cast<std::int64_t>(seen.size()) == l.world());
    RC_ASSERT(*seen.rbegin() == Rank(l.world() - 1));
  }
  // Two ranks share at most one group of each pair of dense dimensions.
  for (const Ranks& a : groups.count("tp") ? groups.at("tp") : std::vector<Ranks>{})
    for (const Ranks& b : groups.count("dp") ? groups.at("dp") : std::vector<Ranks>{}) {
      Ranks both;
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      RC_ASSERT(both.size() <= 1);
    }
}

RC_GTEST_PROP(MakeTopology, RecordersGroupsGiveTheLayoutBack, ()) {
  const Layout l = *any_layout();
  static const std::map<std::string, std::string> kNames{
      {"tp", "TENSOR_MODEL_PARALLEL_GROUP"}, {"pp", "PIPELINE_MODEL_PARALLEL_GROUP"},
      {"dp", "DATA_PARALLEL_GROUP"},         {"cp", "CONTEXT_PARALLEL_GROUP"},
      {"ep", "EXPERT_MODEL_PARALLEL_GROUP"}, {"etp", "EXPERT_TENSOR_PARALLEL_GROUP"},
      {"edp", "EXPERT_DATA_PARALLEL_GROUP"}, {"mp", "MODEL_PARALLEL_GROUP"}};
  const auto want = parallel_groups(l);
  Facts facts;
  facts.world_size = l.world();
  for (const ParallelGroup& g : want)
    facts.groups.push_back(group(kNames.at(g.dimension), g.ranks));
  if (l.ep > 1 && l.etp == 1)
    facts.groups.push_back(group("EXPERT_TENSOR_PARALLEL_GROUP", Ranks({0})));
  const Topology t = make_topology(facts);
  if (want.empty()) return;
  RC_ASSERT(t.layout.has_value());
  RC_ASSERT(t.source == "recorder");
  RC_ASSERT(by_dimension(t.groups) == by_dimension(want));
  RC_ASSERT(t.layout->tp == l.tp);
  RC_ASSERT(t.layout->pp == l.pp);
  RC_ASSERT(t.layout->cp == l.cp);
  RC_ASSERT(t.layout->dp == l.dp);
}

TEST(MakeTopology, SixteenThousandRanksInAnUnusualOrder) {
  const Layout l{8, 16, 64, 2, 8, 1, "tp-dp-cp-ep-pp"};
  Facts facts;
  facts.world_size = l.world();
  for (const ParallelGroup& g : parallel_groups(l))
    facts.groups.push_back(group("mesh_" + g.dimension, g.ranks));
  const Topology t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.layout->ep, 8);
  EXPECT_EQ(t.layout->etp, 1);
  EXPECT_EQ(by_dimension(t.groups), by_dimension(parallel_groups(l)));
}

TEST(MakeTopology, RecordersOfSomeRanksGiveAllGroups) {
  Facts facts;
  facts.groups = {group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7}),
                  group("TENSOR_MODEL_PARALLEL_GROUP", {0, 1}),
                  group("DATA_PARALLEL_GROUP", {0, 2}),
                  group("PIPELINE_MODEL_PARALLEL_GROUP", {0, 4}),
                  group("EMBEDDING_GROUP", {0, 4}),
                  group("", {5, 6})};
  const Topology t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.layout->order, "tp-cp-ep-dp-pp");
  EXPECT_EQ(t.groups.size(), 4u + 4 + 4 + 2);
  EXPECT_EQ(t.groups.front().id, "tp/0");
  EXPECT_TRUE(t.notes.empty());
}

TEST(MakeTopology, RecorderWinsOverManifestAndLog) {
  Facts facts = with_manifest(R"({"tp": 4, "pp": 2, "dp": 1})", 8);
  print(facts, "parallel.tp", "8");
  facts.groups = {group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7}),
                  group("TENSOR_MODEL_PARALLEL_GROUP", {4, 5}),
                  group("PIPELINE_MODEL_PARALLEL_GROUP", {1, 5})};
  const Topology t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.layout->tp, 2);
  EXPECT_EQ(t.layout->dp, 2);
  ASSERT_EQ(t.notes.size(), 2u);
  EXPECT_EQ(
      report::words(t.notes[0]),
      "manifest says dp 1, tp 4, the recorders' process groups dp 2, tp 2: the latter is taken");
}

TEST(MakeTopology, GroupsThatFollowNoOrderStayAsTheyAre) {
  Facts facts;
  facts.world_size = 8;
  facts.groups = {group("TENSOR_MODEL_PARALLEL_GROUP", {0, 3}),
                  group("TENSOR_MODEL_PARALLEL_GROUP", {1, 2}),
                  group("DATA_PARALLEL_GROUP", {0, 1, 4})};
  const Topology t = make_topology(facts);
  EXPECT_FALSE(t.layout);
  EXPECT_EQ(t.source, "recorder");
  EXPECT_EQ(by_dimension(t.groups).at("tp"), (std::vector<Ranks>{{0, 3}, {1, 2}}));
  EXPECT_EQ(t.notes.size(), 1u);
}

TEST(MakeTopology, ShardsAndReplicas) {
  Facts facts;
  facts.world_size = 16;  // [replicate 2, shard 4, tp 2]
  facts.groups = {group("mesh_tp", {0, 1}), group("mesh_dp_shard", {0, 2, 4, 6}),
                  group("mesh_dp_replicate", {1, 9}),
                  group("mesh_dp", {0, 2, 4, 6, 8, 10, 12, 14})};
  Topology t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.layout->dp, 8);
  EXPECT_EQ(by_dimension(t.groups).at("dp").size(), 2u);
  EXPECT_EQ(by_dimension(t.groups).at("dp_shard"), (std::vector<Ranks>{{0, 2, 4, 6}}));
  EXPECT_EQ(by_dimension(t.groups).at("dp_replicate"), (std::vector<Ranks>{{1, 9}}));
  facts.groups = {group("mesh_tp", {0, 1}), group("mesh_dp_shard", {0, 2, 4, 6, 8, 10, 12, 14})};
  t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.layout->dp, 8);
  EXPECT_EQ(by_dimension(t.groups).count("dp_shard"), 0u);
}

TEST(MakeTopology, ManifestAndLog) {
  Topology t = make_topology(with_manifest(R"({"tp": 2, "pp": 2})", 16));
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.source, "manifest");
  EXPECT_EQ(t.layout->dp, 4);
  EXPECT_EQ(t.groups.size(), 8u + 4 + 8 + 4);
  t = make_topology(with_manifest(R"({"tp": 2, "pp": 3})", 16));
  EXPECT_FALSE(t.layout);
  EXPECT_EQ(t.source, "");
  EXPECT_EQ(t.notes.size(), 1u);
  t = make_topology(with_manifest(R"({"tp": 9000000, "pp": 9000000, "dp": 9000000})", 0));
  EXPECT_FALSE(t.layout);
  t = make_topology(with_manifest(R"({"tp": 2, "dp": 2, "order": "tp"})", 4));
  EXPECT_FALSE(t.layout);
  EXPECT_EQ(t.notes.size(), 1u);
  EXPECT_EQ(make_topology(Facts{}).source, "");
  t = make_topology(with_manifest(R"({"tp": 2})", 10'000'000));
  EXPECT_TRUE(t.groups.empty());

  Facts facts;
  print(facts, "parallel.framework", "megatron");
  print(facts, "world_size", "8");
  print(facts, "parallel.tp", "4", 1);
  print(facts, "parallel.tp", "2", 9);
  t = make_topology(facts);
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.source, "megatron arguments");
  EXPECT_EQ(t.layout->dp, 4);
  EXPECT_EQ(t.notes.size(), 1u);  // two values for tp
}

TEST(MakeTopology, RanksThatAreLeftAreTheHostsThatIsLeft) {
  Facts facts = with_manifest("", 6);
  facts.manifest->hosts = Hosts({"a", "b", "c"});
  for (std::int64_t r = 0; r < 4; ++r) {
    RankRow row;
    row.rank = Rank(r);
    row.host = Host(r < 2 ? "c" : "a");
    facts.ranks.push_back(row);
  }
  EXPECT_EQ(make_topology(facts).where(Rank(5)), "rank 5 (b)");
  facts.ranks.pop_back();
  EXPECT_EQ(make_topology(facts).where(Rank(5)), "rank 5") << "host a may have another one";
  facts.world_size = 0;
  facts.world_counted = true;
  EXPECT_EQ(make_topology(facts).where(Rank(5)), "rank 5");
}

TEST(MakeTopology, HostsAndSwitches) {
  Facts facts;
  for (const char* name : {"a1", "a2", "b1"}) {
    facts.hosts.emplace_back();
    facts.hosts.back().host = Host(name);
  }
  RankRow rank;
  rank.rank = Rank(3);
  rank.host = Host("b1");
  facts.ranks.push_back(rank);
  facts.networks = {{{}, "slurm", "switch", "leaf1", 0, Hosts({"a1.cluster", "a2", "a9"}), {}},
                    {{}, "slurm", "switch", "leaf2", 0, Hosts({"b1"}), {}},
                    {{}, "slurm", "switch", "spine", 1, {}, {"leaf1", "leaf2"}},
                    {{}, "slurm", "switch", "far", 0, Hosts({"z1"}), {}},
                    {{}, "slurm", "switch", "loop1", 1, Hosts({"a1"}), {"loop2"}},
                    {{}, "slurm", "switch", "loop2", 2, {}, {"loop1", "loop2"}}};
  facts.manifest.emplace();
  facts.manifest->pod = {{"p", {"a1", "b1"}}};
  const Topology t = make_topology(facts);
  EXPECT_EQ(t.where(Rank(3)), "rank 3 (b1)");
  EXPECT_EQ(t.where(Rank(4)), "rank 4");
  std::string text;
  for (const Switch& s : t.switches) {
    text += s.kind + " " + s.name + " " + std::to_string(s.level);
    for (const auto& host : s.hosts) text += " " + host;
    text += "\n";
  }
  EXPECT_EQ(text,
            "switch leaf1 0 a1 a2\nswitch leaf2 0 b1\npod p 1 a1 b1\nswitch loop1 1 a1\nswitch "
            "spine 1 a1 a2 b1\nswitch loop2 2 a1\n");
  EXPECT_FALSE(t.notes.empty());
}

// The process groups that the dumps of a real run name. They stand before the entries, written with
// six opcodes; the first other one ends the reading.
std::vector<GroupRow> groups_of_dumps(const std::filesystem::path& folder) {
  std::vector<GroupRow> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::map<char, std::string> memo;
    std::vector<std::string> strings;
    for (std::size_t at = 2; at + 5 < bytes.size(); ++at) {
      if (bytes[at] == 'X') {
        std::uint32_t length = 0;
        std::memcpy(&length, bytes.data() + at + 1, 4);
        if (at + 5 + length > bytes.size()) break;
        strings.push_back(bytes.substr(at + 5, length));
        at += 4 + length;
      } else if (bytes[at] == 'q') {
        if (bytes[at - 1] != '}' && !strings.empty()) memo[bytes[at + 1]] = strings.back();
        ++at;
      } else if (bytes[at] == 'h') {
        strings.push_back(memo[bytes[++at]]);
      } else if (std::string_view("}(u").find(bytes[at]) == std::string_view::npos) {
        break;
      }
    }
    std::string description;
    for (std::size_t i = 0; i + 1 < strings.size(); ++i) {
      if (strings[i] == "desc") description = strings[i + 1];
      if (strings[i] == "ranks") out.push_back(group(description, from_ranges(strings[i + 1])));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

TEST(MakeTopology, DumpsOfRealRuns) {
  const std::filesystem::path folder = std::string(CULPRIT_SHARED_DIR) + "/formats/flight_recorder";
  if (!std::filesystem::is_directory(folder / "nvrx_gpu_error_1st"))
    GTEST_SKIP() << "no samples here";
  struct Case {
    const char* name;
    Layout layout;
  };
  for (const Case& c : {Case{"nvrx_gpu_error_1st", {2, 4, 2, 1, 4, 1, ""}},
                        {"nvrx_lock_gil_1st", {4, 2, 2, 1, 8, 1, ""}},
                        {"gloo_hang_a", {2, 2, 2, 1, 1, 1, ""}}}) {
    Facts facts;
    facts.groups = groups_of_dumps(folder / c.name);
    ASSERT_GT(facts.groups.size(), 4u) << c.name;
    const Topology t = make_topology(facts);
    ASSERT_TRUE(t.layout) << c.name;
    EXPECT_EQ(t.layout->order, "tp-cp-ep-dp-pp") << c.name;
    EXPECT_TRUE(t.notes.empty()) << report::words(t.notes[0]);
    const Layout& l = *t.layout;
    EXPECT_EQ((std::vector{l.tp, l.pp, l.dp, l.cp, l.ep, l.etp}),
              (std::vector{c.layout.tp, c.layout.pp, c.layout.dp, c.layout.cp, c.layout.ep,
                           c.layout.etp}))
        << c.name;
    // Every plain group of the dumps is one of those computed.
    const auto computed = by_dimension(parallel_groups(l));
    std::size_t held = 0;
    for (const GroupRow& g : facts.groups) {
      const auto it = computed.find(dimension_of(g.description));
      if (it == computed.end()) continue;
      ++held;
      EXPECT_NE(std::find(it->second.begin(), it->second.end(), g.ranks), it->second.end())
          << g.description << to_ranges(g.ranks);
    }
    EXPECT_GT(held, 4u);
  }
}

TEST(MakeTopology, OrderOfNodesIsAGuess) {
  Facts facts;
  facts.world_size = 4;
  facts.members.resize(2);
  facts.members[0].id = 1;
  facts.members[1].id = 2;
  for (const auto& [member, line, host, slots] :
       std::vector<std::tuple<MemberId, std::uint64_t, std::string, std::string>>{
           {1, 1, "b", "3"}, {1, 2, "a.cluster", "1"}}) {
    IdentityRow row;
    row.place = {member, line, 0, 0};
    row.source = "hostfile";
    row.host = Host(host);
    row.node_rank = static_cast<std::int64_t>(line) - 1;
    facts.identities.push_back(row);
    facts.configs.push_back({row.place, "hostfile.slots", slots, row.host, {}});
  }
  facts.configs.push_back({{1, 1, 0, 0}, "slurm.nodelist", "x[1-2]", {}, {}});
  Topology t = make_topology(facts);
  EXPECT_TRUE(t.host_of.empty());
  EXPECT_EQ(t.guess_source, "hostfile order");
  EXPECT_EQ(t.where(Rank(2)), "rank 2 (b by hostfile order)");
  EXPECT_EQ(t.where(Rank(3)), "rank 3 (a by hostfile order)");
  facts.identities[0].place.member = 2;  // two files that disagree
  t = make_topology(facts);
  EXPECT_EQ(t.where(Rank(3)), "rank 3 (x2 by nodelist order)");
  facts.configs.push_back({{1, 1, 0, 0}, "slurm.nodelist", "y[1-2]", {}, {}});
  EXPECT_EQ(make_topology(facts).guess_source, "");
  facts.configs.clear();
  facts.configs.push_back(
      {{1, 1, 0, 0}, "slurm.nodelist", "x[1-3]", {}, {}});  // 4 ranks on 3 hosts: who knows how
  EXPECT_EQ(make_topology(facts).guess_source, "");
  RankRow rank;  // one rank that a log ties to a host, and the guess is off
  rank.rank = Rank(0);
  rank.host = Host("x2");
  facts.ranks.push_back(rank);
  facts.configs[0].value = "x[1-2]";
  EXPECT_EQ(make_topology(facts).guess_source, "");
}

TEST(MakeTopology, LaunchersThatNumberThemselves) {
  Facts facts;
  facts.world_size = 4;
  facts.members.resize(1);
  facts.members[0].id = 1;
  for (const auto& [number, host] :
       std::vector<std::pair<std::int64_t, const char*>>{{1, "cx-3"}, {0, "cx-9"}, {1, "cx-3"}}) {
    IdentityRow row;
    row.place = {1, facts.identities.size() + 1, 0, 0};
    row.source = "node rank";
    row.host = Host(host);
    row.node_rank = number;
    facts.identities.push_back(row);
  }
  EXPECT_EQ(make_topology(facts).where(Rank(1)), "rank 1 (cx-9 by node ranks)");
  EXPECT_EQ(make_topology(facts).where(Rank(2)), "rank 2 (cx-3 by node ranks)");
  facts.identities[2].host = Host("cx-4");  // two machines with one number
  EXPECT_EQ(make_topology(facts).guess_source, "");
  facts.identities.erase(facts.identities.begin() + 1);  // node 0 is missing
  EXPECT_EQ(make_topology(facts).guess_source, "");
}

TEST(DimensionOf, Descriptions) {
  for (const auto& [description, dimension] : std::map<std::string, std::string>{
           {"TENSOR_MODEL_PARALLEL_GROUP", "tp"},
           {"DATA_PARALLEL_GROUP_WITH_CP", "dp-cp"},
           {"DATA_PARALLEL_GROUP_GLOO", "dp"},
           {"DATA_PARALLEL_GROUP_WITH_CP_GLOO", "dp-cp"},
           {"mesh_dp_shard", "dp"},
           {"mesh_tp", "tp"},
           {"mesh_dp_replicate", "dp_replicate"},
           {"default_pg", "world"},
           {"EMBEDDING_GROUP", "embedding_group"},
           {"undefined", "undefined"},
           {"", ""},
           {"mesh_", "mesh_"},
           {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", "etp-ep-pp"},
           {"MODEL_PARALLEL_GROUP", "mp"}})
    EXPECT_EQ(dimension_of(description), dimension) << description;
}

Facts with_command(const std::string& arguments, std::int64_t world, std::int64_t seen) {
  Facts facts;
  facts.world_size = world;
  for (std::int64_t r = 0; r < seen; ++r) {
    RankRow rank;
    rank.rank = Rank(r);
    facts.ranks.push_back(rank);
    ProcessRow process;
    process.command = "python3 pretrain_gpt.py " + arguments + " --seed 1";
    facts.processes.push_back(process);
  }
  return facts;
}

TEST(CommandLines, TellTheLayoutWhereTheSizeIsKnown) {
  const Topology t = make_topology(
      with_command("--tensor-model-parallel-size 2 --pipeline-model-parallel-size=4", 16, 4));
  ASSERT_TRUE(t.layout);
  EXPECT_EQ(t.source, "command lines");
  EXPECT_EQ(by_dimension(t.groups)["pp"].at(0), (Ranks{0, 4, 8, 12}));
}

TEST(CommandLines, WithoutTheSizeOnlyNeighboursAreSure) {
  const Topology t = make_topology(
      with_command("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4", 0, 3));
  EXPECT_FALSE(t.layout);
  EXPECT_EQ(by_dimension(t.groups),
            (std::map<std::string, std::vector<Ranks>>{{"tp", {{0, 1}, {2, 3}}}}));
}

TEST(CommandLines, ThatDisagreeTellNothing) {
  Facts facts = with_command("--tensor-model-parallel-size 2", 8, 4);
  facts.processes[1].command = "python3 other.py --tensor-model-parallel-size 4";
  EXPECT_TRUE(make_topology(facts).groups.empty());
  EXPECT_TRUE(make_topology(with_command("--tensor-model-parallel-size 3", 8, 4)).groups.empty())
      << "does not divide";
  EXPECT_TRUE(make_topology(with_command("--no-tensor-model-parallel-size 2", 8, 4)).groups.empty())
      << "another argument";
}

}  // namespace
}  // namespace culprit::analyze
