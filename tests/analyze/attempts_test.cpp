#include "analyze/pace/attempts.hpp"
#include "support/hosts.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kNoon = 1'795'176'000LL * kSecond;  // 2026-11-20T12:00:00Z

MemberRow member(MemberId id, std::optional<std::int64_t> attempt = {}) {
  MemberRow m;
  m.id = id;
  m.attempt = attempt;
  return m;
}

void step(JobSteps& s, std::int64_t iteration, Nanoseconds time, std::size_t attempt,
          MemberId id = 1, bool bad = false) {
  s.iteration.push_back(iteration);
  s.time.push_back(time);
  s.ms.push_back(1000);
  s.loss.push_back(1);
  s.grad_norm.push_back(1);
  s.not_a_number.push_back(bad ? 1 : 0);
  s.attempt.push_back(attempt);
  s.place.push_back({id, 1, 0, 0});
}

ManifestAttempt said(std::int64_t id, std::string start, std::string end, Hosts hosts,
                     std::string before, std::string code = "") {
  ManifestAttempt a;
  a.id = id;
  a.start = std::move(start);
  a.end = std::move(end);
  a.hosts = std::move(hosts);
  a.action_before = std::move(before);
  a.code_version = std::move(code);
  return a;
}

TEST(Measures, AreReadOutOfFreeText) {
  const Hosts hosts{"node-07", "node-08", "node-11"};
  const auto one = [&](const char* text) {
    const auto all = parse_measures(text, hosts);
    return all.size() == 1 ? all[0] : Tried{Measure::stop, Hosts({"not one"}), "", {}, true};
  };
  EXPECT_EQ(one("evicted node-07"), (Tried{Measure::evict, Hosts({"node-07"}), "", {}, false}));
  EXPECT_EQ(one("evict: node-[07-08], node-11"),
            (Tried{Measure::evict, Hosts({"node-07", "node-08", "node-11"}), "", {}, false}));
  EXPECT_EQ(one("evict"), (Tried{Measure::evict, {}, "", {}, false}));
  EXPECT_EQ(one("rollback to 1200"), (Tried{Measure::rollback, {}, "1200", {}, false}));
  EXPECT_EQ(one("Rolled back to v2.1"), (Tried{Measure::rollback, {}, "v2.1", {}, false}));
  EXPECT_EQ(one("reattempt"), (Tried{Measure::reattempt, {}, "", {}, false}));
  EXPECT_EQ(one("restart from checkpoint 900"), (Tried{Measure::reattempt, {}, "", {}, false}));
  EXPECT_EQ(one("checks passed"), (Tried{Measure::checks, {}, "", true, false}));
  EXPECT_EQ(one("stop-time checks: all passed"), (Tried{Measure::checks, {}, "", true, false}));
  EXPECT_EQ(one("checks failed on node-08"),
            (Tried{Measure::checks, Hosts({"node-08"}), "", false, false}));
  EXPECT_EQ(one("checks not passed"), (Tried{Measure::checks, {}, "", false, false}));
  EXPECT_EQ(one("replaced node-08"), (Tried{Measure::repair, Hosts({"node-08"}), "", {}, false}));
  EXPECT_EQ(one("updated the driver"), (Tried{Measure::other, {}, "", {}, false}));
  EXPECT_EQ(one("restart, no rollback"), (Tried{Measure::reattempt, {}, "", {}, false}));
  EXPECT_TRUE(parse_measures("", hosts).empty());
  EXPECT_TRUE(parse_measures("none", hosts).empty());
  EXPECT_TRUE(parse_measures("no rollback", hosts).empty());
  EXPECT_EQ(parse_measures("evicted gpu-x01", hosts)[0].hosts, Hosts({}))
      << "no machine of this job";
  EXPECT_EQ(parse_measures("evicted gpu-x01 after a while", {})[0].hosts, Hosts({"gpu-x01"}));
  const auto both = parse_measures("checks failed: evicted node-07, then restart", hosts);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0].passed, false);
  EXPECT_EQ(both[1].hosts, Hosts({"node-07"}));
  EXPECT_EQ(both[2].measure, Measure::reattempt);
}

