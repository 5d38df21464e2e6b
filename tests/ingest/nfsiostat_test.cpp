// What nfsiostat prints of servers that answer late, and of those that do not.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

std::vector<std::string> said(const std::string& answer_ms, const std::string& heading) {
  const auto rows = test::read_text(
      "fs1:/export/a mounted on /data/a:\n\n"
      "           ops/s       rpc bklog\n          31.600         211.400\n\n" +
      heading +
      "\n                  31.600      31600.000        1000.100        0 (0.0%)         " +
      answer_ms + "         950.300         204.680        0 (0.0%)\n");
  std::vector<std::string> out;
  for (const EventRow& e : rows.events) out.push_back(e.message);
  return out;
}

constexpr const char* kHeading =
    "read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    "
    "avg exe (ms)  avg queue (ms)          errors";

TEST(Nfsiostat, ServersThatAnswerLate) {
  EXPECT_EQ(said("731.000", kHeading),
            std::vector<std::string>{"nfs server fs1: a read takes 731 ms, 32 a second"});
  EXPECT_TRUE(said("1.592", kHeading).empty());
  EXPECT_TRUE(said("731.000", "access:  ops/s  kB/s  kB/op  retrans  avg RTT (ms)").empty());
  EXPECT_TRUE(said("n/a", kHeading).empty());
}

}  // namespace
}  // namespace culprit::ingest
