#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

std::string ping(const char* target, int size, int received) {
  return fmt::format(
      "$ ping -M do -c 3 -s {0} {1}\nPING {1} ({1}) from 10.5.1.11 rdma0: {0}({2}) bytes of "
      "data.\n\n"
      "--- {1} ping statistics ---\n3 packets transmitted, {3} received, {4}% packet loss, time "
      "2046ms\n",
      size, target, size + 28, received, 100 - received * 100 / 3);
}

std::string said(const std::string& text) {
  std::string out;
  for (const EventRow& e : read_text(text).events)
    if (e.event_class == "path_mtu_too_small") out += e.message + "\n";
  return out;
}

TEST(PingSizes, LargeOnesAreLostWhereSmallOnesArrive) {
  EXPECT_EQ(
      said(ping("10.5.2.11", 1472, 3) + ping("10.5.2.11", 8972, 0) + ping("10.5.1.12", 1472, 3) +
           ping("10.5.1.12", 8972, 3) + ping("10.5.2.12", 1472, 3) + ping("10.5.2.12", 8972, 0)),
      "path MTU: packets of 9000 bytes never arrive at 10.5.2.11, 10.5.2.12, of 1500 bytes "
      "all do\n");
}

TEST(PingSizes, NothingWhereAllAreLostOrSome) {
  EXPECT_EQ(said(ping("10.5.2.11", 1472, 0) + ping("10.5.2.11", 8972, 0)), "");
  EXPECT_EQ(said(ping("10.5.2.11", 1472, 3) + ping("10.5.2.11", 8972, 1)), "");
  EXPECT_EQ(said(ping("10.5.2.11", 8972, 0)), "");
  EXPECT_EQ(said(ping("10.5.2.11", 1472, 3) + ping("10.5.2.12", 8972, 0)), "");
}

TEST(PingSizes, NothingOfTheInternetNorOfTheSendersOwnPort) {
  EXPECT_EQ(said(ping("8.8.8.8", 1472, 3) + ping("8.8.8.8", 8972, 0)), "");
  std::string refused = ping("10.5.2.11", 8972, 0);
  refused.insert(refused.find("---"), "ping: local error: message too long, mtu=1500\n");
  EXPECT_EQ(said(ping("10.5.2.11", 1472, 3) + refused), "");
}

// A port between switches that is left at 1500 where the others carry large packets.
TEST(SwitchMtus, APortBetweenSwitches) {
  std::string ports;
  for (int i = 0; i < 8; ++i)
    ports += fmt::format("Ethernet{}/1  up  mtu 9216  400G  desc sv-blade-0{}\n", i, i);
  EXPECT_EQ(said(ports + "Port-Channel1 up mtu 1500 6x800G desc to-spine\n"),
            "path MTU: port Port-Channel1 between switches has 1500, 8 other ports 9216\n");
  EXPECT_EQ(said(ports + "Ethernet48/1  up  mtu 1500  1G  desc mgmt\n"), "");
  EXPECT_EQ(said("Port-Channel1 up mtu 1500 6x800G desc to-spine\n"), "");
}

// A port that counts what was too large for it.
TEST(SwitchMtus, APortThatDropsLargerPackets) {
  const std::string others =
      "Ethernet2/1 is up, MTU 9214, 400G, 0 CRC, 0 giants dropped\n"
      "Ethernet3/1 is up, MTU 9214, 400G, 0 CRC, 0 giants dropped\n";
  EXPECT_EQ(said("Ethernet1/1 is up, MTU 1500, 400G, 0 CRC, 799464 giants dropped\n" + others),
            "path MTU: port Ethernet1/1 that drops larger packets has 1500, 2 other ports 9214\n");
  EXPECT_EQ(said("Ethernet1/1 is up, MTU 1500, 400G, 0 CRC, 0 giants dropped\n" + others), "");
}

// Two copies of a switch's configuration, and its ports: what carried large packets no longer does.
TEST(SwitchMtus, AChangeAndAPortBetweenSwitches) {
  EXPECT_EQ(said("--- tor-b 09-05\n+++ tor-b 09-09\n- mtu 9216\n+ mtu 1500\n"),
            "path MTU: set to 1500 where it was 9216\n");
  EXPECT_EQ(said("- mtu 1500\n+ mtu 9216\n"), "");
  EXPECT_EQ(said("Po11  to-leaf-1   up  800G mtu 9216\nPo12  to-leaf-2   up  800G mtu 9216\n"
                 "Po20  trunk-p1p2   up  1.6T mtu 1500\n"),
            "path MTU: port Po20 between switches has 1500, 2 other ports 9216\n");
  EXPECT_EQ(said("Po11  to-leaf-1   up  800G mtu 9216\nEthernet3  oob mtu 1500\n"), "");
}

}  // namespace
}  // namespace culprit::ingest
