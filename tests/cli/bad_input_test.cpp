// What the plans say to input that is no good: one clear line with the reason, what to do about it,
// exit status 2, and nothing on standard output that a script could take for a plan.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace {

struct Row {
  const char* command;
  const char* says;  // in the line of the error
};

struct Said {
  int exit = -1;
  std::string out, err;
};

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty() || !std::filesystem::exists(CULPRIT_BINARY))
      GTEST_SKIP() << "there is no program";
    folder_ =
        std::filesystem::temp_directory_path() / ("culprit_bad_input_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_ / "logs");
    put("torn.json", "{\"machines\": 24,\n\"failure_rate\" 0.1}\n");
    put("empty.json", "\n");
    put("list.json", "[1, 2]\n");
    put("twice.json", "{\"machines\": 24, \"machines\": 25}\n");
    put("word.json", "{\"machines\": \"many\"}\n");
    put("text.db", "this is no database\n");
    put("digests", "0 0123456789abcdef\n");
    put("logs/rank0.log", "nothing of note\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string got(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(folder_ / name).rdbuf();
    return out.str();
  }
  Said run(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.string() + "' && '" CULPRIT_BINARY "' " +
                                arguments + " >stdout 2>stderr </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, got("stdout"), got("stderr")};
  }

  std::filesystem::path folder_;
};

