// Records that say when something happened, or what stands out of a table: conditions and audits of
// API servers, ends of jobs, signals, ports of switches.
#include <fmt/format.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

test::Rows record_file(const std::string& name, const std::string& bytes) {
  const test::Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

// "class time host" of each event.
std::string dated_events(const test::Rows& rows) {
  std::string out;
  for (const EventRow& e : rows.events) {
    if (!out.empty()) out += '\n';
    out += e.event_class + (e.time.clock == Clock::none ? "" : " " + iso_utc(e.time.ns)) +
           (e.host ? " " + std::string(*e.host) : "");
  }
  return out;
}

TEST(Conditions, HaveTheTimeOfTheirTransitionWhileTheyHold) {
  const std::string described =
      "Status:\n  Conditions:\n"
      "    Last Transition Time:  2026-08-05T20:35:01Z\n"
      "    Message:               Preempted to accommodate a workload (UID: 0a9d) due to "
      "prioritization\n"
      "    Reason:                Preempted\n    Status:                True\n"
      "    Type:                  Evicted\n"
      "    Last Transition Time:  2026-08-05T20:36:11Z\n"
      "    Message:               Preempted to accommodate a workload (UID: 0a9e)\n"
      "    Reason:                Pending\n    Status:                False\n"
      "    Type:                  QuotaReserved\n";
  EXPECT_EQ(dated_events(record_file("workload.txt", described)),
            "node_preempted 2026-08-05T20:35:01Z");
  EXPECT_EQ(
      dated_events(record_file("workload.yaml.txt",
                               "status:\n  conditions:\n  - lastTransitionTime: "
                               "\"2026-08-05T20:35:01Z\"\n    message: Preempted to accommodate a "
                               "workload (UID: 0a9d)\n    reason: Preempted\n    status: \"True\"\n"
                               "    type: Evicted\n")),
      "node_preempted 2026-08-05T20:35:01Z");
  EXPECT_EQ(dated_events(record_file("cut.txt",
                                     "    Last Transition Time:  2026-08-05T20:35:01Z\n"
                                     "    Message:               Preempted to accommodate a "
                                     "workload (UID: 0a9d)\n")),
            "")
      << "whether it holds is not known";
}

TEST(Slurm, ARecordSaysThatTheSchedulerEndedTheJob) {
  const auto record = [](const char* state) {
    return fmt::format(
        "JobId=4711 JobName=pretrain\n   JobState={} Reason=x Dependency=(null)\n"
        "   StartTime=2026-03-07T08:00:00 EndTime=2026-03-07T10:00:00 Deadline=N/A\n",
        state);
  };
  EXPECT_EQ(dated_events(record_file("scontrol.txt", record("TIMEOUT"))),
            "scheduler_time_limit 2026-03-07T10:00:00Z");
  EXPECT_EQ(dated_events(record_file("scontrol.txt", record("PREEMPTED"))),
            "node_preempted 2026-03-07T10:00:00Z");
  EXPECT_EQ(dated_events(record_file("scontrol.txt", record("RUNNING"))), "");
  EXPECT_EQ(dated_events(record_file("scontrol.txt", record("CANCELLED"))), "")
      << "it may have failed, or stood, before";
}

TEST(Audits, OfAnAPIServerHaveTheirTime) {
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines +=
        R"({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "requestURI": "/api/v1/namespaces/ml/pods", "verb": "list", "user": {"username": "system:node:n1"}, "requestReceivedTimestamp": "2026-09-30T14:16:41.414645Z"})"
        "\n";
  lines +=
      R"({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "requestURI": "/apis/ray.io/v1/namespaces/ml/rayclusters/run", "verb": "delete", "user": {"username": "m@lab"}, "requestReceivedTimestamp": "2026-09-30T14:16:47.771203Z"})"
      "\n";
  EXPECT_EQ(dated_events(record_file("audit.jsonl", lines)),
            "scheduler_teardown 2026-09-30T14:16:47.771203Z");
}

TEST(Signals, AbseilPrintsTheMomentInTheMessage) {
  EXPECT_EQ(
      dated_events(record_file(
          "driver.log", "step 1 loss 2\n*** SIGTERM received at time=1759241808 on cpu 41 ***\n")),
      "launcher_signalled 2025-09-30T14:16:48Z");
}

TEST(SwitchPorts, OneThatAloneTakesErrors) {
  std::string table =
      "leaf-2> nv show interface counters errors\nInterface  Rx CRC     Rx Symbol  "
      " Rx Drop   Peer\n";
  for (int port = 1; port < 9; ++port)
    table += fmt::format("swp{}       {}          {}           0         {}\n", port,
                         port == 8 ? 4410922 : 0, port == 7 ? 2000000 : 3,
                         port == 7 ? "node-7" : fmt::format("spine-{} swp1", port));
  EXPECT_EQ(dated_events(record_file("switch/leaf-2.txt", table)), "switch_port_errors leaf-2")
      << "what hangs on port 7 is a machine";
  std::string even = "Interface  Rx CRC     Rx Symbol   Rx Drop   Tx Drop\n";
  for (int port = 1; port < 9; ++port)
    even += fmt::format("swp{}       90000          3           0         0\n", port);
  EXPECT_EQ(dated_events(record_file("switch/leaf-2.txt", even)), "") << "all of them";
}

TEST(SwitchPorts, OfTheFabricButNotOfAdapters) {
  EXPECT_EQ(dated_events(record_file(
                "fabric/ibqueryerrors.txt",
                "Errors for 0xb7 \"MF0;leaf-2:MQM9700/U1\"\n"
                "   GUID 0xb7 port 1: [PortRcvSwitchRelayErrors == 91234]\n"
                "   GUID 0xb7 port 41: [SymbolErrorCounter == 65535] [LinkDownedCounter == 9]\n"
                "         Link info:     77  41[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  "
                "0xc2    91   14[  ] \"MF0;spine-3:MQM9700/U1\" ( )\n"
                "   GUID 0xb7 port 2: [SymbolErrorCounter == 65535]\n"
                "         Link info:     77   2[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  "
                "0xc3    92    1[  ] \"n7 mlx5_0\" ( )\n")),
            "switch_port_errors leaf-2");
}

// Series of counters as "host nic name value labels", a line each.
std::string counters(const test::Rows& rows) {
  std::string out;
  for (const SeriesRow& s : rows.series_rows)
    out += fmt::format("{} {} {} {}\n", name_of(s.host), s.nic.value_or(""), s.name, s.labels);
  return out;
}

TEST(FabricCounters, BothEndsOfALinkCountApart) {
  EXPECT_EQ(
      counters(record_file(
          "fabric/ibqueryerrors_2205.txt",
          "Errors for 0xb7 \"leaf-3\"\n"
          "   GUID 0xb7 port ALL: [SymbolErrorCounter == 9]\n"
          "   GUID 0xb7 port 14: [SymbolErrorCounter == 5]\n"
          "   Link info:    303   14[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  0xb8   658    "
          "1[  ] \"n41 mlx5_2\" ( )\n"
          "   GUID 0xb7 port 40: [SymbolErrorCounter == 4]\n"
          "   Link info:    303   40[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  0xc8   658    "
          "9[  ] \"spine-1\" ( )\n"
          "Errors for \"n41 mlx5_2\"\n"
          "   GUID 0xb8 port 1: [SymbolErrorCounter == 7]\n")),
      "n41 mlx5_2 SymbolErrorCounter end=switch\nleaf-3 40 SymbolErrorCounter node=switch\n"
      "n41 mlx5_2 SymbolErrorCounter \n");
}

TEST(FabricCounters, TheMonitorOfIbdiagnet) {
  EXPECT_EQ(counters(record_file("sweep_1/ibdiagnet2.pm",
                                 "Port=41 Lid=0x02 GUID=0xb0 Device=54002 Port Name=leaf-2/U1/P41\n"
                                 "-------------------------------\n"
                                 "symbol_error_counter=0\nport_rcv_errors=12\n")),
            "leaf-2 41 symbol_error_counter node=switch\nleaf-2 41 port_rcv_errors node=switch\n");
  EXPECT_EQ(dated_events(record_file(
                "ibdiagnet2.log",
                "-E- lid=0x0217 dev=54002 leaf-7/U1/P41\n"
                "        Performance Monitor counter     : Value\n"
                "        symbol_error_counter            : 643297            (threshold=10)\n")),
            "switch_port_errors leaf-7");
}

TEST(FabricLinks, ASwitchThatLostLinksAndACardOnOneLane) {
  std::string listed;
  for (int leaf = 1; leaf <= 5; ++leaf) {
    listed += fmt::format("Switch: 0xb{} MF0;leaf-{}:MQM9700/U1:\n", leaf, leaf);
    listed += "  31  1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>  18  1[  ] \"n1 mlx5_0\" ( )\n";
    for (int up = 0; up < 8; ++up)
      listed += leaf == 3 && up > 3
                    ? fmt::format("  31 {}[  ] ==( Down/ Polling)==>  [  ] \"\" ( )\n", 33 + up)
                    : fmt::format(
                          "  31 {}[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>  12  {}[  ] "
                          "\"MF0;spine-{}:MQM9700/U1\" ( )\n",
                          33 + up, leaf, up);
  }
  EXPECT_EQ(dated_events(record_file("iblinkinfo.txt", listed)), "switch_links_lost leaf-3");
  EXPECT_EQ(
      dated_events(record_file(
          "iblinkinfo.txt",
          "CA: n7 mlx5_4:\n"
          "      0xa0    495    1[  ] ==( 1X   106.25 Gbps Active/  LinkUp)==>     18   59[  ] "
          "\"MF0;leaf-4:MQM9700/U1\" ( Could be 4X )\n")),
      "nic_port_narrow n7");
}

TEST(CgroupCpu, ALimitThatIsReachedMostOfTheTime) {
  EXPECT_EQ(dated_events(record_file("pod-1.txt", "nr_periods 184011\nnr_throttled 181618\n")),
            "cpu_limit_reached");
  EXPECT_EQ(dated_events(record_file("pod-1.txt", "nr_periods 184011\nnr_throttled 1618\n")), "");
  EXPECT_EQ(dated_events(record_file("pod-1.txt", "nr_periods 99\nnr_throttled 98\n")), "");
}

}  // namespace
}  // namespace culprit::ingest
