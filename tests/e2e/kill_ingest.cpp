// kill_ingest CULPRIT GENERATE_LOG: `culprit ingest` is stopped (SIGKILL, SIGINT, SIGTERM) at
// random moments, and run again until it ends: the database must then hold the same rows in the
// same order as after a run that nobody disturbed, and whatever a stop leaves must be a sound
// database without a half-written member. Who is stopped gives no answer. CULPRIT_KILL_MB (120)
// sizes the bundle, CULPRIT_KILL_ROUNDS (20) is how many stops must meet it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dump.hpp"
#include "whole_path.hpp"

namespace {

namespace fs = std::filesystem;
using culprit::test::dump;
using culprit::test::execute;
using culprit::test::query;

// Runs a program with its output to a file; stops it after `patience` seconds if that is not
// negative. Its status.
int run(const std::vector<std::string>& words, const std::string& output, double patience,
        int signal = SIGKILL) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(fd, STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  if (patience >= 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(patience));
    kill(child, signal);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool tampered_differs(const std::string& path, const std::string& good, const char* sql) {
  const std::string copy = path + ".tampered";
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
  sqlite3* db = nullptr;
  sqlite3_open(copy.c_str(), &db);
  const bool done = execute(db, sql) && sqlite3_changes(db) == 1;
  sqlite3_close(db);
  const bool differs = dump(copy) != good;
  fs::remove(copy);
  if (!done || !differs) std::printf("this comparison does not see: %s\n", sql);
  return done && differs;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void drop(const std::string& db) {
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) fs::remove(db + ending);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 3) return 2;
  const char* wanted = std::getenv("CULPRIT_KILL_MB");
  const int megabytes = std::max(12, wanted != nullptr ? std::atoi(wanted) : 120);
  constexpr int kFiles = 12;
  const culprit::test::Scratch scratch;
  const std::string bundle = scratch.path() + "/bundle";
  fs::create_directory(bundle);
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = bundle + "/rank_" + std::to_string(i) + ".log";
    if (run({argv[2], std::to_string(megabytes / kFiles), std::to_string(i + 1), "100"}, name,
            -1) != 0)
      return std::printf("no log was generated\n"), 1;
  }
  const std::string db = scratch.path() + "/x.db", whole = scratch.path() + "/whole.db",
                    log = scratch.path() + "/log";
  const auto ingest = [&](const std::string& into, double patience, int signal = SIGKILL) {
    return run({argv[1], "ingest", bundle, "-d", into, "--quiet"}, log, patience, signal);
  };

  const auto begin = std::chrono::steady_clock::now();
  if (ingest(whole, -1) != 0) return std::printf("the undisturbed ingest failed\n"), 1;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string answer = text_of(log);
  const std::string good = dump(whole);
  const auto rows = std::count(good.begin(), good.end(), '\n');
  std::printf("%d MB in %d files, %ld rows, undisturbed %.2f s\n", megabytes, kFiles,
              static_cast<long>(rows), seconds);
  if (rows < 1000) return std::printf("too few rows to lose one\n"), 1;

  // The judge first: it must see one row lost, one doubled, one changed.
  if (!tampered_differs(whole, good,
                        "DELETE FROM event WHERE event_id = (SELECT MAX(event_id)/2 FROM event)") ||
      !tampered_differs(whole, good, "INSERT INTO iteration SELECT * FROM iteration LIMIT 1") ||
      !tampered_differs(whole, good, "UPDATE member SET used = used + 1 WHERE member_id = 3"))
    return 1;

  const char* seeded = std::getenv("CULPRIT_SEED");
  std::mt19937_64 random(seeded != nullptr ? std::strtoull(seeded, nullptr, 10) : 1);
  const char* often = std::getenv("CULPRIT_KILL_ROUNDS");
  const int rounds = std::max(1, often != nullptr ? std::atoi(often) : 20);
  int failures = 0, killed = 0, within = 0, round = 0;
  constexpr int kSignals[] = {SIGKILL, SIGINT, SIGTERM};
  const auto enough = [&] { return killed >= rounds && 4 * within >= rounds; };
  while (!enough() && round < 4 * rounds) {
    ++round;
    drop(db);
    // Spread over the run; every fourth one is stopped again while it goes on.
    for (int kills = round % 4 == 0 ? 2 : 1; kills > 0; --kills) {
      const double part = (round - 1) % rounds + static_cast<double>(random() % 1000) / 1000;
      const double when = seconds * part / rounds;
      const int signal = kSignals[round % 3];
      const int status = ingest(db, when, signal);
      if (!WIFSIGNALED(status)) {
        seconds = std::min(seconds, when);  // other work had slowed the measured run
        continue;
      }
      ++killed;
      if (WTERMSIG(status) != signal) {
        std::printf("round %d: signal %d ends it by signal %d\n", round, signal, WTERMSIG(status));
        ++failures;
      }
      // The whole answer was printed and the signal met the end of the process: nothing is missing.
      if (fs::file_size(log) != 0 && text_of(log) != answer) {
        std::printf("round %d: stopped after %.3f s, and there is an answer\n", round, when);
        ++failures;
      }
      sqlite3* handle = nullptr;
      if (!fs::exists(db) || fs::file_size(db) == 0 ||
          sqlite3_open(db.c_str(), &handle) != SQLITE_OK) {
        sqlite3_close(handle);
        continue;
      }
      if (query(handle, "PRAGMA integrity_check") !=
          std::vector<std::vector<std::string>>{{"ok"}}) {
        std::printf("round %d: killed after %.3f s, the database is damaged\n", round, when);
        ++failures;
      }
      const auto members = query(handle, "SELECT COUNT(*), SUM(done) FROM member");
      if (!members.empty() && members[0].size() == 2) {
        const int count = std::atoi(members[0][0].c_str());
        if (members[0][1] != "NULL" && members[0][0] != members[0][1]) {
          std::printf("round %d: a half-written member is there\n", round);
          ++failures;
        }
        within += count > 0 && count < kFiles;
      }
      sqlite3_close(handle);
    }
    int status = -1;
    for (int again = 0; again < 3 && status != 0; ++again) status = ingest(db, -1);
    const std::string got = status == 0 ? dump(db) : "";
    if (got == good) continue;
    ++failures;
    std::size_t at = 0;
    while (at < got.size() && at < good.size() && got[at] == good[at]) ++at;
    const auto line_at = [&](const std::string& text) {
      const std::size_t from = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
      return from >= text.size()
                 ? std::string("(end)")
                 : text.substr(from, std::min<std::size_t>(text.find('\n', from) - from, 300));
    };
    std::printf(
        "round %d: status %d, %ld rows instead of %ld\n  undisturbed: %s\n  killed:      %s\n",
        round, status, static_cast<long>(std::count(got.begin(), got.end(), '\n')),
        static_cast<long>(rows), line_at(good).c_str(), line_at(got).c_str());
  }
  std::printf(
      "%d stops in %d rounds, %d of them between the first member and the last; %d failures\n",
      killed, round, within, failures);
  if (!enough()) return std::printf("too few stops met it at work\n"), 1;
  return failures == 0 ? 0 : 1;
}
