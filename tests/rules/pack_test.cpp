#include "rules/pack.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <filesystem>

#include "kit.hpp"
#include "line/line.hpp"
#include "model/json.hpp"
#include "rules/check.hpp"
#include "rules/nvlink5.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

using test::pack_of;
using test::rule;
using test::rule_file;

std::string winner(const RulePack& pack, std::string_view message, std::string_view kind = {}) {
  const auto match = pack.match(message, kind);
  return match ? match->rule->id : "-";
}

TEST(Precedence, SeverityThenIdAndOverBeforeBoth) {
  const RulePack pack =
      pack_of({rule("a-low", "first word"), rule("b-high", "word second", "", "critical"),
               rule("c-low", "first word"),
               rule("d-over", "special word second", R"("over": ["b-high"])", "info")});
  EXPECT_EQ(winner(pack, "first word second"), "b-high");
  EXPECT_EQ(winner(pack, "first word third"), "a-low");
  EXPECT_EQ(winner(pack, "first special word second"), "d-over");
  EXPECT_EQ(winner(pack, "nothing"), "-");
  EXPECT_EQ(pack.all_matches("first special word second").size(), 2u);
}

TEST(Precedence, AFallbackGivesWayToEveryOtherRule) {
  const RulePack pack = pack_of({rule("a-shape", "first \\\\w+", R"("fallback": true)", "critical"),
                                 rule("b-known", "first word", "", "info")});
  EXPECT_EQ(winner(pack, "first word"), "b-known");
  EXPECT_EQ(winner(pack, "first other"), "a-shape");
}

TEST(Events, AdviceIsOneOnlyWhereItTakesAnAlertBack) {
  const RulePack pack =
      pack_of({rule("a-down", "link went down", R"("class": "down", "cleared_by": ["up"])"),
               rule("b-up", "link came up", R"("class": "up", "role": "advice")", "info"),
               rule("c-note", "link was named", R"("class": "note", "role": "advice")", "info")});
  EXPECT_TRUE(pack.is_event(*pack.match("link went down")));
  EXPECT_TRUE(pack.is_event(*pack.match("link came up")));
  EXPECT_FALSE(pack.is_event(*pack.match("link was named")));
  // The scan must see the lines that take alerts back.
  const auto& words = pack.search_words();
  EXPECT_TRUE(std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::string_view("link came up").find(word) != std::string_view::npos;
  }));
}

TEST(EmbeddedPack, EveryClassThatClearsExists) {
  std::set<std::string> classes;
  for (const Rule& r : test::embedded().rules()) classes.insert(r.event_class);
  for (const Rule& r : test::embedded().rules())
    for (const std::string& one : r.meaning.cleared_by)
      EXPECT_EQ(classes.count(one), 1u) << r.id << ": " << one;
}

TEST(Conditions, UnlessAndWhere) {
  const RulePack pack =
      pack_of({rule("a", "link is down", R"("unless": ["on purpose"], "where": ["kernel"])"),
               rule("b", "link is down", "", "info")});
  EXPECT_EQ(winner(pack, "link is down"), "a");
  EXPECT_EQ(winner(pack, "link is down", "kernel"), "a");
  EXPECT_EQ(winner(pack, "link is down", "nccl"), "b");
  EXPECT_EQ(winner(pack, "link is down on purpose", "kernel"), "b");
}

