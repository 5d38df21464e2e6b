// The document of every sample bundle satisfies schemas/diagnosis-v1.json, and each claim leads to
// the bytes it names.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "report/report.hpp"
#include "support/printed.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Samples : public testing::TestWithParam<std::string> {
 protected:
  fs::path folder = fs::path(CULPRIT_SAMPLES_DIR) / GetParam();
  json document = json::parse(
      culprit::test::printed(std::string(CULPRIT_BINARY) + " diagnose -q --json " + folder.string())
          .text,
      nullptr, false);
};

TEST_P(Samples, LedgerAddsUp) {
  ASSERT_TRUE(document.is_object());
  std::uint64_t lines = 0, used = 0, skipped = 0, rejected = 0, files = 0;
  for (const json& m : document["ledger"]) {
    EXPECT_EQ(m["lines"].get<std::uint64_t>(), m["used"].get<std::uint64_t>() +
                                                   m["skipped"].get<std::uint64_t>() +
                                                   m["rejected"].get<std::uint64_t>())
        << m["path"];
    lines += m["lines"].get<std::uint64_t>();
    used += m["used"].get<std::uint64_t>();
    skipped += m["skipped"].get<std::uint64_t>();
    rejected += m["rejected"].get<std::uint64_t>();
    EXPECT_EQ(m["size"].get<std::uint64_t>(), fs::file_size(folder / m["path"].get<std::string>()));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files += entry.is_regular_file();
  EXPECT_EQ(files, document["ledger"].size());
  EXPECT_EQ(document["bundle"]["lines"], lines);
  EXPECT_EQ(document["bundle"]["used"], used);
  EXPECT_EQ(document["bundle"]["skipped"], skipped);
  EXPECT_EQ(document["bundle"]["rejected"], rejected);
}

TEST_P(Samples, EveryTargetLeadsToLinesThatHoldTheExcerpt) {
  ASSERT_TRUE(document.is_object());
  for (const json& target : document["verdict"]["targets"]) {
    ASSERT_FALSE(target["because"].empty()) << target;
    std::size_t places = 0;
    for (const json& id : target["because"]) {
      const json* finding = nullptr;
      for (const json& f : document["findings"])
        if (f["id"] == id) finding = &f;
      ASSERT_NE(finding, nullptr) << id;
      for (const json& e : (*finding)["evidence"]) {
        const std::string bytes = contents(folder / e["path"].get<std::string>());
        std::size_t at = 0;
        for (std::uint64_t line = 1; line < e["line"].get<std::uint64_t>(); ++line) {
          at = bytes.find('\n', at);
          ASSERT_NE(at, std::string::npos) << e;
          ++at;
        }
        const std::string text = bytes.substr(at, bytes.find('\n', at) - at);
        EXPECT_NE(text.find(e["excerpt"].get<std::string>()), std::string::npos)
            << e << "\nline: " << text.substr(0, 300);
        EXPECT_LE(e["byte_offset"].get<std::uint64_t>(), bytes.size());
        ++places;
      }
    }
    EXPECT_GT(places, 0u) << target;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(CULPRIT_SAMPLES_DIR))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, Samples, testing::ValuesIn(names()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Text, ShowsControlBytesOfTheBundleAsEscapes) {
  culprit::report::Incident incident;
  incident.verdict.action = culprit::Action::isolate;
  incident.verdict.summary = std::string("bad \x1b[31mname\x07");
  incident.verdict.targets.push_back(
      {{culprit::SubjectKind::host, "node\x1b]0;x\x07"}, 0.9, {"f"}});
  const std::string text =
      culprit::report::find_format("text")->render(culprit::report::to_json(incident), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_NE(text.find("\\x1b"), std::string::npos) << text;
}

TEST(Text, TellsTheDateWhereATimeLinePassesMidnight) {
  culprit::report::Incident incident;
  constexpr culprit::Nanoseconds kMidnight = 1'795'046'400'000'000'000;  // 2026-11-19
  for (const culprit::Nanoseconds offset : {-2, 1, 602})
    incident.verdict.chain.push_back({kMidnight + offset * culprit::kSecond, std::string("node-01"),
                                      std::string("something"), "id"});
  const std::string text =
      culprit::report::find_format("text")->render(culprit::report::to_json(incident), {});
  EXPECT_NE(text.find("(UTC 2026-11-18)\n  23:59:58  node-01"), std::string::npos) << text;
  EXPECT_NE(text.find("something\n  2026-11-19\n  00:00:01  node-01"), std::string::npos) << text;
  EXPECT_EQ(text.find("2026-11-19", text.find("00:00:01")), std::string::npos) << text;
}

// A page is made of few findings of many; a list that is longer than the sample of rows is whole.
TEST(Text, ShowsTheFindingsThatTheTargetsRestOn) {
  culprit::report::Incident incident;
  incident.verdict.action = culprit::Action::isolate;
  incident.verdict.targets.push_back(
      {{culprit::SubjectKind::host, "node-7"}, 0.9, {"lines/\"700\"", "lines/3"}});
  for (int i = 0; i < 1000; ++i) {
    culprit::Finding f;
    f.id = i == 700 ? "lines/\"700\"" : "lines/" + std::to_string(i);
    f.title = std::string("title of ") + std::to_string(i);
    f.count = 1;
    f.evidence.push_back({1, "log", static_cast<std::uint64_t>(i), 0, 4, "line"});
    incident.findings.push_back(std::move(f));
  }
  const std::string document = culprit::report::to_json(incident);
  const auto parsed = nlohmann::json::parse(document);
  ASSERT_EQ(parsed["findings"].size(), 1000u);
  EXPECT_EQ(parsed["findings"][999]["id"], "lines/999");
  const std::string text = culprit::report::find_format("text")->render(document, {});
  const std::size_t first = text.find("title of 700"), second = text.find("title of 3");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_LT(first, second) << text;
  EXPECT_EQ(text.find("title of 4"), std::string::npos) << text;
  EXPECT_NE(
      culprit::report::find_format("text")->render(document, {.verbose = true}).find("title of 4"),
      std::string::npos);
}

TEST(Markdown, EscapesWhatItQuotes) {
  culprit::report::Incident incident;
  incident.verdict.action = culprit::Action::isolate;
  incident.verdict.summary = std::string("<script>alert(1)</script> [x](y) | `z`");
  const std::string text = culprit::report::find_format("md")->render(
      culprit::report::to_json(incident), {.explain = true});
  EXPECT_EQ(text.find("<script>"), std::string::npos) << text;
  EXPECT_EQ(text.find("[x](y)"), std::string::npos) << text;
}

}  // namespace
