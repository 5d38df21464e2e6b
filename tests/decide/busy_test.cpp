// A rank that was still preparing its data when the others gave up.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "rules/rule.hpp"
#include "support/ranks.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding of_class(const std::string& event_class, Role role) {
  Finding f;
  f.analysis = Analysis::classify;
  f.id = "classify/" + event_class;
  f.event_class = event_class;
  f.traits = rules::traits_of_class(event_class);
  f.role = role;
  f.severity = Severity::distributed;
  f.scope = Scope::job_wide;
  f.symptom = Symptom::job_hang;
  f.subject = {SubjectKind::job, "job"};
  f.confidence = 0.5;
  f.facts = LineFacts{};
  return f;
}

Finding unfinished() {
  Finding f = of_class("work_unfinished", Role::confirmation);
  f.severity = Severity::info;
  f.ranks = Ranks({0});
  LineFacts facts;
  facts.message = "Map:  61%|######    | 1918817/3104882 [30:00<18:20, 1030.59 examples/s]";
  f.facts = facts;
  return f;
}

Case waited(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = c.hosts_with_output = c.hosts_heard = 2;
  c.ranks = 16;
  c.any_training_output = true;
  return c;
}

TEST(Busy, TheOthersGaveUpWhileItPreparedItsData) {
  const Verdict v =
      decide::decide(waited({of_class("nccl_watchdog_timeout", Role::cascade), unfinished()}));
  EXPECT_EQ(v.action, Action::rollback);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

TEST(Busy, NobodyGaveUpOrTheJobHadMadeSteps) {
  EXPECT_NE(decide::decide(waited({unfinished()})).action, Action::rollback);
  Case trained = waited({of_class("nccl_watchdog_timeout", Role::cascade), unfinished()});
  trained.last_iteration = 40;
  EXPECT_NE(decide::decide(trained).action, Action::rollback);
}

}  // namespace
