#include "ingest/logs/manifest.hpp"

#include "kit.hpp"
#include "support/hosts.hpp"

namespace culprit::ingest {
namespace {

struct Parsed {
  Manifest manifest;
  std::vector<std::string> notes;
};

Parsed parse(const std::string& document) {
  Parsed out;
  auto manifest = parse_manifest(document, "job.json", out.notes);
  EXPECT_TRUE(manifest) << document;
  if (manifest) out.manifest = std::move(*manifest);
  return out;
}

TEST(Manifest, Whole) {
  const Parsed p = parse(R"({
    "job": "moe-7b", "job_id": 40211, "world_size": 16, "gpus_per_node": 8, "hosts": ["cx-1", "cx-2"],
    "addresses": {"cx-1": ["10.1.0.1", "10.2.0.1"], "cx-2": "10.1.0.2"},
    "parallelism": {"tp": 8, "dp": 2, "order": "tp-dp-pp"}, "network": {"tor": {"leaf-a": ["cx-1", "cx-2"]}},
    "timezone": "+02:00", "timezones": {"scheduler": "UTC"}, "boot_times": {"cx-1": "2026-03-01T10:00:00+01:00"},
    "attempts": [{"id": 0, "start": "2026-03-02T08:00:00", "end": "2026-03-02T09:30:00Z", "exit_code": null, "action_before": "none"}]})");
  EXPECT_TRUE(p.notes.empty()) << p.notes.front();
  const Manifest& m = p.manifest;
  EXPECT_EQ(m.job_id, "40211");
  EXPECT_EQ(m.world_size, 16);
  EXPECT_EQ(m.addresses.size(), 2u);
  EXPECT_EQ(m.addresses[0].second, (std::vector<std::string>{"10.1.0.1", "10.2.0.1"}));
  EXPECT_EQ(m.timezones, (std::vector<std::pair<std::string, std::string>>{{"scheduler", "UTC"}}));
  EXPECT_EQ(m.boot_times[0].second, "2026-03-01T09:00:00Z");
  ASSERT_EQ(m.attempts.size(), 1u);
  EXPECT_EQ(m.attempts[0].start, "2026-03-02T06:00:00Z") << "its zone is the manifest's";
  EXPECT_EQ(m.attempts[0].end, "2026-03-02T09:30:00Z");
  EXPECT_FALSE(m.attempts[0].exit_code);
}

TEST(Manifest, AddressesWrittenTheOtherWayRoundMakeNoMachines) {
  const Parsed p =
      parse(R"({"addresses": {"10.1.0.1": ["cx-1"], "10.2.0.1": "cx-1", "cx-2": "10.1.0.2"}})");
  ASSERT_EQ(p.notes.size(), 1u);
  const auto& addresses = p.manifest.addresses;
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_EQ(addresses[0].first, "cx-1");
  EXPECT_EQ(addresses[0].second, (std::vector<std::string>{"10.1.0.1", "10.2.0.1"}));
  EXPECT_EQ(addresses[1].first, "cx-2");
}

TEST(Manifest, AnUnknownKeyIsANoteAndTheRestIsUsed) {
  const Parsed p = parse(
      R"({"world_sise": 8, "hosts": ["a1"], "attempts": [{"id": 1, "exitcode": 3}], "zebra": []})");
  ASSERT_EQ(p.notes.size(), 3u);
  EXPECT_EQ(p.notes[0],
            "unknown key 'attempts[0].exitcode' (did you mean 'exit_code'?); it is not used");
  EXPECT_EQ(p.notes[1], "unknown key 'world_sise' (did you mean 'world_size'?); it is not used");
  EXPECT_EQ(p.notes[2], "unknown key 'zebra'; it is not used");
  EXPECT_EQ(p.manifest.hosts, Hosts({"a1"}));
  EXPECT_EQ(p.manifest.attempts.at(0).id, 1);
}

TEST(Manifest, AWrongTypeLosesThatValueAlone) {
  const Parsed p = parse(
      R"({"job": ["x"], "world_size": 2.5, "gpus_per_node": 0, "hosts": ["a1", 7, null, "a2"], "timezone": "Mars/Olympus",
    "addresses": {"a1": [4], "a2": ["10.0.0.2"]}, "network": [], "parallelism": {"tp": "two", "pp": 2, "order": "tp-tp"},
    "attempts": [5, {"id": "x", "start": "soon", "hosts": ["a1"]}], "boot_times": {"a1": true, "a2": 1772000000}})");
  EXPECT_EQ(p.notes.size(), 13u) << fmt::format("{}", fmt::join(p.notes, "\n"));
  EXPECT_EQ(p.manifest.hosts, Hosts({"a1", "a2"}));
  EXPECT_FALSE(p.manifest.world_size);
  EXPECT_FALSE(p.manifest.gpus_per_node);
  EXPECT_EQ(p.manifest.timezone, "");
  ASSERT_EQ(p.manifest.addresses.size(), 1u);
  EXPECT_EQ(p.manifest.addresses[0].first, "a2");
  EXPECT_EQ(p.manifest.parallelism, R"({"pp":2})");
  ASSERT_EQ(p.manifest.attempts.size(), 1u);
  EXPECT_EQ(p.manifest.attempts[0].hosts, Hosts({"a1"}));
  ASSERT_EQ(p.manifest.boot_times.size(), 1u);
  EXPECT_EQ(p.manifest.boot_times[0].second, "2026-02-25T06:13:20Z");
}

