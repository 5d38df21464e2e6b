// The grammar of error lines: its tables, and what it must leave alone.
#include "rules/grammar.hpp"

#include <sstream>

#include "kit.hpp"
#include "line/line.hpp"
#include "rules/check.hpp"
#include "rules/enumerations.hpp"
#include "rules/lazy_pattern.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules::test {

namespace {

std::string class_of(std::string_view raw) {
  const auto said = Grammar::built_in().said(raw);
  return said ? said->event_class : std::string("-");
}

std::string title_of(std::string_view raw) {
  const auto said = Grammar::built_in().said(raw);
  return said ? said->title : std::string("-");
}

// clang-format off
constexpr std::string_view kSpeaker = R"x({"about": "A.", "speakers": [{"name": "mine", "title": "Mine",
  "component": "program", "severe": true, "means": "M.", "source": "S", "markers": ["MINE ERROR"],
  "match": ["\\bMINE ERROR: "], "parts": [{"name": "mine_net", "title": "Mine net", "match": "net"}],
  "samples": {"fires": [{"line": "MINE ERROR: x", "class": "mine/other"}], "silent": ["x"]}}]})x";
constexpr std::string_view kReasons = R"x({"about": "A.",
  "harmless": ["no error"], "failure_words": ["failed"], "numbers": {"errno": {"shape": "-(\\d+)"}},
  "texts": {"cannot allocate memory": "ENOMEM"},
  "operations": [{"title": "a dive", "match": "div(?:e|ing)"}],
  "reasons": [{"name": "no_memory", "title": "out of memory", "role": "specific", "cause": "resource",
               "means": "M.", "match": ["out of memory"]},
              {"name": "other", "general": true, "title": "another", "role": "advice", "cause": "none", "means": "M."}]})x";
constexpr std::string_view kEnumerations = R"x({"about": "A.", "enumerations": [{"name": "errno", "title": "error number",
  "source": "S", "date": "2026", "count": 2, "shape": "E[A-Z]+", "entries": [
  {"code": "ENOMEM", "number": 12, "reason": "no_memory"}, {"code": "EAGAIN", "reason": "other", "vague": true}]}]})x";
// clang-format on

std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  out.replace(out.find(from), from.size(), to);
  return out;
}

std::string refusal(std::string_view speakers, std::string_view reasons,
                    std::string_view enumerations = kEnumerations) {
  const auto codes = Enumerations::parse(enumerations);
  if (!codes) return codes.error().what;
  const auto parsed = Grammar::parse(speakers, reasons, *codes);
  return parsed ? "" : parsed.error().what;
}

TEST(Grammar, PutsSpeakerOperationReasonAndCodeTogether) {
  const auto parsed =
      Grammar::parse(kSpeaker, kReasons, Enumerations::parse(kEnumerations).value());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
  const auto said = parsed->said("12:00 MINE ERROR: net diving ended, ENOMEM");
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->event_class, "mine_net/no_memory");
  EXPECT_EQ(said->title, "Mine net: a dive failed: out of memory (ENOMEM)");
  EXPECT_EQ(parsed->said("MINE ERROR: diving")->title, "Mine: a dive failed");
  EXPECT_EQ(parsed->said("MINE ERROR: it: Cannot allocate memory")->code, "ENOMEM");
  EXPECT_EQ(parsed->said("MINE ERROR: what")->title, "Mine: another");
  EXPECT_EQ(parsed->said("MINE ERROR: EAGAIN, out of memory")->title, "Mine: out of memory");
  EXPECT_FALSE(parsed->said("MINE ERROR: no error").has_value());
  EXPECT_FALSE(parsed->said("YOURS ERROR: out of memory").has_value());
  EXPECT_EQ(parsed->of_class("mine_net/no_memory")->title, "Mine net: out of memory");
  EXPECT_FALSE(parsed->of_class("mine/nothing").has_value());
}

