// When a machine may be accused: properties over made-up stories. What is quoted, undated, taken
// back, or of a machine without a part in the job never adds an accusation, and the order in which
// findings come says nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "decide/decide.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;

struct Kind {
  const char* event_class;
  Severity severity;
  Role role;
  Scope scope;
  CauseKind cause;
  Origin origin;
  Symptom symptom;
};
constexpr Kind kKinds[] = {
    {"gpu_xid/79", Severity::critical, Role::root, Scope::host_local, CauseKind::machine,
     Origin::kernel, Symptom::gpu_unavailable},
    {"ib_link_down", Severity::critical, Role::root, Scope::host_local, CauseKind::machine,
     Origin::kernel, Symptom::infiniband_error},
    {"net_link_down", Severity::warning, Role::root, Scope::host_local, CauseKind::network,
     Origin::kernel, Symptom::infiniband_error},
    {"host_oom_kernel", Severity::critical, Role::root, Scope::host_local, CauseKind::resource,
     Origin::kernel, Symptom::cpu_oom},
    {"fs_nfs_not_responding", Severity::warning, Role::root, Scope::shared, CauseKind::shared,
     Origin::kernel, Symptom::filesystem_mount},
    {"nccl_segfault", Severity::critical, Role::root, Scope::host_local, CauseKind::crash,
     Origin::kernel, Symptom::cuda_error},
    {"py_user_error", Severity::critical, Role::root, Scope::user_code, CauseKind::program,
     Origin::any, Symptom::code_data_adjustment},
    {"address_in_use", Severity::critical, Role::root, Scope::host_local, CauseKind::environment,
     Origin::any, Symptom::none},
    {"nccl_watchdog_timeout", Severity::distributed, Role::cascade, Scope::job_wide,
     CauseKind::none, Origin::any, Symptom::job_hang},
    {"nccl_remote_closed", Severity::distributed, Role::cascade, Scope::shared, CauseKind::none,
     Origin::any, Symptom::none},
    {"scheduler_teardown", Severity::distributed, Role::teardown, Scope::job_wide, CauseKind::none,
     Origin::any, Symptom::none},
};

Finding make(const Kind& kind, const std::string& host, std::optional<Nanoseconds> start,
             int number) {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = kind.event_class;
  f.traits = rules::traits_of_class(f.event_class);
  f.severity = kind.severity;
  f.role = kind.role;
  f.scope = kind.scope;
  f.cause = kind.cause;
  f.origin = kind.origin;
  f.symptom = kind.symptom;
  const bool job = kind.role != Role::root;
  f.subject = job                           ? Subject{SubjectKind::job, "job"}
              : kind.scope == Scope::shared ? Subject{SubjectKind::storage, "remote storage"}
                                            : Subject{SubjectKind::host, host};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.id = "classify/" + f.event_class + "/" + host + "/" + std::to_string(number);
  f.start = f.end = start;
  f.uncertainty = kSecond;
  f.confidence = 0.95;
  f.title = Text(f.event_class);
  f.count = 1;
  f.evidence.push_back({1, "log", 1, 0, 10, "line"});
  return f;
}

rc::Gen<Case> stories() {
  return rc::gen::exec([] {
    Case c;
    const int n = *rc::gen::inRange(0, 6);
    for (int i = 0; i < n; ++i) {
      const Kind& kind = kKinds[*rc::gen::inRange<std::size_t>(0, std::size(kKinds))];
      const auto start = *rc::gen::inRange(0, 4) == 0
                             ? std::nullopt
                             : std::optional<Nanoseconds>(*rc::gen::inRange(90, 120) * kMinute);
      c.findings.push_back(make(kind, "n0" + std::to_string(*rc::gen::inRange(0, 8)), start, i));
    }
    c.hosts = c.hosts_with_output = c.hosts_heard = 16;
    c.ranks = 128;
    c.any_training_output = true;
    if (*rc::gen::arbitrary<bool>())
      c.exits.push_back({"torchrun", *rc::gen::element<std::int64_t>(0, 1, -9)});
    if (*rc::gen::arbitrary<bool>()) {
      c.last_progress = *rc::gen::inRange(80, 125) * kMinute;
      c.last_iteration = 100;
    }
    c.completed = *rc::gen::inRange(0, 5) == 0;
    return c;
  });
}

