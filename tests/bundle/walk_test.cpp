// The same content, packed in all the ways people pack it, is the same bundle.

#include <sys/stat.h>

#include <thread>

#include "kit.hpp"

namespace culprit::bundle::test {
namespace {

std::string long_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i)
    text += "line " + std::to_string(i) + " of rank " + std::to_string(i % 8) + "\n";
  return text;
}

const std::vector<Item>& content() {
  static const std::vector<Item> items = {
      {"a.txt", "alpha\n"},
      {"empty", ""},
      {"logs/big.log", long_text(100'000)},
      {"logs/nul.bin", std::string(5'000, '\0')},
      {"logs/sub/c.json", "{}"},
      {"m\xc3\xbc.txt", "umlaut"},
  };
  return items;
}

std::map<std::string, std::string> expected() {
  std::map<std::string, std::string> result;
  for (const Item& item : content()) result[item.name] = item.bytes;
  return result;
}

struct Packing {
  const char* name;
  const char* format;
  int filter;
};

class SameContent : public testing::TestWithParam<Packing> {};

TEST_P(SameContent, IsTheSameBundle) {
  Folder folder;
  const Packing& packing = GetParam();
  const std::string packed = pack(content(), packing.format, packing.filter);
  const std::string path = folder.write(packing.name, packed);
  Memory memory = walked(path);
  EXPECT_EQ(memory.files(), expected());
  EXPECT_EQ(memory.codes(), "");
  for (const Told& told : memory.all) {
    EXPECT_TRUE(told.complete);
    EXPECT_EQ(told.head.mtime_s, 1'700'000'000);
    EXPECT_EQ(told.head.container, "");
  }
  // Within a folder, and by content alone: the name says nothing (zip needs its name).
  Folder outer;
  const std::string name = std::string(packing.format) == "zip" ? "in.zip" : "in";
  outer.write(name, packed);
  const auto files = walked(outer.path()).files();
  for (const auto& [inner, bytes] : expected()) {
    ASSERT_TRUE(files.contains(name + "/" + inner)) << inner;
    EXPECT_EQ(files.at(name + "/" + inner), bytes);
  }
  EXPECT_EQ(files.size(), content().size());
}

INSTANTIATE_TEST_SUITE_P(Packings, SameContent,
                         testing::Values(Packing{"b.tar", "ustar", ARCHIVE_FILTER_NONE},
                                         Packing{"b.gnu.tar", "gnutar", ARCHIVE_FILTER_NONE},
                                         Packing{"b.pax.tar", "pax", ARCHIVE_FILTER_NONE},
                                         Packing{"b.tar.gz", "ustar", ARCHIVE_FILTER_GZIP},
                                         Packing{"b.tar.zst", "gnutar", ARCHIVE_FILTER_ZSTD},
                                         Packing{"b.tar.xz", "pax", ARCHIVE_FILTER_XZ},
                                         Packing{"b.tar.bz2", "ustar", ARCHIVE_FILTER_BZIP2},
                                         Packing{"b.tar.lz4", "ustar", ARCHIVE_FILTER_LZ4},
                                         Packing{"b.zip", "zip", ARCHIVE_FILTER_NONE},
                                         Packing{"b.zip.gz", "zip", ARCHIVE_FILTER_GZIP}));

TEST(Walk, FolderIsReadInByteOrder) {
  Folder folder;
  for (const Item& item : content()) folder.write(item.name, item.bytes);
  Memory memory = walked(folder.path());
  EXPECT_EQ(memory.files(), expected());
  EXPECT_EQ(memory.paths(),
            (std::vector<std::string>{"a.txt", "empty", "logs/big.log", "logs/nul.bin",
                                      "logs/sub/c.json", "m\xc3\xbc.txt"}));
  EXPECT_EQ(memory.codes(), "");
}

TEST(Walk, OneFileKeepsItsName) {
  Folder folder;
  Memory memory = walked(folder.write("dmesg.txt", "one\n"));
  EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"dmesg.txt", "one\n"}}));
  EXPECT_EQ(walked(folder.write("dmesg.gz", squeeze("two\n"))).files(),
            (std::map<std::string, std::string>{{"dmesg.gz", "two\n"}}));
}

TEST(Walk, MissingBundleIsAnError) {
  Memory memory;
  Folder folder;
  const Result<> result = walk(folder.at("nothing"), {}, memory);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(memory.all.empty());
}

TEST(Walk, GzipOfManyMembersIsReadToItsEnd) {
  Folder folder;
  std::string bytes, text;
  for (int i = 0; i < 50; ++i) {
    const std::string part = long_text(static_cast<std::size_t>(i * 100));
    bytes += squeeze(part);
    text += part;
  }
  Memory memory = walked(folder.write("many.log.gz", bytes));
  EXPECT_EQ(memory.files().at("many.log.gz"), text);
  EXPECT_EQ(memory.codes(), "");
  memory = walked(folder.write("padded.log.gz", bytes + std::string(3'000, '\0')));
  EXPECT_EQ(memory.files().at("padded.log.gz"), text);
  EXPECT_EQ(memory.codes(), "");
}

TEST(Walk, BytesAfterTheCompressedDataAreTold) {
  Folder folder;
  for (const int filter : {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_ZSTD,
                           ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_LZ4}) {
    Memory memory = walked(
        folder.write("x.gz", squeeze("good\n", filter) + "rubbish that is long enough for all"));
    ASSERT_EQ(memory.all.size(), 1u) << filter;
    // libarchive's xz and zstd give up the block in which they meet the rubbish.
    if (filter != ARCHIVE_FILTER_XZ && filter != ARCHIVE_FILTER_ZSTD) {
      EXPECT_EQ(memory.all[0].bytes, "good\n") << filter;
    }
    EXPECT_EQ(memory.codes(), "bundle.damaged x.gz") << filter;
    EXPECT_FALSE(memory.all[0].complete) << filter;
  }
  Memory memory = walked(
      folder.write("b.tar.gz", pack({{"a", "A"}}, "ustar", ARCHIVE_FILTER_GZIP) + "rubbish"));
  EXPECT_EQ(memory.find("a")->bytes, "A");
  EXPECT_EQ(memory.codes(), "bundle.damaged b.tar.gz");
}

TEST(Walk, EmptyCompressedFile) {
  Folder folder;
  using namespace std::string_literals;
  // libarchive's lz4 writer crashes when it gets nothing to write.
  const std::string lz4 = "\x04\x22\x4d\x18\x64\x40\xa7\0\0\0\0\x05\x5d\xcc\x02"s;
  for (const std::string& bytes :
       {squeeze("", ARCHIVE_FILTER_GZIP), squeeze("", ARCHIVE_FILTER_BZIP2),
        squeeze("", ARCHIVE_FILTER_ZSTD), squeeze("", ARCHIVE_FILTER_XZ), lz4}) {
    Memory memory = walked(folder.write("x.gz", bytes));
    EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"x.gz", ""}}));
    EXPECT_EQ(memory.codes(), "");
  }
}

