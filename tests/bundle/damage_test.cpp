// Cut, flipped, encrypted and hostile bundles: told, never a crash, and everything else is read.
#include <sys/stat.h>

#include <random>

#include "kit.hpp"

namespace culprit::bundle::test {
namespace {

std::vector<Item> three() {
  std::string noise(20'000, '\0');
  std::mt19937 random(7);
  for (char& c : noise) c = static_cast<char>(random());
  return {{"one", "first\n"}, {"two", noise}, {"three", "last\n"}};
}

class Cut : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Cut, AnywhereIsToldAndNeverACrash) {
  Folder folder;
  const auto [format, filter] = GetParam();
  const std::vector<Item> items = three();
  const std::string whole = pack(items, format, filter);
  for (std::size_t size = 1; size < whole.size(); size += 97) {
    Memory memory = walked(folder.write("b.zip", whole.substr(0, size)));
    bool lost = false;
    for (const Item& item : items) {
      const Told* told = memory.find(item.name);
      lost = lost || !told || !told->complete;
      if (!told) continue;
      EXPECT_EQ(told->bytes, told->complete ? item.bytes : item.bytes.substr(0, told->bytes.size()))
          << size;
      EXPECT_TRUE(told->complete ||
                  memory.codes().find("bundle.damaged " + item.name) != std::string::npos)
          << size;
    }
    EXPECT_TRUE(!lost || !memory.problems.empty()) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Cut,
                         testing::Values(std::pair{"ustar", ARCHIVE_FILTER_NONE},
                                         std::pair{"ustar", ARCHIVE_FILTER_GZIP},
                                         std::pair{"pax", ARCHIVE_FILTER_ZSTD},
                                         std::pair{"gnutar", ARCHIVE_FILTER_XZ},
                                         std::pair{"ustar", ARCHIVE_FILTER_BZIP2},
                                         std::pair{"ustar", ARCHIVE_FILTER_LZ4},
                                         std::pair{"zip", ARCHIVE_FILTER_NONE},
                                         std::pair{"zip", ARCHIVE_FILTER_GZIP}));

TEST(Damage, FlippedBytesNeverCrash) {
  Folder folder;
  std::mt19937 random(11);
  for (const auto& [format, filter] :
       {std::pair{"gnutar", ARCHIVE_FILTER_GZIP}, std::pair{"zip", ARCHIVE_FILTER_NONE},
        std::pair{"pax", ARCHIVE_FILTER_ZSTD}, std::pair{"ustar", ARCHIVE_FILTER_NONE}}) {
    const std::string whole = pack(three(), format, filter);
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      walked(folder.write("b.zip", bytes));
    }
  }
}

TEST(Damage, CutGzipGivesWhatItHas) {
  Folder folder;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919 % 10'007) + "\n";
  const std::string bytes = squeeze(text);
  Memory memory = walked(folder.write("x.log.gz", bytes.substr(0, bytes.size() / 2)));
  const Told* told = memory.find("x.log.gz");
  ASSERT_NE(told, nullptr);
  EXPECT_FALSE(told->complete);
  EXPECT_GT(told->bytes.size(), text.size() / 4);
  EXPECT_EQ(told->bytes, text.substr(0, told->bytes.size()));
  EXPECT_EQ(memory.codes(), "bundle.damaged x.log.gz");
}

// All that stands before the cut, not a block less; also of members of an archive.
TEST(Damage, CutGzipLosesNothingBeforeTheCut) {
  Folder folder;
  std::string text;
  for (int i = 0; i < 4'000; ++i) text += std::to_string(i * 7919 % 10007) + " iteration\n";
  const std::string bytes = squeeze(text);
  Memory memory = walked(folder.write(
      "x.log.gz", bytes.substr(0, bytes.size() - 12)));  // the checksum and a little more
  EXPECT_EQ(memory.codes(), "bundle.damaged x.log.gz");
  EXPECT_GT(memory.files().at("x.log.gz").size(), text.size() - 1'000);
  EXPECT_EQ(text.substr(0, memory.files().at("x.log.gz").size()), memory.files().at("x.log.gz"));

  const std::string tar = squeeze(pack({{"first", text}, {"second", text}}));
  memory = walked(folder.write("b.tar.gz", tar.substr(0, tar.size() * 3 / 4)));
  EXPECT_EQ(memory.files().at("first"), text);
  EXPECT_NE(memory.find("second"), nullptr);
  EXPECT_FALSE(memory.problems.empty());
}

TEST(Damage, GzipChecksum) {
  Folder folder;
  std::string bytes = squeeze("good\n");
  bytes[bytes.size() - 8] = static_cast<char>(bytes[bytes.size() - 8] ^ 1);
  Memory memory = walked(folder.write("x.gz", bytes));
  EXPECT_EQ(memory.files().at("x.gz"), "good\n");
  EXPECT_EQ(memory.codes(), "bundle.damaged x.gz");
  EXPECT_NE(memory.problems[0].reason.find("incorrect data check"), std::string::npos);
}

TEST(Damage, TarHeaderIsSkippedToTheNextGoodOne) {
  Folder folder;
  std::string bytes = pack({{"a", "A"}, {"b", "B"}, {"c", "C"}});
  bytes[1024 + 3] = '!';  // in the name of b
  Memory memory = walked(folder.write("b.tar", bytes));
  EXPECT_EQ(memory.paths(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(memory.codes(), "bundle.damaged b.tar");
}

TEST(Damage, TwoTarsInARow) {
  Folder folder;
  Memory memory = walked(folder.write("b.tar", pack({{"a", "A"}}) + pack({{"b", "B"}})));
  EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"a", "A"}, {"b", "B"}}));
  EXPECT_EQ(memory.codes(), "");
}

TEST(Damage, ZipChecksum) {
  Folder folder;
  std::string bytes =
      pack({{"a", "hello hello"}, {"b", "B"}}, "zip", ARCHIVE_FILTER_NONE, "compression=store");
  bytes[bytes.find("hello hello")] = 'j';
  Memory memory = walked(folder.write("b.zip", bytes));
  EXPECT_EQ(memory.find("a")->bytes, "jello hello");
  EXPECT_FALSE(memory.find("a")->complete);
  EXPECT_TRUE(memory.find("b")->complete);
  EXPECT_EQ(memory.codes(), "bundle.damaged a");
}

TEST(Damage, EncryptedZip) {
  Folder folder;
  std::string bytes =
      pack({{"a", "secret"}, {"b", "B"}}, "zip", ARCHIVE_FILTER_NONE, "compression=store");
  // The flag alone, in the local header and in the directory: libarchive's writer needs a random
  // source for more.
  bytes[6] = static_cast<char>(bytes[6] | 1);
  const std::size_t directory = bytes.find("PK\x01\x02");
  bytes[directory + 8] = static_cast<char>(bytes[directory + 8] | 1);
  Memory memory = walked(folder.write("b.zip", bytes));
  EXPECT_EQ(memory.codes(), "bundle.encrypted a");
  EXPECT_FALSE(memory.find("a")->complete);
  EXPECT_EQ(memory.find("b")->bytes, "B");
}

TEST(Damage, UnknownCompressionInZip) {
  Folder folder;
  std::string bytes =
      pack({{"a", "bytes"}, {"b", "B"}}, "zip", ARCHIVE_FILTER_NONE, "compression=store");
  bytes[8] = 77;
  bytes[bytes.find("PK\x01\x02") + 10] = 77;
  Memory memory = walked(folder.write("b.zip", bytes));
  EXPECT_EQ(memory.codes(), "bundle.unsupported a");
  EXPECT_EQ(memory.find("b")->bytes, "B");
}

TEST(Names, AreMadeSafeAndKept) {
  Folder folder;
  const std::vector<Item> items = {{"/etc/abs", "1"},
                                   {"./dot//x/./y", "2"},
                                   {"../../up", "3"},
                                   {"a/../b", "4"},
                                   {"tab\tnl\n\x1b[31m", "5"},
                                   {"..", "6"},
                                   {"caf\xe9.txt", "7"},
                                   {"...", "8"},
                                   {"C:\\x", "9"}};
  for (const char* format : {"ustar", "gnutar"}) {
    Memory memory = walked(folder.write("b.tar", pack(items, format)));
    EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"etc/abs", "1"},
                                                                  {"dot/x/y", "2"},
                                                                  {"__/__/up", "3"},
                                                                  {"a/__/b", "4"},
                                                                  {"tab\tnl\n\x1b[31m", "5"},
                                                                  {"__", "6"},
                                                                  {"caf\xe9.txt", "7"},
                                                                  {"...", "8"},
                                                                  {"C:\\x", "9"}}));
    EXPECT_EQ(memory.codes(),
              "bundle.path_unsafe __/__/up|bundle.path_unsafe a/__/b|bundle.path_unsafe __");
    for (const Problem& problem : memory.problems) EXPECT_FALSE(problem.incomplete);
  }
}

