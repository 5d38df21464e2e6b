// A batch: which bundles it has, what happens to a bad one, and that a stopped one ends with the
// same bytes as one that was not.
#include "batch/batch.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "batch/fingerprint.hpp"
#include "batch/pool.hpp"
#include "batch/summary.hpp"
#include "model/csv.hpp"
#include "model/json.hpp"
#include "schema/schema.hpp"
#include "store/fleet.hpp"

namespace culprit::batch {
namespace {

namespace fs = std::filesystem;

class Batch : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-batch-XXXXXX";
    root = fs::canonical(mkdtemp(name));
  }
  void TearDown() override { fs::remove_all(root); }

  fs::path write(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path, std::ios::binary) << text;
    return root / path;
  }
  void incident(const std::string& name, const std::string& host) const {
    write(name + "/hosts/" + host + "/dmesg.txt",
          "[Wed Nov 18 02:40:08 2026] NVRM: Xid (PCI:0000:52:00): 79, pid=4711, GPU has fallen off "
          "the bus.\n");
    write(name + "/job.json", "{\"job\": \"demo\", \"job_id\": \"" + name +
                                  "\", \"world_size\": 16, \"gpus_per_node\": 8, \"hosts\": [\"" +
                                  host + "\", \"other-9\"]}");
    write(name + "/logs/rank0.log",
          "2026-11-18T02:40:09Z [rank0]: RuntimeError: CUDA error: unspecified launch failure\n");
  }
  std::vector<std::string> names(const Inputs& inputs) const {
    std::vector<std::string> out;
    for (const Bundle& b : inputs.bundles) out.push_back(b.name);
    return out;
  }
  Result<Inputs> find(const std::vector<std::string>& words, const fs::path& out = "/nowhere",
                      const std::vector<std::pair<std::string, std::string>>& taken = {}) const {
    std::vector<std::string> whole;
    for (const std::string& w : words) whole.push_back((root / w).string());
    return find_bundles(whole, {}, out.string(), taken);
  }

  Result<Outcomes> run_batch(
      const std::string& folder, Options options = {},
      const std::function<void(const Progress&)>& see = [](const Progress&) {}) {
    options.out = root / folder;
    options.setup = options.setup.empty() ? "one" : options.setup;
    options.jobs = options.jobs == 1 ? 2 : options.jobs;
    if (!pack) {
      auto compiled = rules::RulePack::compile(std::move(rules::load_rules({})).value());
      pack.emplace(std::move(compiled).value());
    }
    Work work;
    work.pack = &*pack;
    work.request.tool = "test";
    auto inputs = find({"week"}, options.out, names_taken(options.out));
    if (!inputs) return inputs.error();
    return run(*inputs, work, options, see);
  }

  // Path and bytes of all files below.
  std::map<std::string, std::string> tree(const std::string& folder) const {
    std::map<std::string, std::string> out;
    for (const auto& file : fs::recursive_directory_iterator(root / folder))
      if (file.is_regular_file()) {
        std::ifstream in(file.path(), std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        out[file.path().lexically_relative(root / folder).string()] = text.str();
      }
    return out;
  }

  fs::path root;
  std::optional<rules::RulePack> pack;
};

using Names = std::vector<std::string>;

TEST_F(Batch, AFolderHoldsBundles) {
  write("week/a/x.log", "x");
  write("week/b.tar.gz", "x");
  write("week/notes.txt", "x");
  write("week/.hidden/x.log", "x");
  const auto inputs = find({"week"});
  ASSERT_TRUE(inputs);
  EXPECT_EQ(names(*inputs), (Names{"a", "b"}));
  EXPECT_EQ(inputs->left_out, Names{(root / "week/notes.txt").string()});
}

TEST_F(Batch, AFolderWithAManifestIsABundle) {
  write("job/job.json", "{}");
  write("job/node-1/x.log", "x");
  write("job/node-2/x.log", "x");
  EXPECT_EQ(names(*find({"job"})), Names{"job"});
  write("plain/a.log", "x");
  EXPECT_EQ(names(*find({"plain"})), Names{"plain"});
}

TEST_F(Batch, SeveralWordsAreBundlesEach) {
  write("one/node-1/x.log", "x");
  write("one/node-2/x.log", "x");
  write("many/p/job.json", "{}");
  write("many/q/job.json", "{}");
  EXPECT_EQ(names(*find({"one", "many"})), (Names{"one", "p", "q"}));
}

