// Logs of several runs that say which machine had which ranks: a rank's machine is that of its run.
#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class RankMap : public SmallBundle {
 protected:
  // A run of four machines of eight ranks, in this order, whose rank computes no number of its own.
  void run(int number, const std::vector<std::string>& machines, int rank) {
    std::string text;
    for (std::size_t i = 0; i < machines.size(); ++i)
      text += fmt::format("[INFO 2026-03-02 {:02}:00:00] node_rank={} host={} ranks={}-{}\n",
                          number * 3, i, machines[i], i * 8, i * 8 + 7);
    for (int step = 0; step < 30; ++step)
      text +=
          fmt::format("[INFO 2026-03-02 {:02}:01:{:02}] step {} loss 2.2 grad_norm 0.8 dt 1.0s\n",
                      number * 3, step, 100 * number + step);
    for (int i = 0; i < 3; ++i)
      text += fmt::format(
          "[WARN 2026-03-02 {0:02}:01:4{1}] step {2}: non-finite local grad norm before reduce on "
          "ranks [{3}] (layer mlp.weight); skipping optimizer step\n"
          "[INFO 2026-03-02 {0:02}:01:4{1}] step {2} loss 2.2 grad_norm nan skipped=1 dt 1.0s\n",
          number * 3, i, 100 * number + 30 + i, rank);
    text += "RuntimeError: training diverged: too many non-finite gradients\n";
    write(fmt::format("runs/moe.{}/log.txt", 770 + number), text);
  }
};

TEST_F(RankMap, ARankThatIsAnotherOneInEachRunIsAGpu) {
  run(1, {"n01", "n02", "n03", "n04"}, 22);
  run(2, {"n03", "n01", "n04", "n02"}, 6);
  EXPECT_EQ(diagnose().verdict.action, Action::checks);
  run(3, {"n04", "n02", "n01", "n03"}, 30);
  const Answer answer = diagnose();
  EXPECT_EQ(answer.verdict.action, Action::isolate) << report::words(answer.verdict.summary);
  EXPECT_EQ(answer.targets(SubjectKind::host), std::vector<std::string>{"n03"});
  EXPECT_EQ(answer.targets(SubjectKind::gpu), std::vector<std::string>{"n03/6"});
}

TEST_F(RankMap, TheSameRankOnOtherMachinesIsNoGpus) {
  run(1, {"n01", "n02", "n03", "n04"}, 22);
  run(2, {"n03", "n01", "n04", "n02"}, 22);
  run(3, {"n04", "n02", "n01", "n03"}, 22);
  EXPECT_TRUE(diagnose().targets(SubjectKind::host).empty());
}

}  // namespace
}  // namespace culprit::diagnose::test
