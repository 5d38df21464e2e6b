// Bombs and the limits that end them.
#include <sys/resource.h>

#include <chrono>

#include "kit.hpp"

namespace culprit::bundle::test {
namespace {

Memory forgetful() {
  Memory memory;
  memory.keep = 0;
  return memory;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Limits, MembersEndTheWalk) {
  Folder folder;
  std::vector<Item> items;
  for (int i = 0; i < 10; ++i) items.push_back({"f" + std::to_string(i), "x"});
  Limits limits;
  limits.members = 4;
  Memory memory = walked(folder.write("b.tar", pack(items)), limits);
  EXPECT_EQ(memory.all.size(), 4u);
  EXPECT_EQ(memory.codes(), "bundle.too_many_members f4");
  EXPECT_NE(memory.problems[0].reason.find("--max-members"), std::string::npos);
  Folder plain;
  for (const Item& item : items) plain.write(item.name, item.bytes);
  memory = walked(plain.path(), limits);
  EXPECT_EQ(memory.all.size(), 4u);
  EXPECT_EQ(memory.codes(), "bundle.too_many_members f4");
  limits.members = 10;
  EXPECT_EQ(walked(plain.path(), limits).codes(), "");
}

TEST(Limits, MemberBytesEndTheMemberOnly) {
  Folder folder;
  Limits limits;
  limits.member_bytes = 1'000;
  for (const char* format : {"ustar", "zip"}) {
    Memory memory = walked(
        folder.write(
            "b.zip",
            pack({{"a", std::string(1'000, 'a')}, {"b", std::string(1'001, 'b')}, {"c", "c"}},
                 format)),
        limits);
    EXPECT_EQ(memory.files(),
              (std::map<std::string, std::string>{
                  {"a", std::string(1'000, 'a')}, {"b", std::string(1'000, 'b')}, {"c", "c"}}));
    EXPECT_TRUE(memory.find("a")->complete);
    EXPECT_FALSE(memory.find("b")->complete);
    EXPECT_EQ(memory.codes(), "bundle.member_too_large b");
    EXPECT_NE(memory.problems[0].reason.find("1000 bytes; --max-member-bytes"), std::string::npos);
  }
}

TEST(Limits, TotalBytesEndTheWalk) {
  Folder folder;
  Limits limits;
  limits.total_bytes = 1'500;
  Memory memory = walked(
      folder.write(
          "b.tar",
          pack({{"a", std::string(1'000, 'a')}, {"b", std::string(1'000, 'b')}, {"c", "c"}})),
      limits);
  EXPECT_EQ(memory.paths(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(memory.find("b")->size, 500u);
  EXPECT_EQ(memory.codes(), "bundle.total_too_large b");
}

TEST(Limits, DepthIsToldWithTheMember) {
  Folder folder;
  std::string bytes = "core";
  for (int i = 0; i < 8; ++i)
    bytes = pack({{"x.tar", bytes}, {"beside", "b"}}, "ustar",
                 i % 2 ? ARCHIVE_FILTER_GZIP : ARCHIVE_FILTER_NONE);
  Memory memory = walked(folder.write("b.tar", bytes));
  const std::string cut = "x.tar/x.tar/x.tar/x.tar/x.tar/x.tar";
  EXPECT_EQ(memory.codes(), "bundle.depth " + cut);
  ASSERT_NE(memory.find(cut), nullptr);
  EXPECT_FALSE(memory.find(cut)->complete);
  EXPECT_NE(memory.find("beside"), nullptr);
  EXPECT_EQ(memory.all.size(), 7u);
  Limits limits;
  limits.depth = 8;
  EXPECT_EQ(walked(folder.at("b.tar"), limits).codes(),
            "bundle.no_archive x.tar/x.tar/x.tar/x.tar/x.tar/x.tar/x.tar/x.tar");

  bytes = "core";
  for (int i = 0; i < 30; ++i) bytes = squeeze(bytes);  // also what a gzip quine does, forever
  memory = walked(folder.write("q.gz", bytes));
  EXPECT_EQ(memory.codes(), "bundle.depth q.gz");
  limits.depth = 30;
  EXPECT_EQ(walked(folder.at("q.gz"), limits).files().at("q.gz"), "core");
}

TEST(Limits, LongPathsAreShortened) {
  Folder folder;
  Limits limits;
  limits.path_bytes = 40;
  Memory memory = walked(
      folder.write("b.tar", pack({{std::string(60, 'a'), "1"}, {std::string(61, 'a'), "2"}})),
      limits);
  ASSERT_EQ(memory.all.size(), 2u);
  EXPECT_EQ(memory.files().size(), 2u);
  for (const Told& told : memory.all) EXPECT_LE(told.head.path.size(), 40u);
  EXPECT_EQ(memory.problems.size(), 2u);
  EXPECT_EQ(memory.problems[0].code, "bundle.path_too_long");
  EXPECT_FALSE(memory.problems[0].incomplete);
}

// Ten gigabytes of zeros, made of many gzip members so that the test need not compress them all.
std::string zeros_gz() {
  const std::string part = squeeze(std::string(64 << 20, '\0'));
  std::string bytes;
  for (int i = 0; i < 160; ++i) bytes += part;
  return bytes;
}

TEST(Bomb, TenGigabytesOfZeros) {
  Folder folder;
  const std::string path = folder.write("zeros.gz", zeros_gz());
  const auto start = std::chrono::steady_clock::now();
  Memory memory = walked(path, {}, forgetful());
  EXPECT_LT(seconds_since(start), 20);
  EXPECT_EQ(memory.codes(), "bundle.expansion zeros.gz");
  EXPECT_NE(memory.problems[0].reason.find("--max-expansion"), std::string::npos);
  EXPECT_FALSE(memory.all[0].complete);
  EXPECT_GT(memory.all[0].size, 256u << 20);
  EXPECT_LT(memory.all[0].size, 1u << 30);
  Limits limits;
  limits.expansion = 2'000;
  limits.member_bytes = 1ULL << 30;
  EXPECT_EQ(walked(path, limits, forgetful()).codes(), "bundle.member_too_large zeros.gz");
}

TEST(Bomb, WithinATarTheOtherMembersAreRead) {
  Folder folder;
  const std::string path =
      folder.write("b.tar", pack({{"a", "A"}, {"zeros.gz", zeros_gz()}, {"z", "Z"}}));
  Memory memory = walked(path, {}, forgetful());
  EXPECT_EQ(memory.paths(), (std::vector<std::string>{"a", "zeros.gz", "z"}));
  EXPECT_EQ(memory.codes(), "bundle.expansion zeros.gz");
}

TEST(Bomb, ZipsOfZipsOfZips) {
  Folder folder;
  std::string bytes = pack({{"0", std::string(300 << 20, '\0')}}, "zip");
  for (int level = 0; level < 4; ++level) {
    std::vector<Item> items;
    for (int i = 0; i < 16; ++i) items.push_back({std::to_string(i) + ".zip", bytes});
    bytes = pack(items, "zip");
  }
  const std::string path = folder.write("42.zip", bytes);
  bytes.clear();
  const auto start = std::chrono::steady_clock::now();
  Memory memory = walked(path, {}, forgetful());
  EXPECT_LT(seconds_since(start), 30);
  EXPECT_LT(memory.all.size(), 10u);
  ASSERT_FALSE(memory.problems.empty());
  for (const Problem& problem : memory.problems) EXPECT_EQ(problem.code, "bundle.expansion");
  EXPECT_EQ(memory.problems.back().path, "42.zip");
}

TEST(Bomb, HolesOfASparseFile) {
  // A GNU sparse header by hand: one byte of data at the end of a terabyte of nothing.
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    header.replace(at, text.size(), text);
  };
  const auto big = [&](std::size_t at, std::uint64_t value) {  // base-256
    header[at] = '\x80';
    for (std::size_t i = 11; i > 0; --i, value >>= 8)
      header[at + i] = static_cast<char>(value & 255);
  };
  put(0, "core");
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, "00000000001");
  put(136, "00000000000");
  put(156, "S");
  put(257, "ustar  ");
  big(386, (1ULL << 40) - 1);
  put(398, "00000000001");
  big(483, 1ULL << 40);
  put(148, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string_view(digits, 7));
  std::string after = pack({{"after", "A"}});
  Folder folder;
  const std::string path = folder.write("s.tar", header + "x" + std::string(511, '\0') + after);
  Memory memory = walked(path, {}, forgetful());
  EXPECT_EQ(memory.paths(), (std::vector<std::string>{"core", "after"}));
  EXPECT_EQ(memory.codes(), "bundle.expansion core");
  EXPECT_EQ(memory.find("after")->size, 1u);
}

TEST(Bomb, MemoryStaysSmall) {
  Folder folder;
  const std::string text(1 << 20, 'x');
  const std::string part = squeeze(text);
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes += part;
  const std::string path = folder.write("x.gz", bytes);
  const long before = peak_kilobytes();
  Limits limits;
  limits.expansion = 1'000'000;
  Memory memory = walked(path, limits, forgetful());
  EXPECT_EQ(memory.all[0].size, 600ULL << 20);
  EXPECT_LT(peak_kilobytes() - before, 64 << 10);
}

}  // namespace
}  // namespace culprit::bundle::test
