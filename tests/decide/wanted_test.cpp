// What an open verdict asks for: the file that would settle it, and nothing that is there.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding broken(Hosts hosts, Nanoseconds start) {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = "nccl_remote_closed";
  f.traits = rules::traits_of_class(f.event_class);
  f.severity = Severity::distributed;
  f.role = Role::cascade;
  f.subject = {SubjectKind::job, "job"};
  f.id = "classify/nccl_remote_closed/job";
  f.hosts = std::move(hosts);
  f.start = f.end = start;
  f.count = 1;
  f.confidence = 0.9;
  f.title = Text(std::string("connection lost"));
  return f;
}

Finding xid(const std::string& host, std::optional<Nanoseconds> start,
            const std::string& gpu = "0000:3b:00") {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = "gpu_xid/79";
  f.traits = rules::traits_of_class(f.event_class);
  f.origin = Origin::kernel;
  f.severity = Severity::critical;
  f.role = Role::root;
  f.cause = CauseKind::machine;
  f.symptom = Symptom::gpu_unavailable;
  f.subject = {SubjectKind::gpu, host + "/" + gpu};
  f.id = "classify/gpu_xid/79/" + host;
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.start = f.end = start;
  f.uncertainty = kSecond;
  f.count = 1;
  f.confidence = 0.95;
  f.title = Text(std::string("GPU fell off the bus"));
  return f;
}

Case crash() {
  Case c;
  c.findings = {broken({"n1", "n2", "n3", "n4", "n5"}, 100 * kMinute)};
  c.hosts = c.hosts_with_output = c.hosts_heard = 6;
  c.ranks = 48;
  c.all_hosts = Hosts({"n1", "n2", "n3", "n4", "n5", "n6"});
  c.holds.outputs = Hosts({"n1", "n2", "n3", "n4", "n5", "n6"});
  c.has_rank_map = c.any_training_output = true;
  c.last_progress = 90 * kMinute;
  c.exits.push_back({"torchrun", 1, {}, {}});
  return c;
}

std::vector<std::pair<Source, std::string>> wanted(const Verdict& v) {
  std::vector<std::pair<Source, std::string>> out;
  for (const NextStep& n : v.next)
    if (n.source != Source::none) out.emplace_back(n.source, n.of.id);
  return out;
}
bool asks(const Verdict& v, Source source) {
  for (const auto& [what, of] : wanted(v))
    if (what == source) return true;
  return false;
}

TEST(Wanted, ACrashWithoutKernelLogsAsksForThem) {
  const Verdict v = decide::decide(crash());
  ASSERT_FALSE(wanted(v).empty());
  EXPECT_EQ(wanted(v).front(), std::pair(Source::kernel_log, std::string("job")));
}

TEST(Wanted, NothingThatIsThereIsAskedFor) {
  Case c = crash();
  c.holds.kernel_logs = Hosts({"n1", "n2", "n3", "n4", "n5", "n6"});
  EXPECT_FALSE(asks(decide::decide(c), Source::kernel_log));
  EXPECT_FALSE(asks(decide::decide(c), Source::training_output));
  c.holds.kernel_logs.erase(Host("n4"));
  const Verdict v = decide::decide(c);
  EXPECT_EQ(wanted(v).front(), std::pair(Source::kernel_log, std::string("n4")));
}

TEST(Wanted, AHostOfTheJobWithoutOutputMayHaveFailedFirst) {
  Case c = crash();
  c.holds.kernel_logs = Hosts({"n1", "n2", "n3", "n4", "n5", "n6"});
  c.holds.outputs.erase(Host("n6"));
  EXPECT_EQ(wanted(decide::decide(c)).front(),
            std::pair(Source::training_output, std::string("n6")));
}

TEST(Wanted, AFaultWithoutAMomentAsksForItsTime) {
  Case c = crash();
  c.findings.push_back(xid("n6", std::nullopt));  // none of its ranks reports anything
  const Verdict v = decide::decide(c);
  ASSERT_NE(v.action, Action::isolate);
  EXPECT_EQ(wanted(v).front(), std::pair(Source::times, std::string("n6")));
}

TEST(Wanted, AProvenFaultAsksForNothing) {
  Case c = crash();
  c.findings.push_back(xid("n3", 99 * kMinute));
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_TRUE(wanted(v).empty());
}

TEST(Wanted, AJobWithoutGpusIsNotAskedForTheirRecorder) {
  Case c = crash();
  Finding f = broken({"n1", "n2", "n3"}, 100 * kMinute);
  f.event_class = "gloo_timeout";
  f.traits = rules::traits_of_class(f.event_class);
  f.symptom = Symptom::job_hang;
  c.findings = {f};
  c.holds.kernel_logs = Hosts({"n1", "n2", "n3", "n4", "n5", "n6"});
  EXPECT_TRUE(asks(decide::decide(c), Source::flight_recorder));
  EXPECT_TRUE(asks(decide::decide(c), Source::stacks));
  c.uses_gpus = false;
  EXPECT_FALSE(asks(decide::decide(c), Source::flight_recorder));
  EXPECT_TRUE(asks(decide::decide(c), Source::stacks));
}

// The host runs another program on the GPU that failed.
TEST(Wanted, AGpuThatNoRankRunsOnAccusesNobody) {
  Case c = crash();
  c.findings.push_back(xid("n3", 99 * kMinute));
  c.job_gpus[Host("n3")] = {"0000:3b:00", "0000:5d:00"};
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
  c.job_gpus[Host("n3")] = {"0000:5d:00"};
  EXPECT_NE(decide::decide(c).action, Action::isolate);
}

// Wrong numbers in the job and the only machine that fails the diagnostic: two sources.
TEST(Wanted, WrongNumbersAndAFailedDiagnosticNameTheMachine) {
  Case c = crash();
  Finding differ = broken({"n1", "n2"}, 99 * kMinute);
  differ.event_class = "replica_divergence";
  differ.traits = rules::traits_of_class(differ.event_class);
  differ.id = "classify/replica_divergence/job";
  differ.role = Role::root;
  differ.cause = CauseKind::numerics;
  differ.severity = Severity::critical;
  differ.symptom = Symptom::nan_value;
  c.findings.push_back(differ);
  EXPECT_EQ(decide::decide(c).action, Action::checks);
  Finding failed = xid("n5", std::nullopt);
  failed.event_class = "dcgm_diag_fail";
  failed.traits = rules::traits_of_class(failed.event_class);
  failed.id = "classify/dcgm_diag_fail/host/n5";
  failed.subject = {SubjectKind::host, "n5"};
  c.findings.push_back(failed);
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets.front().subject.id, "n5");
  failed.host = Host("n2");
  failed.hosts = Hosts({"n2"});
  failed.subject = {SubjectKind::host, "n2"};
  failed.id = "classify/dcgm_diag_fail/host/n2";
  c.findings.push_back(failed);
  EXPECT_NE(decide::decide(c).action, Action::isolate);
}

}  // namespace
