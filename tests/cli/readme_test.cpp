// README.md and culprit-schema(1) show what the program prints: the verdict of the sample, and the
// answers of the SQL.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(CULPRIT_SAMPLES_DIR).parent_path();

std::string text_of(const char* path) {
  std::ifstream file(kRoot / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What stands between lines that begin with `open` and with `close`.
std::vector<std::string> blocks(const std::string& page, const char* open, const char* close) {
  std::vector<std::string> out;
  std::istringstream text(page);
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (inside && line.rfind(close, 0) == 0) {
      inside = false;
    } else if (inside) {
      out.back() += line + "\n";
    } else if (line.rfind(open, 0) == 0) {
      inside = true;
      out.emplace_back();
    }
  }
  return out;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.insert(line);
  return out;
}

std::string run(const std::string& arguments) {
  const std::string command =
      "cd '" + kRoot.string() + "' && '" CULPRIT_BINARY "' " + arguments + " 2>/dev/null";
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

int collect(void* rows, int columns, char** values, char**) {
  std::string row;
  for (int i = 0; i < columns; ++i)
    row += (i > 0 ? "|" : "") + std::string(values[i] != nullptr ? values[i] : "");
  static_cast<std::vector<std::string>*>(rows)->push_back(row);
  return 0;
}

TEST(Readme, TheVerdictOfTheSampleIsWhatIsPrinted) {
  const std::set<std::string> printed = lines_of(run("diagnose samples/crash-one-rank"));
  ASSERT_FALSE(printed.empty());
  const std::vector<std::string> samples = blocks(text_of("README.md"), "```text", "```");
  ASSERT_EQ(samples.size(), 1u);
  std::istringstream shown(samples[0]);
  std::size_t compared = 0;
  for (std::string line; std::getline(shown, line);) {
    if (line.empty()) continue;
    ++compared;
    EXPECT_EQ(printed.count(line), 1u) << line;
  }
  EXPECT_GE(compared, 8u);
}

TEST(Readme, QueriesOfTheManualHaveTheAnswersThatFollowThem) {
  const fs::path report =
      fs::temp_directory_path() / ("culprit_readme_" + std::to_string(getpid()));
  run("diagnose samples/gpu-off-bus -q -o '" + report.string() + "'");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2((report / "incident.db").c_str(), &db, SQLITE_OPEN_READONLY, nullptr),
            SQLITE_OK);
  const std::vector<std::string> all =
      blocks(text_of("man/culprit-schema.1"), ".Bd -literal", ".Ed");
  std::size_t asked = 0;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i].rfind("SELECT", 0) != 0) continue;
    std::vector<std::string> rows;
    ASSERT_EQ(sqlite3_exec(db, all[i].c_str(), collect, &rows, nullptr), SQLITE_OK) << all[i];
    std::string answer;
    for (const std::string& row : rows) answer += row + "\n";
    EXPECT_EQ(answer, all[i + 1]) << all[i];
    EXPECT_EQ(run("sql -d '" + report.string() + "' \"" + all[i] + "\""), answer) << all[i];
    ++asked;
  }
  EXPECT_EQ(asked, 10u);
  sqlite3_close(db);
  fs::remove_all(report);
}

}  // namespace
