// Trainings that left their way: what they print of it tells whether they did so by themselves.
#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class Diverged : public SmallBundle {
 protected:
  static std::string step(int n, const char* loss, double norm, double rate) {
    return fmt::format(
        " [2026-05-26 22:18:{:02}.118] iteration {:8}/     400 | consumed samples: 128 | elapsed "
        "time per iteration (ms): 970.1 | learning rate: {:.6E} | global batch size: 128 | lm "
        "loss: {} | loss scale: 1.0 | grad norm: {:.3f} | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |\n",
        n % 60, n, rate, loss, norm);
  }
  static std::string usual(int first, int last) {
    std::string out;
    for (int i = first; i <= last; ++i)
      out += step(i, i % 2 == 0 ? "2.31" : "2.33", 0.5 + 0.01 * (i % 5), 3e-4);
    return out;
  }
};

TEST_F(Diverged, ARateThatJumpsExplainsIt) {
  std::string jumped = usual(1, 40);
  for (int i = 41; i <= 44; ++i) jumped += step(i, "2.60", 0.7, 3e-2);
  jumped += step(45, "nan", 0.7, 3e-2) + step(46, "nan", 0.7, 3e-2);
  write("train.log", jumped);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::rollback) << report::words(a.verdict.summary);
  EXPECT_NE(a.fired(Analysis::divergence, "learning_rate_jumped"), nullptr);
}

TEST_F(Diverged, AWarmUpIsNoJump) {
  std::string text;
  for (int i = 1; i <= 60; ++i) text += step(i, "2.31", 0.5, 1e-6 * i);
  write("train.log", text + step(61, "nan", 0.5, 6e-5));
  EXPECT_EQ(diagnose().fired(Analysis::divergence, "learning_rate_jumped"), nullptr);
}

TEST_F(Diverged, NormsThatGrowFromStepToStepAreTheTrainingsOwn) {
  std::string text = usual(1, 40);
  double norm = 0.6;
  for (int i = 41; i <= 47; ++i, norm *= 2.1) text += step(i, "2.32", norm, 3e-4);
  write("train.log", text + step(48, "nan", 0.5, 3e-4));
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
  rewrite("train.log", usual(1, 46) + step(47, "2.32", 310, 3e-4) + step(48, "nan", 0.5, 3e-4));
  EXPECT_EQ(diagnose().verdict.action, Action::checks) << "one step may be a device's";
}

TEST_F(Diverged, StepsInJsonAreStepsAmongOtherLines) {
  std::string text = "I0731 09:00:02 1 launcher.go:88] worker group size=6\n";
  for (int i = 0; i < 20; ++i)
    text += fmt::format(
        "{{\"ts\": \"2026-07-31T09:{:02}:00Z\", \"rank\": 0, \"level\": \"INFO\", \"msg\": "
        "\"train\", \"step\": {}, \"loss\": 1.93, \"step_ms\": 2204}}\n",
        i, 1500 + i);
  write("worker-0.log", text);
  const Answer a = diagnose();
  ASSERT_EQ(a.resolved.facts.progress.size(), 1u);
  EXPECT_EQ(a.resolved.facts.progress[0].last.iteration, 1519);
}

TEST_F(Diverged, WhatAProgramPrintsBetweenRecordsIsRead) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += fmt::format("{{\"t\": {}, \"step\": {}, \"loss\": 1.69}}\n", 1785488400 + i, 20100 + i);
  write("agg.jsonl", text +
                         "Traceback (most recent call last):\n"
                         "  File \"/app/data.py\", line 12, in read\n    return table[i]\n"
                         "IndexError: index 200018 is out of bounds\n");
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
}

TEST_F(Diverged, OutputKeptAsPreviousIsOfTheRunBefore) {
  const std::string failed =
      "2026-03-04T09:02:15Z Traceback (most recent call last):\n"
      "2026-03-04T09:02:15Z   File \"/app/hub.py\", line 407, in get\n"
      "2026-03-04T09:02:15Z     response.raise_for_status()\n"
      "2026-03-04T09:02:16Z PermissionError: 401 Client Error: Unauthorized\n";
  write("logs/previous/worker-0-c2z78.log", failed);
  write("logs/worker-0-sww2z.log",
        "2026-03-04T11:20:47Z step: 1/4 loss: 2.3 time: 0.9 s\n"
        "2026-03-04T11:20:48Z step: 4/4 loss: 2.2 time: 0.9 s\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.resolved.facts.earlier_output.size(), 1u);
  EXPECT_NE(a.verdict.action, Action::rollback) << report::words(a.verdict.summary);
}

}  // namespace
}  // namespace culprit::diagnose::test
