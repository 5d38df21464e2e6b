// A line that has no part in a failure must not decide: sample lines of the rules, one at a time,
// in places where they explain nothing. CULPRIT_NOISE_EVERY=N: every so manieth of all lines in all
// places beside all stories, instead of what the build says.
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bundle.hpp"
#include "schema/embedded.hpp"

namespace culprit::diagnose::test {
namespace {

enum class Story { clean, lost_gpu, bug };
enum class Place { other_job, before, between, behind_word, after };
constexpr Story kStories[] = {Story::clean, Story::lost_gpu, Story::bug};
constexpr Place kPlaces[] = {Place::other_job, Place::before, Place::between, Place::behind_word,
                             Place::after};
constexpr int kPlanned = 60, kFailed = 41, kPace = 10;  // steps, steps, seconds

std::vector<std::string> sample_lines() {
  static const nlohmann::json::json_pointer kFires("/samples/fires");
  std::vector<std::string> out;
  for (const EmbeddedFile& file : embedded_rules()) {
    const auto document = nlohmann::json::parse(file.text(), nullptr, false);
    if (!document.is_object() || !document.contains("rules")) continue;
    for (const auto& rule : document["rules"])
      for (const auto& line : rule.value(kFires, nlohmann::json::array()))
        if (line.is_string()) out.push_back(line.get<std::string>());
  }
  return out;
}

// A time of 20 November 2026, as seconds since ten o'clock; before ten it is negative.
std::string clock(int seconds, const char* between = " ") {
  const int of_day = 10 * 3600 + seconds;
  return fmt::format("2026-11-20{}{:02}:{:02}:{:02}", between, of_day / 3600, of_day / 60 % 60,
                     of_day % 60);
}

// Three machines with two ranks each; the third is innocent of everything.
class Noise : public SmallBundle {
 protected:
  static int last_step(Story story) { return story == Story::clean ? kPlanned : kFailed; }
  static int end_of(Story story) { return 21 + kPace * last_step(story); }

  static std::string rank_log(Story story, int rank, const std::string& line) {
    std::string out;
    for (int k = 1; k <= last_step(story); ++k) {
      out += fmt::format(
          "{},100 [rank{}] INFO iteration {}/{} | elapsed time per iteration (ms): 10000.0 | lm "
          "loss: {:.4f}\n",
          clock(20 + kPace * k), rank, k, kPlanned, 3 - k / 200.0);
      if (k == 20 && !line.empty()) out += line + "\n";
    }
    if (story == Story::clean)
      return out + clock(end_of(story)) + ",300 INFO training finished, exiting\n";
    if (story == Story::bug)
      return out + fmt::format(
                       "[rank{0}]: Traceback (most recent call last):\n"
                       "[rank{0}]:   File \"/srv/net.py\", line 41, in forward\n"
                       "[rank{0}]:     return self.gain * x\n"
                       "[rank{0}]: TypeError: unsupported operand type(s) for *: "
                       "'NoneType' and 'Tensor'\n",
                       rank);
    if (rank == 3)
      return out + "[rank3]: torch.AcceleratorError: CUDA error: unspecified launch failure\n";
    return rank == 2 ? out
                     : out + fmt::format(
                                 "tarn-{}:41{}0:42{}1 [{}] {} socket.cc:881 NCCL WARN "
                                 "socketProgress: Connection closed by remote peer "
                                 "tarn-2<49152>\n",
                                 rank / 2 + 1, rank, rank, rank % 2, clock(end_of(story)));
  }
  static std::string journal(Story story, int machine, int at, const std::string& line) {
    std::string out;
    const auto add = [&](int seconds, const std::string& text) {
      out += fmt::format("{}+00:00 tarn-{} {}\n", clock(seconds, "T"), machine, text);
    };
    for (int k = 0, told = 0; k < 30; ++k) {
      const int now = 420 * k - 5400;
      if (!line.empty() && !told && now > at) add(at, line), told = 1;
      if (story == Story::lost_gpu && machine == 2 && now > end_of(story) &&
          now - 420 <= end_of(story))
        add(end_of(story),
            "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', "
            "name=<unknown>, GPU has fallen off the bus.");
      add(now, fmt::format("systemd[1]: Started Session {} of user root.", k));
    }
    return out;
  }

