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

TEST(OwnFiles, AreReportsInEveryFormat) {
  const std::string foot =
      "\n\nread 24 files, 91 kB, 1159 lines: 478 used, 681 skipped,\n     0 rejected; 1 host\n";
  Folder folder;
  folder.write("report.txt", "ISOLATE  gpu-7\nOne machine failed." + foot);
  folder.write("painted.txt", "\x1b[1;31mISOLATE\x1b[0m  gpu-7\n" + foot);
  folder.write("report.md",
               "# It failed.\n\n**Action: isolate** (exact) · symptom: Job Hang · -\n");
  folder.write("report.html", "<!DOCTYPE html>\n<meta name=\"generator\" content=\"culprit\">\n");
  folder.write("report.junit.xml",
               "<?xml version=\"1.0\"?>\n<testsuites>\n  <testsuite name=\"culprit\" "
               "package=\"culprit\" id=\"0\">\n");
  folder.write(
      "report.sarif",
      "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"runs\": [\n "
      "   {\n      \"tool\": {\n        \"driver\": {\n          \"name\": \"culprit\",\n");
  folder.write("report.csv",
               "id,outcome,severity,analysis,class,symptom,hosts,ranks,title,subject_kind\n");
  folder.write("slack.json",
               "{\n  \"blocks\": [\n    {\n      \"type\": \"header\",\n      \"block_id\": "
               "\"culprit-verdict\",\n");
  folder.write("jira.json",
               "{\n  \"version\": 1,\n  \"type\": \"doc\",\n  \"content\": [\n    {\n      "
               "\"type\": \"heading\",\n      \"attrs\": {\n        \"level\": 2,\n        "
               "\"localId\": \"culprit-verdict\"\n");
  folder.write("trace.json",
               "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"culprit 0.1.0\",\n");
  folder.write("cards.jsonl", "{\"schema\":\"culprit.card/1\",\"id\":\"795a8276a2a37418\"}\n");
  EXPECT_TRUE(walked(folder.path()).files().empty());
  folder.write("theirs.jsonl", "{\"schema\":\"event/1\"}\n");
  folder.write("theirs.json", "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  folder.write("theirs.txt", "ISOLATE  the node\nused, skipped, rejected;\n");
  folder.write("theirs.md", "# Notes\n\nAction: none\n");
  folder.write("theirs.html", "<!DOCTYPE html>\n<p>culprit</p>\n");
  EXPECT_EQ(walked(folder.path()).files().size(), 5u);
}

// A collector that is killed leaves numbers of processes there, which read like a log.
TEST(OwnFiles, AreWhatAKilledCollectorLeaves) {
  Folder folder;
  folder.write("hosts/n1/dmesg.txt", "usb 1-1: new device\n");
  folder.write(".collect/pid.n1", "26890\n");
  EXPECT_EQ(walked(folder.path()).files().size(), 2u);
  folder.write(".collect/host.sh",
               "# Runs on each host, from standard input, and writes nothing\n");
  EXPECT_EQ(walked(folder.path()).files().size(), 1u);
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
