// What `explain` answers: out of the pack and the tables, without a word of its own about any rule.
#include "rules/explain.hpp"

#include "kit.hpp"
#include "line/line.hpp"

namespace culprit::rules::test {

namespace {

std::string first_id(const Answer& answer) {
  return answer.found.empty() ? "" : answer.found.front().id;
}

bool sees(const Answer& answer, const std::string& id) {
  return std::any_of(answer.also.begin(), answer.also.end(),
                     [&](const Related& r) { return r.id == id; });
}

TEST(Explain, NumbersOfAnyRuleThatHasThem) {
  EXPECT_EQ(first_id(explain(embedded(), "xid 79")), "gpu_xid/79");
  EXPECT_EQ(first_id(explain(embedded(), "Xid 79")), "gpu_xid/79");
  EXPECT_EQ(first_id(explain(embedded(), "gpu_xid/79")), "gpu_xid/79");
  EXPECT_EQ(first_id(explain(embedded(), "XID: 79")), "gpu_xid/79");
  EXPECT_EQ(first_id(explain(embedded(), "sxid 12028")), "nvswitch_sxid/12028");
  const Answer unknown = explain(embedded(), "xid 9999");
  EXPECT_FALSE(unknown.exact);
  EXPECT_EQ(first_id(unknown), "gpu_xid/9999");
}

TEST(Explain, ANewRuleWithNumbersNeedsNoCode) {
  auto rules = read_rule_file(
      rule_file(
          {R"x("id": "psu-fault", "class": "psu_fault/{code}", "severity": "critical", "role": "root", "cause": "machine",
      "title": "power supply fault", "why": "A supply failed.", "source": "us", "match": ["psu fault number (?P<code>\\d+)"],
      "codes": {"7": {"title": "fan of the power supply"}}, "samples": {"fires": ["psu fault number 7"], "silent": ["fan ok"]})x"}),
      "mine.json");
  ASSERT_TRUE(rules.has_value()) << rules.error().what;
  auto pack = RulePack::compile(std::move(rules).value());
  ASSERT_TRUE(pack.has_value());
  const Answer answer = explain(*pack, "psu fault 7");
  ASSERT_EQ(first_id(answer), "psu_fault/7");
  EXPECT_EQ(answer.found.front().title, "fan of the power supply");
  EXPECT_EQ(first_id(explain_line(*pack, "psu fault number 7")), "psu_fault/7");
  EXPECT_EQ(first_id(explain(*pack, "power supply")), "psu-fault");
}

TEST(Explain, EndsOfProcessesInAllTheirSpellings) {
  for (const char* query : {"exit -9", "exit 137", "signal 9", "SIGKILL", "sigkill",
                            "exit code 137", "-9", "exitcode: -9", "exit=137"})
    EXPECT_EQ(first_id(explain(embedded(), query)), "SIGKILL") << query;
  EXPECT_TRUE(sees(explain(embedded(), "exit -9"), "proc_sigkill"));
  EXPECT_EQ(first_id(explain(embedded(), "signal 7")), "SIGBUS");
  EXPECT_EQ(first_id(explain(embedded(), "exit 1")), "exit 1");
  EXPECT_EQ(first_id(explain(embedded(), "exit 255")), "exit 255");
  EXPECT_EQ(first_id(explain(embedded(), "exit 42")), "exit 42");
}

TEST(Explain, NamesOfRulesStepsCausesActionsMetricsAndSettings) {
  EXPECT_EQ(explain(embedded(), "nccl-watchdog-timeout").found.front().kind, "rule");
  EXPECT_EQ(explain(embedded(), "stopped_rank").found.front().kind, "verdict_kind");
  EXPECT_EQ(explain(embedded(), "stopped rank").found.front().kind, "verdict_kind");
  EXPECT_EQ(explain(embedded(), "device_or_program").found.front().kind, "cause");
  EXPECT_EQ(explain(embedded(), "isolate").found.front().kind, "action");
  EXPECT_EQ(explain(embedded(), "DCGM_FI_DEV_GPU_TEMP").found.front().kind, "metric");
  EXPECT_EQ(explain(embedded(), "driver_version").found.front().kind, "setting");
}

TEST(Explain, WordsOfAMessage) {
  const Answer answer = explain(embedded(), "nccl remote error");
  EXPECT_EQ(first_id(answer), "nccl_error_propagated");
  EXPECT_FALSE(answer.also.empty());
  EXPECT_EQ(first_id(explain(embedded(), "illegal memory access")), "cuda_illegal_access");
  EXPECT_TRUE(explain(embedded(), "frobnicate").found.empty());
  EXPECT_TRUE(explain(embedded(), "").found.empty());
  EXPECT_TRUE(explain(embedded(), "\xff\xfe\x01").found.empty());
}

TEST(Explain, LinesAreTakenAsTheLogsReaderTakesThem) {
  for (const Rule& rule : embedded().rules())
    for (const std::string& sample : rule.fires) {
      const Answer answer = explain_line(embedded(), line::peel(sample).message);
      ASSERT_FALSE(answer.found.empty()) << rule.id;
      EXPECT_EQ(answer.found.front().properties.front().second, rule.id) << sample;
    }
  EXPECT_TRUE(explain_line(embedded(), "nothing of the kind stands here").found.empty());
}

TEST(Explain, EveryRuleAndEntryIsFoundByItsNameWithMeaningAndSource) {
  for (const Rule& rule : embedded().rules()) {
    const Answer answer = explain(embedded(), rule.id);
    ASSERT_FALSE(answer.found.empty()) << rule.id;
    EXPECT_TRUE(answer.exact) << rule.id;
    EXPECT_FALSE(answer.found.front().means.empty()) << rule.id;
    EXPECT_FALSE(answer.found.front().source.empty()) << rule.id;
  }
  for (const GlossaryEntry& entry : Glossary::built_in().entries()) {
    EXPECT_TRUE(explain(embedded(), entry.kind == "exit_code"
                                        ? "exit " + std::to_string(*entry.number)
                                        : entry.names.front())
                    .exact)
        << entry.names.front();
    for (const std::string& event_class : entry.see)
      EXPECT_NE(embedded().of_class(event_class), nullptr) << event_class;
  }
}

TEST(Explain, AGlossaryWithAnUnknownKeyIsRefused) {
  const auto bad = Glossary::parse(
      R"({"about": "x", "entries": [{"kind": "signal", "nmaes": ["a"], "title": "t", "means": "m", "do": "d", "source": "s"}]})",
      "g.json");
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().what.find("entries[0]"), std::string::npos);
  EXPECT_FALSE(
      Glossary::parse(
          R"({"about": "x", "entries": [{"kind": "signal", "names": ["a"], "title": "t", "means": "m", "do": "d", "source": "s"}]})",
          "g.json")
          .has_value());
}

}  // namespace

}  // namespace culprit::rules::test
