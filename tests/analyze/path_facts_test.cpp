// Whose file it is, by its name: alone and beside its siblings.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/facts/path_facts.hpp"

namespace culprit::analyze {
namespace {

std::vector<std::string> hosts_of(const std::vector<std::string>& paths,
                                  const std::string& text_kind = "") {
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
  for (const MemberRow& m : members) out.push_back(m.host.value_or(Host("-")));
  return out;
}
using Names = std::vector<std::string>;

TEST(PathFacts, FoldersCalledByWordsThatHoldTheSameFilesOfMachines) {
  const auto fleet = [](const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& one : folders)
      for (const char* file : {"/dmesg", "/ipmi-sel"}) paths.push_back("ox/" + one + file);
    return hosts_of(paths, "kernel");
  };
  EXPECT_EQ(fleet({"ox-alder", "ox-birch", "ox-cedar"}),
            (Names{"ox-alder", "ox-alder", "ox-birch", "ox-birch", "ox-cedar", "ox-cedar"}));
  EXPECT_EQ(fleet({"before", "after"}), (Names{"-", "-", "-", "-"})) << "moments come in pairs";
  EXPECT_EQ(hosts_of({"a-x/dmesg", "b-x/dmesg", "c-x/dmesg"}, "kernel"), (Names{"-", "-", "-"}))
      << "one file of each is not enough";
  EXPECT_EQ(hosts_of({"gull/kern.txt", "gull/train.log", "skua/kern.txt", "skua/train.log",
                      "tern/kern.txt", "tern/train.log"}),
            (Names{"gull", "gull", "skua", "skua", "tern", "tern"}));
}

TEST(PathFacts, FilesCalledByWordsBehindTheirTool) {
  EXPECT_EQ(hosts_of({"hosts/curie/ps.txt", "dmesg_curie.txt", "dmesg_nvrm.txt"}, "kernel"),
            (Names{"curie", "curie", "-"}));
  EXPECT_EQ(hosts_of({"dmesg_alloc.txt", "dmesg_nvrm.txt", "dmesg_pcie.txt"}, "kernel"),
            (Names{"-", "-", "-"}))
      << "what they hold";
}

TEST(PathFacts, AFolderATool) {
  EXPECT_EQ(hosts_of({"dmesg/cl-a", "dmesg/cl-b", "dmesg/cl-c", "pyspy/cl-a.txt", "pyspy/cl-b.txt"},
                     "kernel"),
            (Names{"-", "-", "-", "-", "-"}))
      << "two in both folders may be moments";
  EXPECT_EQ(hosts_of({"dmesg/cl-a", "dmesg/cl-b", "dmesg/cl-c", "smi/cl-a.txt", "smi/cl-b.txt",
                      "smi/cl-c.txt"},
                     "kernel"),
            (Names{"cl-a", "cl-b", "cl-c", "cl-a", "cl-b", "cl-c"}));
  EXPECT_EQ(hosts_of({"dmesg/before", "dmesg/during", "dmesg/after", "smi/before.txt",
                      "smi/during.txt", "smi/after.txt"},
                     "kernel"),
            (Names{"-", "-", "-", "-", "-", "-"}));
}

TEST(PathFacts, ARankWithinSomethingSmallerIsNotTheRank) {
  EXPECT_EQ(facts_of_path("logs/node_rank4/rank33.txt").rank, Rank(33));
  EXPECT_EQ(facts_of_path("logs/node_rank4/launcher.txt").rank, std::nullopt);
  EXPECT_EQ(facts_of_path("tp_rank_3/stderr.log").rank, std::nullopt);
  EXPECT_EQ(facts_of_path("global_rank_7.log").rank, Rank(7));
  const PathFacts local = facts_of_path("cx-2/local_rank3.log");
  EXPECT_EQ(local.rank, std::nullopt);
  EXPECT_EQ(local.local_rank, LocalRank(3));
}

TEST(PathFacts, FoldersOfRanksAreNoMachines) {
  const Names none{"-", "-", "-", "-"};
  for (const char* folder : {"pp", "numa", "upload", "rack", "pp1-dp", "look-03:0", "x"}) {
    const std::string a = std::string(folder) + "0/", b = std::string(folder) + "1/";
    EXPECT_EQ(hosts_of({a + "py-spy-rank0.txt", a + "py-spy-rank1.txt", b + "py-spy-rank2.txt",
                        b + "py-spy-rank3.txt"}),
              none)
        << folder;
  }
  // A GPU has no number of three digits.
  EXPECT_EQ(
      hosts_of({"stacks/gpu-0178/rank0.txt", "stacks/gpu4/rank1.txt", "stacks/gpu4-7/rank2.txt"}),
      (Names{"gpu-0178", "-", "-"}));
}

TEST(PathFacts, FoldersOfRunsAreNoMachines) {
  EXPECT_EQ(hosts_of({"runs/rl-0811/driver.log", "runs/rl-0812/driver.log"}), (Names{"-", "-"}));
  EXPECT_EQ(hosts_of({"logs/sol-a11/driver.log", "logs/sol-a12/driver.log"}),
            hosts_of({"x/sol-a11/driver.log", "x/sol-a12/driver.log"}));
}

TEST(PathFacts, WordsTellRunsApart) {
  for (const char* before : {"stdout_last_week.log", "stdout-lastweek.log", "stdout.old.log"}) {
    EXPECT_EQ(file_of_run(before).age, -1) << before;
    EXPECT_EQ(file_of_run(before).series, file_of_run("stdout.log").series) << before;
  }
  EXPECT_EQ(file_of_run("week_3.log").age, 0);
}

TEST(PathFacts, LocalRanksAreSmall) {
  EXPECT_EQ(facts_of_path("py-spy-n1-local3.txt").local_rank, LocalRank(3));
  EXPECT_EQ(facts_of_path("x/local_rank_12/out.log").local_rank, LocalRank(12));
  EXPECT_FALSE(facts_of_path("var/local-20261121.log").local_rank) << "a day";
  EXPECT_FALSE(facts_of_path("local/rank5.log").local_rank);
}

TEST(PathFacts, ToolsOutputOfEachMachine) {
  EXPECT_EQ(hosts_of({"l04g/dcgmi.txt", "l05g/dcgmi.txt"}, "dcgm"), (Names{"l04g", "l05g"}));
  EXPECT_EQ(hosts_of({"l04g/dcgmi.txt"}, "dcgm"), Names{"-"})
      << "alone it could be a folder of any kind";
  EXPECT_EQ(hosts_of({"d/20261115T203120Z.txt", "d/20261115T203220Z.txt"}, "dcgm"),
            (Names{"-", "-"}))
      << "two looks at one machine";
}

}  // namespace
}  // namespace culprit::analyze
