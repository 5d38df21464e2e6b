// The verdict about what was redacted is the verdict about the original, under the map: of every
// sample, as a database and as a bundle; and no name of the map is in it.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string said(const std::string& command) {
  std::string out;
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

std::string bytes_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string core(const json& d) {
  json out = {d["verdict"]["action"], d["verdict"]["precision"], d["incident"]["symptom"]};
  std::vector<json> targets, steps;
  for (const json& t : d["verdict"]["targets"])
    targets.push_back({t["kind"], t["id"], t["confidence"]});
  for (const json& s : d["verdict"]["steps"]) steps.push_back({s["step"], s["outcome"]});
  out.push_back(targets);
  out.push_back(steps);
  return out.dump();
}

class Redact : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty()) GTEST_SKIP() << "there is no program";
    folder = fs::temp_directory_path() / ("culprit_redact_" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string run(const std::string& arguments) const {
    return said("cd '" + folder.string() + "' && '" CULPRIT_BINARY "' " + arguments);
  }
  std::string revealed(const std::string& text, const std::string& map) const {
    std::ofstream(folder / "text") << text;
    return run("redact --reveal text --map " + map);
  }
  void expect_no_names(const std::string& bytes, const std::string& map,
                       const std::string& what) const {
    const json d = json::parse(bytes_of(folder / map), nullptr, false);
    ASSERT_TRUE(d.is_object());
    for (const json& one : d["names"]) {
      const std::string original = one["original"], kind = one["kind"];
      if (original.size() < 6 || kind == "folder" || kind == "job") continue;
      for (std::size_t at = 0; (at = bytes.find(original, at)) != std::string::npos; ++at) {
        const bool inside = (at > 0 && isalnum(static_cast<unsigned char>(bytes[at - 1])) != 0) ||
                            (at + original.size() < bytes.size() &&
                             isalnum(static_cast<unsigned char>(bytes[at + original.size()])) != 0);
        if (inside) continue;
        ADD_FAILURE() << what << " holds " << kind << " " << original << ": "
                      << bytes.substr(at < 40 ? 0 : at - 40, 100);
        break;
      }
    }
  }
  fs::path folder;
};

TEST_F(Redact, TheVerdictIsTheSameUnderTheMap) {
  for (const auto& entry : fs::directory_iterator(CULPRIT_SAMPLES_DIR)) {
    const std::string sample = entry.path().string(), name = entry.path().filename().string();
    SCOPED_TRACE(name);
    for (const char* file : {"a.db", "b.db", "m.json", "n.json", "b.tar"})
      fs::remove(folder / file);
    const json original =
        json::parse(run("diagnose '" + sample + "' -q --json -d a.db"), nullptr, false);
    ASSERT_TRUE(original.is_object());
    run("redact -d a.db -o b.db --map m.json");
    run("classify -d b.db -q");
    const json redacted = json::parse(run("report -d b.db --json"), nullptr, false);
    ASSERT_TRUE(redacted.is_object());
    EXPECT_EQ(core(original), revealed(core(redacted), "m.json"));
    expect_no_names(bytes_of(folder / "b.db"), "m.json", "the database");
    run("redact -q --bundle '" + sample + "' -o b.tar --map n.json");
    const json bundle = json::parse(run("diagnose b.tar -q --json"), nullptr, false);
    ASSERT_TRUE(bundle.is_object());
    EXPECT_EQ(core(original), revealed(core(bundle), "n.json"));
    expect_no_names(bytes_of(folder / "b.tar"), "n.json", "the bundle");
  }
}

}  // namespace
