// Whose file it is, by its name: alone and beside its siblings.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/path_facts.hpp"

namespace culprit::analyze {
namespace {

std::vector<std::string> hosts_of(const std::vector<std::string>& paths, const std::string& text_kind = "") {
  std::vector<MemberRow> members;
  for (const std::string& path : paths) {
    MemberRow m;
    m.id = static_cast<MemberId>(members.size()) + 1;
    m.kind = "file";
    m.path = path;
    m.text_kind = text_kind;
    const PathFacts facts = facts_of_path(path);
    m.host = facts.host;
    m.rank = facts.rank;
    m.local_rank = facts.local_rank;
    m.attempt = facts.attempt;
    members.push_back(m);
  }
  hosts_from_siblings(members);
  std::vector<std::string> out;
  for (const MemberRow& m : members) out.push_back(m.host.value_or("-"));
  return out;
}
using Names = std::vector<std::string>;

TEST(PathFacts, FoldersThatPartTheRanksAreMachines) {
  EXPECT_EQ(hosts_of({"stacks/r08n3-h122/pyspy_rank2_521819.txt", "stacks/r08n3-h122/pyspy_rank3_521820.txt", "stacks/zz9/pyspy_rank0_12.txt", "stacks/zz9/pyspy_rank1_13.txt"}), (Names{"r08n3-h122", "r08n3-h122", "zz9", "zz9"}));
  // A GPU has no ranks among it: this is a machine's name.
  EXPECT_EQ(hosts_of({"stacks/gpu-0178/rank0.txt", "stacks/gpu-0178/rank1.txt", "stacks/gpu-0192/rank2.txt", "stacks/gpu-0192/rank3.txt"}), (Names{"gpu-0178", "gpu-0178", "gpu-0192", "gpu-0192"}));
  // Racks part them as well; the innermost folder is the machine.
  EXPECT_EQ(hosts_of({"rack3/x1/rank0.log", "rack3/x1/rank1.log", "rack3/x2/rank2.log", "rack3/x2/rank3.log", "rack4/x3/rank4.log", "rack4/x3/rank5.log"}), (Names{"x1", "x1", "x2", "x2", "x3", "x3"}));
}

TEST(PathFacts, NamesBeforeTheRankThatPartTheRanksAreMachines) {
  EXPECT_EQ(hosts_of({"py-spy-r05n2-h100-local0.txt", "py-spy-r05n2-h100-local1.txt", "py-spy-r15n6-h34-local0.txt", "py-spy-r15n6-h34-local1.txt"}), (Names{"r05n2-h100", "r05n2-h100", "r15n6-h34", "r15n6-h34"}));
  // What all begin with belongs to a name that would be a number without it.
  EXPECT_EQ(hosts_of({"dump/fr-tray-0178_rank0", "dump/fr-tray-0178_rank1", "dump/fr-tray-0192_rank2", "dump/fr-tray-0192_rank3"}), (Names{"tray-0178", "tray-0178", "tray-0192", "tray-0192"}));
}

TEST(PathFacts, WhatPartsTheJobOtherwiseIsNoMachine) {
  const Names none{"-", "-", "-", "-"};
  EXPECT_EQ(hosts_of({"pp0/rank0.txt", "pp0/rank1.txt", "pp1/rank2.txt", "pp1/rank3.txt"}), none);
  EXPECT_EQ(hosts_of({"t1/rank0.txt", "t1/rank1.txt", "t2/rank0.txt", "t2/rank1.txt"}), none) << "two looks at the same ranks";
  EXPECT_EQ(hosts_of({"a1/rank0.txt", "a1/rank2.txt", "a2/rank1.txt", "a2/rank3.txt"}), none) << "ranks of a machine come in a row";
  EXPECT_EQ(hosts_of({"x1/rank0.txt", "x2/rank1.txt", "x3/rank2.txt", "x4/rank3.txt"}), none) << "one rank each could be anything";
  EXPECT_EQ(hosts_of({"618549_9d7e/attempt_0/0/stdout.log", "618549_9d7e/attempt_0/1/stdout.log", "618549_aa01/attempt_0/0/stdout.log", "618549_aa01/attempt_0/1/stdout.log"}), none) << "torchrun's folders have names of chance";
  EXPECT_EQ(hosts_of({"1/rank0.txt", "1/rank1.txt", "2/rank2.txt", "2/rank3.txt"}), none) << "a number is no name";
}

TEST(PathFacts, ToolsOutputOfEachMachine) {
  EXPECT_EQ(hosts_of({"l04g/dcgmi.txt", "l05g/dcgmi.txt"}, "dcgm"), (Names{"l04g", "l05g"}));
  EXPECT_EQ(hosts_of({"l04g/dcgmi.txt"}, "dcgm"), Names{"-"}) << "alone it could be a folder of any kind";
}

}  // namespace
}  // namespace culprit::analyze
