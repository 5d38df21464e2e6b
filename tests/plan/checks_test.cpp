// Checklists: the order of the papers, every host in every check, and names that a shell would trip
// over. And the commands of groups.
#include <gtest/gtest.h>

#include <map>

#include "model/shell.hpp"
#include "plan/checks.hpp"
#include "plan/group_command.hpp"

namespace {

using namespace culprit::plan;

std::vector<std::string> tasks(const std::vector<CheckStep>& steps) {
  std::vector<std::string> out;
  for (const auto& s : steps) out.push_back(s.task);
  return out;
}

TEST(Checks, StopTimeChecksInThePapersOrder) {  // ByteRobust §4.2, "Diagnose"; §4.3
  CheckParams p;
  p.nan = true;
  const auto steps = plan_checks({"a", "b", "c"}, p);
  ASSERT_TRUE(steps);
  EXPECT_EQ(tasks(*steps),
            (std::vector<std::string>{"GPU diagnostics (EUD)", "clocks as before",
                                      "all-to-all within the machine",
                                      "all-gather with the neighbours", "bit-wise alignment"}));
  std::map<std::string, int> pairs;
  for (const auto& item : (*steps)[3].items) {
    ASSERT_EQ(item.hosts.size(), 2u);
    for (const auto& host : item.hosts) ++pairs[host];
  }
  for (const auto& [host, n] : pairs) EXPECT_EQ(n, 2) << host << " meets both neighbours";
  p.nan = false;
  EXPECT_EQ(plan_checks({"a"}, p)->size(), 3u) << "a host alone has no neighbours";
  EXPECT_EQ((*plan_checks({"a", "b"}, p))[3].items.size(), 1u);
}

TEST(Checks, DeliveryHasTheTasksAndTimesOfTheTable) {  // Aegis table 1
  CheckParams p;
  p.occasion = CheckOccasion::delivery;
  const auto steps = plan_checks({"a", "b"}, p);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->size(), 11u);
  std::map<std::string, int> minutes;
  for (const auto& s : *steps) ++minutes[s.minutes];
  EXPECT_EQ(minutes, (std::map<std::string, int>{{"<1", 3}, {"3", 6}, {"6", 2}}));
  p.occasion = CheckOccasion::delivery_light;
  EXPECT_EQ(plan_checks({"a", "b"}, p)->size(), 3u);
}

// Aegis appendix B: both links, their state, the ports of the switches, and only then the link.
TEST(Checks, ALinkIsReplacedAfterBothWereLookedAt) {
  CheckParams p;
  p.occasion = CheckOccasion::dual_tor;
  const auto steps = plan_checks({"a"}, p);
  ASSERT_TRUE(steps);
  EXPECT_EQ(tasks(*steps),
            (std::vector<std::string>{
                "both links lead where they should", "state of both links",
                "ports of both switches", "the other link carries the traffic",
                "replace the link that is down", "both links are up", "no errors on either link"}));
  for (const auto& s : *steps) EXPECT_EQ(s.items.size(), 1u) << s.task;
}

TEST(Checks, RefusesNamesThatAreNone) {
  EXPECT_FALSE(plan_checks({}, {}));
  EXPECT_FALSE(plan_checks({"a", "a"}, {}));
  EXPECT_FALSE(plan_checks({"-oProxyCommand=x"}, {}));
  CheckParams p;
  p.via = "ssh";
  EXPECT_FALSE(plan_checks({"a"}, p));
}

TEST(Checks, QuotesForTheShell) {
  EXPECT_EQ(culprit::shell_quoted("node-01"), "node-01");
  EXPECT_EQ(culprit::shell_quoted("n[1-4]"), "'n[1-4]'");
  EXPECT_EQ(culprit::shell_quoted("a'; rm -rf /; '"), "'a'\\''; rm -rf /; '\\'''");
  EXPECT_EQ(culprit::shell_quoted(""), "''");
  const auto steps = plan_checks({"a;reboot"}, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ((*steps)[0].items[0].command, "ssh 'a;reboot' 'dcgmi diag -r 4'");
}

TEST(GroupCommand, FillsTheTemplate) {
  const GroupRun run{"H3", 1, 0, {"n12", "n13"}, 8, 8, 2, 1};
  EXPECT_EQ(
      *fill_template(
          "run -w {hosts} -N{nnodes} {hostlist} {first} {nproc} {world} {dp} {tag} {{x}} ${HOME}",
          run),
      "run -w n12,n13 -N2 'n[12-13]' n12 8 16 1 H3 {x} ${HOME}");
  EXPECT_FALSE(fill_template("{host}", run));
  EXPECT_FALSE(fill_template("{hosts", run));
  EXPECT_FALSE(fill_template("hosts}", run));
  EXPECT_EQ(*fill_template("${", run), "${");
  EXPECT_TRUE(fill_template(kSlurmTemplate, run));
}

TEST(GroupCommand, ScriptRunsPhasesOneAfterTheOther) {
  const std::vector<GroupRun> runs{{"H0", 1, 0, {"a", "b"}, 8, 8, 2, 1},
                                   {"V0", 2, 0, {"a", "c"}, 8, 8, 2, 1},
                                   {"V1", 2, 1, {"b", "c"}, 8, 8, 2, 1}};
  const auto script = slurm_script("go {hosts}", runs, 3, 10);
  ASSERT_TRUE(script);
  EXPECT_NE(script->find("#SBATCH --nodes=3\n#SBATCH --nodelist=a,b,c\n"), std::string::npos);
  EXPECT_NE(script->find("#SBATCH --time=180\n"), std::string::npos)
      << "3 waves of 3 runs of 10 minutes, twice";
  EXPECT_NE(script->find("  replay H0 'go a,b' &\n  wait\ndone\n"), std::string::npos);
  EXPECT_EQ(script->find("--array"), std::string::npos);
  const std::vector<GroupRun> bad{{"H0", 1, 0, {"a\n#SBATCH --uid=0"}, 8, 8, 2, 1}};
  EXPECT_FALSE(slurm_script("go {hosts}", bad, 1, 10));
}

}  // namespace