TEST(Walk, ArchivesWithinArchives) {
  Folder folder;
  const std::string inner = pack({{"deep.txt", "deep"}, {"log.gz", squeeze("plain")}}, "zip");
  const std::string middle = pack({{"inner.zip", inner}, {"model.pt", inner}, {"w.whl", inner}},
                                  "ustar", ARCHIVE_FILTER_XZ);
  const std::string outer =
      pack({{"m.tar.xz", middle}, {"after", "after"}}, "ustar", ARCHIVE_FILTER_GZIP);
  Memory memory = walked(folder.write("o.tar.gz", outer));
  EXPECT_EQ(memory.files(),
            (std::map<std::string, std::string>{{"m.tar.xz/inner.zip/deep.txt", "deep"},
                                                {"m.tar.xz/inner.zip/log.gz", "plain"},
                                                {"m.tar.xz/model.pt", inner},
                                                {"m.tar.xz/w.whl", inner},
                                                {"after", "after"}}));
  EXPECT_EQ(memory.find("m.tar.xz/inner.zip/deep.txt")->head.container, "m.tar.xz/inner.zip");
  EXPECT_EQ(memory.codes(), "");
}

TEST(Walk, TextThatOnlyResemblesATarStaysText) {
  Folder folder;
  std::string text(400, 'x');
  text.replace(257, 5, "ustar");
  folder.write("a.txt", text);
  folder.write("zeros", std::string(20'000, '\0'));
  folder.write("zeros.tar", std::string(10'240, '\0'));
  folder.write("not.tar", "hello");
  Memory memory = walked(folder.path());
  EXPECT_EQ(memory.find("a.txt")->bytes, text);
  EXPECT_EQ(memory.find("zeros")->bytes.size(), 20'000u);
  EXPECT_TRUE(memory.find("zeros.tar")->noted);
  EXPECT_EQ(memory.find("not.tar")->bytes, "hello");
  EXPECT_EQ(memory.codes(), "bundle.no_archive not.tar");
}

// tar -r appends a file anew; evidence must tell the two apart.
TEST(Walk, NamesThatRepeatInAnArchiveAreNumbered) {
  Folder folder;
  for (const char* format : {"ustar", "zip"}) {
    const std::string packed = pack({{"a.log", "one"},
                                     {"a.log~2", "theirs"},
                                     {"a.log", "two"},
                                     {"a.log", "three"},
                                     {"b.log", "b"}},
                                    format);
    const Memory memory =
        walked(folder.write(std::string("x.") + (format[0] == 'z' ? "zip" : "tar"), packed));
    EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"a.log", "one"},
                                                                  {"a.log~2", "theirs"},
                                                                  {"a.log~3", "two"},
                                                                  {"a.log~4", "three"},
                                                                  {"b.log", "b"}}))
        << format;
    const auto range = read_range(folder.at(std::string("x.") + (format[0] == 'z' ? "zip" : "tar")),
                                  "a.log~3", 0, 10, {});
    ASSERT_TRUE(range) << format;
    EXPECT_EQ(*range, "two") << format;
  }
}

TEST(Walk, EmptyArchivesAreNoted) {
  Folder folder;
  for (const char* format : {"ustar", "zip"}) {
    Memory memory = walked(
        folder.write(std::string("e.") + (format[0] == 'z' ? "zip" : "tar"), pack({}, format)));
    ASSERT_EQ(memory.all.size(), 1u) << format;
    EXPECT_TRUE(memory.all[0].noted);
    EXPECT_EQ(memory.codes(), "");
  }
  EXPECT_TRUE(
      walked(folder.write("e.tar.gz", pack({}, "ustar", ARCHIVE_FILTER_GZIP))).all.at(0).noted);
}

TEST(Walk, LinksAndDevicesInFoldersAreNotOpened) {
  Folder folder;
  folder.write("real", "R");
  ASSERT_EQ(symlink("/etc/passwd", folder.at("absolute").c_str()), 0);
  ASSERT_EQ(symlink(".", folder.at("loop").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", folder.at("dangling").c_str()), 0);
  ASSERT_EQ(mkfifo(folder.at("pipe").c_str(), 0600), 0);
  Memory memory = walked(folder.path());
  EXPECT_EQ(memory.files(), (std::map<std::string, std::string>{{"real", "R"}}));
  EXPECT_EQ(memory.all.size(), 5u);
  EXPECT_EQ(memory.find("absolute")->head.kind, MemberKind::link);
  EXPECT_EQ(memory.find("absolute")->head.link_target, "/etc/passwd");
  EXPECT_EQ(memory.find("loop")->head.link_target, ".");
  EXPECT_EQ(memory.find("pipe")->head.kind, MemberKind::other);
  // What the user typed is followed.
  ASSERT_EQ(symlink("real", folder.at("typed").c_str()), 0);
  EXPECT_EQ(walked(folder.at("typed")).files().at("typed"), "R");
  ASSERT_EQ(symlink(folder.path().c_str(), folder.at("zz").c_str()), 0);
  EXPECT_EQ(walked(folder.at("zz")).all.size(), 7u);
}

TEST(Walk, LinksAndDevicesInTarAreNoted) {
  Folder folder;
  const std::vector<Item> items = {{"f", "F"},
                                   {"s", "", AE_IFLNK, "../../etc/passwd"},
                                   {"h", "", AE_IFREG, "f", true},
                                   {"d", "", AE_IFCHR},
                                   {"p", "", AE_IFIFO},
                                   {"dir", "", AE_IFDIR},
                                   {"g", "G"}};
  for (const char* format : {"ustar", "gnutar", "pax"}) {
    Memory memory = walked(folder.write("l.tar", pack(items, format)));
    EXPECT_EQ(memory.paths(), (std::vector<std::string>{"f", "s", "h", "d", "p", "g"}));
    EXPECT_EQ(memory.find("s")->head.link_target, "../../etc/passwd");
    EXPECT_EQ(memory.find("h")->head.kind, MemberKind::link);
    EXPECT_EQ(memory.find("h")->head.link_target, "f");
    EXPECT_EQ(memory.find("d")->head.kind, MemberKind::device);
    EXPECT_EQ(memory.find("p")->head.kind, MemberKind::other);
    EXPECT_EQ(memory.codes(), "");
  }
  Memory memory =
      walked(folder.write("l.zip", pack({{"f", "F"}, {"s", "", AE_IFLNK, "f"}}, "zip")));
  EXPECT_EQ(memory.find("s")->head.link_target, "f");
  EXPECT_EQ(memory.find("s")->head.kind, MemberKind::link);
}

TEST(Walk, StandardInput) {
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> cases = {
      {pack(content(), "ustar", ARCHIVE_FILTER_GZIP), expected()},
      {pack(content(), "zip"), expected()},
      {"just text\n", {{"stdin", "just text\n"}}},
      {"", {{"stdin", ""}}},
  };
  const int before = dup(STDIN_FILENO);
  for (const auto& [bytes, files] : cases) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::thread writer([&bytes = bytes, fd = ends[1]] {
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n =
            ::write(fd, bytes.data() + at, std::min<std::size_t>(7'777, bytes.size() - at));
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      ::close(fd);
    });
    dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    EXPECT_EQ(walked("-").files(), files);
    writer.join();
  }
  dup2(before, STDIN_FILENO);
  ::close(before);
}

TEST(Walk, MembersThatAreNotWantedAreToldAllTheSame) {
  Folder folder;
  Memory none;
  none.want = false;
  for (const char* format : {"ustar", "zip"}) {
    Memory memory = walked(folder.write("b.zip", pack(content(), format)), {}, none);
    EXPECT_EQ(memory.all.size(), content().size());
    for (const Told& told : memory.all) EXPECT_EQ(told.size, 0u);
    EXPECT_EQ(memory.codes(), "");
  }
}

TEST(Walk, StopEndsTheWalk) {
  Folder folder;
  Memory two;
  two.stop_after = 2;
  EXPECT_EQ(walked(folder.write("b.tar", pack(content())), {}, two).all.size(), 2u);
}

TEST(ReadRange, GivesAPartOfAMember) {
  Folder folder;
  const std::string big = long_text(200'000);
  const std::string inner =
      pack({{"x/big.log", big}, {"x/small", "0123456789"}}, "ustar", ARCHIVE_FILTER_GZIP);
  const std::string path = folder.write("o.tar", pack({{"in.tgz", inner}, {"y", "Y"}}));
  const auto range = [&](const std::string& member, std::uint64_t offset, std::uint64_t length) {
    Result<std::string> result = read_range(path, member, offset, length, {});
    return result ? *result : "error: " + result.error().what;
  };
  EXPECT_EQ(range("in.tgz/x/big.log", 2'000'000, 100), big.substr(2'000'000, 100));
  EXPECT_EQ(range("in.tgz/x/big.log", 10, 9'000'000).size(), std::size_t{1} << 20);
  EXPECT_EQ(range("in.tgz/x/small", 8, 100), "89");
  EXPECT_EQ(range("in.tgz/x/small", 100, 100), "");
  EXPECT_EQ(range("y", 0, 0), "");
  EXPECT_EQ(range("y", 0, 1), "Y");
  EXPECT_EQ(range("z", 0, 1), "error: no file 'z' in this bundle");
}

}  // namespace
}  // namespace culprit::bundle::test
