#include "analyze/facts/identity.hpp"

#include <gtest/gtest.h>

#include "analyze/facts/facts.hpp"
#include "support/hosts.hpp"

namespace culprit::analyze {
namespace {

MemberRow file(Facts& facts, const std::string& path, const std::string& format = "text",
               const std::string& kind = "", const std::string& digest = "") {
  MemberRow m;
  m.id = static_cast<MemberId>(facts.members.size()) + 1;
  m.path = m.stored_path = path;
  m.format = format;
  m.text_kind = kind;
  m.size = 100;
  m.digest = digest.empty() ? path : digest;
  facts.members.push_back(m);
  return m;
}

std::string copies(const Facts& facts) {
  std::string out;
  for (const MemberRow& m : facts.members)
    if (m.duplicate_of != 0) out += m.path + "=" + facts.member(m.duplicate_of)->path + " ";
  return out;
}

// A process that stands still prints the same stack each time: that is the proof of a hang.
TEST(Copies, NeverDumpsAndSnapshots) {
  Facts facts;
  for (const char* look : {"look0", "look1", "look2"}) {
    file(facts, std::string(look) + "/rank_3.txt", "stack-dump", "stack", "a");
    file(facts, std::string(look) + "/rank_3.json", "pyspy-json", "", "b");
    file(facts, std::string(look) + "/ibstat.txt", "rdma-devices", "rdma", "c");
    file(facts, std::string(look) + "/node.prom", "prometheus-text", "data", "d");
  }
  for (int rank = 0; rank < 4; ++rank) {
    file(facts, "fr/dump_" + std::to_string(rank), "flight-recorder", "", "e");
    file(facts, "calls/host_" + std::to_string(rank) + ".csv", "metrics-table", "data", "f");
  }
  resolve_identity(facts);
  EXPECT_EQ(copies(facts), "");
}

TEST(Copies, ALogCollectedTwice) {
  Facts facts;
  file(facts, "hosts/cx-4/dmesg.txt", "kernel-log", "kernel", "a");
  file(facts, "old/dmesg.log", "kernel-log", "kernel", "a");
  file(facts, "out/console.log", "text", "", "b");
  file(facts, "backup/console.log.bak", "text", "", "b");
  file(facts, "console (1).log", "text", "", "b");
  file(facts, "out/other.log", "text", "", "b");
  resolve_identity(facts);
  EXPECT_EQ(copies(facts),
            "old/dmesg.log=hosts/cx-4/dmesg.txt out/console.log=backup/console.log.bak console "
            "(1).log=backup/console.log.bak ");
}

// Two ranks with the same last words are two ranks.
TEST(Copies, NotOfTwoOwners) {
  Facts facts;
  file(facts, "out/0/stderr.log", "text", "", "a");
  file(facts, "out/1/stderr.log", "text", "", "a");
  file(facts, "rank_0/stdout.log", "text", "", "b");
  file(facts, "rank_1/stdout.log", "text", "", "b");
  file(facts, "hosts/cx-4/messages", "kernel-log", "kernel", "c");
  file(facts, "hosts/cx-5/messages", "kernel-log", "kernel", "c");
  resolve_identity(facts);
  EXPECT_EQ(copies(facts), "");
}

std::string hosts_of_members(Facts& facts) {
  resolve_identity(facts);
  std::string out;
  for (const MemberRow& m : facts.members)
    out += (out.empty() ? "" : " ") + m.host.value_or(Host("-"));
  return out;
}

IdentityRow row(MemberId member, const char* source, const char* host) {
  IdentityRow i;
  i.place.member = member;
  i.source = source;
  if (*host != 0) i.host = Host(host);
  return i;
}

// The commonest names there are.
TEST(Hosts, FoldersThatNumberThemselves) {
  const auto hosts = [](const std::vector<std::string>& paths) {
    Facts facts;
    for (const std::string& path : paths) file(facts, path);
    return hosts_of_members(facts);
  };
  EXPECT_EQ(hosts({"gpu-01/out.log", "gpu-02/out.log", "gpu-02/rank_9.log"}),
            "gpu-01 gpu-02 gpu-02");
  EXPECT_EQ(hosts({"train-04/a/err.txt", "train-05/a/err.txt"}), "train-04 train-05");
  EXPECT_EQ(hosts({"hosts/gpu-01/dmesg.txt", "nodes/gpu07/x.log", "hosts/train-4/y.log",
                   "hosts/v100-2/z.log"}),
            "gpu-01 gpu07 train-4 v100-2");
  EXPECT_EQ(hosts({"dmesg-gpu-06.txt", "gpu07.journal.log"}), "gpu-06 gpu07");
  EXPECT_EQ(hosts({"ip-10-4-0-7/a.log", "ip-10-4-0-8/a.log"}), "ip-10-4-0-7 ip-10-4-0-8");
  // Looks at one job: a rank does not run on two machines.
  EXPECT_EQ(hosts({"visit-01/rank_3.log", "visit-02/rank_3.log"}), "- -");
  EXPECT_EQ(hosts({"hosts/rank_3/x.log", "snap-01/a.log", "snap-02/a.log", "part-001/a.log",
                   "part-002/a.log", "alone-01/a.log"}),
            "- - - - - -");
}

// Three files or more that differ in the number of what is shaped like a machine's name.
TEST(Hosts, FilesOfASeries) {
  const auto hosts = [](const std::vector<std::string>& paths) {
    Facts facts;
    for (const std::string& path : paths) file(facts, path);
    return hosts_of_members(facts);
  };
  EXPECT_EQ(hosts({"nos/gx07.txt", "nos/gx08.txt", "nos/gx09.txt"}), "gx07 gx08 gx09");
  EXPECT_EQ(hosts({"console.wk-1.log", "console.wk-2.log", "console.wk-3.log"}), "wk-1 wk-2 wk-3");
  EXPECT_EQ(hosts({"train-gx07.txt", "train-gx08.txt", "train-gx09.txt"}), "gx07 gx08 gx09");
  EXPECT_EQ(hosts({"wk-1-console.log", "wk-2-console.log"}), "wk-1 wk-2");
  for (const char* other : {"step-1$.txt", "trace-1$.txt", "runs/ab-1$.txt", "slurm-5187$.out",
                            "shard1$.txt", "rank_1$.txt"}) {
    std::vector<std::string> paths;
    for (const char digit : {'1', '2', '3'}) {
      paths.emplace_back(other);
      paths.back()[paths.back().find('$')] = digit;
    }
    EXPECT_EQ(hosts(paths), "- - -") << other;
  }
}

// People keep the end of a long name where a rack has many: "u19" of h200-r3-u19.
TEST(Hosts, EndsOfTheNamesOfARack) {
  const auto hosts = [](const std::vector<std::string>& known) {
    Facts facts;
    file(facts, "ipmi_u19.txt");
    file(facts, "ipmi_u12.txt");
    file(facts, "ipmi_u10.txt");
    file(facts, "console.log");
    for (const std::string& name : known) facts.identities.push_back(row(4, "uname", name.c_str()));
    return hosts_of_members(facts);
  };
  EXPECT_EQ(hosts({"h200-r3-u10", "h200-r3-u12", "h200-r3-u18", "h200-r3-u19"}),
            "h200-r3-u19 h200-r3-u12 h200-r3-u10 -");
  EXPECT_EQ(hosts({"login-u10", "login-u12"}), "u19 u12 u10 -") << "names of their own";
}

// Ray names the machine of a process by its address, in a file of each machine.
TEST(Hosts, FilesInEachOfWhichOneAddressSpeaks) {
  const auto first = [](const std::vector<std::string>& addresses) {
    Facts facts;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      file(facts, "ray/worker-gpu-" + std::to_string(i) + ".log");
      EventRow e;
      e.place.member = static_cast<MemberId>(i + 1);
      e.host = Host(addresses[i]);
      facts.events.push_back(e);
    }
    resolve_identity(facts);
    return std::string(facts.events[0].host.value_or(Host("-")));
  };
  EXPECT_EQ(first({"10.1.9.10", "10.1.9.11", "10.1.9.12"}), "worker-gpu-0");
  EXPECT_EQ(first({"10.1.9.10", "10.1.9.11", "10.1.9.10"}), "10.1.9.10") << "not one in each";
}

TEST(Hosts, NumbersOfNodes) {
  Facts facts;
  file(facts, "n0.log");
  file(facts, "n1.log");
  file(facts, "cx-07/dmesg.txt", "kernel-log", "kernel");
  file(facts, "nccl.txt");
  facts.identities.push_back(row(4, "nccl-init", "cx-07"));
  facts.identities.push_back(row(4, "nccl-init", "cx-08"));
  for (auto& i : facts.identities) i.rank = 0;
  EXPECT_EQ(hosts_of_members(facts), "- - cx-07 -");
  Facts ordered;
  file(ordered, "n0.log");
  file(ordered, "n1.log");
  ordered.manifest.emplace().hosts = Hosts({"cx-07", "cx-08"});
  EXPECT_EQ(hosts_of_members(ordered), "cx-07 cx-08");
}

// "pretrain-moe-4417.log" is the name of a job's output where the machines are known.
TEST(Hosts, TheLogOfAJobIsNoMachine) {
  const auto hosts = [](const std::vector<std::string>& paths) {
    Facts facts;
    for (const std::string& path : paths)
      file(facts, path, "text", path.find("dmesg") != std::string::npos ? "kernel" : "");
    return hosts_of_members(facts);
  };
  EXPECT_EQ(hosts({"klog/trn01.dmesg", "klog/trn02.dmesg", "pretrain-moe-4417.log"}),
            "trn01 trn02 -");
  EXPECT_EQ(hosts({"klog/trn01.dmesg", "klog/trn02.dmesg", "trn03.log"}), "trn01 trn02 trn03")
      << "one of their series";
  EXPECT_EQ(hosts({"gpuhost-7.log"}), "gpuhost-7") << "nothing else names a machine";
}

TEST(Hosts, AFolderWhoseMachineSaysItsName) {
  Facts facts;
  file(facts, "a/hostname", "host-words");
  file(facts, "a/logs/train.log");
  file(facts, "b/uname.txt", "text");
  file(facts, "b/logs/train.log");
  file(facts, "console.log");
  facts.identities = {row(1, "hostname", "cx-07"), row(3, "uname", "cx-08.cluster.example")};
  EXPECT_EQ(hosts_of_members(facts), "cx-07 cx-07 cx-08 cx-08 -");
  // One such folder beside others: the job's output may be of any machine.
  Facts one;
  file(one, "a/hostname", "host-words");
  file(one, "a/train.log");
  file(one, "a/dmesg.txt", "kernel-log", "kernel");
  one.identities = {row(1, "hostname", "cx-07")};
  EXPECT_EQ(hosts_of_members(one), "cx-07 - cx-07");
}

TEST(Hosts, APodAndItsNodeAreOneMachine) {
  Facts facts;
  file(facts, "pods.txt");
  file(facts, "train-7b-worker-0.log");
  IdentityRow pod = row(1, "pod", "cx-07");
  pod.address = "train-7b-worker-0";
  facts.identities = {pod};
  pod.address = "10.8.1.4";
  facts.identities.push_back(pod);
  EventRow e;
  e.place.member = 1;
  e.host = Host("train-7b-worker-0");
  e.peer = "10.8.1.4<41220>";
  facts.events.push_back(e);
  EXPECT_EQ(hosts_of_members(facts), "cx-07 cx-07");
  EXPECT_EQ(facts.events[0].host, "cx-07");
  EXPECT_EQ(facts.events[0].peer_host, "cx-07");
}

TEST(Hosts, NamedAfterTheirAddresses) {
  Facts facts;
  file(facts, "hosts/h800-10-8-33-21/dmesg.txt", "kernel-log", "kernel");
  file(facts, "hosts/h800-10-8-33-22/dmesg.txt", "kernel-log", "kernel");
  file(facts, "hosts/r4-1-2-3/dmesg.txt", "kernel-log", "kernel");
  file(facts, "driver.log");
  for (const char* host : {"10.8.33.21", "10.8.33.99", "4.1.2.3"}) {
    EventRow e;
    e.place.member = 4;
    e.host = Host(host);
    facts.events.push_back(e);
  }
  resolve_identity(facts);
  EXPECT_EQ(facts.events[0].host, Host("h800-10-8-33-21"));
  EXPECT_EQ(facts.events[1].host, Host("10.8.33.99"));
  EXPECT_EQ(facts.events[2].host, Host("4.1.2.3"));
}

// An address that nobody calls his own, between those of machines that do.
TEST(Hosts, AnAddressBetweenThoseOfOthers) {
  Facts facts;
  const MemberRow log = file(facts, "job.out");
  for (const char* number : {"10", "11", "12", "17"})
    facts.identities.push_back({.place = {log.id, 1, 0, 1},
                                .source = "nccl",
                                .host = Host(std::string("cn-1") + number),
                                .address = std::string("10.40.3.") + number});
  facts.identities.push_back(
      {.place = {log.id, 2, 0, 1}, .source = "nccl", .host = Host("cn-118")});
  for (const char* address : {"10.40.3.18", "10.40.3.19", "10.40.4.18"})
    facts.events.push_back({.place = {log.id, 9, 0, 1}, .peer = address});
  resolve_identity(facts);
  EXPECT_EQ(facts.events[0].peer_host, "cn-118");
  EXPECT_EQ(facts.events[1].peer_host, "10.40.3.19") << "no machine of that number";
  EXPECT_EQ(facts.events[2].peer_host, "10.40.4.18") << "another network";
}

TEST(Hosts, AddressesOfTheManifest) {
  Facts facts;
  file(facts, "console.log");
  facts.manifest.emplace().hosts = Hosts({"cx-07"});
  facts.manifest->addresses = {{"cx-07.cluster.example", {"10.8.1.4", "fd00::7"}}};
  EventRow e;
  e.place.member = 1;
  e.peer = "[::ffff:10.8.1.4]:29500";
  facts.events.push_back(e);
  e.peer = "10.8.1.9:29500";
  facts.events.push_back(e);
  resolve_identity(facts);
  EXPECT_EQ(facts.events[0].peer_host, "cx-07");
  EXPECT_EQ(facts.events[1].peer_host, "10.8.1.9") << "somebody can look it up";
}

// What was seen on the hosts counts before what follows from their order, and before a log.
TEST(Ranks, ThoseOfTheManifestCountFirst) {
  Facts facts;
  file(facts, "console.log");
  facts.manifest.emplace().hosts = Hosts({"cx-1", "cx-2"});
  facts.manifest->gpus_per_node = 1;
  facts.manifest->ranks = {{.rank = Rank(0), .host = Host("cx-2"), .source = "manifest"}};
  IdentityRow seen;
  seen.place.member = 1;
  seen.source = "torchrun";
  seen.host = Host("cx-1");
  seen.rank = 0;
  facts.identities.push_back(seen);
  resolve_identity(facts);
  ASSERT_EQ(facts.ranks.size(), 2u);
  EXPECT_EQ(facts.ranks[0].host, Host("cx-2"));
  EXPECT_EQ(facts.ranks[0].source, "manifest");
  EXPECT_EQ(facts.ranks[1].host, Host("cx-2"));
}

TEST(Jobs, FilesOfAnotherNumberAreAnotherJobs) {
  Facts facts;
  file(facts, "slurm-4711.out");
  file(facts, "slurm-4712.out");
  facts.manifest.emplace().job = "pretrain";
  EXPECT_FALSE(facts.foreign(facts.members[1]));
  facts.manifest->job_id = "4711";
  EXPECT_FALSE(facts.foreign(facts.members[0]));
  EXPECT_TRUE(facts.foreign(facts.members[1]));
}

// "[bx-208 rank24]", "[warmup2 rank24]"; "bx-208_compute_ms", "stage1_compute_ms".
TEST(Ranks, AWordBesideThemIsAMachineThatSomethingElseKnows) {
  const auto placed = [](const std::vector<std::pair<std::int64_t, std::string>>& claims,
                         const std::string& known) {
    Facts facts;
    file(facts, "console.log");
    if (!known.empty()) file(facts, known + "/dmesg.txt", "kernel-log", "kernel");
    for (const auto& [rank, word] : claims) {
      IdentityRow row;
      row.place.member = 1;
      row.source = "rank label";
      row.host = Host(word);
      row.rank = rank;
      facts.identities.push_back(row);
    }
    SeriesRow column;
    column.member = 1;
    column.labels = "column=" + claims.front().second;
    facts.series.push_back(column);
    EventRow e;
    e.place = {1, 9, 0, 0};
    e.rank = Rank(claims.front().first);
    facts.events.push_back(e);
    resolve_identity(facts);
    return name_of(facts.events[0].host) + "/" + name_of(facts.series[0].host);
  };
  EXPECT_EQ(placed({{3, "bx-208"}, {4, "bx-208"}}, "bx-208"), "bx-208/bx-208");
  EXPECT_EQ(placed({{3, "warmup2"}, {4, "warmup2"}}, "bx-208"), "/");
  EXPECT_EQ(placed({{3, "bx-208"}, {4, "bx-209"}}, ""), "bx-208/bx-208") << "shared out";
  EXPECT_EQ(placed({{3, "train1"}, {4, "train1"}, {3, "train2"}}, ""), "/") << "one after another";
}

TEST(Ranks, ARankThatTimedOutProvesTheOthers) {
  Facts facts;
  file(facts, "console.log");
  EventRow e;
  e.place.member = 1;
  e.rank = Rank(1);
  facts.events.push_back(e);
  resolve_identity(facts);
  EXPECT_EQ(facts.world_size, 2);
  Facts few;
  file(few, "console.log");
  e.rank = Rank(40);
  few.events.push_back(e);
  resolve_identity(few);
  EXPECT_EQ(few.world_size, 0) << "one of 41 says nothing of the rest";
}

}  // namespace
}  // namespace culprit::analyze