bool accuses(const Verdict& v) {
  return v.action == Action::isolate || v.action == Action::offline || v.action == Action::repair;
}
bool names(const Verdict& v, const std::string& host) {
  return std::any_of(v.targets.begin(), v.targets.end(), [&](const Target& t) {
    return t.subject.id == host || t.subject.id.rfind(host + "/", 0) == 0;
  });
}
// The accusation is not of this host, and nobody is accused because of it.
void expect_no_accusation_added(const Case& before, Finding added) {
  const std::string host = *added.host;
  const Verdict then = decide::decide(before);
  Case with = before;
  with.findings.push_back(std::move(added));
  const Verdict now = decide::decide(with);
  RC_ASSERT(!(accuses(now) && names(now, host)));
  if (then.action == Action::none) RC_ASSERT(!accuses(now));
}

RC_GTEST_PROP(Accusation, AnUndatedLineOfAnInnocentHostAddsNone, ()) {
  const Case c = *stories();
  const Kind& kind = kKinds[*rc::gen::inRange<std::size_t>(0, 6)];
  expect_no_accusation_added(c, make(kind, "n77", {}, 99));
}

RC_GTEST_PROP(Accusation, AnAlertThatWasTakenBackAddsNone, ()) {
  const Case c = *stories();
  Finding f = make(kKinds[*rc::gen::inRange<std::size_t>(0, 5)], "n77",
                   *rc::gen::inRange(90, 120) * kMinute, 99);
  f.outcome = Outcome::ruled_out;
  f.transient = true;
  f.alerts = {{f.start, *f.start + 2 * kSecond, {}, true}};
  expect_no_accusation_added(c, std::move(f));
}

RC_GTEST_PROP(Accusation, AQuotationAddsNone, ()) {
  const Case c = *stories();
  Finding f = make(kKinds[*rc::gen::inRange<std::size_t>(0, 6)], "n77",
                   *rc::gen::inRange(90, 120) * kMinute, 99);
  f.hearsay = true;
  f.role = Role::confirmation;
  f.severity = Severity::warning;
  f.outcome = *rc::gen::element(Outcome::fired, Outcome::ruled_out, Outcome::not_enough_evidence);
  expect_no_accusation_added(c, std::move(f));
}

RC_GTEST_PROP(Accusation, AMachineWithoutAPartInTheJobIsNeverNamed, ()) {
  Case c = *stories();
  for (int i = 0; i < 8; ++i) c.job_hosts.push_back(Host("n0" + std::to_string(i)));
  expect_no_accusation_added(c, make(kKinds[*rc::gen::inRange<std::size_t>(0, 4)], "n77",
                                     *rc::gen::inRange(90, 120) * kMinute, 99));
}

RC_GTEST_PROP(Accusation, AJobThatEndedWellAccusesNobody, ()) {
  Case c = *stories();
  c.exits = {{"torchrun", 0}};
  std::erase_if(c.findings, [](const Finding& f) { return f.role != Role::root; });
  std::erase_if(c.findings, [](const Finding& f) {
    return f.cause != CauseKind::machine && f.cause != CauseKind::network;
  });
  RC_ASSERT(!accuses(decide::decide(c)));
}

RC_GTEST_PROP(Accusation, TheOrderOfFindingsSaysNothing, ()) {
  Case c = *stories();
  const Verdict one = decide::decide(c);
  std::reverse(c.findings.begin(), c.findings.end());
  const Verdict other = decide::decide(c);
  RC_ASSERT(one.action == other.action);
  std::vector<std::string> a, b;
  for (const Target& t : one.targets)
    a.push_back(std::string(name(t.subject.kind)) + " " + t.subject.id);
  for (const Target& t : other.targets)
    b.push_back(std::string(name(t.subject.kind)) + " " + t.subject.id);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  RC_ASSERT(a == b);
}

}  // namespace
