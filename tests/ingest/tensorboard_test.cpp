#include <cmath>

#include "kit.hpp"
#include "tfevents_kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

Rows read_events(const std::string& bytes,
                 const std::string& path = "tb/events.out.tfevents.1795232510.node-07.4711.0") {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const Detected detected =
      detect({member.path, std::string_view(bytes).substr(0, 65536), bytes.size() <= 65536});
  EXPECT_EQ(detected.format, "tensorboard-events");
  if (detected.document == nullptr) return rows;
  Reading reading{rows, pack(), "", {}, {}, path};
  const std::string reason = detected.document->read(bytes, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  if (!reason.empty()) rows.put(RejectRow{{member.id, 0, 0, 0}, reason, {}});
  return rows;
}

TEST(Crc32c, KnownAnswers) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Tensorboard, ScalarsOfBothForms) {
  using namespace std::string_view_literals;
  std::string bytes = version();
  bytes += scalar(1795232511.5, 0, "train/loss", 2.5f);
  bytes +=
      event(1795232512.5, 10,
            value("train/loss", field(2, NAN)) +
                value("lr", field(8, field(1, std::uint64_t{1}) + field(2, ""sv) +
                                         field(5, little(std::bit_cast<std::uint32_t>(0.5f))))));
  bytes +=
      event(1795232513.5, 20,
            value("lr", field(8, field(1, std::uint64_t{1}) +
                                     field(4, little(std::bit_cast<std::uint32_t>(0.25f))))) +
                value("d", field(8, field(1, std::uint64_t{2}) +
                                        field(4, little(std::bit_cast<std::uint64_t>(1.0 / 3))))) +
                value("h", field(8, field(1, std::uint64_t{19}) + field(13, varint(0x3e00)))) +
                value("b", field(8, field(1, std::uint64_t{14}) + field(4, "\x80\x3f"sv))) +
                value("unpacked", field(8, field(1, std::uint64_t{1}) + field(5, 4.0f))) +
                value("int", field(8, field(1, std::uint64_t{9}) +
                                          field(10, varint(static_cast<std::uint64_t>(-7))))));
  // Not scalars: a vector, a text, a histogram; a repeated value of unknown length.
  bytes += event(
      1795232514.5, 30,
      value("vector",
            field(8, field(1, std::uint64_t{1}) + field(2, field(2, field(1, std::uint64_t{2}))) +
                         field(4, std::string(8, '\0')))) +
          value("text", field(8, field(1, std::uint64_t{7}) + field(8, "hello"sv))) +
          value("histogram", field(5, "xyz"sv)) +
          value("two", field(8, field(1, std::uint64_t{1}) + field(5, std::string(8, '\0')))));
  const Rows rows = read_events(bytes);
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.points("train/loss").steps, (std::vector<std::int64_t>{0, 10}));
  EXPECT_EQ(rows.points("train/loss").times[0], 1795232511'500000000);
  EXPECT_TRUE(std::isnan(rows.points("train/loss").values[1]));
  EXPECT_EQ(rows.points("lr").values, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(rows.points("d").values, (std::vector<double>{1.0 / 3}));
  EXPECT_EQ(rows.points("h").values, (std::vector<double>{1.5}));
  EXPECT_EQ(rows.points("b").values, (std::vector<double>{1}));
  EXPECT_EQ(rows.points("unpacked").values, (std::vector<double>{4}));
  EXPECT_EQ(rows.points("int").values, (std::vector<double>{-7}));
  EXPECT_EQ(rows.series_rows.size(), 7u);
  EXPECT_EQ(rows.series_rows[0].host, "node-07");
  EXPECT_EQ(rows.series_rows[0].clock, Clock::utc);
  ASSERT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[1].framework, "tensorboard");
  EXPECT_TRUE(rows.progress[1].loss_nan);
}

TEST(Tensorboard, CutAnywhere) {
  std::string bytes = version();
  std::vector<std::size_t> ends;
  for (int i = 1; i <= 5; ++i) {
    bytes += scalar(1795232510.0 + i, i, "loss", 1.0f);
    ends.push_back(bytes.size());
  }
  for (std::size_t n = 24; n <= bytes.size(); ++n) {
    const Rows rows = read_events(bytes.substr(0, n));
    EXPECT_EQ(rows.reasons(), "") << n;  // the end within a record is the writer's, not an error
    const auto whole =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), n) - ends.begin());
    EXPECT_EQ(rows.points("loss").size(), whole) << n;
  }
}