TEST_F(Batch, ListsAndPatterns) {
  write("a/x.log", "x");
  write("b/x.log", "x");
  write("list.txt",
        "# bundles\n\n" + (root / "b").string() + "\r\n" + (root / "a").string() + "\n");
  EXPECT_EQ(names(*find({"list.txt"})), (Names{"a", "b"}));
  EXPECT_EQ(names(*find({"[ab]"})), (Names{"a", "b"}));
  write("wrong.txt", (root / "a").string() + "\n" + (root / "c").string() + "\n");
  const auto wrong = find({"wrong.txt"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where->line, 2u);
  EXPECT_FALSE(find({"c*"}));
  EXPECT_FALSE(find({"nothing"}));
}

TEST_F(Batch, ResultsInsideABundleAreRefused) {
  write("job/job.json", "{}");
  EXPECT_FALSE(find({"job"}, root / "job/out"));
  write("week/a/x.log", "x");
  write("week/out/x.log", "x");
  EXPECT_EQ(names(*find({"week"}, root / "week/out")), Names{"a"});
}

TEST_F(Batch, AlikeNamesGetMoreOfTheirPaths) {
  write("x/a/logs/1", "x");
  write("x/b/logs/1", "x");
  write("x/c/other/1", "x");
  EXPECT_EQ(names(*find({"x/a/logs", "x/b/logs", "x/c/other"})),
            (Names{"a-logs", "b-logs", "other"}));
  // A name that another bundle has already is not taken from it.
  EXPECT_EQ(names(*find({"x/a/logs"}, "/nowhere", {{"/elsewhere/logs", "logs"}})), Names{"a-logs"});
  EXPECT_EQ(names(*find({"x/a/logs"}, "/nowhere", {{(root / "x/a/logs").string(), "old"}})),
            Names{"old"});
}

TEST_F(Batch, NamesAreHarmless) {
  EXPECT_EQ(plain_name("/a/job 7.tar.gz"), "job_7");
  EXPECT_EQ(plain_name("/a/.."), "bundle");
  EXPECT_EQ(plain_name("/a/-rf"), "_rf");
  EXPECT_EQ(plain_name("/a/<b>\n"), "_b__");
  EXPECT_LE(plain_name(std::string(300, 'x')).size(), 80u);
}

TEST_F(Batch, AFingerprintSeesEveryChange) {
  write("b/x.log", "one");
  const std::string before = fingerprint((root / "b").string(), false).digest;
  EXPECT_EQ(fingerprint((root / "b").string(), false).digest, before);
  write("b/y.log", "");
  EXPECT_NE(fingerprint((root / "b").string(), false).digest, before);
  fs::remove(root / "b/y.log");
  EXPECT_EQ(fingerprint((root / "b").string(), false).digest, before);
  const std::string bytes = fingerprint((root / "b").string(), true).digest;
  fs::last_write_time(root / "b/x.log", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(fingerprint((root / "b").string(), false).digest, before);
  EXPECT_EQ(fingerprint((root / "b").string(), true).digest, bytes);
  write("b/x.log", "two");
  EXPECT_NE(fingerprint((root / "b").string(), true).digest, bytes);
}

TEST_F(Batch, ChildrenThatCrashHangOrWantTooMuchAreTold) {
  PoolOptions options;
  options.jobs = 3;
  options.timeout_s = 1;
  std::map<std::size_t, Outcome> seen;
  PoolEvents events;
  events.ended = [&](const Outcome& o) { seen[o.task] = o; };
  const std::vector<std::size_t> tasks{0, 1, 2, 3};
  const auto work = [](std::size_t task) -> int {
    if (task == 1) {
      std::fprintf(stderr, "first\nlast words\n");
      std::raise(SIGABRT);
    }
    if (task == 2) sleep(60);
    if (task == 3) throw std::bad_alloc();
    return 5;
  };
  EXPECT_TRUE(run_pool(tasks, options, work, events));
  EXPECT_EQ(seen[0].status, 5);
  EXPECT_EQ(seen[1].signal, SIGABRT);  // which sanitizers leave alone
  EXPECT_NE(seen[1].said.find("last words"), std::string::npos);
  EXPECT_TRUE(seen[2].timed_out);
  EXPECT_EQ(seen[3].status, kOutOfMemory);
}

TEST_F(Batch, MemoryOfAChildIsBounded) {
  if (!memory_is_bounded()) GTEST_SKIP() << "shadow memory of a sanitizer counts as data";
  PoolOptions options;
  options.memory = 256 << 20;
  Outcome seen;
  PoolEvents events;
  events.ended = [&](const Outcome& o) { seen = o; };
  const std::vector<std::size_t> tasks{0};
  EXPECT_TRUE(run_pool(
      tasks, options,
      [](std::size_t) {
        std::vector<std::string> all;
        for (int i = 0; i < 1024; ++i) all.emplace_back(1 << 20, 'x');
        return static_cast<int>(all.size() % 2);
      },
      events));
  EXPECT_EQ(seen.status, kOutOfMemory);
  EXPECT_LT(seen.peak, 300u << 20);
}

TEST_F(Batch, ADamagedBundleIsAnEntry) {
  incident("week/good", "gpu-07");
  write("week/bad.tar.gz", "this is not an archive");
  fs::create_directories(root / "week/locked");
  const auto done = run_batch("out");
  ASSERT_TRUE(done) << done.error().what;
  ASSERT_EQ(done->entries.size(), 3u);
  const auto summary = nlohmann::json::parse(done->summary);
  for (const auto& v :
       schema::validate(summary, nlohmann::json::parse(schema::text("batch-v1.json"))))
    ADD_FAILURE() << v.path << ": " << v.reason;
  for (const auto& row : summary["entries"])
    if (row["name"] == "good") {
      EXPECT_EQ(row["status"], "done");
      EXPECT_TRUE(fs::exists(root / "out" / row["report"].get<std::string>()));
    }
  EXPECT_TRUE(fs::exists(root / "out/index.html"));
  EXPECT_TRUE(fs::exists(root / "out/summary.csv"));
  EXPECT_TRUE(store::read_fleet((root / "out/fleet.db").string()));
}

TEST_F(Batch, OnlyWhatChangedIsReadAgain) {
  incident("week/a", "gpu-01");
  incident("week/b", "gpu-02");
  EXPECT_EQ(run_batch("out")->read, 2u);
  const auto first = tree("out");
  const auto again = run_batch("out");
  EXPECT_EQ(again->read, 0u);
  EXPECT_EQ(again->unchanged, 2u);
  EXPECT_EQ(tree("out"), first);
  incident("week/c", "gpu-03");
  EXPECT_EQ(run_batch("out")->read, 1u);
  Options other;
  other.setup = "two";
  EXPECT_EQ(run_batch("out", other)->read, 3u);
  // A bundle that is gone stays remembered until it is told to be forgotten.
  fs::remove_all(root / "week/a");
  EXPECT_EQ(run_batch("out", other)->entries.size(), 3u);
  other.prune = true;
  const auto pruned = run_batch("out", other);
  EXPECT_EQ(pruned->entries.size(), 2u);
  EXPECT_EQ(store::read_fleet((root / "out/fleet.db").string())->incidents.size(), 2u);
}

TEST_F(Batch, StoppedAndGoneOnGivesTheSameBytes) {
  for (int i = 0; i < 6; ++i) incident("week/j" + std::to_string(i), "gpu-0" + std::to_string(i));
  ASSERT_TRUE(run_batch("whole"));
  std::atomic<bool> stop{false};
  Options options;
  options.interrupted = &stop;
  options.jobs = 2;
  const auto cut =
      run_batch("cut", options, [&](const Progress& p) { stop = stop || p.finished >= 2; });
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->interrupted);
  EXPECT_FALSE(fs::exists(root / "cut/index.html"));
  const auto rest = run_batch("cut");
  ASSERT_TRUE(rest);
  EXPECT_LT(rest->read, 6u);
  EXPECT_EQ(tree("cut"), tree("whole"));
}

TEST_F(Batch, CopiesAreOneIncident) {
  incident("week/a", "gpu-01");
  fs::copy(root / "week/a", root / "week/z", fs::copy_options::recursive);
  const auto done = run_batch("out");
  const auto summary = nlohmann::json::parse(done->summary);
  EXPECT_EQ(summary["entries"][1]["same_contents_as"], "a");
  EXPECT_TRUE(summary["repeated_hosts"].empty());
  const auto fleet = store::read_fleet((root / "out/fleet.db").string());
  ASSERT_EQ(fleet->incidents.size(), 1u);
  EXPECT_EQ(fleet->incidents[0].name, "a");
}

TEST(Summary, CellsOfCsv) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
}

}  // namespace
}  // namespace culprit::batch
