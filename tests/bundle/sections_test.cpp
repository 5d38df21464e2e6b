// nvidia-bug-report and kubectl dumps: every byte in one section, whatever the blocks.
#include "bundle/sections.hpp"

#include <algorithm>

#include "kit.hpp"

namespace culprit::bundle::test {
namespace {

const std::string kBar(44, '_');

std::string report() {
  return kBar + "\n\nStart of NVIDIA bug report log file.  Please include this file, along\n\n" +
         kBar + "\n\n*** /proc/cpuinfo\n*** ls: -r--r--r-- 1 root root 0\nprocessor : 0\n\n" +
         kBar + "\n\n/usr/bin/nvidia-smi --query\n\n=====NVSMI LOG=====\n" + kBar +
         "\nno title here\n" + kBar + "\n\n*** /var/log/none.log does not exist\n\n" + kBar +
         "\r\n\r\n*** /proc/cpuinfo\r\nagain\r\n" + kBar + "\n\nacpidump\n\nbytes\n" + kBar +
         "\n\n" + kBar + "\n\nEnd of NVIDIA bug report log file.\n";
}

// Joins the sections again and checks the places they claim.
std::string joined(const Memory& memory, const std::string& file) {
  std::string all;
  for (const Told& told : memory.all) {
    EXPECT_TRUE(told.head.section);
    EXPECT_EQ(told.head.container, file);
    EXPECT_EQ(told.head.origin_offset, all.size()) << told.head.path;
    EXPECT_EQ(told.head.origin_line, std::count(all.begin(), all.end(), '\n')) << told.head.path;
    all += told.bytes;
  }
  return all;
}

TEST(Sections, OfABugReport) {
  Folder folder;
  for (const bool zipped : {false, true}) {
    Memory memory = walked(folder.write("nv.log.gz", zipped ? squeeze(report()) : report()));
    EXPECT_EQ(memory.paths(),
              (std::vector<std::string>{"nv.log.gz#preamble", "nv.log.gz#/proc/cpuinfo",
                                        "nv.log.gz#/usr/bin/nvidia-smi --query",
                                        "nv.log.gz#/var/log/none.log", "nv.log.gz#/proc/cpuinfo~2",
                                        "nv.log.gz#acpidump",
                                        "nv.log.gz#End of NVIDIA bug report log file."}));
    EXPECT_EQ(joined(memory, "nv.log.gz"), report());
    EXPECT_TRUE(memory.find("nv.log.gz#/proc/cpuinfo")
                    ->bytes.starts_with(kBar + "\n\n*** /proc/cpuinfo\n"));
    EXPECT_EQ(memory.codes(), "");
  }
}

TEST(Sections, OfACutBugReport) {
  Folder folder;
  const std::string text = report();
  for (std::size_t size = 90; size < text.size(); ++size)
    EXPECT_EQ(joined(walked(folder.write("nv.log", text.substr(0, size))), "nv.log"),
              text.substr(0, size));
  const std::string bytes = squeeze(text + text);
  Memory memory = walked(folder.write("nv.log", bytes.substr(0, bytes.size() - 30)));
  ASSERT_EQ(memory.problems.size(), 1u);
  EXPECT_EQ(memory.problems[0].path, memory.all.back().head.path);
  EXPECT_FALSE(memory.all.back().complete);
}

std::string dump() {
  return "==== START logs for container init of pod ns/p-0 ====\nready\n==== END logs for "
         "container init of pod ns/p-0 ====\n"
         "==== START logs for container main of pod ns/p-0 ====\nno newline at the end" +
         std::string(5'000, 'x') +
         "==== END logs for container main of pod ns/p-0 ====\n"
         "==== START logs for container empty of pod ns/p-1 ====\n==== END logs for container "
         "empty of pod ns/p-1 ====\n"
         "\n{\n  \"kind\": \"PodList\"\n}\n"
         "==== START logs for container main of pod ns/p-0 ====\nspoof ==== END logs for container "
         "other of pod ns/p-0 ====\n"
         "cut her";
}

TEST(Sections, OfAKubectlDump) {
  Folder folder;
  Memory memory = walked(folder.write("logs.txt", dump()));
  EXPECT_EQ(memory.paths(),
            (std::vector<std::string>{"logs.txt#ns/p-0/init", "logs.txt#ns/p-0/main",
                                      "logs.txt#ns/p-1/empty", "logs.txt#rest",
                                      "logs.txt#ns/p-0/main~2"}));
  EXPECT_EQ(joined(memory, "logs.txt"), dump());
  EXPECT_TRUE(memory.find("logs.txt#rest")->bytes.starts_with("{\n"));
  Result<std::string> range = read_range(folder.at("logs.txt"), "logs.txt#rest", 4, 6, {});
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, "\"kind\"");
}

class Collect : public SectionSink {
 public:
  void section(const std::string& name, std::uint64_t offset, std::uint64_t line) override {
    told += "[" + name + " " + std::to_string(offset) + " " + std::to_string(line) + "]";
  }
  void bytes(std::string_view bytes) override { told += bytes; }
  std::string told;
};

template <class S>
std::string split(const std::string& text, std::size_t block) {
  Collect collect;
  S splitter(collect);
  for (std::size_t at = 0; at < text.size(); at += block)
    splitter.feed(std::string_view(text).substr(at, block));
  splitter.finish();
  return collect.told;
}

TEST(Sections, DoNotDependOnTheBlocks) {
  const std::string long_lines =
      report() + std::string(10'000, '_') + "\n" + std::string(9'000, 'y') + "\n" + report();
  const std::string bug = split<BugReportSplitter>(long_lines, SIZE_MAX / 2);
  const std::string kube = split<KubectlSplitter>(dump(), SIZE_MAX / 2);
  for (std::size_t block = 1; block < 3'000; block += block < 60 ? 1 : 37) {
    EXPECT_EQ(split<BugReportSplitter>(long_lines, block), bug) << block;
    EXPECT_EQ(split<KubectlSplitter>(dump(), block), kube) << block;
  }
}

TEST(Sections, ManyOfThemAreBounded) {
  std::string text = "Start of NVIDIA bug report log file\n";
  for (int i = 0; i < 70'000; ++i) text += kBar + "\n\n*** /x\n";
  const std::string told = split<BugReportSplitter>(text, 1 << 16);
  EXPECT_NE(told.find("[/x~60000 "), std::string::npos);
  EXPECT_EQ(told.find("[/x~69000 "), std::string::npos);
}

TEST(Sections, LimitsHoldForEach) {
  Folder folder;
  Limits limits;
  limits.member_bytes = 100;
  Memory memory = walked(folder.write("nv.log", report()), limits);
  EXPECT_EQ(memory.all.size(), 7u);
  EXPECT_EQ(memory.find("nv.log#preamble")->size, 100u);
  EXPECT_FALSE(memory.find("nv.log#preamble")->complete);
  EXPECT_TRUE(memory.all.back().complete);
  limits.members = 3;
  memory = walked(folder.at("nv.log"), limits);
  EXPECT_EQ(memory.all.size(), 3u);
}

}  // namespace
}  // namespace culprit::bundle::test