TEST(Measures, HostileTextIsHarmless) {
  for (const std::string& text :
       {std::string(100'000, '['), std::string("evict n[0-99999999999]"),
        std::string("evict \0\xff[1-", 12), "rollback to" + std::string(9000, 'x')})
    EXPECT_LE(parse_measures(text, {}).size(), 8u);
}

TEST(Attempts, OfTheManifestHaveStepsMeasuresAndSigns) {
  Facts facts;
  facts.members = {member(1)};
  facts.manifest = Manifest{};
  facts.manifest->timezone = "+08:00";
  facts.manifest->attempts = {
      said(0, "2026-11-20T20:00:00", "2026-11-20T21:00:00", {"a1", "a2"}, "", "v1"),
      said(1, "2026-11-20T21:10:00", "2026-11-20T22:00:00", {"a1", "a3"}, "", "v1"),
      said(2, "2026-11-20T22:10:00", "", {"a1", "a3"}, "restart", "v0")};
  JobSteps steps;
  for (int i = 1; i <= 30; ++i) step(steps, i, kNoon + i * 60 * kSecond, 0);
  for (int i = 21; i <= 35; ++i) step(steps, i, kNoon + 4200 * kSecond + i * kSecond, 1, 1, i > 33);
  for (int i = 31; i <= 32; ++i) step(steps, i, kNoon + 7900 * kSecond + i * kSecond, 2);
  EventRow e;
  e.place = {1, 5, 0, 0};
  e.role = Role::root;
  e.severity = Severity::critical;
  e.event_class = "gpu_xid/79";
  e.host = Host("a2");
  e.time_ns = kNoon + 1900 * kSecond;
  facts.events.push_back(e);

  const auto all = attempts(facts, steps);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].start, kNoon);
  EXPECT_EQ(all[0].furthest, 30);
  EXPECT_EQ(all[1].first, 21);
  EXPECT_EQ(all[1].furthest, 33) << "steps with a loss that is no number are no progress";
  EXPECT_TRUE(all[1].progressed);
  EXPECT_EQ(all[2].furthest, 32);
  EXPECT_FALSE(all[2].progressed);
  EXPECT_EQ(all[1].before, (std::vector<Tried>{{Measure::evict, Hosts({"a2"}), "", {}, true}}));
  EXPECT_EQ(all[2].before, (std::vector<Tried>{{Measure::reattempt, {}, "", {}, false},
                                               {Measure::rollback, {}, "v0", {}, true}}));
  ASSERT_EQ(all[0].roots.size(), 1u);
  EXPECT_EQ(all[0].roots[0].subject, (Subject{SubjectKind::host, "a2"}));
  EXPECT_TRUE(all[1].roots.empty());

  // An earlier verdict on the second attempt, whose answer the manifest knows better; and one
  // before all of them.
  PastFailure verdict, old;
  verdict.name = "the incident of b.db";
  verdict.start = verdict.end = kNoon + 7000 * kSecond;
  verdict.roots.push_back({Symptom::nan_value, "train_nan", {SubjectKind::job, "job"}, true});
  verdict.answers.push_back({Measure::checks, {}, "", {}, false});
  old.name = "the incident of a.db";
  old.end = kNoon - 7000 * kSecond;
  const AttemptHistory h = history_of(all, std::vector{verdict, old});
  ASSERT_EQ(h.failures.size(), 3u);
  EXPECT_EQ(h.failures[0].name, "the incident of a.db");
  EXPECT_EQ(h.failures[2].name, "attempt 1");
  ASSERT_EQ(h.failures[2].roots.size(), 1u);
  EXPECT_EQ(h.failures[2].answers.size(), 2u);
  EXPECT_EQ(h.furthest, 32);
  EXPECT_EQ(h.hosts, Hosts({"a1", "a3"}));
}

TEST(Attempts, ComeFromStepsThatBeginAgain) {
  Facts facts;
  facts.members = {member(1)};
  JobSteps steps;
  for (int i = 1; i <= 30; ++i) step(steps, i, kNoon + i * kSecond, 0);
  EXPECT_TRUE(attempts(facts, steps).empty()) << "one run is no history";
  for (int i = 21; i <= 25; ++i) step(steps, i, kNoon + (600 + i) * kSecond, 1);
  const auto all = attempts(facts, steps);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].source, "steps");
  EXPECT_EQ(all[0].furthest, 30);
  EXPECT_EQ(all[1].furthest, 25);
  EXPECT_EQ(all[1].before, (std::vector<Tried>{{Measure::reattempt, {}, "", {}, true}}));
}

TEST(Attempts, ComeFromFolders) {
  Facts facts;
  facts.members = {member(1, 0), member(2, 1)};
  JobSteps steps;
  for (int i = 1; i <= 30; ++i) step(steps, i, kNoValue, 0, 1);
  for (int i = 21; i <= 41; ++i) step(steps, i, kNoValue, 1, 2);
  const auto all = attempts(facts, steps);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].source, "folder");
  EXPECT_EQ(all[1].furthest, 41);
  EXPECT_TRUE(all[1].progressed);
  EXPECT_TRUE(attempts({}, {}).empty());
  EXPECT_TRUE(history_of({}, {}).failures.empty());
}

}  // namespace
}  // namespace culprit::analyze