TEST(Tensorboard, DamageEndsTheReadingWhereItStands) {
  std::string bytes = version() + scalar(1795232511, 1, "loss", 1.0f);
  const std::size_t third = bytes.size();
  bytes += scalar(1795232512, 2, "loss", 2.0f) + scalar(1795232513, 3, "loss", 3.0f);
  for (std::size_t at = third; at < third + 40; ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Rows rows = read_events(bad);
    EXPECT_EQ(rows.points("loss").values, (std::vector<double>{1})) << at;
    ASSERT_EQ(rows.rejects.size(), 1u) << at;
    EXPECT_EQ(rows.rejects[0].reason,
              at < third + 12 ? "tfevents.bad_length_checksum" : "tfevents.bad_checksum");
    EXPECT_EQ(rows.rejects[0].place.offset, third);
  }
  // Whole and sound, but no Event.
  EXPECT_EQ(read_events(version() + scalar(1795232511, 1, "loss", 1.0f) + record("\x07\x07\x07"))
                .reasons(),
            "0:tfevents.bad_event");
  EXPECT_EQ(read_events(version() + record("\x07\x07\x07")).reasons(), "0:tfevents.bad_event");
}

TEST(Tensorboard, HostsInNames) {
  const std::string bytes = version() + scalar(1795232511, 1, "loss", 1.0f);
  const std::pair<const char*, const char*> cases[] = {
      {"events.out.tfevents.1795232510.node-07.4711.0", "node-07"},
      {"events.out.tfevents.1795232510.node-07.rack.example.org.4711.3.v2",
       "node-07.rack.example.org"},
      {"events.out.tfevents.1795232510.node-07", "node-07"},
      {"events.out.tfevents.1795232510.10.0.0.7", "10.0.0.7"},
      {"events.out.tfevents.1795232510.10.0.0.7.4711.0", "10.0.0.7"},
      {"events.out.tfevents.x", ""},
      {"renamed.bin", ""}};
  for (const auto& [path, host] : cases) {
    const Rows rows = read_events(bytes, path);
    ASSERT_EQ(rows.series_rows.size(), 1u) << path;
    EXPECT_EQ(name_of(rows.series_rows[0].host), host) << path;
  }
}

TEST(Tensorboard, AnyBytesAfterTheHead) {
  Random random;
  for (int round = 0; round < 3'000; ++round) {
    // Sound checksums around garbage: the wire reader has to cope.
    std::string data;
    const std::size_t length = random.below(60);
    for (std::size_t i = 0; i < length; ++i)
      data.push_back(static_cast<char>(random.below(random.below(2) == 0 ? 256 : 48)));
    read_events(version() + event(1795232511, 1, data) + record(data) +
                event(1, 1, value("x", field(8, data))));
  }
}

TEST(GoldenValues, CurvesInAnyOrder) {
  const Folder folder;
  folder.write(
      "golden_values_dev.json",
      R"({"iteration-time": {"start_step": 1, "end_step": 20, "step_interval": 5, "values": {"1": 6.5, "10": "nan", "15": 6.25, "5": 6.75}},
    "lm loss": {"start_step": 0, "end_step": 15, "step_interval": 5, "values": [10.5, 10.25, 10]}, "other": 3})");
  folder.write(
      "cut.json",
      R"({"iteration-time": {"start_step": 1, "end_step": 20, "step_interval": 5, "values": {"1": 6.5, "10": 5)");
  folder.write("none.json",
               R"({"x": {"start_step": 1, "end_step": 20, "step_interval": 5, "values": {}}})");
  const Rows rows = read_folder(folder.path());
  EXPECT_EQ(rows.reasons(), "0:golden_values.torn 0:golden_values.no_curve");
  std::size_t whole = 0;
  for (const SeriesRow& s : rows.series_rows) whole += s.name == "iteration-time";
  EXPECT_EQ(whole, 2u);
  EXPECT_EQ(rows.points("lm loss").steps, (std::vector<std::int64_t>{0, 5, 10}));
  const Folder alone;
  alone.write(
      "golden_values_dev.json",
      R"({"iteration-time": {"start_step": 1, "end_step": 20, "step_interval": 5, "values": {"1": 6.5, "10": "nan", "15": 6.25, "5": 6.75}}})");
  const SeriesPoints points = read_folder(alone.path()).points("iteration-time");
  EXPECT_EQ(points.steps, (std::vector<std::int64_t>{1, 5, 10, 15}));
  EXPECT_EQ(points.values[1], 6.75);
  EXPECT_TRUE(std::isnan(points.values[2]));
}

TEST(GoldenValues, ARealRun) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/formats/metrics";
  std::ifstream stream(folder + "/megatron_golden_gpt3_15b_h100.json", std::ios::binary);
  if (!stream) GTEST_SKIP() << "no samples here";
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const Folder copy;
  copy.write("golden.json", bytes);
  const SeriesPoints points = read_folder(copy.path()).points("iteration-time");
  ASSERT_EQ(points.size(), 2'601u);
  EXPECT_EQ(points.steps.front(), 1);
  EXPECT_EQ(points.steps.back(), 13'000);
  EXPECT_TRUE(std::is_sorted(points.steps.begin(), points.steps.end()));
}

}  // namespace
}  // namespace culprit::ingest
