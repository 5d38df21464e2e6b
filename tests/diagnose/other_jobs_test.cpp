// What a scheduler or a cluster says of other jobs than the one that the bundle is of.
#include <fmt/format.h>

#include "analyze/facts/job_life.hpp"
#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class OtherJobs : public SmallBundle {
 protected:
  void steps(const std::string& file, int last, const std::string& behind = {}) {
    std::string text;
    for (int i = 1; i <= 40; ++i)
      text += fmt::format("[2026-03-02 10:00:{:02}] step: {} | loss 2.1 | 1.0 s/it\n", i,
                          last - 40 + i);
    write(file, text + behind);
  }
};

TEST_F(OtherJobs, AStepThatSharedTheMachineRanOutOfMemory) {
  const std::string cancelled =
      "slurmstepd: error: *** STEP 4071.0 ON n1 CANCELLED AT 2026-03-02T10:00:42 ***\n";
  steps("n1/step.out", 400, cancelled);
  const auto killed = [&](const char* step) {
    rewrite("n2/step.out", "");
    steps("n2/step.out", 400,
          fmt::format("slurmstepd: error: Detected 1 oom_kill event in StepId={}. Some of the step "
                      "tasks have been OOM Killed.\n",
                      step));
    return diagnose();
  };
  EXPECT_NE(killed("4060.0").verdict.action, Action::repair);
  EXPECT_EQ(killed("4071.0").verdict.action, Action::repair);
}

TEST_F(OtherJobs, TheRecordOfAllMachinesWithOutputSaysHowItEnded) {
  steps("sg-01/job.log", 400);
  steps("sg-02/job.log", 400);
  const auto completed = [&](const char* list) {
    rewrite("sacct.txt", fmt::format("JobID|State|ExitCode|Elapsed|NodeList\n"
                                     "6611|COMPLETED|0:0|02:11:40|{}\n"
                                     "6500|FAILED|1:0|00:10:00|x0\n",
                                     list));
    return analyze::job_completed(diagnose().resolved.facts);
  };
  EXPECT_TRUE(completed("sg-[01-04]"));
  EXPECT_FALSE(completed("sg-01,sg-07")) << "sg-02 is none of its machines";
}

TEST_F(OtherJobs, RowsOfAListOfJobsAreOfTheirJob) {
  steps("n1/slurm-4071.out", 400);
  write("sacct.txt",
        "JobID User State ExitCode Start End\n"
        "4071 ana RUNNING 0:0 2026-03-02T09:00:00 Unknown\n"
        "4060 bob CANCELLED by 1002 0:0 2026-03-02T09:00:00 2026-03-02T10:00:30\n");
  EXPECT_NE(diagnose().step(), StepId::user_request);
}

TEST_F(OtherJobs, AnEventOfAPodThatIsNoneOfTheJobs) {
  for (int i = 0; i < 2; ++i) steps(fmt::format("dump/pod-logs/rm-7b-node-{}.txt", i), 400);
  write("dump/events.txt",
        "LAST SEEN   TYPE        REASON              OBJECT         MESSAGE\n"
        "6m          Normal      Preempted           workload/job-rm-7b-3f1d   Preempted to "
        "accommodate a workload (UID: 7711c1aa-91f1, JobUID: 01aa) due to prioritization in the "
        "ClusterQueue\n"
        "5m          Warning     FailedScheduling    pod/eval-1     0/44 nodes are available: 44 "
        "Insufficient nvidia.com/gpu.\n");
  EXPECT_EQ(diagnose().verdict.action, Action::none);
}

}  // namespace
}  // namespace culprit::diagnose::test
