// Lines that name a fault to say that there is none, and faults that only look so.
#include "rules/negation.hpp"

#include <nlohmann/json.hpp>

#include "kit.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

TEST(Negation, TheTableSatisfiesItsSchema) {
  const auto schema = nlohmann::json::parse(schema::text("negation-v1.json"));
  const auto table = nlohmann::json::parse(embedded_rule("tables/negation.json"));
  for (const auto& v : schema::validate(table, schema)) ADD_FAILURE() << v.path << ": " << v.reason;
}

bool taken_back(const std::string& line, const std::string& found) {
  const std::size_t at = line.find(found);
  EXPECT_NE(at, std::string::npos) << line;
  return negated(line, at, at + found.size());
}

TEST(Negation, IsSaidBeforeAndBehind) {
  for (const auto& [line, found] : std::vector<std::pair<std::string, std::string>>{
           {"nightly check: no uncorrectable ECC error on 40 nodes", "uncorrectable ECC error"},
           {"0 uncorrectable ECC errors", "uncorrectable ECC error"},
           {"HBM uncorrectable error count 0", "uncorrectable"},
           {"PKey mismatch: 0", "PKey mismatch"},
           {"pending row remap: 0", "row remap"},
           {"row remapping failure : No", "row remapping failure"},
           {"coolant leak detected = false", "coolant leak detected"},
           {"bmc: leak detector 0 state=OK critical=false", "leak detector"},
           {"{\"link_down\": false, \"port\": 1}", "link_down"},
           {"GPU lost: none", "GPU lost"},
           {"Xid 79 was not seen since boot", "Xid 79"},
           {"no GPU 3 fell off the bus", "fell off the bus"},
           {"failed checks: 0 of 2", "failed checks"},
           {"volatile 0 uncorrectable ECC errors", "uncorrectable ECC error"},
           {"no Xid messages such as 'fallen off the bus' found", "fallen off the bus"},
           {"AC lost | Deasserted", "AC lost"},
           {"If you get `CUDA error: invalid device function` errors, see above", "CUDA error"},
           {"Xid 79 GPU has fallen off the bus: 0   Xid 94: 0", "Xid 79"},
           {"Xid 119 GSP timeout: 0", "Xid 119"},
           {"grep -c 'Out of memory: Killed process' /var/log/kern.log -> 0", "Killed process"},
           {"# HELP gpu_lost 1 if the GPU is lost", "GPU is lost"}})
    EXPECT_TRUE(taken_back(line, found)) << line;
}

TEST(Negation, IsNotEveryNoAndNotEveryZero) {
  for (const auto& [line, found] : std::vector<std::pair<std::string, std::string>>{
           {"no response, GPU has fallen off the bus", "GPU has fallen off the bus"},
           {"GPU 0 uncorrectable ECC error", "uncorrectable ECC error"},
           {"uncorrectable ECC error: 0000:3b:00.0 is lost", "uncorrectable ECC error"},
           {"uncorrectable ECC errors: 02", "uncorrectable ECC errors"},
           {"Xid 79 on GPU: 0", "Xid 79"},
           {"link down: no carrier on mlx5_0", "link down"},
           {"not only Xid 79, the machine is gone", "Xid 79"},
           {"failed to reach peers: 0 of 8 answered", "failed to reach peers"},
           {"uncorrectable ECC error detected on gpu=0", "uncorrectable ECC error"},
           {"GPU has fallen off the bus on device: 0, action: drain", "GPU has fallen off the bus"},
           {"mlx5_0: Port: 1 Link DOWN state: 0", "Link DOWN"},
           {"link down on port 1: disabled", "link down"},
           {"GPU has fallen off the bus, visible gpu count 8 -> 0", "GPU has fallen off the bus"},
           {"GPU has fallen off the bus: 0 found, expected 8", "GPU has fallen off the bus"},
           {"grep invoked oom-killer: gfp_mask=0x140cca", "invoked oom-killer"},
           {"process 4312 ended by signal=SIGSEGV", "SIGSEGV"},
           {"12 0:0  NODE_FAIL n07", "NODE_FAIL"},
           {"healthy=false -> Xid 79", "Xid 79"},
           {"row remapping failure : Yes", "row remapping failure"}})
    EXPECT_FALSE(taken_back(line, found)) << line;
}

TEST(Negation, CapturesAreOfWhatIsStated) {
  const auto match = test::embedded().match(
      "NVRM: Xid (PCI:0000:1b:00): 13: none; NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->code, 79);
}

TEST(Negation, ALaterStatementOfTheSameLineCounts) {
  const auto match = test::embedded().match(
      "NVRM: no GPU has fallen off the bus at 10:00; NVRM: GPU has fallen off the bus at 10:05");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->rule->id, "gpu-off-bus");
  EXPECT_FALSE(test::embedded().match("NVRM: no GPU has fallen off the bus at 10:00"));
}

}  // namespace
}  // namespace culprit::rules
