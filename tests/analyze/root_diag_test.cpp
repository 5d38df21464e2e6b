// Which connections broke first, and what a cascade hides.
#include <gtest/gtest.h>

#include "analyze/faults/root_diag.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kStart = 1'795'000'000 * kSecond, kMs = kSecond / 1000;

struct Broken {
  const char* reporter;
  const char* peer;
  std::optional<Nanoseconds> after;
};

// down: hosts that report a link of their own which stays down.
std::vector<Finding> judged(const std::vector<Broken>& broken, Nanoseconds uncertainty = 0,
                            const std::vector<const char*>& down = {}, bool rdma = false) {
  std::vector<Signal> signals;
  for (const char* host : down) {
    Signal s;
    if (rdma) {
      s.alerts.emplace_back();
      s.end = kStart - 30 * kSecond;
    }
    s.meaning.severity = Severity::critical;
    s.meaning.role = Role::root;
    s.meaning.cause = CauseKind::network;
    s.host = Host(host);
    signals.push_back(std::move(s));
  }
  for (const Broken& b : broken) {
    Signal s;
    s.meaning.severity = Severity::distributed;
    s.meaning.role = Role::cascade;
    s.host = Host(b.reporter);
    s.peer_host = Host(b.peer);
    if (rdma) s.meaning.symptom = Symptom::infiniband_error;
    if (b.after) s.start = kStart + *b.after;
    s.uncertainty = uncertainty;
    signals.push_back(std::move(s));
  }
  return root_diag({}, signals);
}

// Five break with d within 200 ms; two seconds later e, which aborted because of it, breaks with
// everybody.
const std::vector<Broken> kCascade = {
    {"a", "d", 0},          {"b", "d", 60 * kMs},   {"c", "d", 110 * kMs},  {"d", "f", 150 * kMs},
    {"g", "d", 200 * kMs},  {"a", "e", 2000 * kMs}, {"b", "e", 2050 * kMs}, {"c", "e", 2080 * kMs},
    {"g", "e", 2110 * kMs}, {"f", "e", 2150 * kMs}};

TEST(RootDiag, ACascadeTwoSecondsLaterDoesNotHideTheFirst) {
  const auto found = judged(kCascade);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::fired);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::host, "d"}));
  std::vector<Broken> turned(kCascade.rbegin(), kCascade.rend());
  EXPECT_EQ(judged(turned).at(0).subject, found[0].subject)
      << "the order of the lines changes nothing";
}

// Who was told of a closed connection last, and prints no time, outnumbers those who know when.
TEST(RootDiag, BreaksWithoutATimeDoNotDecide) {
  const std::vector<Broken> dated = {{"c", "d", 0}, {"f", "d", 100 * kMs}};
  std::vector<Broken> all = dated;
  for (const char* reporter : {"a", "b", "e"}) all.push_back({reporter, "f", std::nullopt});
  EXPECT_NE(judged(all).at(0).outcome, Outcome::fired);
  for (Broken& one : all) one.after.reset();
  EXPECT_EQ(judged(all).at(0).subject.id, "f") << "with no time at all there is only the number";
}

// Whoever prints first touches all that broke first.
TEST(RootDiag, AHostIsNotAccusedByItsOwnReports) {
  const std::vector<Broken> own = {
      {"a", "b", 0}, {"a", "c", 50 * kMs}, {"a", "d", 80 * kMs}, {"b", "a", 120 * kMs}};
  const auto found = judged(own);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::ruled_out);
  EXPECT_EQ(found[0].subject.kind, SubjectKind::job);
  std::vector<Broken> named = own;
  named.push_back({"c", "a", 130 * kMs});
  EXPECT_EQ(judged(named).at(0).outcome, Outcome::fired) << "two others name it, too";
}

TEST(RootDiag, AHostOfWhichNothingWasCollectedIsNotAccused) {
  std::vector<Signal> signals;
  Facts facts;
  for (const char* host : {"a", "b", "c"}) {
    Signal s;
    s.meaning.severity = Severity::distributed;
    s.meaning.role = Role::cascade;
    s.host = Host(host);
    s.peer_host = Host("d");
    s.start = s.end = kStart;
    signals.push_back(std::move(s));
    HostRow row;
    row.host = Host(host);
    row.has_log = true;
    facts.hosts.push_back(row);
  }
  const auto judge = [&] { return root_diag(facts, signals).at(0); };
  EXPECT_EQ(judge().outcome, Outcome::not_enough_evidence);
  EXPECT_EQ(judge().subject, (Subject{SubjectKind::host, "d"}));
  MemberRow kernel_log;
  kernel_log.id = 1;
  kernel_log.host = Host("d");
  kernel_log.lines = 10;
  facts.members.push_back(kernel_log);
  EXPECT_EQ(judge().outcome, Outcome::not_enough_evidence) << "its processes are still silent";
  HostRow row;
  row.host = Host("d");
  row.has_log = true;
  facts.hosts.push_back(row);
  EXPECT_EQ(judge().outcome, Outcome::fired);
}