TEST(Captures, CodesWordsAndClasses) {
  const RulePack pack = pack_of({rule(
      "a", "fault number (?P<code>\\\\d+)(?:, (?P<word>\\\\w+))?(?: on (?P<device>[^ ]+))?",
      R"("class": "fault/{code}-{device}", "codes": {"7": {"title": "Seven", "severity": "critical", "scope": "shared"}}, "words": {"mild": {"at_most": "info"}, "dire": {"severity": "distributed"}})")});
  const auto match = [&](const char* text) { return pack.match(text).value(); };
  EXPECT_EQ(match("fault number 5").severity, Severity::warning);
  EXPECT_EQ(match("fault number 7").severity, Severity::critical);
  EXPECT_EQ(match("fault number 7").scope, Scope::shared);
  EXPECT_EQ(match("fault number 7").code, 7);
  EXPECT_EQ(match("fault number 7, MILD").severity, Severity::info);
  EXPECT_EQ(match("fault number 5, dire").severity, Severity::distributed);
  EXPECT_EQ(match("fault number 7 on Disk #2 (sda)").event_class, "fault/7-disk");
  EXPECT_EQ(match("fault number 7 on -Disk#2/a--").event_class, "fault/7-_disk_2_a");
  EXPECT_EQ(match("fault number 12345678901").code, std::nullopt);
  EXPECT_EQ(match("fault number 7 \xff\xfe").code, 7);
  EXPECT_EQ(pack.of_class("fault/7-x")->id, "a");
  EXPECT_EQ(pack.of_class("other"), nullptr);
}

TEST(FillClass, WritesWordsOnly) {
  EXPECT_EQ(fill_class("a/{x}", {{"x", "GPU Reset, Required!"}}), "a/gpu_reset_required");
  EXPECT_EQ(fill_class("a/{x}", {{"x", "  lead"}}), "a/lead");
  EXPECT_EQ(fill_class("a/{x}-{y}", {{"x", "1"}}), "a/1-");
  EXPECT_EQ(fill_class("plain", {}), "plain");
}

TEST(Meaning, OfADriverVersion) {
  Rule r;
  r.meaning.title = "new";
  r.meaning.severity = Severity::warning;
  r.codes[7] = r.meaning;
  r.codes[7].title = "new seven";
  r.codes[7].history = {{"400", "515.43.04", "old", "", "reset", Severity::critical, {}},
                        {"515.43.04", "545", "middle", "", "", {}, Role::cascade},
                        {"300", "310", "by text", "spelt oddly", "", {}, {}}};
  const auto title = [&](std::int64_t code, const char* message, const char* driver) {
    return meaning_of(r, code, message, driver).title;
  };
  EXPECT_EQ(title(7, "x", ""), "new seven");
  EXPECT_EQ(title(7, "x", "470.1"), "old");
  EXPECT_EQ(title(7, "x", "515.43.04"), "middle");
  EXPECT_EQ(title(7, "x", "515.43.03"), "old");
  EXPECT_EQ(title(7, "x", "545.0"), "new seven");
  EXPECT_EQ(title(7, "is spelt oddly", "600"), "by text");
  EXPECT_EQ(title(8, "x", "470.1"), "new");
  EXPECT_EQ(meaning_of(r, 7, "x", "470.1").severity, Severity::critical);
  EXPECT_EQ(meaning_of(r, 7, "x", "470.1").action, "reset");
  EXPECT_EQ(meaning_of(r, 7, "x", "520").role, Role::cascade);
  EXPECT_LT(compare_versions("535.9", "535.104.05"), 0);
  EXPECT_EQ(compare_versions("535.104.05", "535.104.5"), 0);
  EXPECT_EQ(compare_versions("535", "535.0.0"), 0);
  EXPECT_GT(compare_versions("575.1", "575"), 0);
}

