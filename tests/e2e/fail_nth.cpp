// fail_nth CULPRIT SAMPLES LIBRARY: the n-th call of open, write, sync, rename ... of a command
// fails, once or from there on (a full disk stays full), with ENOSPC or EIO. Then the command has
// told an error and given no answer, or the answer is whole; the database, if there is one, opens
// and is sound; and the same command once more ends with the same bytes as one that nothing
// disturbed. CULPRIT_FAIL_CALLS (60) is how many of the calls are tried, evenly spread; 2000 means
// each.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dump.hpp"
#include "whole_path.hpp"

namespace {

namespace fs = std::filesystem;
using culprit::test::dump;
using culprit::test::query;
using Words = std::vector<std::string>;
using Settings = std::map<std::string, std::string>;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Opens, rolls back what was cut off, and is whole; one that holds nothing yet is sound.
bool sound(const std::string& path) {
  sqlite3* db = nullptr;
  const bool opened =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK;
  const bool whole = opened && query(db, "PRAGMA integrity_check") ==
                                   std::vector<std::vector<std::string>>{{"ok"}};
  sqlite3_close(db);
  return whole;
}

struct Ran {
  int status = 0;  // of waitpid
  std::string out, err;
  bool finished() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

class Judge {
 public:
  Judge(std::string program, std::string library, std::string folder)
      : program_(std::move(program)), library_(std::move(library)), folder_(std::move(folder)) {}

