// A second machine that breaks while the job is failing of another: it is named as well.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "rules/rule.hpp"
#include "support/hosts.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding broke(const std::string& event_class, const std::string& host, Nanoseconds at) {
  Finding f;
  f.id = "classify/" + event_class + "/host/" + host;
  f.analysis = Analysis::classify;
  f.subject = {SubjectKind::host, host};
  f.event_class = event_class;
  f.traits = rules::traits_of_class(event_class);
  f.symptom = Symptom::gpu_unavailable;
  f.severity = Severity::critical;
  f.role = Role::root;
  f.scope = Scope::host_local;
  f.cause = CauseKind::machine;
  f.origin = Origin::kernel;
  f.confidence = 0.95;
  f.host = Host(host);
  f.hosts = {Host(host)};
  f.start = f.end = at;
  f.count = 1;
  return f;
}

Finding lost(Nanoseconds at) {
  Finding f;
  f.id = "classify/nccl_watchdog_timeout/job";
  f.analysis = Analysis::classify;
  f.subject = {SubjectKind::job, "job"};
  f.event_class = "nccl_watchdog_timeout";
  f.traits = rules::traits_of_class(f.event_class);
  f.symptom = Symptom::job_hang;
  f.severity = Severity::distributed;
  f.role = Role::cascade;
  f.scope = Scope::job_wide;
  f.confidence = 0.95;
  f.start = f.end = at;
  f.count = 1;
  return f;
}

std::vector<std::string> isolated(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  for (int i = 1; i < 10; ++i) c.all_hosts.push_back(Host("n" + std::to_string(i)));
  c.job_hosts = c.all_hosts;
  c.machines = {c.all_hosts.begin(), c.all_hosts.end()};
  c.hosts = c.hosts_with_output = c.hosts_heard = 9;
  c.ranks = 72;
  c.any_training_output = true;
  c.exits.push_back({"torchrun", 1, {}, {}});
  const Verdict v = decide::decide(c);
  std::vector<std::string> out;
  for (const Target& t : v.targets)
    if (v.action == Action::isolate && t.subject.kind == SubjectKind::host)
      out.push_back(t.subject.id);
  return out;
}

constexpr Nanoseconds kT = 1'700'000'000 * kSecond;

TEST(SecondFault, AnotherPartOfAnotherMachineWhileTheJobFails) {
  EXPECT_EQ(isolated({broke("gpu_xid/79", "n1", kT), lost(kT + 60 * kSecond),
                      broke("nic_health_compromised", "n5", kT + 41 * kSecond)}),
            (std::vector<std::string>{"n1", "n5"}));
}

TEST(SecondFault, NotLaterAndNotOfAMachineOutsideOfTheJob) {
  EXPECT_EQ(isolated({broke("gpu_xid/79", "n1", kT), lost(kT + 60 * kSecond),
                      broke("nic_health_compromised", "n5", kT + kHour)}),
            std::vector<std::string>{"n1"});
  EXPECT_EQ(isolated({broke("gpu_xid/79", "n1", kT), lost(kT + 60 * kSecond),
                      broke("nic_health_compromised", "x5", kT + 41 * kSecond)}),
            std::vector<std::string>{"n1"});
}

TEST(SecondFault, ManyAreNoSecondOne) {
  EXPECT_EQ(isolated({broke("gpu_xid/79", "n1", kT), lost(kT + 60 * kSecond),
                      broke("nic_health_compromised", "n5", kT + 41 * kSecond),
                      broke("nic_health_compromised", "n6", kT + 42 * kSecond)}),
            std::vector<std::string>{"n1"});
}

}  // namespace
