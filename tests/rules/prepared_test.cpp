// What the build prepares of the rules is what their files say.
#include "rules/prepared.hpp"

#include "kit.hpp"
#include "model/json.hpp"
#include "rules/enumerations.hpp"
#include "rules/grammar.hpp"
#include "rules/literals.hpp"
#include "rules/metrics.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules {
namespace {

TEST(Prepared, IsOfTheseFiles) {
  const auto now = prepare();
  ASSERT_TRUE(now) << now.error().what;
  EXPECT_TRUE(*now == prepared_bytes());
}

TEST(Prepared, RulesComeBackWhole) {
  const auto read = read_embedded_rules();
  const auto prepared = prepared_rules();
  ASSERT_TRUE(read && prepared);
  ASSERT_EQ(read->size(), prepared->size());
  for (std::size_t i = 0; i < read->size(); ++i) {
    const Rule& a = (*read)[i];
    const Rule& b = (*prepared)[i];
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.file, b.file);
    EXPECT_EQ(a.source, b.source);
    EXPECT_EQ(a.origin, b.origin);
    EXPECT_EQ(a.fires, b.fires);
    EXPECT_EQ(a.silent, b.silent);
  }
  // The digest is of all that decides.
  const auto of_files = RulePack::compile(*read);
  const auto of_prepared = RulePack::compile(*prepared);
  ASSERT_TRUE(of_files && of_prepared);
  EXPECT_EQ(of_files->digest(), of_prepared->digest());
}

TEST(Prepared, ThePackIsTheOneThatIsCompiled) {
  const auto built_in = RulePack::built_in();
  ASSERT_TRUE(built_in);
  EXPECT_EQ(built_in->digest(), test::embedded().digest());
  EXPECT_EQ(built_in->search_words(), test::embedded().search_words());
  for (const Rule& rule : built_in->rules())
    for (const auto& line : rule.fires) {
      const auto a = built_in->match(line), b = test::embedded().match(line);
      ASSERT_EQ(a.has_value(), b.has_value()) << line;
      if (a) { EXPECT_EQ(a->event_class, b->event_class) << line; }
    }
}

TEST(Prepared, WordsAreThoseOfThePatterns) {
  const OrdinaryText ordinary(ordinary_lines());
  for (const Rule& rule : test::embedded().rules())
    for (const std::string& pattern : rule.match)
      EXPECT_EQ(prepared_lists(pattern), required_lists(pattern, ordinary)) << pattern;
  const auto paths = parse_json(embedded_rule("tables/paths.json"));
  for (const auto& one : paths["patterns"]) {
    const auto pattern = one["match"].get<std::string>();
    EXPECT_EQ(prepared_words(pattern), required_words(pattern, ordinary)) << pattern;
  }
  EXPECT_FALSE(prepared_words("no pattern of ours"));
}

TEST(Prepared, TablesComeBackWhole) {
  const auto catalogue =
      Catalogue::parse(embedded_rule("tables/metrics.json"), "rules/tables/metrics.json");
  const auto grammar =
      Grammar::parse(embedded_rule("tables/speakers.json"), embedded_rule("tables/reasons.json"),
                     Enumerations::built_in());
  ASSERT_TRUE(catalogue && grammar);
  ASSERT_EQ(catalogue->metrics().size(), Catalogue::built_in().metrics().size());
  for (const Metric& metric : catalogue->metrics()) {
    const auto found = Catalogue::built_in().find(metric.name);
    ASSERT_TRUE(found) << metric.name;
    EXPECT_EQ(found->metric->zero_above, metric.zero_above);
    EXPECT_EQ(found->metric->floor_relative, metric.floor_relative);
    EXPECT_EQ(found->metric->advice, metric.advice);
  }
  EXPECT_EQ(grammar->markers(), Grammar::built_in().markers());
  for (const SpeakerRow& speaker : grammar->speakers())
    for (const GrammarSample& sample : speaker.samples) {
      const auto a = grammar->said(sample.line), b = Grammar::built_in().said(sample.line);
      ASSERT_EQ(a.has_value(), b.has_value()) << sample.line;
      if (a) {
        EXPECT_EQ(a->event_class + a->title + a->code, b->event_class + b->title + b->code);
      }
    }
}

}  // namespace
}  // namespace culprit::rules