TEST(Grammar, RefusesWhatWouldNeverBeMet) {
  EXPECT_EQ(refusal(kSpeaker, kReasons), "");
  EXPECT_NE(refusal(with(kSpeaker, "MINE ERROR\"]", "MINE\"]"), kReasons), "");
  EXPECT_NE(
      refusal(with(kSpeaker, "\"mine_net\"", "\"mine\""), kReasons).find("'mine' stands twice"),
      std::string::npos);
  EXPECT_NE(refusal(with(kSpeaker, "\"severe\"", "\"numbers\": \"nothing\", \"severe\""), kReasons)
                .find("numbers 'nothing'"),
            std::string::npos);
  EXPECT_NE(refusal(kSpeaker, with(kReasons, "\"ENOMEM\"", "\"ENOBODY\""))
                .find("no reason has the code 'ENOBODY'"),
            std::string::npos);
  EXPECT_NE(refusal(kSpeaker, kReasons, with(kEnumerations, "\"no_memory\"", "\"nothing\""))
                .find("ENOMEM: no reason is called 'nothing'"),
            std::string::npos);
  EXPECT_NE(refusal(kSpeaker, kReasons, with(kEnumerations, "\"number\": 12, ", ""))
                .find("numbers.errno: no enumeration"),
            std::string::npos);
  EXPECT_NE(refusal(kSpeaker, with(kReasons, "\"specific\"", "\"root\"")), "");
}

TEST(Grammar, ItsOwnTablesAreReadAndEveryPatternIsOne) {
  EXPECT_EQ(refusal(embedded_rule("tables/speakers.json"), embedded_rule("tables/reasons.json"),
                    embedded_rule("tables/enumerations.json")),
            "");
  const Grammar& grammar = Grammar::built_in();
  ASSERT_GT(grammar.speakers().size(), 10u);
  ASSERT_GT(grammar.reasons().size(), 30u);
  for (const SpeakerRow& row : grammar.speakers()) {
    for (const auto& pattern : row.match) EXPECT_EQ(pattern->trouble(), "") << row.name;
    for (const auto& part : row.parts) EXPECT_EQ(part.match->trouble(), "") << part.name;
  }
  for (const ReasonRow& row : grammar.reasons())
    for (const auto& pattern : row.match) EXPECT_EQ(pattern->trouble(), "") << row.name;
}

TEST(Grammar, SamplesOfItsSpeakersHold) {
  for (const SampleFailure& f : check_grammar(embedded(), Grammar::built_in()))
    ADD_FAILURE() << f.rule << " " << f.key << " " << f.reason << "\n  " << f.line;
}

TEST(Grammar, NoClassOfItIsOneOfARule) {
  std::set<std::string> of_rules;
  for (const Rule& rule : embedded().rules())
    of_rules.insert(rule.event_class.substr(0, rule.event_class.find('/')));
  for (const SpeakerRow& row : Grammar::built_in().speakers()) {
    EXPECT_EQ(of_rules.count(row.name), 0u) << row.name;
    for (const SpeakerPart& part : row.parts) EXPECT_EQ(of_rules.count(part.name), 0u) << part.name;
  }
}

TEST(Grammar, LeavesOrdinaryLinesAndTheSilentOnesOfRulesToThemselves) {
  std::istringstream lines{std::string(ordinary_lines())};
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(class_of(line), "-") << line;
  for (const char* line : {"node-1:10:11 [0] NCCL INFO comm 0x55 rank 3 nranks 8 - Init COMPLETE",
                           "[1763607601.1] [n:1 :0] parser.c:20 UCX  ERROR 0 errors in the table",
                           "slurmd: error: node-7 is slow, retrying",
                           "[   12.3] NVRM: GPU 0000:3b:00.0: RmInitAdapter succeeded",
                           "error: pathspec 'x' did not match any file known to git"})
    EXPECT_EQ(class_of(line), "-") << line;
}

TEST(Grammar, SeesThroughColoursAndWrappers) {
  EXPECT_EQ(class_of("\x1b[31mnode-3:1:2 [2] NCCL\x1b[0m WARN NET/IB : no space left"),
            "nccl_ib/no_space");
  EXPECT_EQ(class_of(R"({"log":"srun: error: Unable to open file: No such file or directory\n"})"),
            "slurm_client/not_found");
}

TEST(Grammar, TakesNumbersForWhatTheyMeanToTheirSpeaker) {
  EXPECT_EQ(title_of("[1.0] NVRM: rpcRmApiAlloc_GSP failed: status=0x00000062"),
            "NVIDIA driver GSP: the GPU needs a reset (NV_ERR_RESET_REQUIRED)");
  EXPECT_EQ(class_of("[1.0] mlx5_core 0000:3b:00.0: mlx5_cmd_exec failed: -110"), "mlx5/timed_out");
}

}  // namespace

}  // namespace culprit::rules::test
