// Every step of the ladder that a verdict prints has an entry in the glossary.
#include <cstdio>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

TEST(Explain, KnowsEveryKindOfCauseAndEveryAction) {
  const std::string binary = CULPRIT_BINARY;
  if (binary.empty()) GTEST_SKIP() << "there is no program";
  // A log that says nothing walks the ladder to its last step.
  const std::string quiet = "printf 'rank 3 is up\\nTraceback (most recent call last):\\n' | '" +
                            binary + "' diagnose - --json 2>/dev/null";
  std::set<std::pair<std::string, std::string>> words;
  for (const std::string& command :
       {quiet, "'" + binary +
                   "' diagnose '" CULPRIT_SAMPLES_DIR "/hang-silent-rank' --json 2>/dev/null"}) {
    const auto document = nlohmann::json::parse(output_of(command), nullptr, false);
    ASSERT_TRUE(document.is_object()) << command;
    words.emplace("action", document["verdict"]["action"]);
    for (const auto& step : document["verdict"]["steps"])
      words.emplace("verdict_kind", step["step"]);
  }
  EXPECT_GT(words.size(), 10u);
  for (const auto& [kind, word] : words) {
    if (word == "none") continue;
    const auto answer = nlohmann::json::parse(
        output_of("'" + binary + "' explain " + word + " --json"), nullptr, false);
    ASSERT_TRUE(answer.is_object());
    bool known = false;
    for (const auto& one : answer["found"]) known = known || one["kind"] == kind;
    EXPECT_TRUE(known) << kind << " " << word << " is not in rules/tables/glossary.json";
  }
}

}  // namespace
