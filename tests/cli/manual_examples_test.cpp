// The worked examples of pages print what these show.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/printed.hpp"

namespace {

namespace fs = std::filesystem;

struct Example {
  std::string command, output;
};

// Lines between .Bd -literal and .Ed that begin with a prompt, each with what follows it.
std::vector<Example> examples_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<Example> out;
  bool inside = false, shown = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(".Bd -literal")) inside = true, shown = false;
    if (line == ".Ed") inside = false;
    if (!inside || line.starts_with(".Bd")) continue;
    for (const auto& [escape, plain] : {std::pair{"\\e", "\\"}, {"\\&", ""}, {"\\-", "-"}})
      for (std::size_t at = 0; (at = line.find(escape, at)) != std::string::npos;)
        line.replace(at, 2, plain);
    if (line.starts_with("$ ")) {
      out.push_back({line.substr(2), ""});
      shown = true;
    } else if (shown) {
      out.back().output += line + "\n";
    }
  }
  return out;
}

class ManualExamples : public testing::TestWithParam<const char*> {};

TEST_P(ManualExamples, PrintWhatThePageShows) {
  if (std::string(CULPRIT_BINARY).empty() || !fs::exists(CULPRIT_BINARY))
    GTEST_SKIP() << "there is no program";
  const fs::path folder =
      fs::temp_directory_path() / ("culprit_manual_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto examples =
      examples_of(fs::path(CULPRIT_SAMPLES_DIR).parent_path() / "man" / GetParam());
  EXPECT_GE(examples.size(), 2u);
  for (const Example& example : examples) {
    if (example.command.starts_with("cat ")) {  // a file that the next command reads
      std::ofstream(folder / example.command.substr(4)) << example.output;
      continue;
    }
    std::string printed =
        culprit::test::printed("cd '" + folder.string() +
                               "'; PATH=\"$(dirname '" CULPRIT_BINARY "'):$PATH\"; " +
                               example.command + " 2>&1")
            .text;
    std::string wanted = example.output;
    if (const std::size_t rest = wanted.find("...\n"); rest != std::string::npos) {
      wanted.resize(rest);
      printed.resize(std::min(printed.size(), rest));
    }
    EXPECT_EQ(printed, wanted) << example.command;
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Pages, ManualExamples,
                         testing::Values("culprit-collectives.1", "culprit-plan.1"));

}  // namespace
