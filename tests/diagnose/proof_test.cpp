// Proofs of small bundles: the lines that are kept give the verdict, and none of them can go.
#include "diagnose/proof.hpp"

#include "bundle.hpp"

namespace culprit::diagnose::test {
namespace {

class ProofOf : public SmallBundle {
 protected:
  void SetUp() override {
    SmallBundle::SetUp();
    for (int i = 0; i < 40; ++i)
      write("hosts/mx-cold7/dmesg.txt",
            "2026-03-04T09:0" + std::to_string(i / 10) + ":0" + std::to_string(i % 10) +
                "+00:00 mx-cold7 kernel: usb 1-1: device number " + std::to_string(i) + "\n");
    write("hosts/node-1/dmesg.txt",
          "2026-03-04T09:31:07+00:00 node-1 kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=4711, "
          "name=mx-cold7, GPU has fallen off the bus.\n");
    write("out/rank_0.log", "2026-03-04 09:31:09 [rank0] starting\n2026-03-04 09:31:10 step 4\n");
  }
  ProofRequest request() const {
    ProofRequest out;
    out.read.sources = {folder_};
    out.read.options.threads = 1;
    return out;
  }
  static std::vector<std::string> places(const Proof& proof) {
    std::vector<std::string> out;
    for (const ProofLine& l : proof.lines) out.push_back(l.path + ":" + std::to_string(l.line));
    return out;
  }
};

TEST_F(ProofOf, AGpuOffTheBusIsOneLine) {
  const Answer whole = diagnose();
  auto prover = Prover::read(request(), pack());
  ASSERT_TRUE(prover) << prover.error().what;
  EXPECT_EQ(prover->verdict(), proved(whole.verdict));
  ASSERT_EQ(prover->verdict().action, Action::isolate);
  auto proof = prover->prove();
  ASSERT_TRUE(proof) << proof.error().what;
  EXPECT_TRUE(proof->minimal);
  EXPECT_EQ(proof->of_files, 3u);
  EXPECT_EQ(proof->of_lines, 43u);
  ASSERT_FALSE(proof->lines.empty());
  for (const ProofLine& line : proof->lines) EXPECT_NE(line.without, prover->verdict());
  EXPECT_EQ(places(*proof)[0], "hosts/node-1/dmesg.txt:1");
  EXPECT_NE(proof->lines[0].words.find("fallen off"), std::string::npos);
  // The same again, to the line.
  auto again = Prover::read(request(), pack());
  ASSERT_TRUE(again);
  const auto second = again->prove();
  ASSERT_TRUE(second);
  EXPECT_EQ(places(*second), places(*proof));
}

TEST_F(ProofOf, ALogWithZerosHasLines) {
  write("hosts/node-1/dmesg.txt", std::string(512, '\0') + "\n");
  auto prover = Prover::read(request(), pack());
  ASSERT_TRUE(prover);
  ASSERT_EQ(prover->verdict().action, Action::isolate);
  const auto proof = prover->prove();
  ASSERT_TRUE(proof);
  for (const ProofLine& l : proof->lines) EXPECT_NE(l.line, 0u) << l.path;
}

TEST_F(ProofOf, TheWrittenBundleHoldsNoName) {
  auto prover = Prover::read(request(), pack());
  ASSERT_TRUE(prover);
  ASSERT_TRUE(prover->prove());
  const std::string path = folder_ + ".tar";
  const auto written = prover->write(path);
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->given, written->wanted);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  EXPECT_NE(bytes.find("fallen off the bus"), std::string::npos);
  for (const char* host : {"node-1", "mx-cold7"})
    EXPECT_EQ(bytes.find(host), std::string::npos) << host;
}

TEST_F(ProofOf, StopsAtItsLimits) {
  ProofRequest few = request();
  few.most_runs = 1;
  auto prover = Prover::read(few, pack());
  ASSERT_TRUE(prover);
  const auto proof = prover->prove();
  ASSERT_TRUE(proof);
  EXPECT_FALSE(proof->minimal);
  ProofRequest small = request();
  small.most_bytes = 100;
  EXPECT_FALSE(Prover::read(small, pack()));
  ProofRequest twice = request();
  twice.read.sources = {"-"};
  EXPECT_FALSE(Prover::read(twice, pack()));
}

}  // namespace
}  // namespace culprit::diagnose::test
