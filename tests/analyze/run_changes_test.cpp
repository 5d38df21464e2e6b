// What changed between two runs: from a diff, and from the arguments that both print.
#include "analyze/faults/run_changes.hpp"

#include <gtest/gtest.h>

#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

class Bundle {
 public:
  MemberId log(const std::string& path, Nanoseconds first = 0, Nanoseconds last = 0) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = path;
    m.order = m.id;
    facts.members.push_back(m);
    if (last > 0) {
      ProgressSpan span{.member = m.id, .rows = 10};
      span.first.time_ns = first;
      span.last.time_ns = last;
      facts.progress.push_back(span);
    }
    return m.id;
  }
  void put(MemberId member, const std::string& name, const std::string& value,
           std::optional<std::string> before = {}) {
    facts.configs.push_back({.place = {member, ++lines_, 0, 10},
                             .name = name,
                             .value = value,
                             .before = std::move(before)});
  }
  std::string found() const {
    std::string out;
    for (const Finding& f : run_changes(facts)) out += report::words(f.why) + "\n";
    return out;
  }
  Facts facts;

 private:
  std::uint64_t lines_ = 0;
};

TEST(RunChanges, OfADiffThoseThatMayExplainFirst) {
  Bundle b;
  const MemberId diff = b.log("run.diff");
  b.put(diff, "change.frobnicate", "2", "1");
  b.put(diff, "change.lr", "0.003", "0.0003");
  b.put(diff, "change.seed", "7", "8");
  b.put(diff, "change.env.NCCL_IB_DISABLE", "1", "");
  b.put(diff, "change.memory", "", "900Gi");
  EXPECT_EQ(b.found(),
            "setting of communication (env.NCCL_IB_DISABLE) was not set and is 1\n"
            "learning rate (lr) was 0.0003 and is 0.003\n"
            "limit of memory (memory) was 900Gi and is not set any more\n"
            "frobnicate was 1 and is 2\n");
}

TEST(RunChanges, ArgumentsOfTheLastRunAndTheOneBeforeIt) {
  Bundle b;
  const MemberId one = b.log("run-18.out", 100, 200), two = b.log("run-19.out", 300, 400);
  b.put(one, "job.save_interval", "500");
  b.put(one, "job.lr", "3e-4");
  b.put(two, "job.save_interval", "25");
  b.put(two, "job.lr", "0.0003");
  EXPECT_EQ(b.found(), "saving of checkpoints (save_interval) was 500 and is 25\n");
}

TEST(RunChanges, RanksOfOneRunAreNoTwoRuns) {
  Bundle b;
  const MemberId one = b.log("rank0.out", 100, 200), two = b.log("rank1.out", 101, 201);
  b.put(one, "job.pipeline_rank", "0");
  b.put(two, "job.pipeline_rank", "1");
  EXPECT_EQ(b.found(), "");
}

TEST(RunChanges, TwoConfigurationsThatDifferByANumberInTheirName) {
  Bundle b;
  for (const char* run : {"conf/run9.yaml", "conf/run10.yaml"}) {
    const MemberId file = b.log(run);
    b.facts.members.back().format = "job-config";
    b.put(file, "job.optim.lr", run[8] == '9' ? "3e-4" : "3e-3");
    for (const char* same : {"job.a", "job.b", "job.c"}) b.put(file, same, "1");
  }
  EXPECT_EQ(b.found(), "learning rate (optim.lr) was 3e-4 and is 3e-3\n");
}

// An environment is whole: what it does not have is not set.
TEST(RunChanges, EnvironmentsOfTwoRuns) {
  Bundle b;
  for (const char* run : {"env/run-0412.env", "env/run-0413.env"}) {
    const MemberId file = b.log(run);
    b.facts.members.back().format = "process-dump";
    if (run[11] == '3') b.put(file, "env.CUDA_LAUNCH_BLOCKING", "1");
    for (const char* same : {"env.NCCL_DEBUG", "env.NCCL_IB_HCA", "env.FI_A", "env.FI_B"})
      b.put(file, same, "1");
  }
  EXPECT_EQ(b.found(), "debugging (env.CUDA_LAUNCH_BLOCKING) was not set and is 1\n");
  b.facts.members[0].host = Host("n1");
  b.facts.members[1].host = Host("n2");
  EXPECT_EQ(b.found(), "") << "of two machines";
}

TEST(RunChanges, ALogThatTwoRunsWroteTo) {
  Bundle b;
  const MemberId one = b.log("job.out", 100, 400);
  b.put(one, "job.micro_batch_size", "1");
  b.put(one, "job.micro_batch_size", "2");
  EXPECT_EQ(b.found(), "batch size (micro_batch_size) was 1 and is 2\n");
}

// Runs keep their files in folders of their own; sizes of models tell no runs apart.
TEST(RunChanges, FilesInFoldersOfRuns) {
  Bundle b;
  for (const char* path : {"run_0302/args.json", "run_0304/args.json"}) {
    const MemberId file = b.log(path);
    b.facts.members.back().format = "job-config-json";
    b.put(file, "job.num_workers", path[7] == '2' ? "16" : "0");
    b.put(file, "job.lr", "0.1");
  }
  EXPECT_EQ(b.found(), "setting of the data loader (num_workers) was 16 and is 0\n");
  Bundle models;
  for (const char* path : {"train_7b.sh", "train_13b.sh"}) {
    const MemberId file = models.log(path);
    models.facts.members.back().format = "launch-script";
    models.put(file, "job.seq_length", path[6] == '7' ? "4096" : "8192");
    models.put(file, "job.lr", "0.1");
  }
  EXPECT_EQ(models.found(), "");
}

TEST(RunChanges, AnotherJobsFileSaysNothing) {
  Bundle b;
  const MemberId diff = b.log("run.diff");
  b.facts.members.back().belonging = Belonging::another;
  b.put(diff, "change.lr", "0.003", "0.0003");
  EXPECT_EQ(b.found(), "");
}

}  // namespace
}  // namespace culprit::analyze
