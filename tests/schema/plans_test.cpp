// What the plans print as JSON against the schemas that `culprit schema` prints.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"
#include "support/printed.hpp"

namespace {

using nlohmann::json;

struct Row {
  const char* schema;
  const char* command;  // $C is the program, $S the samples
};

const Row kRows[] = {
    {"replay-plan-v1.json", "$C replay plan --machines 24 --pp 4 --json"},
    {"replay-plan-v1.json",
     "$C replay plan --hosts n[1-25] --spares s1 --pp 4 --command 'run {hosts}' --shows 0.7 "
     "--json"},
    {"replay-solution-v1.json",
     "$C replay solve --machines 24 --pp 4 --outcome H3=fail --outcome V1=fail --rest pass --json"},
    {"replay-solution-v1.json",
     "$C replay solve --hosts n[1-24] --pp 6 --k 1 --outcome H2=fail --outcome V1=fail --rest pass "
     "--json"},
    {"plan-isolate-v1.json",
     "$C plan isolate -q --hosts n[1-8] --tor t1=n[1-4] --tor t2=n[5-8] --command 'run {hosts}' "
     "--json"},
    {"plan-isolate-v1.json",
     "$C plan isolate -q --hosts n[1-8] --outcome A=fail --outcome B=pass --json"},
    {"plan-isolate-v1.json",
     "$C plan isolate -q --hosts n[1-8] --outcome A=pass --outcome B=pass --json"},
    {"plan-isolate-v1.json",
     "$C plan isolate -q --hosts n[1-8] --pod p1=n[1-4] --pod p2=n[5-8] --datacenter e=p1 "
     "--datacenter w=p2 --json >s.json; $C plan isolate --state s.json --outcome A=fail --outcome "
     "B=pass --json"},
    {"plan-links-v1.json", "$C plan links --hosts n[1-5] --json"},
    {"plan-checks-v1.json", "$C plan checks --hosts n[1-3] --nan --json"},
    {"plan-checks-v1.json",
     "$C plan checks --hosts n[1-3] --for delivery --gpus-per-host 4 --json"},
    {"plan-checks-v1.json", "$C plan checks --hosts n1 --for dual-tor --json"},
    {"plan-checks-solution-v1.json",
     "printf "
     "'task,hosts,outcome\\nEUD,a,pass\\nall-gather,\"b,c\",fail\\nall-gather,\"c,d\",fail\\n"
     "EUD,d,pass\\nEUD,d,fail\\n' >o.csv; $C plan checks solve o.csv --json"},
    {"plan-links-v1.json",
     "printf 'from,to,time\\na,b,1\\na,b,3\\nb,c,1\\nc,d,1\\nd,a,1\\n' >t.csv; "
     "$C plan links solve t.csv --json"},
    {"plan-gemm-v1.json", "$C plan gemm --hosts n[1-2] --gpus-per-host 2 --json"},
    {"plan-gemm-v1.json",
     "printf 'host,gpu,type,time_us\\na,0,fp16,9\\na,1,fp16,9\\nb,0,fp16,9\\nb,1,fp16,12\\n"
     "b,0,fp32,9\\nb,1,fp16,99\\n' >g.csv; $C plan gemm solve g.csv --json"},
    {"plan-checkpoints-v1.json", "$C plan checkpoints --mtbf-min 60 --stall-s 18 --json"},
    {"plan-checkpoints-v1.json",
     "$C plan checkpoints --runs 300,95,710 --stall-s 30 --restart-min 12 --interval-min 45 "
     "--json"},
    {"plan-compare-v1.json",
     "printf '0 01234567\\n1 89abcdef\\n' >a; printf '0 01234567\\n1 89abcde0\\n2 00000000\\n' >b; "
     "cp a c; $C plan compare --run a --run b --run c --json"},
    {"plan-standby-v1.json", "$C plan standby --machines 1024 --json"},
    {"plan-standby-v1.json", "$C plan standby $S/ib-link-lost --json"},
    {"plan-microbatch-v1.json", "$C plan microbatch --times 100,100,170 --micro-batches 64 --json"},
    {"plan-mitigate-v1.json",
     "$C plan mitigate --interval 120,4800,1500,1000 --cause computation --json"},
    {"plan-mitigate-v1.json", "$C plan mitigate $S/clean-run --json"},
    {"plan-backup-v1.json", "$C plan backup --tp 2 --pp 4 --dp 2 --json"},
    {"plan-backup-v1.json",
     "$C plan backup --tp 2 --pp 4 --dp 2 --gpus-per-host 2 --evict pp/3 --guilty 5 --json"},
    {"plan-holders-v1.json", "$C plan holders --tp 2 --dp 4 --ep 2 --experts 8 --rank 1 --json"},
    {"plan-holders-v1.json",
     "$C plan holders --dp 4 --pp 2 --layers 8 --rank 0-7 --shard 1 --json"},
    {"plan-survival-v1.json", "$C plan survival --tp 2 --dp 4 --gpus-per-host 2 --evict 2 --json"},
    {"plan-survival-v1.json", "$C plan survival $S/ib-link-lost --tp 1 --dp 8 --json"},
    {"plan-topology-v1.json",
     "$C plan topology --pp 4 --dp 4 --gpus-per-host 1 --straggler 0,1.6 --straggler 13,1.6 "
     "--json"},
    {"plan-topology-v1.json",
     "$C plan topology --tp 8 --pp 4 --dp 16 --congested host2,host3 --json"},
    {"plan-topology-v1.json", "$C plan topology $S/ib-link-lost --pp 4 --dp 2 --json"},
    {"plan-zones-v1.json",
     "$C plan zones --tp 2 --pp 2 --dp 2 --gpus-per-host 2 --hosts n[1-4] --pod a=n[1,4] --pod "
     "b=n[2-3] --datacenter x=a --datacenter y=b --json"},
    {"plan-updates-v1.json", "$C plan updates --a-day 2 --mtbf-min 480 --json"},
    {"plan-updates-v1.json",
     "$C plan updates --updates 3,20 --failures 9 --hours 48 --requeue-s 900 --json"},
    {"plan-replicas-v1.json", "$C plan replicas --failures 1000 --json"},
    {"plan-replicas-v1.json", "$C plan replicas --failures 0 --json"},
    {"plan-replicas-v1.json", "$C plan replicas --failures 0 --init-s 200 --json"},
    {"drift-report-v1.json", "$C drift $S/driver-mismatch --json"},
    {"drift-report-v1.json", "$C drift $S/config-drift --all --json"},
};

class PlanDocuments : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CULPRIT_BINARY).empty() || !std::filesystem::exists(CULPRIT_BINARY))
      GTEST_SKIP() << "there is no program";
    folder_ =
        std::filesystem::temp_directory_path() / ("culprit_plans_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  json document(const char* command) const {
    return json::parse(
        culprit::test::printed("cd '" + folder_.string() +
                               "'; C='" CULPRIT_BINARY "'; S='" CULPRIT_SAMPLES_DIR "'; { " +
                               command + "; } 2>stderr")
            .text,
        nullptr, false);
  }
  std::filesystem::path folder_;
};