  Ran run(const Words& words, const Settings& settings) const {
    const std::string out = folder_ + "/out", err = folder_ + "/err";
    const pid_t child = fork();
    if (child == 0) {
      dup2(open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDOUT_FILENO);
      dup2(open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
      for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
      if (!settings.empty()) setenv("LD_PRELOAD", library_.c_str(), 1);
      std::vector<char*> arguments{const_cast<char*>(program_.c_str())};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    Ran ran;
    waitpid(child, &ran.status, 0);
    ran.out = text_of(out);
    ran.err = text_of(err);
    return ran;
  }

  // `prepare` makes what the command finds; what it leaves is in `place`.
  template <class Prepare>
  int judge(const std::string& name, const Words& words, Prepare prepare, int most,
            bool reads = false) {
    name_ = name;
    const std::string kind = reads ? "1" : "0";
    const fs::path place = folder_ + "/place", count = folder_ + "/count";
    fs::remove_all(place);
    prepare();
    const Ran good =
        run(words, {{"CULPRIT_FAIL_COUNT", count.string()}, {"CULPRIT_FAIL_READS", kind}});
    if (!good.finished()) return say(0, "fails undisturbed: " + good.err), 1;
    const auto whole = content(place);
    const long calls = std::atol(text_of(count).c_str());
    if (calls < 1) return say(0, "the library does not see its calls"), 1;
    const long step = std::max(1L, calls / most);
    for (long n = 1; n <= std::min(calls, 2000L); n += step)
      for (const auto& [times, code] :
           {std::pair("1", EIO), std::pair("1", ENOSPC), std::pair("1000000000", ENOSPC)}) {
        if (reads && code != EIO) continue;
        fs::remove_all(place);
        prepare();
        const Ran ran = run(words, {{"CULPRIT_FAIL_AT", std::to_string(n)},
                                    {"CULPRIT_FAIL_FOR", times},
                                    {"CULPRIT_FAIL_ERRNO", std::to_string(code)},
                                    {"CULPRIT_FAIL_READS", kind}});
        ++tried_;
        if (!WIFEXITED(ran.status))
          say(n, "ended by signal " + std::to_string(WTERMSIG(ran.status)));
        else if (ran.status == 0 && reads && ran.out.find("INCOMPLETE BUNDLE") != std::string::npos)
          ++incomplete_;  // and says so
        else if (ran.status == 0 && (ran.out != good.out || content(place) != whole))
          say(n, "status 0, and not the whole answer: " +
                     difference(good.out, ran.out, whole, content(place)));
        else if (ran.status != 0 && WEXITSTATUS(ran.status) != 3)
          say(n, "status " + std::to_string(WEXITSTATUS(ran.status)) + ": " + ran.err);
        else if (ran.status != 0 && ran.err.find("culprit: error: ") == std::string::npos &&
                 ran.err.find("\"culprit.error/1\"") == std::string::npos)
          say(n, "no error is told: " + ran.err);
        else if (ran.status != 0 && ran.err.find("= help: ") == std::string::npos &&
                 ran.err.find("\"help\":\"") == std::string::npos)
          say(n, "an error without a remedy: " + ran.err);
        if (ran.status != 0 && !ran.out.empty() && ran.out != good.out)
          say(n, "a part of an answer is printed");
        if (ran.err.find("not an error") != std::string::npos)
          say(n, "a reason that is none: " + ran.err);
        for (const auto& entry : fs::recursive_directory_iterator(place)) {
          const std::string file = entry.path().string();
          if (file.ends_with(".part") && std::string_view(times) == "1")
            say(n, "a part of a report is left behind");
          if (file.ends_with(".db") && !sound(file)) say(n, "the database is damaged");
        }
        const Ran again = run(words, {});
        if (!again.finished())
          say(n, "the same command does not go on: " + again.err);
        else if (again.out != good.out)
          say(n, "the same command then answers otherwise");
        else if (content(place) != whole)
          say(n, "the same command then leaves something else");
      }
    std::printf(
        "%s: %ld calls, %d disturbed runs, %d answers over an incomplete bundle, %d failures so "
        "far\n",
        name.c_str(), calls, std::exchange(tried_, 0), std::exchange(incomplete_, 0), failures_);
    return 0;
  }

  int failures() const { return failures_; }

 private:
  static std::string difference(const std::string& out, const std::string& got,
                                const std::map<std::string, std::string>& whole,
                                const std::map<std::string, std::string>& there) {
    if (out != got) return "standard output";
    for (const auto& [path, text] : whole)
      if (there.count(path) == 0 || there.at(path) != text) return path;
    for (const auto& [path, text] : there)
      if (whole.count(path) == 0) return "besides: " + path;
    return {};
  }
  std::map<std::string, std::string> content(const fs::path& place) const {
    std::map<std::string, std::string> out;
    if (fs::exists(place))
      for (const auto& entry : fs::recursive_directory_iterator(place))
        // A journal whose removal failed is spent, or reading the database beside it would show
        // another content.
        if (entry.is_regular_file() && !entry.path().string().ends_with("-journal"))
          out[entry.path().string()] = entry.path().extension() == ".db"
                                           ? dump(entry.path().string())
                                           : text_of(entry.path());
    return out;
  }
  void say(long n, const std::string& what) {
    ++failures_;
    if (++told_[name_] <= 8)
      std::printf("%s, call %ld: %s\n", name_.c_str(), n, what.substr(0, 400).c_str());
  }

  std::string program_, library_, folder_;
  std::string name_;
  int tried_ = 0, incomplete_ = 0, failures_ = 0;
  std::map<std::string, int> told_;
};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 4) return 2;
  const char* wanted = std::getenv("CULPRIT_FAIL_CALLS");
  const int most = std::max(1, wanted != nullptr ? std::atoi(wanted) : 60);
  const culprit::test::Scratch scratch;
  const std::string place = scratch.path() + "/place", bundle = std::string(argv[2]) + "/nan-loss",
                    db = place + "/x.db";
  Judge judge(argv[1], argv[3], scratch.path());
  const auto nothing = [&] { fs::create_directories(place); };
  const auto ingested = [&] {
    fs::create_directories(place);
    if (!judge.run({"ingest", bundle, "-d", db, "-q"}, {}).finished())
      std::printf("nothing to disturb\n");
  };
  int broken =
      judge.judge("diagnose", {"diagnose", bundle, "-q", "-o", place + "/report"}, nothing, most);
  broken +=
      judge.judge("diagnose without a folder", {"diagnose", bundle, "-q", "--json"}, nothing, most);
  broken += judge.judge("ingest", {"ingest", bundle, "-q", "-d", db}, nothing, most);
  broken += judge.judge("classify", {"classify", "-q", "-d", db}, ingested, most);
  broken += judge.judge("stacks", {"stacks", "-q", "-d", db}, ingested, most);
  broken += judge.judge("diagnose, reading", {"diagnose", bundle, "-q", "-o", place + "/report"},
                        nothing, most, true);
  broken += judge.judge("classify, reading", {"classify", "-q", "-d", db}, ingested, most, true);
  return broken == 0 && judge.failures() == 0 ? 0 : 1;
}