TEST(Manifest, NullIsAbsentAndWordsMayBeNumbers) {
  const Parsed p = parse(
      R"({"job": null, "job_id": null, "world_size": "32", "gpus_per_node": 8.0, "hosts": "cx-[08-11]", "network": null, "parallelism": null, "attempts": null,
    "boot_times": null, "timezone": null, "timezones": null, "addresses": null, "year": null} // a remark)");
  EXPECT_TRUE(p.notes.empty()) << p.notes.front();
  EXPECT_EQ(p.manifest.world_size, 32);
  EXPECT_EQ(p.manifest.gpus_per_node, 8);
  EXPECT_EQ(p.manifest.hosts, Hosts({"cx-08", "cx-09", "cx-10", "cx-11"}));
}

TEST(Manifest, RanksAndClocksOfHosts) {
  const Parsed p = parse(
      R"({"ranks": {"cx-1": [0, {"rank": 1, "local_rank": 7}, "2"], "cx-2": [-1, {"local_rank": 0}, {"rank": 3, "gpu": 1}], "cx-3": "4"},
    "clocks": {"cx-1": {"timezone": "+08:00", "ahead": [-1, 0]}}})");
  EXPECT_EQ(p.notes, (std::vector<std::string>{
                         "ranks.cx-2[0].rank: -1 is not between 0 and 9999999; it is left out",
                         "unknown key 'ranks.cx-2[2].gpu'; it is not used",
                         "ranks.cx-3: \"4\" is not a list; it is left out"}));
  std::string all;
  for (const RankRow& row : p.manifest.ranks)
    all += fmt::format("{}@{}/{} ", number_of(row.rank), *row.host,
                       number_of(row.local_rank).value_or(-1));
  EXPECT_EQ(all, "0@cx-1/-1 1@cx-1/7 2@cx-1/-1 3@cx-2/-1 ");
}

TEST(Manifest, AKeyThatStandsTwice) {
  const Parsed p = parse(R"({"job": "a", "job": "b"})");
  EXPECT_EQ(p.manifest.job, "b");
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_EQ(p.notes[0], "the key 'job' stands twice in one object; the last of them counts");
}

TEST(Manifest, ANameOfAZone) {
  const Parsed p = parse(
      R"({"timezone": "America/New_York", "attempts": [{"start": "2026-07-02 08:00:00"}, {"start": "2026-12-02 08:00:00"}]})");
  if (!p.notes.empty()) GTEST_SKIP() << "no zoneinfo on this system";
  EXPECT_EQ(p.manifest.attempts.at(0).start, "2026-07-02T12:00:00Z");
  EXPECT_EQ(p.manifest.attempts.at(1).start, "2026-12-02T13:00:00Z");
  EXPECT_EQ(p.manifest.attempts.at(1).id, 1);
}

TEST(Manifest, Hostile) {
  std::vector<std::string> notes;
  EXPECT_FALSE(parse_manifest("{\"job\": ", "job.json", notes));
  EXPECT_FALSE(parse_manifest("[]", "job.json", notes));
  EXPECT_FALSE(parse_manifest("", "job.json", notes));
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += fmt::format("\"k{}\": 1,", i);
  EXPECT_TRUE(parse_manifest(many + "\"hosts\": []}", "job.json", notes));
  EXPECT_EQ(notes.size(), 21u);
  EXPECT_EQ(notes.back(), "and 4980 more remarks of that kind");
  // Printing what is nested that deep would overflow the stack.
  notes.clear();
  EXPECT_TRUE(parse_manifest(
      "{\"world_size\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}", "job.json",
      notes));
  EXPECT_EQ(notes,
            std::vector<std::string>{"world_size: a list is not a whole number; it is left out"});
}

TEST(Manifest, NotesAreRejects) {
  const test::Folder folder;
  folder.write("job.json", R"({"hosts": ["a1"], "wurld": 1})");
  const test::Rows rows = test::read_folder(folder.path());
  EXPECT_EQ(rows.reasons(), "1:manifest.value");
}

}  // namespace
}  // namespace culprit::ingest
