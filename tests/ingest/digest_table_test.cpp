#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

// hosts x 2 GPUs x 3 checks; the GPU that `odd` names has another result in two of them.
std::string table(int hosts, const std::string& odd, bool header = true) {
  std::string out = header ? "host,gpu,batch,crc32\n" : "";
  for (int check = 0; check < 3; ++check)
    for (int host = 0; host < hosts; ++host)
      for (int gpu = 0; gpu < 2; ++gpu) {
        const std::string device = fmt::format("n{} {}", host, gpu);
        const bool wrong = device == odd && check < 2;
        out += fmt::format(
            "n{},{},{},{}\n", host, gpu, check,
            wrong ? "deadbee" + std::to_string(check) : "a1b2c3d" + std::to_string(check));
      }
  return out;
}

std::string told(const std::string& text) {
  return told_by_document("digest-table", "replay.csv", text);
}

TEST(DigestTable, OneDeviceThatComputesOtherResults) {
  EXPECT_EQ(told(table(8, "n3 1")),
            "9:computes_other_results same work, other result: GPU 1 of n3 differs from 15 others "
            "in 2 of 3 checks\n");
  EXPECT_EQ(told(table(8, "n3 1", false)),
            "8:computes_other_results same work, other result: GPU 1 of n3 differs from 15 others "
            "in 2 of 3 checks\n");
}

// Of parameters that all replicas hold, with what the audit says below each round.
TEST(DigestTable, RowsOfWordsWithASummaryBetween) {
  std::string text = "# crc32 of parameters, expected all equal\n";
  for (int step = 100; step < 106; ++step) {
    for (int rank = 0; rank < 16; ++rank)
      text +=
          fmt::format("step={} rank={:02} host=n{} gpu={} crc={}\n", step, rank, rank / 2, rank % 2,
                      rank == 7 && step > 103 ? fmt::format("deadbee{}", step % 10)
                                              : fmt::format("a1b2c3d{}", step % 10));
    text += step > 103 ? fmt::format("step={} verdict=MISMATCH 1/16\n", step)
                       : fmt::format("step={} verdict=OK\n", step);
  }
  EXPECT_EQ(told(text),
            "77:computes_other_results same work, other result: GPU 1 of n3 differs from 15 others "
            "in 2 of 6 checks\n");
}

TEST(DigestTable, NothingWhereAllAgreeOrManyDiffer) {
  EXPECT_EQ(told(table(8, "")), "");
  EXPECT_EQ(told(table(3, "n1 0")), "") << "one of six is a second kind";
}

// Work of each rank's own, done again: only who does not come to its own result has erred.
TEST(DigestTable, WorkDoneTwice) {
  std::string text = "rank,host,gpu,hash_run,hash_replay,match\n";
  for (int host = 0; host < 8; ++host)
    for (int gpu = 0; gpu < 2; ++gpu)
      for (int step = 0; step < 3; ++step) {
        const int rank = host * 2 + gpu;
        const std::string hash = fmt::format("{:02x}b2c3d{}", 0xa0 + rank, step);
        const bool wrong = rank == 11 && step > 0;
        text += fmt::format("{},n{},{},{},{},{}\n", rank, host, gpu, hash,
                            wrong ? "deadbee" + std::to_string(step) : hash, wrong ? "NO" : "yes");
      }
  EXPECT_EQ(told(text),
            "36:computes_other_results same work, other result: GPU 1 of n5 differs from 15 others "
            "in 2 of 3 checks\n");
}

// A digest that does not depend on the work is that of a file or an image.
TEST(DigestTable, ImagesAreNoResults) {
  std::string text = "host,gpu,batch,crc32\n";
  for (int check = 0; check < 3; ++check)
    for (int host = 0; host < 16; ++host)
      text += fmt::format("n{},0,{},{}\n", host, check, host == 5 ? "bbbbbbb1" : "aaaaaaa1");
  EXPECT_EQ(told(text), "");
}

// Commits, shards and files are of a machine: nobody computed them. Nor is a device odd where all
// of its machine come to the same other result.
TEST(DigestTable, FilesAndDriversAreNoResults) {
  std::string files = "host,shard,md5\n", drivers = "host,gpu,batch,crc32\n";
  for (int check = 0; check < 3; ++check)
    for (int host = 0; host < 20; ++host)
      for (int gpu = 0; gpu < 2; ++gpu) {
        const std::string digest = (host == 5 ? "deadbee" : "a1b2c3d") + std::to_string(check);
        if (gpu == 0) files += fmt::format("n{},{},{}\n", host, check, digest);
        drivers += fmt::format("n{},{},{},{}\n", host, gpu, check, digest);
      }
  EXPECT_EQ(told(files), "read as metrics-table");
  EXPECT_EQ(told(drivers), "");
}

TEST(DigestTable, SecondsAreNoDigests) {
  std::string text = "timestamp,node,gpu,clock\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("1775110{:03},n{},0,1915\n", i, i % 8);
  EXPECT_EQ(told(text), "read as metrics-table");
}

// One batch done by all, again and again: the same digest is no file's where its name says so.
TEST(DigestTable, RowsOfKeysAndValues) {
  const auto rows = [](const std::string& key) {
    std::string text = "# replay of one batch\n";
    for (int pass = 1; pass < 4; ++pass)
      for (int host = 0; host < 8; ++host)
        for (int gpu = 0; gpu < 2; ++gpu)
          text +=
              fmt::format("replay host=n{} gpu={} pass={} loss=2.118442 {}=0x{}\n", host, gpu, pass,
                          key, host == 3 && gpu == 1 ? fmt::format("cec2414{}", pass) : "3fd81a22");
    return text;
  };
  EXPECT_EQ(told(rows("gradsum")),
            "9:computes_other_results same work, other result: GPU 1 of n3 differs from 15 others "
            "in 3 of 3 checks\n");
  EXPECT_EQ(told(rows("sha")), "");
}

}  // namespace
}  // namespace culprit::ingest