// The store of rank 0 is an end of all connections to it, whoever failed.
TEST(RootDiag, ConnectionsToTheStoreShowThatAProcessEnded) {
  std::vector<Signal> signals;
  for (const char* host : {"a", "b", "c"}) {
    Signal s;
    s.event_class = "torch_store_peer_lost";
    s.meaning.traits.add(Trait::store_lost);
    s.meaning.severity = Severity::distributed;
    s.meaning.role = Role::cascade;
    s.host = Host(host);
    s.peer_host = Host("d");
    s.start = kStart;
    signals.push_back(std::move(s));
  }
  const Finding f = root_diag({}, signals).at(0);
  EXPECT_EQ(f.outcome, Outcome::not_enough_evidence);
  EXPECT_EQ(f.subject, (Subject{SubjectKind::host, "d"}));
  for (Signal& s : signals) s.meaning.traits = {};
  EXPECT_EQ(root_diag({}, signals).at(0).outcome, Outcome::fired);
}

// No host is ahead, and each connection ends on one of two whose own links are down.
TEST(RootDiag, HostsWhoseLinksAreDownAtEachBreakAreRemembered) {
  const std::vector<Broken> breaks = {{"a", "d", 0},        {"b", "e", 10 * kMs},
                                      {"e", "c", 20 * kMs}, {"d", "f", 30 * kMs},
                                      {"g", "e", 40 * kMs}, {"h", "d", 50 * kMs}};
  const auto alerted = [&](const std::vector<const char*>& down) {
    const auto found = judged(breaks, 0, down);
    const auto* facts = std::get_if<BreakFacts>(&found.at(0).facts);
    return facts == nullptr ? std::vector<Host>() : facts->alerted;
  };
  EXPECT_EQ(alerted({"d", "e"}), (std::vector<Host>{Host("d"), Host("e")}));
  EXPECT_TRUE(alerted({"d"}).empty()) << "the connections of e are left";
  EXPECT_TRUE(alerted({"a", "b", "c", "d", "e"}).empty()) << "most ends, which tells nothing";
  EXPECT_TRUE(alerted({}).empty());
}

// Too little to accuse a host by, enough to confirm what its own log says.
TEST(RootDiag, TheHostOfMostBreaksIsRememberedAndOfSeveralTheSilentOne) {
  const auto most = [](const std::vector<Broken>& broken) {
    const Finding f = judged(broken).at(0);
    EXPECT_NE(f.outcome, Outcome::fired);
    const auto* facts = std::get_if<BreakFacts>(&f.facts);
    return facts == nullptr ? std::string() : facts->most;
  };
  std::vector<Broken> broken = {{"a", "d", 0},
                                {"a", "b", 10 * kMs},
                                {"b", "d", 20 * kMs},
                                {"a", "f", 30 * kMs},
                                {"c", "d", 40 * kMs}};
  EXPECT_EQ(most(broken), "d") << "a is an end of three, too, and speaks";
  broken.push_back({"a", "g", 50 * kMs});
  EXPECT_EQ(most(broken), "") << "an end of most, and its own word alone";
}

TEST(RootDiag, ABreakBetweenOthersThatCameFirstClearsTheHost) {
  std::vector<Broken> broken = {{"a", "d", 1200 * kMs},
                                {"b", "d", 1300 * kMs},
                                {"c", "d", 1400 * kMs},
                                {"e", "d", 1500 * kMs}};
  EXPECT_EQ(judged(broken).at(0).outcome, Outcome::fired);
  broken.push_back({"f", "g", 0});
  EXPECT_NE(judged(broken).at(0).outcome, Outcome::fired);
}

TEST(RootDiag, CallsThatWereTriedAgainBeforeTheFirstStepsSayNothing) {
  std::vector<Signal> signals;
  for (const char* host : {"a", "b", "c"}) {
    Signal s;
    s.meaning.severity = Severity::distributed;
    s.meaning.role = Role::cascade;
    s.host = Host(host);
    s.peer_host = Host("d");
    s.start = s.end = kStart;
    signals.push_back(std::move(s));
  }
  Facts facts;
  ProgressSpan span;
  span.framework = "megatron";
  span.last.time_ns = kStart + 19 * kSecond;
  facts.progress.push_back(span);
  EXPECT_EQ(root_diag(facts, signals).size(), 1u);
  facts.progress[0].last.time_ns = kStart + 21 * kSecond;
  EXPECT_TRUE(root_diag(facts, signals).empty());
  // Training that began only then needed them all.
  facts.progress[0].first.time_ns = kStart + 2 * kSecond;
  facts.progress[0].first.iteration = 1;
  facts.progress[0].last.time_ns = kStart + 9 * kSecond;
  facts.progress[0].last.iteration = 4;
  EXPECT_TRUE(root_diag(facts, signals).empty());
  facts.progress[0].last.iteration = 2;
  EXPECT_FALSE(root_diag(facts, signals).empty());
}

