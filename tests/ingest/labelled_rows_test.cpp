#include "ingest/training/labelled_rows.hpp"

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

constexpr std::string_view kPorts =
    "n01 mlx5_0 port 1 state ACTIVE rate 400 Gb/sec (4X NDR) symbol_error 0 xmit_wait 78\n"
    "n01 mlx5_1 port 1 state ACTIVE rate 400 Gb/sec (4X NDR) symbol_error 0 xmit_wait 46\n"
    "n02 mlx5_0 port 1 state ACTIVE rate 100 Gb/sec (1X NDR) symbol_error 88213 xmit_wait 44\n"
    "n02 mlx5_1 port 1 state ACTIVE rate 400 Gb/sec (4X NDR) symbol_error 0 xmit_wait 24\n";

bool sniffed(std::string_view text) { return labelled_rows({"counters.txt", text, true}); }

TEST(LabelledRows, ValuesOfPortsAreSeries) {
  ASSERT_TRUE(sniffed(kPorts));
  const Rows rows = read_text(kPorts, "rows");
  EXPECT_EQ(rows.points("nic_rate", "n02").values, (std::vector<double>{100}));
  ASSERT_FALSE(rows.series_rows.empty());
  EXPECT_EQ(rows.series_rows[0].host, "n01");
  EXPECT_EQ(rows.series_rows[0].nic, "mlx5_0/1");
  EXPECT_EQ(rows.members[0].used, 4u);
}

TEST(LabelledRows, ThePortThatTakesErrorsIsTold) {
  const Rows rows = read_text(kPorts, "rows");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "nic_port_errors");
  EXPECT_EQ(rows.events[0].host, "n02");
  EXPECT_EQ(rows.events[0].place.line, 3u);
  // Where all take some, none stands out.
  std::string all(kPorts);
  for (std::size_t at = 0; (at = all.find("symbol_error 0", at)) != std::string::npos; ++at)
    all.replace(at, 14, "symbol_error 9000");
  EXPECT_TRUE(read_text(all, "rows").events.empty());
}

TEST(LabelledRows, ReasonsInWordsAndTimes) {
  const Rows rows = read_text(
      "2026-02-05T10:00:00Z n1 gpu0 clocks 1755 throttle none\n"
      "2026-02-05T10:00:00Z n1 gpu1 clocks 345 throttle HW-Power-Brake\n",
      "rows");
  EXPECT_EQ(rows.points("gpu_clocks", "gpu1").values, (std::vector<double>{345}));
  EXPECT_EQ(rows.points("hw_power_brake_slowdown", "gpu0").values, (std::vector<double>{0}));
  EXPECT_EQ(rows.points("hw_power_brake_slowdown", "gpu1").values, (std::vector<double>{1}));
  EXPECT_EQ(rows.series_rows[0].clock, Clock::utc);
}

TEST(LabelledRows, RulesStillSeeWhatIsNoRow) {
  const std::string text =
      std::string(kPorts) +
      "n02 kernel: NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n";
  ASSERT_TRUE(sniffed(text));
  const Rows rows = read_text(text, "rows");
  EXPECT_TRUE(std::ranges::any_of(rows.events,
                                  [](const EventRow& e) { return e.event_class == "gpu_xid/79"; }));
}

TEST(LabelledRows, StepsAndProseAreOthers) {
  EXPECT_FALSE(
      sniffed("n1 step 1 loss 2.1 fwd 3.4\nn1 step 2 loss 2.1 fwd 3.4\n"
              "n1 step 3 loss 2.1 fwd 3.4\nn1 step 4 loss 2.1 fwd 3.4\n"));
  EXPECT_FALSE(
      sniffed("n1 started 8 workers\nn2 started 8 workers\nn3 started 8 workers\n"
              "n4 started 8 workers\n"));
  EXPECT_FALSE(
      sniffed("n1 gpu0 foo 1 bar 2\nn1 gpu1 foo 1 bar 2\nn1 gpu2 foo 1 bar 2\n"
              "n1 gpu3 foo 1 bar 2\n"))
      << "no name that the catalogue knows";
}

}  // namespace
}  // namespace culprit::ingest
