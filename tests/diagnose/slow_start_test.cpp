// Jobs that step as they should, and whose start took long or not.
#include <fmt/format.h>

#include "bundle.hpp"

namespace culprit::diagnose::test {
namespace {

class SlowStart : public SmallBundle {
 protected:
  // Steps of ten seconds from a minute of ten o'clock on.
  void steps(int minute, const std::string& before = {}) const {
    std::string text = before;
    for (int i = 0; i < 40; ++i)
      text += fmt::format("2026-03-02 10:{:02}:{:02} step {} loss 2.1 step_time 10.0s\n",
                          minute + i * 10 / 60, i * 10 % 60, i + 1);
    write("train.log", text);
  }
  void pulled(const std::string& took) const {
    write(
        "events.txt",
        "LAST SEEN             TYPE    REASON  OBJECT    MESSAGE\n"
        "2026-03-02T10:00:05Z  Normal  Pulling pod/tr-0  Pulling image \"cache/fm:1\"\n"
        "2026-03-02T10:40:05Z  Normal  Pulled  pod/tr-0  Successfully pulled image \"cache/fm:1\" "
        "in " +
            took + " (" + took + " including waiting).\n");
  }
  void importing(const std::string& host) const {
    write(fmt::format("stacks/{}_pyspy.txt", host),
          "Process 2131: python3 train.py\nPython v3.11.7 (/shared/envs/llm/bin/python3.11)\n\n"
          "Thread 2131 (idle): \"MainThread\"\n"
          "    _path_stat (<frozen importlib._bootstrap_external>:147)\n"
          "    _find_and_load (<frozen importlib._bootstrap>:1176)\n    <module> (train.py:8)\n");
  }
};

TEST_F(SlowStart, AnImageThatWasPulledForLong) {
  pulled("39m48.2s");
  steps(42);
  const Answer answer = diagnose();
  EXPECT_EQ(answer.verdict.action, Action::mitigate);
  ASSERT_NE(answer.fired(Analysis::slow_start), nullptr);
  EXPECT_EQ(answer.fired(Analysis::slow_start)->event_class, "slow_start/container");
}

TEST_F(SlowStart, AnImageThatWasThereIsNone) {
  pulled("48.2s");
  steps(42);
  EXPECT_EQ(diagnose().fired(Analysis::slow_start), nullptr);
}

TEST_F(SlowStart, ImportsThatALineOrTheStacksOfMostProcessesTell) {
  steps(42, "2026-03-02 10:00:05 launching 16 ranks\n");
  EXPECT_EQ(diagnose().fired(Analysis::slow_start), nullptr);
  for (const char* host : {"n1", "n2"}) importing(host);
  const Answer by_stacks = diagnose();
  ASSERT_NE(by_stacks.fired(Analysis::slow_start), nullptr);
  EXPECT_EQ(by_stacks.fired(Analysis::slow_start)->event_class, "slow_start/imports");
  EXPECT_EQ(by_stacks.verdict.action, Action::mitigate);
  rewrite("train.log", "");
  steps(42, "2026-03-02 10:00:05 launching 16 ranks\n2026-03-02 10:38:00 imports took 2270.5 s\n");
  EXPECT_EQ(diagnose().fired(Analysis::slow_start)->event_class, "slow_start/imports");
}

TEST_F(SlowStart, AJobThatFailsIsAskedForItsFailure) {
  pulled("39m48.2s");
  steps(42);
  write("train.log",
        "Traceback (most recent call last):\n  File \"/opt/train.py\", line 8, in <module>\n"
        "    run()\nValueError: bad shape\n");
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
}

}  // namespace
}  // namespace culprit::diagnose::test
