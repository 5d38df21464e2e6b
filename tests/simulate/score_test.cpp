// Scores of answers, by hand.
#include <gtest/gtest.h>

#include "schema/schema.hpp"
#include "simulate/score.hpp"

namespace culprit::simulate {
namespace {

using nlohmann::json;

Truth truth(std::string bundle, std::vector<Action> right, std::vector<std::string> guilty,
            std::vector<std::string> innocent) {
  return {.bundle = std::move(bundle),
          .kind = "k",
          .right = std::move(right),
          .guilty = std::move(guilty),
          .innocent = std::move(innocent)};
}

Score score_one(const Truth& of, Action action, std::vector<std::string> blamed) {
  const Answer answer{.bundle = of.bundle, .given = true, .verdict = {action, std::move(blamed)}};
  return score({of}, {answer}).answers.at(0).score;
}

TEST(Score, OfAGuiltyMachine) {
  Truth of = truth("a", {Action::isolate, Action::offline}, {"n1"}, {"n2", "n3"});
  of.ranks = {5};
  of.aliases = {{"pod-1", "n1"}, {"pod-2", "n2"}};
  EXPECT_EQ(score_one(of, Action::isolate, {"n1"}), Score::exact);
  EXPECT_EQ(score_one(of, Action::isolate, {"n1.cluster.local"}), Score::exact);
  EXPECT_EQ(score_one(of, Action::offline, {"pod-1", "n1"}), Score::exact);
  EXPECT_EQ(score_one(of, Action::isolate, {"rank 5"}), Score::exact);
  EXPECT_EQ(score_one(of, Action::isolate, {"n1", "n2"}), Score::accused);
  EXPECT_EQ(score_one(of, Action::repair, {"pod-2"}), Score::accused);
  EXPECT_EQ(score_one(of, Action::isolate, {"n1", "bystander"}), Score::wrong);
  EXPECT_EQ(score_one(of, Action::isolate, {}), Score::wrong);
  EXPECT_EQ(score_one(of, Action::repair, {"n1"}),
            Score::wrong);  // the right machine, not the action
  EXPECT_EQ(score_one(of, Action::checks, {"n1"}), Score::open);
  EXPECT_EQ(score_one(of, Action::checks, {"n2"}), Score::open);  // a check accuses nobody
  EXPECT_EQ(score_one(of, Action::offline, {"rank 4"}), Score::open);
}

TEST(Score, OfNoMachine) {
  const Truth of = truth("a", {Action::repair}, {}, {"n1", "n2"});
  EXPECT_EQ(score_one(of, Action::repair, {}), Score::exact);
  EXPECT_EQ(score_one(of, Action::repair, {"n1"}), Score::accused);
  EXPECT_EQ(score_one(of, Action::isolate, {"n1.cluster.local"}), Score::accused);
  EXPECT_EQ(score_one(of, Action::isolate, {}), Score::wrong);
  EXPECT_EQ(score_one(of, Action::none, {}), Score::open);
}

TEST(Score, SumsAndCalibration) {
  const std::vector<Truth> truths{
      truth("a", {Action::isolate}, {"n1"}, {"n2"}), truth("b", {Action::isolate}, {"n1"}, {"n2"}),
      truth("c", {Action::rollback}, {}, {"n1"}), truth("d", {Action::none}, {}, {"n1"})};
  Answer a{.bundle = "a",
           .given = true,
           .verdict = {Action::isolate, {"n1"}},
           .confidence = 0.95,
           .sureness = "certain"};
  Answer b{.bundle = "b",
           .given = true,
           .verdict = {Action::isolate, {"n2"}},
           .confidence = 0.91,
           .sureness = "certain"};
  b.differential = {b.verdict, {Action::checks, {"n1"}}, {Action::isolate, {"n1"}}};
  Answer c{.bundle = "c",
           .given = true,
           .verdict = {Action::investigate, {}},
           .confidence = 0.3,
           .sureness = "open"};
  c.differential = {
      c.verdict, {Action::none, {}}, {Action::none, {}}, {Action::rollback, {}}};  // the fourth
  const Scores scores = score(truths, {c, b, a});
  EXPECT_EQ(scores.total.all, 4);
  EXPECT_EQ(scores.total.count(Score::exact), 1);
  EXPECT_EQ(scores.total.among_three, 2);
  EXPECT_EQ(scores.total.count(Score::open), 1);
  EXPECT_EQ(scores.total.count(Score::accused), 1);
  EXPECT_EQ(scores.total.count(Score::none), 1);
  ASSERT_EQ(scores.confidence.size(), 2u);
  EXPECT_EQ(scores.confidence[1].label, "0.90 to 1");
  EXPECT_EQ(scores.confidence[1].all, 2);
  EXPECT_EQ(scores.confidence[1].exact, 1);
  EXPECT_DOUBLE_EQ(scores.confidence[1].stated, 0.93);
  ASSERT_EQ(scores.sureness.size(), 2u);
  EXPECT_EQ(scores.sureness[0].label, "certain");
  EXPECT_EQ(scores.sureness[0].exact, 1);
  const json document = json::parse(to_document(scores).dump());
  for (const auto& violation :
       schema::validate(document, json::parse(schema::text("score-v1.json"))))
    ADD_FAILURE() << violation.path << ": " << violation.reason;
  EXPECT_TRUE(to_csv(scores).starts_with(
      "bundle,kind,result,among_three,action,blamed,confidence,sureness\n"));
}

TEST(Score, ReadsAnswersOfOthers) {
  const auto answers =
      answers_of_csv("bundle,action,blamed,confidence\r\na,isolate,n1; n2,0.5\r\nb,none\n", "f");
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 2u);
  EXPECT_EQ((*answers)[0].verdict.action, Action::isolate);
  EXPECT_EQ((*answers)[0].verdict.blamed, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ((*answers)[0].confidence, 0.5);
  EXPECT_FALSE((*answers)[1].confidence);
}

TEST(Score, RefusesBadRowsAndTruths) {
  const auto refused = [](const char* text) { return answers_of_csv(text, "f").error(); };
  EXPECT_EQ(refused("a,isolate,n1\nb,reboot,n1\n").what, "'reboot' is no action");
  EXPECT_EQ(refused("a,isolate,n1\nb,reboot,n1\n").where->line, 2u);
  EXPECT_EQ(refused("a\n").what, "this row has no action");
  EXPECT_EQ(refused("a,none\na,none\n").what, "'a' has an answer already");
  EXPECT_EQ(refused("a,none,,1.5\n").what, "'1.5' is no confidence from 0 to 1");
  EXPECT_EQ(refused("a,none,,nan\n").what, "'nan' is no confidence from 0 to 1");
  EXPECT_EQ(refused("a,\"none\n").what, "this row has a quote that does not end");
  EXPECT_EQ(truth_of("{", "t", "a").error().where->file, "t");
  const auto missing = truth_of(
      R"({"schema":"culprit.truth/1","kind":"k","right":["isolte"],"guilty":{"hosts":[]},"innocent":[],"why":"w"})",
      "t", "a");
  EXPECT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("right"), std::string::npos) << missing.error().what;
}

}  // namespace
}  // namespace culprit::simulate