TEST_F(BadInput, IsRefusedInOneClearLineWithARemedy) {
  const Row rows[] = {
      // replay
      {"replay plan", "replay needs the machines"},
      {"replay plan --machines 24 --pp 4 --spares -2",
       "--spares takes hosts or their number, not '-2'"},
      {"replay plan --machines 24 --pp 4 --spares x",
       "--spares names hosts, and the machines have no names"},
      {"replay plan --hosts a,b,a", "--hosts names a twice"},
      {"replay plan --machines 24 --pp 4 --command 'run {foo}'", "no value for {foo}"},
      {"replay plan --hosts n[1-24] --pp 4 --command 'run {foo}'", "no value for {foo}"},
      {"replay plan --machines 24 --pp 4 --command 'run {hosts'", "a { without its }"},
      {"replay plan --hosts n[1-24] --pp 40", "fills 40 machines, and there are 24"},
      {"replay plan --machines 0", "--machines takes a whole number from 1 to"},
      {"replay plan --machines 24 --shows 0", "--shows takes a number from"},
      {"replay plan --machines 24 --shows nan", "--shows takes a number from"},
      {"replay plan --machines 24 --confidence 1", "--confidence takes a number from"},
      {"replay plan --machines 24 --k 30", "k = 30"},
      {"replay plan --hosts n[1-4] --machines 5", "--machines is 5, and there are 4 hosts"},
      {"replay plan --hosts n[1-4] --cleared n9", "--cleared has n9, which is none of the hosts"},
      {"replay plan --machines 24 --script", "a script needs the names of the hosts"},
      {"replay plan -d logs", "this is a folder, not a database"},
      {"replay plan 24", "'24' is neither an option nor a bundle"},
      {"replay solve", "replay needs the machines"},
      {"replay solve --plan torn.json", "no valid JSON: "},
      {"replay solve --plan empty.json", "this file is empty"},
      {"replay solve --plan list.json", "this is not a replay plan"},
      {"replay solve --plan logs", "this is a folder, not a file"},
      {"replay solve --plan nosuch.json", "cannot read this file"},
      {"replay solve --machines 24 --pp 4 --outcome H99=fail", "the plan has no group 'H99'"},
      {"replay solve --machines 24 --pp 4 --outcome H1=maybe", "'maybe' is not an outcome"},
      {"replay solve --machines 24 --pp 4 --outcome H1", "--outcome takes NAME=VALUE"},
      {"replay solve --machines 24 --pp 4 --outcomes torn.json", "no valid JSON: "},
      {"replay solve --machines 24 --pp 4 --rest fail", "--rest takes pass"},
      {"replay", "replay needs plan or solve"},
      // isolate, links, checks, compare
      {"plan isolate", "plan isolate needs the hosts"},
      {"plan isolate -q --hosts a,a", "--hosts names a twice"},
      {"plan isolate -q --hosts n[1-4] --tor t1=x", "has the host x, which is none of the hosts"},
      {"plan isolate -q --hosts n[1-4] --command '{foo}'", "no value for {foo}"},
      {"plan isolate -q --hosts n[1-4] --outcome A=maybe", "'maybe' is not an outcome"},
      {"plan isolate -q --hosts n[1-4] --outcome C=fail", "which is not a test of round 1"},
      {"plan isolate --state torn.json", "no valid JSON: "},
      {"plan isolate --state list.json", "this is not a state of plan isolate"},
      {"plan isolate -q --hosts n[1-4] --depth 0", "--depth takes a whole number"},
      {"plan links --hosts a", "plan links needs two hosts or more"},
      {"plan links --hosts n[1-3] --command 'x {foo}'", "no value for {foo}"},
      {"plan links --hosts n[1-3] --topology star", "--topology takes ring, tree or both"},
      {"plan links --parent b=a --parent b=c", "two parents"},
      {"plan checks", "plan checks needs the hosts"},
      {"plan checks --hosts a,a", "--hosts names a twice"},
      {"plan checks --hosts a --for fun",
       "--for takes stop, delivery, delivery-light, repair or dual-tor"},
      {"plan checks --hosts a --via ssh", "does not say which host"},
      {"plan compare", "plan compare needs the digests"},
      {"plan compare --run digests", "there is one"},
      {"plan compare --run digests --run digests", "is given twice"},
      {"plan compare --run logs --run digests", "this is a folder, not a file"},
      // numbers
      {"plan standby", "plan standby needs the number of machines"},
      {"plan standby --machines 10 --failure-rate 2", "--failure-rate takes a number from 0 to 1"},
      {"plan standby --machines 10 --failure-rate -0.1",
       "--failure-rate takes a number from 0 to 1"},
      {"plan standby --machines 10 --percentile 1", "--percentile takes a number"},
      {"plan standby --machines 10 --wake-s -1", "--wake-s takes a number"},
      {"plan standby --input torn.json", "no valid JSON: "},
      {"plan standby --input empty.json", "this file is empty"},
      {"plan standby --input list.json", "is one JSON object"},
      {"plan standby --input twice.json", "stands twice in one object"},
      {"plan standby --input word.json", "the key 'machines' takes a whole number"},
      {"plan standby --input logs", "this is a folder, not a file"},
      {"plan standby --input nosuch.json", "cannot read this file"},
      {"plan standby -d logs", "this is a folder, not a database"},
      {"plan standby 24", "'24' is neither an option nor a bundle"},
      {"plan standby --machines 10 --format xml", "--format takes"},
      {"plan replicas 12", "'12' is neither an option nor a bundle"},
      {"plan replicas --mtbf-min 0", "--mtbf-min takes a number"},
      {"plan replicas --repair-min -5", "--repair-min takes a number"},
      {"plan microbatch", "plan microbatch needs the time of a micro-batch"},
      {"plan microbatch --times 1,2", "plan microbatch needs the number of micro-batches"},
      {"plan microbatch --times 1,-2 --micro-batches 4", "--times takes numbers from"},
      {"plan microbatch --times 1,x --micro-batches 4", "--times takes numbers from"},
      {"plan microbatch --times 1,2 --micro-batches 4 --pp 3", "no multiple of 3"},
      {"plan microbatch --times 1,2,3 --micro-batches 2", "micro-batches"},
      {"plan microbatch -d logs", "this is a folder, not a database"},
      {"plan microbatch logs", "the parallel layout of the job is not known"},
      {"plan mitigate", "plan mitigate needs the intervals"},
      {"plan mitigate --interval 1,2", "--interval takes start,end,slow_ms,healthy_ms"},
      {"plan mitigate --interval 1,2,-3,4", "--interval takes numbers from 0"},
      {"plan mitigate --interval 5,4,2,1", "are no interval"},
      {"plan mitigate --interval 1.5,4,2,1", "counts iterations in whole numbers"},
      {"plan mitigate --interval 1,4,2,1 --cause magic",
       "--cause takes computation, communication or unknown"},
      {"plan mitigate --interval 1,4,2,1 --topology-helps 2",
       "--topology-helps takes a number from 0 to 1"},
      {"plan backup", "this plan needs the shape of the job"},
      {"plan backup --tp 2 --dp 2 --evict host99", "which is not a rank, host or group of the job"},
      {"plan backup --tp 2 --dp 2 --evict 99", "the job has ranks 0 to 3"},
      {"plan backup --tp 0", "--tp takes a whole number"},
      {"plan backup logs", "does not say the parallel layout"},
      {"plan holders --tp 2", "plan holders needs a question"},
      {"plan holders --tp 2 --dp 2 --layer 1", "how many layers there are is not given"},
      {"plan holders --pp 2 --layers 7 --rank 0", "7 layers cannot be divided evenly"},
      {"plan holders --dp 3 --ep 2 --rank 0", "cannot be divided evenly over 2 expert groups"},
      {"plan holders --dp 2 --shard 2", "there is no shard 2: they are 0 to 1"},
      {"plan topology --tp 2", "plan topology needs slow ranks or a congested link"},
      {"plan topology --pp 4 --dp 2 --straggler 99,2", "the job has ranks 0 to 7"},
      {"plan topology --pp 4 --dp 2 --straggler 0,0.5", "a factor from 1"},
      {"plan topology --pp 4 --dp 2 --congested host0", "--congested takes two different hosts"},
      {"plan", "plan needs the name of a plan"},
      {"plan stanby", "plan has no 'stanby'"},
      // databases that are folders, elsewhere
      {"report -d logs", "this is a folder, not a database"},
      {"drift -d logs", "this is a folder, not a database"},
      {"classify -d logs", "this is a folder, not a database"},
      {"drift", "drift needs a database or a bundle"},
  };
  for (const Row& row : rows) {
    const Said said = run(row.command);
    EXPECT_EQ(said.exit, 2) << row.command << '\n' << said.err;
    EXPECT_EQ(said.out, "") << row.command;
    const std::string line = said.err.substr(0, said.err.find('\n'));
    EXPECT_EQ(line.rfind("culprit: error: ", 0), 0u) << row.command << '\n' << said.err;
    EXPECT_NE(line.find(row.says), std::string::npos) << row.command << '\n' << said.err;
    EXPECT_NE(said.err.find("\n  = help: "), std::string::npos) << row.command << '\n' << said.err;
    for (const char* raw : {"json.exception", "last read", "disk I/O", "std::", "terminate"})
      EXPECT_EQ(said.err.find(raw), std::string::npos) << row.command << '\n' << said.err;
  }
}

TEST_F(BadInput, IsMissing) {
  for (const char* command :
       {"plan standby -d nosuch.db", "report -d nosuch.db", "classify -d nosuch.db",
        "diagnose nosuch", "ingest nosuch -d x.db", "./nosuch", "nosuch.tar.gz", "drift nosuch"}) {
    const Said said = run(command);
    EXPECT_EQ(said.exit, 3) << command << '\n' << said.err;
    EXPECT_EQ(said.out, "") << command;
    EXPECT_NE(said.err.find("\n  = help: "), std::string::npos) << command << '\n' << said.err;
  }
  EXPECT_EQ(run("nosuch").exit, 2);  // a command, misspelt
}

TEST_F(BadInput, NamesTheLineOfAFile) {
  const Said said = run("plan standby --input torn.json");
  EXPECT_NE(said.err.find(" --> torn.json:2\n"), std::string::npos) << said.err;
}

TEST_F(BadInput, IsTheDatabaseOfAFolderWhenItHoldsOne) {
  put("logs/incident.db", "x");
  EXPECT_NE(run("report -d logs").err.find("logs/incident.db"), std::string::npos);
}

}  // namespace