  void story(Story story) const {
    for (int rank = 0; rank < 6; ++rank) rewrite(log_of(rank), rank_log(story, rank, {}));
    for (int machine = 1; machine <= 3; ++machine)
      rewrite(journal_of(machine), journal(story, machine, 0, {}));
    rewrite("sacct.txt",
            fmt::format("JobID|JobName|State|ExitCode|Start|End|NodeList\n41226|pretrain|{}|2026-"
                        "11-20T10:00:00|{}|tarn-[1-3]\n",
                        story == Story::clean ? "COMPLETED|0:0" : "FAILED|1:0",
                        clock(end_of(story) + 9, "T")));
    rewrite("job.json", R"({"job": "pretrain", "job_id": "41226", "world_size": 6,
      "gpus_per_node": 2, "hosts": ["tarn-1", "tarn-2", "tarn-3"], "timezone": "UTC"})");
  }
  // Puts the line there, or takes it away again when it is "".
  void put(Story story, Place place, const std::string& line) const {
    switch (place) {
      case Place::other_job:
        std::filesystem::remove(folder_ + "/slurm-39001.out");
        if (!line.empty())
          write("slurm-39001.out", clock(-7200) + " starting job 39001\n" + line + "\n");
        return;
      case Place::before: return rewrite(journal_of(3), journal(story, 3, -3600, line));
      case Place::between: return rewrite(log_of(1), rank_log(story, 1, line));
      case Place::behind_word:
        return rewrite(journal_of(3), journal(story, 3, end_of(story) + 120, line));
      case Place::after: return rewrite(journal_of(3), journal(story, 3, 7200 - 600, line));
    }
  }

  static std::string log_of(int rank) { return fmt::format("logs/rank_{}.log", rank); }
  static std::string journal_of(int machine) {
    return fmt::format("hosts/tarn-{}/journal.log", machine);
  }
  static std::string told(const Verdict& v) {
    std::string out(name(v.action));
    for (const Target& t : v.targets)
      out += fmt::format(" {} {}", name(t.subject.kind), t.subject.id);
    return out;
  }
};

TEST_F(Noise, MustNotDecide) {
  const std::vector<std::string> lines = sample_lines();
  ASSERT_GT(lines.size(), 500u);
  const char* wanted = std::getenv("CULPRIT_NOISE_EVERY");
  const std::size_t every =
      std::max(1, wanted == nullptr ? CULPRIT_NOISE_EVERY : std::atoi(wanted));
  std::size_t tried = 0, decided = 0, at = 0;
  for (const Story told_story : kStories) {
    story(told_story);
    const std::string usual = told(diagnose().verdict);
    for (const Place place : kPlaces) {
      for (const std::string& line : lines) {
        if (at++ % every != 0) continue;
        put(told_story, place, line);
        const Verdict verdict = diagnose().verdict;
        ++tried;
        if (const std::string now = told(verdict); now != usual) {
          ++decided;
          std::printf("story %d, place %d: %s instead of %s: %s\n", static_cast<int>(told_story),
                      static_cast<int>(place), now.c_str(), usual.c_str(), line.c_str());
          const bool accuses =
              verdict.action == Action::isolate || verdict.action == Action::repair;
          EXPECT_FALSE(accuses && now.find("tarn-") != std::string::npos &&
                       usual.find(now) == std::string::npos)
              << line;
        }
      }
      put(told_story, place, {});
    }
  }
  std::printf("%zu of %zu lines decide\n", decided, tried);
  EXPECT_LE(1000 * decided, 3 * tried);
}

}  // namespace
}  // namespace culprit::diagnose::test