TEST_F(PlanDocuments, SatisfyTheirSchemas) {
  std::set<std::string> covered;
  for (const Row& row : kRows) {
    const std::string_view text = culprit::schema::text(row.schema);
    ASSERT_FALSE(text.empty()) << row.schema;
    covered.insert(row.schema);
    const json d = document(row.command);
    ASSERT_FALSE(d.is_discarded()) << row.command;
    for (const auto& v : culprit::schema::validate(d, json::parse(text)))
      ADD_FAILURE() << row.command << '\n' << row.schema << ' ' << v.path << ": " << v.reason;
  }
  for (const auto& file : culprit::embedded_schemas()) {
    const std::string name(file.name);
    if (name.rfind("plan-", 0) == 0 || name.rfind("replay-", 0) == 0) {
      EXPECT_EQ(covered.count(name), 1u) << name << " is held against no document";
    }
  }
}

// A schema that takes everything would pass the test above.
TEST_F(PlanDocuments, ThatMissAKeyDoNot) {
  for (const Row& row : kRows) {
    const json schema = json::parse(culprit::schema::text(row.schema));
    json d = document(row.command);
    ASSERT_TRUE(d.is_object()) << row.command;
    d["surplus"] = 1;
    EXPECT_FALSE(culprit::schema::validate(d, schema).empty()) << row.schema;
    d.erase("surplus");
    d.erase(schema.at("required").front().get<std::string>());
    EXPECT_FALSE(culprit::schema::validate(d, schema).empty()) << row.schema;
  }
}

}  // namespace