// Five of ten come first by accident in one of 252 orders, whatever each clock is worth.
TEST(RootDiag, TwoThatTheirAdaptersNameAndAllOthersLostAreAPair) {
  std::vector<Signal> signals;
  const auto broke = [&](const char* reporter, const char* peer, Symptom symptom) {
    Signal s;
    s.meaning.severity = Severity::distributed;
    s.meaning.role = Role::cascade;
    s.meaning.symptom = symptom;
    s.host = Host(reporter);
    s.peer_host = Host(peer);
    signals.push_back(std::move(s));
  };
  broke("c", "f", Symptom::infiniband_error);
  broke("f", "c", Symptom::infiniband_error);
  for (const char* other : {"a", "b", "d", "e"}) {
    broke(other, "c", Symptom::none);
    broke(other, "f", Symptom::none);
  }
  auto found = root_diag({}, signals);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().outcome, Outcome::not_enough_evidence);
  EXPECT_EQ(found.front().hosts, (std::vector<Host>{Host("c"), Host("f")}));
  // A third machine whose adapter reports more is no part of a pair.
  broke("a", "b", Symptom::infiniband_error);
  found = root_diag({}, signals);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found.front().hosts, (std::vector<Host>{Host("c"), Host("f")}));
}

TEST(RootDiag, WhereClocksCannotTellThePauseTheOrderOfManyDoes) {
  const Finding f = judged(kCascade, 3 * kSecond).at(0);
  EXPECT_EQ(f.subject, (Subject{SubjectKind::host, "d"}));
  EXPECT_LE(f.confidence, 0.75);
}

TEST(RootDiag, BreaksAtOneSteadyPaceInMixedOrderNameNobody) {
  std::vector<Broken> steady;
  for (std::size_t i = 0; i < 5; ++i) {
    steady.push_back(kCascade[i]);
    steady.push_back(kCascade[5 + i]);
  }
  for (std::size_t i = 0; i < steady.size(); ++i)
    steady[i].after = static_cast<Nanoseconds>(i) * 400 * kMs;
  EXPECT_NE(judged(steady).at(0).outcome, Outcome::fired);
}

TEST(RootDiag, TwoInFrontAreTooFewToHaveAHostInCommon) {
  std::vector<Broken> two(kCascade.begin(), kCascade.begin() + 2);
  for (const char* other : {"c", "g", "h"}) two.push_back({"e", other, 2000 * kMs});
  EXPECT_NE(judged(two).at(0).outcome, Outcome::fired);
}

// All but one name an address that is nobody's; the one names others, and its own link is down.
TEST(RootDiag, AnAddressThatAllButTheOneWithADeadLinkNameIsThatOnes) {
  const std::vector<Broken> broken = {{"a", "10.9.0.4", 0},
                                      {"b", "10.9.0.4", 20 * kMs},
                                      {"c", "10.9.0.4", 30 * kMs},
                                      {"d", "10.9.0.7", 40 * kMs}};
  const auto named = judged(broken, 0, {"d"}, true);
  EXPECT_EQ(named.at(0).outcome, Outcome::fired);
  EXPECT_EQ(named.at(0).subject, (Subject{SubjectKind::host, "d"}));
  EXPECT_NE(judged(broken, 0, {}, true).at(0).subject.id, "d") << "without a dead link";
  // Its number is the address's, and no small one, which may agree by chance.
  std::vector<Broken> numbered = broken;
  for (Broken& one : numbered)
    if (one.peer == std::string("10.9.0.4"))
      one.peer = "10.9.0.104";
    else
      one.reporter = "gx-104";
  EXPECT_EQ(judged(numbered, 0, {}, true).at(0).subject.id, "gx-104");
  numbered.back().reporter = "gx-105";
  EXPECT_NE(judged(numbered, 0, {}, true).at(0).subject.id, "gx-105");
  std::vector<Broken> small = broken;
  small.back().reporter = "gx-04";
  EXPECT_NE(judged(small, 0, {}, true).at(0).subject.id, "gx-04");
  // It reports nothing, and its own link is the one that stays down.
  const std::vector<Broken> silent(broken.begin(), broken.begin() + 3);
  EXPECT_EQ(judged(silent, 0, {"gx-4"}, true).at(0).subject.id, "gx-4");
  EXPECT_NE(judged(silent, 0, {"gx-5"}, true).at(0).subject.id, "gx-5") << "another number";
  EXPECT_NE(judged(broken, 0, {"a"}, true).at(0).subject.id, "a") << "nobody names itself";
  EXPECT_NE(judged(broken, 0, {"c", "d"}, true).at(0).subject.id, "d") << "of two dead links";
}

}  // namespace
}  // namespace culprit::analyze