TEST(Loader, NamesFileAndKey) {
  struct Case {
    std::string text;
    const char* what;
  };
  const std::string history = R"("history": [{"from": "1", "title": "t", "text": "(("}])";
  for (const Case& c : {
           Case{test::rule_file({rule("a", "hello world", R"("severty": "info")")}),
                "rules[0]: unknown key 'severty' (did you mean 'severity'?), in rule 'a'"},
           Case{test::rule_file({rule("a", "hello world", "", "critcal")}),
                "rules[0].severity: \"critcal\" is none of critical, distributed, warning, info "
                "(did you mean 'critical'?), in rule 'a'"},
           Case{test::rule_file({rule("a", "hello (world")}),
                "rules[0].match[0] of 'a': bad pattern: missing ): hello (world"},
           Case{test::rule_file({rule("a", "hello world", R"q("unless": ["fine", "(?=x)"])q")}),
                "rules[0].unless[1] of 'a': bad pattern: invalid perl operator: (?="},
           Case{test::rule_file({rule("a", "hello world", history)}),
                "rules[0]: unknown key 'history', in rule 'a'"},
           Case{test::rule_file({rule("a", "hello world",
                                      R"("codes": {"7": {"title": "t", )" + history + "}}")}),
                "rules[0].codes.7.history[0].text of 'a': bad pattern: missing ): (("},
           Case{
               test::rule_file({rule("a", "hello world", R"("codes": {"seven": {"title": "t"}})")}),
               "rules[0].codes of 'a': 'seven' is not a decimal number"},
           Case{test::rule_file({rule("a", "hello world", R"("advice": "Drain {hots}.")")}),
                "rules[0].advice of 'a': there is no placeholder '{hots}'"},
           Case{test::rule_file(
                    {rule("a", "hello world",
                          R"("codes": {"7": {"title": "t", "advice": "Drain {host"}})")}),
                "rules[0].codes.7.advice of 'a': there is no placeholder '{host'"},
           Case{test::rule_file({rule("a", "hello world"), rule("a", "hello world")}),
                "id: the rule 'a' stands twice, also in mine.json"},
           Case{R"({"family": "mine", "family": "yours"})",
                "the key 'family' stands twice in one object"},
           Case{R"({"family": "mine", "about": "x"})", "the key 'rules' is missing"},
           Case{"{\n\"family\": oops}",
                "no valid JSON: invalid literal at column 11 (near '\"family\": o')"},
       }) {
    const auto read = read_rule_file(c.text, "mine.json");
    if (read) {
      ADD_FAILURE() << "was read: " << c.text;
      continue;
    }
    const Error& error = const_cast<Result<std::vector<Rule>>&>(read).error();
    EXPECT_EQ(error.what, c.what);
    ASSERT_TRUE(error.where);
    EXPECT_EQ(error.where->file, "mine.json");
  }
}

TEST(Loader, ARootWithoutACauseIsRefused) {
  std::string file = test::rule_file({rule("a", "hello world")});
  const std::string cause = R"("cause": "machine", )";
  file.erase(file.find(cause), cause.size());
  auto read = read_rule_file(file, "mine.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what,
            "rules[0].cause of 'a' is missing: a rule of role root says what kind of cause it is");
}

TEST(EmbeddedPack, EveryRootHasACause) {
  for (const Rule& r : test::embedded().rules())
    if (r.meaning.role == Role::root) { EXPECT_NE(r.meaning.cause, CauseKind::none) << r.id; }
}

TEST(Loader, TakesComments) {
  const auto read = read_rule_file(
      "// ours\n" + test::rule_file({rule("a", "hello world") + " /* why */"}), "mine.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().at(0).id, "a");
}

TEST(Loader, SaysWhyAPackDoesNotCompile) {
  const auto what = [](const std::vector<std::string>& rules) {
    auto read = read_rule_file(test::rule_file(rules), "mine.json");
    auto pack = RulePack::compile(std::move(read).value());
    return pack ? std::string("compiled")
                : pack.error().what + " --> " + pack.error().where.value_or(Where{}).file;
  };
  EXPECT_EQ(what({rule("a", "\\\\d+ abcd \\\\d+x")}), "compiled");
  EXPECT_EQ(what({rule("a", "\\\\d+ab \\\\d+")}),
            "match[0] of 'a' has no fixed text of at least 5 characters that every match contains "
            "--> mine.json");
  EXPECT_EQ(what({rule("a", "hello world", R"("over": ["b"])")}),
            "over: 'a' names the rule 'b', which does not exist --> mine.json");
  EXPECT_EQ(what({rule("a", "hello world", R"("over": ["a"])")}),
            "over: 'a' stands over a rule that stands over it --> mine.json");
  EXPECT_EQ(what({rule("a", "hello world", R"("over": ["b"])"),
                  rule("b", "hello world", R"("over": ["c"])"),
                  rule("c", "hello world", R"("over": ["a"])")}),
            "over: 'c' stands over a rule that stands over it --> mine.json");
}

TEST(Loader, MissingFolderIsAUsageError) {
  auto read = load_rules({"/nowhere/at/all"});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
  EXPECT_EQ(read.error().where->file, "/nowhere/at/all");
}

TEST(Samples, SayWhatIsWrong) {
  const std::string samples =
      R"("id": "a", "class": "c", "title": "T", "why": "W", "source": "S", "severity": "warning", "role": "root", "cause": "machine", )";
  const RulePack pack = pack_of(
      {samples +
           R"("match": ["hello world"], "samples": {"fires": ["hello world", "hullo world", "hello world again", "hello world at last"], "silent": ["bye", "hello world"]})",
       rule("b", "world again", R"("class": "d")", "critical"),
       rule("c", "world at last", R"("class": "d")")});
  std::vector<std::string> reasons;
  for (const auto& failure : check_samples(pack, {}))
    if (failure.rule == "a") reasons.push_back(failure.key + " " + failure.reason);
  EXPECT_EQ(
      reasons,
      (std::vector<std::string>{
          "samples.fires[1] matches no rule", "samples.fires[2] is taken by 'b' (d)",
          "samples.fires[3] also matches 'c' of the same severity: one of them needs an `over`",
          "samples.silent[1] must stay silent, and fires"}));
  EXPECT_TRUE(check_samples(pack, {"other.json"}).empty());
}

TEST(EmbeddedPack, PassesItsSamples) {
  for (const auto& failure : check_samples(test::embedded()))
    ADD_FAILURE() << failure.file << ' ' << failure.rule << ' ' << failure.key << ": "
                  << failure.reason << "\n"
                  << failure.line;
}

TEST(EmbeddedPack, FillsItsClasses) {
  for (const Rule& r : test::embedded().rules()) {
    for (std::size_t at = r.event_class.find('{'); at != std::string::npos;
         at = r.event_class.find('{', at + 1)) {
      const std::string capture =
          r.event_class.substr(at + 1, r.event_class.find('}', at) - at - 1);
      for (const std::string& pattern : r.match)
        EXPECT_NE(pattern.find("?P<" + capture + ">"), std::string::npos)
            << r.id << ": " << pattern;
    }
    if (!r.codes.empty()) {
      EXPECT_TRUE(std::any_of(r.match.begin(), r.match.end(), [](const std::string& p) {
        return p.find("?P<code>") != std::string::npos;
      })) << r.id;
    }
    if (!r.words.empty()) {
      EXPECT_TRUE(std::any_of(r.match.begin(), r.match.end(), [](const std::string& p) {
        return p.find("?P<word>") != std::string::npos;
      })) << r.id;
    }
  }
}

// Rows have a class and no rule: what is said of one must not depend on which rule it was.
TEST(EmbeddedPack, RulesOfOneClassHaveTheSameTraits) {
  std::map<std::string, const Rule*> first;
  for (const Rule& r : test::embedded().rules()) {
    const Rule* other = first.emplace(r.event_class, &r).first->second;
    EXPECT_TRUE(r.meaning.traits == other->meaning.traits) << r.id << " and " << other->id;
    if (r.event_class.find('{') == std::string::npos) {
      EXPECT_TRUE(traits_of_class(r.event_class) == r.meaning.traits) << r.id;
    }
  }
}

TEST(Traits, TheSchemaKnowsTheirWords) {
  const auto schema = nlohmann::json::parse(schema::text("rule-v1.json"));
  std::vector<std::string> known;
  for (const auto& word : schema["$defs"]["traits"]["items"]["enum"]) {
    known.push_back(word);
    ASSERT_TRUE(trait_named(known.back())) << known.back();
    EXPECT_EQ(name(*trait_named(known.back())), known.back());
  }
  Traits all;
  for (const std::string& word : known) all.add(*trait_named(word));
  EXPECT_EQ(names(all), std::vector<std::string_view>(known.begin(), known.end()));
  EXPECT_FALSE(trait_named(std::string("power_los")));
}

TEST(Traits, OfAClassWithItsNumber) {
  EXPECT_TRUE(traits_of_class("gpu_xid/13").has(Trait::access_fault));
  EXPECT_TRUE(traits_of_class("gpu_xid/13").has(Trait::gpu_xid));
  EXPECT_TRUE(traits_of_class("gpu_xid/45").has(Trait::channel_removed));
  EXPECT_FALSE(traits_of_class("gpu_xid/45-fatal").has(Trait::channel_removed));
  EXPECT_FALSE(traits_of_class("gpu_xid/79").has(Trait::access_fault));
  EXPECT_TRUE(traits_of_class("gpu_xid/79").has(Trait::driver_number));
  EXPECT_TRUE(traits_of_class("gpu_xid/154-reset_gpu").has(Trait::gpu_xid));
  EXPECT_TRUE(traits_of_class("no_such_class").none());
}

TEST(Traits, OfANumberAreThoseOfItsRuleToo) {
  const auto read = read_rule_file(
      rule_file({rule("a", "hello (?P<code>\\\\d+)",
                      R"("class": "hello/{code}", "traits": ["gpu_in_use"],)"
                      R"( "codes": {"7": {"title": "Seven", "traits": ["power_lost"]}})")}),
      "mine.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(names(read->at(0).meaning.traits), (std::vector<std::string_view>{"gpu_in_use"}));
  EXPECT_EQ(names(meaning_of(read->at(0), 7).traits),
            (std::vector<std::string_view>{"gpu_in_use", "power_lost"}));
  EXPECT_FALSE(
      read_rule_file(rule_file({rule("a", "hello", R"("traits": ["power_los"])")}), "mine.json"));
}

// A site's own words for what a rule of ours says: judged alike without a word about traits.
TEST(Traits, AUsersRuleOfAClassOfOursHasItsTraits) {
  const auto path = std::filesystem::temp_directory_path() / "culprit-traits-test.json";
  std::ofstream(path) << rule_file(
      {rule("mine-a", "hello world", R"("class": "gpu_xid/13")"),
       rule("mine-b", "hello moon", R"("class": "cuda_oom", "traits": ["power_lost"])")});
  const auto rules = load_rules({path.string()});
  std::filesystem::remove(path);
  ASSERT_TRUE(rules) << rules.error().what;
  for (const Rule& r : *rules) {
    if (r.id == "mine-a") { EXPECT_TRUE(r.meaning.traits == traits_of_class("gpu_xid/13")); }
    if (r.id == "mine-b") {
      EXPECT_EQ(names(r.meaning.traits), (std::vector<std::string_view>{"power_lost"}));
    }
  }
}

TEST(EmbeddedPack, SaysNothingOfOrdinaryLines) {
  std::istringstream lines{std::string(ordinary_lines())};
  for (std::string text; std::getline(lines, text);) {
    const auto match = test::embedded().match(line::peel(text).message);
    if (match) {
      EXPECT_TRUE(match->severity < Severity::distributed) << match->rule->id << ": " << text;
    }
  }
}

TEST(EmbeddedPack, DigestIsOfEverything) {
  const auto digest = [](const std::string& more, const char* severity = "warning") {
    return pack_of({rule("a", "hello world", more, severity)}).digest();
  };
  std::set<std::string> all{digest(""),
                            digest("", "info"),
                            digest(R"("where": ["kernel"])"),
                            digest(R"("symptom": "Thermal")"),
                            digest(R"("scope": "shared")"),
                            digest(R"("words": {"x": {"at_most": "info"}})"),
                            digest(R"("words": {"x": {"severity": "info"}})"),
                            digest(R"("tolerance": {"count": 2, "window_s": 5})"),
                            digest(R"("leads_to": ["b"])"),
                            digest(R"("traits": ["power_lost"])")};
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(digest(""), digest(""));
}

// The labels name the kind of an error; a class that tells two origins of that kind apart says the
// label and more. A class that says something else has no place here.
std::string_view label_of(std::string_view event_class) {
  return event_class == "train_nan_local" ? "train_nan_abort" : event_class;
}

TEST(EmbeddedPack, AgreesWithTheLabelledLines) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/lines/";
  std::ifstream labels(folder + "labels.tsv");
  if (!labels) GTEST_SKIP() << "no labelled lines here";
  std::map<std::string, std::vector<std::string>> files;
  std::size_t total = 0, classes = 0, severities = 0;
  std::string wrong, row;
  std::getline(labels, row);
  while (std::getline(labels, row)) {
    std::vector<std::string> field;
    std::istringstream cells(row);
    for (std::string cell; std::getline(cells, cell, '\t');) field.push_back(cell);
    auto& lines = files[field.at(0)];
    if (lines.empty()) {
      std::ifstream stream(folder + field[0]);
      for (std::string one; std::getline(stream, one);) lines.push_back(one);
    }
    const std::string& text = lines.at(std::stoul(field[1]) - 1);
    const auto match = test::embedded().match(line::peel(text).message);
    // That something went back to normal is harmless, too.
    const bool harmless = match && field[2] == "benign" && match->role == Role::recovery;
    const std::string event_class = match && !harmless ? match->event_class : "benign";
    const std::string severity(name(match ? match->severity : Severity::info));
    ++total;
    classes += label_of(event_class) == field[2];
    severities += severity == field[3];
    if (label_of(event_class) != field[2] || severity != field[3])
      wrong += field[2] + "/" + field[3] + " taken for " + event_class + "/" + severity + ": " +
               text + "\n";
    if (field[2] == "benign") { EXPECT_NE(severity, "critical") << text; }
  }
  EXPECT_GE(static_cast<double>(classes), 0.97 * static_cast<double>(total)) << wrong;
  EXPECT_GE(static_cast<double>(severities), 0.98 * static_cast<double>(total)) << wrong;
  RecordProperty("classes", std::to_string(classes) + "/" + std::to_string(total));
  std::cout << classes << " classes and " << severities << " severities of " << total << " right\n";
}

TEST(Nvlink5, DecodesTheSixWords) {
  const auto decode = [](std::int64_t xid, const std::string& rest, const char* driver = "") {
    return decode_nvlink5(xid, "NVRM: Xid (PCI:0009:01:00): " + std::to_string(xid) + ", " + rest,
                          driver);
  };
  const std::string zeros = " 0x00000000 0x00000000 0x00000000 0x00000000)";
  const auto link =
      decode(149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000" + zeros);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->unit, "NETIR_LINK_EVT/NETIR_LINK_DOWN");
  EXPECT_EQ(link->action, "reset_gpu");
  EXPECT_EQ(link->followup, "investigate_peer_device");
  EXPECT_TRUE(link->loses_packets_here && link->loses_packets_at_peer);
  EXPECT_TRUE(decode(149, "NETIR_LINK_DOWN Fatal XC0 i0 Link 01 (0x021425c6 0x00000000" + zeros));
  EXPECT_TRUE(
      decode(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000" + zeros, "570.1"));
  // The printed unit counts: the same words under another unit mean nothing.
  EXPECT_FALSE(decode(149, "NETIR_BER_EVENT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000" + zeros));
  EXPECT_FALSE(decode(150, "NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000" + zeros));
  const auto named = decode(145,
                            "pid=11436, name=cache_mgr_main, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 "
                            "(0x040868e2 0x00000008" +
                                zeros);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->unit, "RLW_SRC_TRACK");
  EXPECT_FALSE(decode(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 01"));
  EXPECT_FALSE(decode(79, "GPU has fallen off the bus."));
}

}  // namespace
}  // namespace culprit::rules
