#include "bundle/own_files.hpp"

#include <gtest/gtest.h>

#include "kit.hpp"

namespace culprit::bundle {
namespace {

using test::Folder;
using test::Memory;
using test::walked;

std::string database(const std::string& application = "CUDL") {
  std::string head(100, '\0');
  head.replace(0, 15, "SQLite format 3");
  head.replace(68, 4, application);
  return head;
}

TEST(OwnFiles, AreLeftOutWithWhatLiesBesideThem) {
  Folder folder;
  folder.write("rank_0.log", "a line\n");
  folder.write("report/incident.db", database());
  for (const char* beside :
       {"incident.db-wal", "incident.db-shm", "report.json", "report.md", "report.txt",
        "report.html", "report.junit.xml", "report.sarif", "report.json.part"})
    folder.write(std::string("report/") + beside, "{}");
  folder.write("report/notes.txt", "theirs\n");
  folder.write("elsewhere/report.json", "{}");
  folder.write("kept.facts", database());
  folder.write("kept.facts-wal", "x");
  const Memory memory = walked(folder.path());
  std::string told;
  for (const auto& [path, bytes] : memory.files()) told += path + "|";
  EXPECT_EQ(told, "elsewhere/report.json|rank_0.log|report/notes.txt|");
}

TEST(OwnFiles, AreReportsAndFleetsWithoutTheirDatabase) {
  Folder folder;
  folder.write("answer.json", "{\n  \"bundle\": {},\n  \"schema\": \"culprit.diagnosis/1\"\n}\n");
  folder.write("other.json", "{\n  \"bundle\": {}\n}\n");
  folder.write("fleet.db", database("CUFL"));
  EXPECT_EQ(walked(folder.path()).files().size(), 1u);
  EXPECT_EQ(own_file(folder.path() + "/fleet.db"), OwnFile::fleet);
}

TEST(OwnFiles, OfOthersAreRead) {
  Folder folder;
  folder.write("incident.db", database("XXXX"));
  folder.write("report.json", "{}");
  EXPECT_EQ(walked(folder.path()).files().size(), 2u);
}

TEST(OwnFiles, AreKnownByTheirContent) {
  Folder folder;
  EXPECT_EQ(own_file(folder.write("a", database())), OwnFile::database);
  EXPECT_EQ(own_file(folder.write("b", database("XXXX"))), OwnFile::none);
  EXPECT_EQ(own_file(folder.write(
                "c", "{\n  \"bundle\": {},\n  \"schema\": \"culprit.diagnosis/1\"\n}\n")),
            OwnFile::report);
  EXPECT_EQ(own_file(folder.write(
                "d", "{\n  \"log\": {\n    \"schema\": \"culprit.diagnosis/1\"\n  }\n}\n")),
            OwnFile::none);
  EXPECT_EQ(own_file(folder.write("e", "")), OwnFile::none);
  EXPECT_EQ(own_file(folder.path()), OwnFile::none);
  EXPECT_EQ(own_file("/nonexistent"), OwnFile::none);
}

}  // namespace
}  // namespace culprit::bundle
