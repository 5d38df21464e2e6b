// fail_nth CULPRIT SAMPLES LIBRARY [NAME]: the n-th call of a command fails: of open, write, sync,
// rename ... once or from there on (a full disk stays full), with ENOSPC or EIO; of read, mmap and
// locks with EIO; of malloc, once or from there on. Or the process is killed before its n-th call
// that writes, and with that before and after each transaction. Then the command has told an error
// and given no answer, or the answer is whole; the database, if there is one, opens and is sound;
// and the same command once more ends with the same bytes as one that nothing disturbed.
// CULPRIT_FAIL_CALLS (8) is how many of the first 2000 calls are tried, evenly spread, and as many
// of all; 2000 means each of the first 2000 (tests/e2e/fail_every.sh). NAME: only what is called
// so.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
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
using Content = std::map<std::string, std::string>;

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

// How many calls fail, and with what error.
using Ways = std::vector<std::pair<std::string, int>>;
const std::string kEver = "1000000000";
const Ways kFull = {{"1", EIO}, {"1", ENOSPC}, {kEver, ENOSPC}};
const Ways kUnreadable = {{"1", EIO}}, kKilled = {{"1", 0}};
const Ways kExhausted = {{"1", ENOMEM}, {kEver, ENOMEM}};

struct Case {
  std::string name;
  Words words;
  std::string kind;
  Ways ways;
};

class Judge {
 public:
  int most = 60;  // calls that are tried
  std::string only;

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
  void judge(const Case& what, Prepare prepare) {
    if (!only.empty() && what.name != only) return;
    name_ = what.name;
    const fs::path place = folder_ + "/place", count = folder_ + "/count";
    fs::remove_all(place);
    prepare();
    const Ran good =
        run(what.words, {{"CULPRIT_FAIL_COUNT", count.string()}, {"CULPRIT_FAIL_KIND", what.kind}});
    if (!good.finished()) return say(0, "fails undisturbed: " + good.err);
    const Content whole = content(place);
    const long calls = std::atol(text_of(count).c_str());
    if (calls < 1) return say(0, "the library does not see its calls");
    std::map<Content, std::string> after;
    std::set<long> tried;
    // Of the first ones and of all: a command allocates a million times. Each series begins at
    // another call, or a sample would try the same few ones of all commands.
    for (const long among : {std::min(calls, 2000L), calls}) {
      const long step = std::max(1L, among / most);
      for (long n = 1 + static_cast<long>(std::hash<std::string>{}(name_) %
                                          static_cast<std::size_t>(step));
           n <= among; n += step)
        tried.insert(n);
    }
    for (const long n : tried)
      for (const auto& [times, code] : what.ways) {
        fs::remove_all(place);
        prepare();
        const Ran ran = run(what.words, {{"CULPRIT_FAIL_AT", std::to_string(n)},
                                         {"CULPRIT_FAIL_FOR", times},
                                         {"CULPRIT_FAIL_ERRNO", std::to_string(code)},
                                         {"CULPRIT_FAIL_KIND", what.kind}});
        ++tried_;
        if (code != 0) judge_end(what, n, ran, good, whole, place);
        if (ran.err.find("not an error") != std::string::npos)
          say(n, "a reason that is none: " + ran.err);
        for (const auto& entry : fs::recursive_directory_iterator(place)) {
          const std::string file = entry.path().string();
          if (file.ends_with(".part") && times == "1" && code != 0 && what.kind != "memory")
            say(n, "a part of a report is left behind");
        }
        // Runs that left the same bytes go on alike.
        const auto [known, first] = after.try_emplace(files_of(place));
        if (first) known->second = goes_on(what, good, whole, place);
        if (!known->second.empty()) say(n, known->second);
      }
    std::printf(
        "%s: %ld calls, %d disturbed runs with %zu different ends, %d answers over an incomplete "
        "bundle, %d ended by glibc, %d failures so far\n",
        what.name.c_str(), calls, std::exchange(tried_, 0), after.size(),
        std::exchange(incomplete_, 0), std::exchange(by_glibc_, 0), failures_);
  }

  int failures() const { return failures_; }

 private:
  // How the disturbed command itself ended.
  void judge_end(const Case& what, long n, const Ran& ran, const Ran& good, const Content& whole,
                 const fs::path& place) {
    const int status = WEXITSTATUS(ran.status);
    // What glibc keeps for each thread it cannot do without, and says so.
    const bool glibc = WIFSIGNALED(ran.status) && WTERMSIG(ran.status) == SIGABRT &&
                       what.kind == "memory" && ran.err.find("glibc error") != std::string::npos;
    if (glibc)
      ++by_glibc_;
    else if (!WIFEXITED(ran.status))
      say(n, "ended by signal " + std::to_string(WTERMSIG(ran.status)) + ": " + ran.err);
    else if (ran.status == 0 && what.kind == "read" &&
             ran.out.find("INCOMPLETE BUNDLE") != std::string::npos)
      ++incomplete_;  // and says so
    else if (ran.status == 0 && (ran.out != good.out || content(place) != whole))
      say(n, "status 0, and not the whole answer: " +
                 difference(good.out, ran.out, whole, content(place)));
    else if (ran.status != 0 && status != 3 && !(what.kind == "memory" && status == 70))
      say(n, "status " + std::to_string(status) + ": " + ran.err);
    else if (ran.status != 0 && ran.err.find("culprit: error: ") == std::string::npos &&
             ran.err.find("\"culprit.error/1\"") == std::string::npos)
      say(n, "no error is told: " + ran.err);
    else if (ran.status != 0 && ran.err.find("= help: ") == std::string::npos &&
             ran.err.find("\"help\":\"") == std::string::npos)
      say(n, "an error without a remedy: " + ran.err);
    if (ran.status != 0 && !ran.out.empty() && ran.out != good.out)
      say(n, "a part of an answer is printed");
  }