TEST(Names, OfZipAndPaxAreUtf8InAnyLocale) {
  Folder folder;
  const std::string name = "\xe6\x97\xa5\xe6\x9c\xac/\xc3\xa9.txt";
  // A pax header that says its name is UTF-8, by hand: the writer of libarchive would need a
  // locale.
  const std::string record = [&] {
    std::string body = " path=" + name + "\n";
    std::size_t size = body.size() + 2;
    return std::to_string(size) + body;
  }();
  std::string tar = pack({{"plain", "P"}});
  std::string pax = pack({{"x", record}});
  pax.resize(1024);
  pax[156] = 'x';
  pax.replace(148, 8, "        ");
  unsigned sum = 0;
  for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(pax[static_cast<std::size_t>(i)]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  pax.replace(148, 7, std::string_view(digits, 7));
  EXPECT_EQ(walked(folder.write("p.tar", pax + tar)).files(),
            (std::map<std::string, std::string>{{name, "P"}}));

  std::string zip =
      pack({{name, "Z"}, {"caf\xe9", "L"}}, "zip", ARCHIVE_FILTER_NONE, "compression=store");
  for (const bool flagged : {false, true}) {
    if (flagged) {  // bit 11: the name is UTF-8
      zip[7] = static_cast<char>(zip[7] | 8);
      const std::size_t directory = zip.find("PK\x01\x02");
      zip[directory + 9] = static_cast<char>(zip[directory + 9] | 8);
    }
    EXPECT_EQ(walked(folder.write("z.zip", zip)).files(),
              (std::map<std::string, std::string>{{name, "Z"}, {"caf\xe9", "L"}}));
  }
}

TEST(Folders, UnreadablePartsAreTold) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  Folder folder;
  folder.write("a", "A");
  folder.write("d/x", "X");
  folder.write("z", "Z");
  chmod(folder.at("a").c_str(), 0);
  chmod(folder.at("d").c_str(), 0);
  Memory memory = walked(folder.path());
  chmod(folder.at("d").c_str(), 0700);
  EXPECT_EQ(memory.codes(), "bundle.unreadable a|bundle.unreadable d");
  EXPECT_EQ(memory.find("z")->bytes, "Z");
}

TEST(Folders, VeryDeepOnesEndWithAProblem) {
  Folder folder;
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  std::filesystem::create_directories(folder.at(deep));
  folder.write("e", "E");
  Memory memory = walked(folder.path());
  ASSERT_EQ(memory.problems.size(), 1u);
  EXPECT_EQ(memory.problems[0].code, "bundle.depth");
  EXPECT_EQ(memory.find("e")->bytes, "E");
}

}  // namespace
}  // namespace culprit::bundle::test