  // "" when the databases are sound and the same command then does its work.
  std::string goes_on(const Case& what, const Ran& good, const Content& whole,
                      const fs::path& place) const {
    for (const auto& entry : fs::recursive_directory_iterator(place))
      if (entry.path().extension() == ".db" && !sound(entry.path().string()))
        return "the database is damaged";
    const Ran again = run(what.words, {});
    if (!again.finished()) return "the same command does not go on: " + again.err;
    if (again.out != good.out) return "the same command then answers otherwise";
    if (const Content there = content(place); there != whole)
      return "the same command then leaves something else: " + difference("", "", whole, there);
    return {};
  }

  static std::string difference(const std::string& out, const std::string& got,
                                const Content& whole, const Content& there) {
    if (out != got) return "standard output";
    for (const auto& [path, text] : whole)
      if (there.count(path) == 0 || there.at(path) != text) return path;
    for (const auto& [path, text] : there)
      if (whole.count(path) == 0) return "besides: " + path;
    return {};
  }
  static Content files_of(const fs::path& place) {
    Content out;
    if (fs::exists(place))
      for (const auto& entry : fs::recursive_directory_iterator(place))
        if (entry.is_regular_file()) out[entry.path().string()] = text_of(entry.path());
    return out;
  }
  Content content(const fs::path& place) const {
    Content out;
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
  int tried_ = 0, incomplete_ = 0, by_glibc_ = 0, failures_ = 0;
  std::map<std::string, int> told_;
};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 4) return 2;
  const char* wanted = std::getenv("CULPRIT_FAIL_CALLS");
  const int most = std::max(1, wanted != nullptr ? std::atoi(wanted) : 8);
  const culprit::test::Scratch scratch;
  const std::string place = scratch.path() + "/place", bundle = std::string(argv[2]) + "/nan-loss",
                    db = place + "/x.db";
  Judge judge(argv[1], argv[3], scratch.path());
  judge.most = most;
  if (argc > 4) judge.only = argv[4];
  const auto nothing = [&] { fs::create_directories(place); };
  const auto ingested = [&] {
    fs::create_directories(place);
    if (!judge.run({"ingest", bundle, "-d", db, "-q"}, {}).finished())
      std::printf("nothing to disturb\n");
  };
  const std::string report = place + "/report", other = std::string(argv[2]) + "/time-limit";
  const Words diagnose{"diagnose", bundle, "-q", "-o", report};
  const Words ingest{"ingest", bundle, "-q", "-d", db}, classify{"classify", "-q", "-d", db};
  const Words joined{"ingest", bundle, other, "-q", "-d", db};
  judge.judge({"diagnose", diagnose, "write", kFull}, nothing);
  judge.judge({"diagnose --json", {"diagnose", bundle, "-q", "--json"}, "write", kFull}, nothing);
  judge.judge({"ingest", ingest, "write", kFull}, nothing);
  judge.judge({"ingest of two", joined, "write", kFull}, nothing);
  judge.judge({"classify", classify, "write", kFull}, ingested);
  judge.judge({"stacks", {"stacks", "-q", "-d", db}, "write", kFull}, ingested);
  judge.judge({"diagnose, reading", diagnose, "read", kUnreadable}, nothing);
  judge.judge({"ingest of two, reading", joined, "read", kUnreadable}, nothing);
  judge.judge({"classify, reading", classify, "read", kUnreadable}, ingested);
  judge.judge({"diagnose, killed", diagnose, "write", kKilled}, nothing);
  judge.judge({"ingest of two, killed", joined, "write", kKilled}, nothing);
  judge.judge({"classify, killed", classify, "write", kKilled}, ingested);
  judge.judge({"diagnose, memory", diagnose, "memory", kExhausted}, nothing);
  judge.judge({"ingest of two, memory", joined, "memory", kExhausted}, nothing);
  const std::string first = place + "/1.db", second = place + "/2.db";
  const Words shard{"ingest", bundle, other, "--shard", "1/2", "-q", "-d", first};
  const Words merge{"merge", first, second, "-q", "-d", db};
  const auto sharded = [&] {
    fs::create_directories(place);
    for (const auto& [number, path] : {std::pair{"1/2", first}, {"2/2", second}})
      if (!judge.run({"ingest", bundle, other, "--shard", number, "-q", "-d", path}, {}).finished())
        std::printf("nothing to merge\n");
  };
  judge.judge({"shard", shard, "write", kFull}, nothing);
  judge.judge({"shard, reading", shard, "read", kUnreadable}, nothing);
  judge.judge({"shard, killed", shard, "write", kKilled}, nothing);
  judge.judge({"shard, memory", shard, "memory", kExhausted}, nothing);
  judge.judge({"merge", merge, "write", kFull}, sharded);
  judge.judge({"merge, reading", merge, "read", kUnreadable}, sharded);
  judge.judge({"merge, killed", merge, "write", kKilled}, sharded);
  judge.judge({"merge, memory", merge, "memory", kExhausted}, sharded);
  const std::string archive = scratch.path() + "/job.tar.gz";
  const std::string packing =
      "tar -C '" + std::string(argv[2]) + "' -czf '" + archive + "' nan-loss";
  if (std::system(packing.c_str()) != 0) return 2;
  const Words unpacked{"ingest", archive, "-q", "-d", db};
  judge.judge({"ingest of an archive, reading", unpacked, "read", kUnreadable}, nothing);
  judge.judge({"ingest of an archive, memory", unpacked, "memory", kExhausted}, nothing);
  judge.judge({"classify, memory", classify, "memory", kExhausted}, ingested);
  return judge.failures() == 0 ? 0 : 1;
}
