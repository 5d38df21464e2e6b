// What machines, schedulers and clusters say of machines: names, addresses, zones, starts.
#include <fmt/format.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

test::Rows file(const std::string& name, const std::string& bytes) {
  const test::Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

// "kind time boot" of each clock row that is no edge of a log.
std::string clocks(const test::Rows& rows) {
  std::string out;
  for (const ClockRow& c : rows.clocks) {
    if (c.kind == "first" || c.kind == "last" || c.kind == "kernel") continue;
    if (!out.empty()) out += ' ';
    out += c.kind;
    if (c.time.clock == Clock::local_no_date)
      out += fmt::format(" {}s", c.time.ns / kSecond);
    else if (c.time.clock != Clock::none)
      out += " " + iso_utc(c.time.ns) + (c.time.clock == Clock::utc ? "" : "?");
    if (c.boot) out += fmt::format(" +{}s", c.boot->ns / kSecond);
  }
  return out;
}

std::string names(const test::Rows& rows) {
  std::string out;
  for (const IdentityRow& i : rows.identities)
    out += (out.empty() ? "" : " ") + i.source + ":" + name_of(i.host) +
           (i.address ? "=" + *i.address : "");
  return out;
}

std::string settings(const test::Rows& rows) {
  std::string out;
  for (const ConfigRow& r : rows.configs)
    out += (out.empty() ? "" : "\n") + r.name + "=" + r.value + (r.host ? "@" + *r.host : "");
  return out;
}

TEST(NodeRank, LaunchersAndScriptsNumberTheirMachine) {
  const auto said = [](const std::string& line) {
    const test::Rows rows = file("launch.log", line + "\n");
    std::string out;
    for (const IdentityRow& i : rows.identities)
      if (i.node_rank) out += i.host.value_or(Host("-")) + ":" + std::to_string(*i.node_rank);
    return out;
  };
  EXPECT_EQ(said("launching 8 workers on cx-07 node rank 4 of 6"), "cx-07:4");
  EXPECT_EQ(said("NODE_RANK=2 HOSTNAME=r3c11.cluster MASTER_ADDR=10.0.0.1"), "r3c11.cluster:2");
  EXPECT_EQ(said("host: cx-07, node_rank: 1"), "cx-07:1");
  EXPECT_EQ(said("node_rank=3 master on port 29500"), "") << "no machine";
  EXPECT_EQ(said("training on cuda, node_rank=0"), "");
}

TEST(RankMap, LinesThatListTheRanksOfEachMachine) {
  const auto said = [](const std::string& line) {
    std::string out;
    for (const IdentityRow& i : file("job.log", line + "\n").identities)
      if (i.rank)
        out += fmt::format("{}{}={}:{}", out.empty() ? "" : " ", *i.rank, *i.host,
                           number_of(*i.local_rank));
    return out;
  };
  EXPECT_EQ(said("rank map: 0-1=cx-07 2-3=cx-09"), "0=cx-07:0 1=cx-07:1 2=cx-09:0 3=cx-09:1");
  EXPECT_EQ(said("INFO:core.rank_map:rank 2-3 -> p5-101"), "2=p5-101:0 3=p5-101:1");
  EXPECT_EQ(said("[rank map] ranks  0- 1 -> dgx-b08"), "0=dgx-b08:0 1=dgx-b08:1");
  EXPECT_EQ(said("host=cx-07 ranks=4-5"), "4=cx-07:0 5=cx-07:1");
  EXPECT_EQ(said("starting ranks 6-7 on host cx-08"), "6=cx-08:0 7=cx-08:1");
  EXPECT_EQ(said("job j3301 ranks: cx1=0-1 cx2=2-3"), "0=cx1:0 1=cx1:1 2=cx2:0 3=cx2:1");
  EXPECT_EQ(said("job j3301 ranks: cx1=0-1 cx2=2-4"), "") << "not as many on each";
  EXPECT_EQ(said("job j3301 ranks: tp2=0-1"), "");
  EXPECT_EQ(said("ranks 3-4 on cx-08 are late"), "") << "no machine begins with an odd one of two";
  EXPECT_EQ(said("waiting for ranks 0-7: gpu0 is busy"), "");
  EXPECT_EQ(said("data shards: ranks 0-7 = c4v3, ranks 8-15 = wiki2024"), "");
  EXPECT_EQ(said("peer checkpoint replicas: ranks 0-7 -> node-x2"), "");
  EXPECT_EQ(said("ranks 8-15 on layers16-31"), "");
  EXPECT_EQ(said("timed out waiting for ranks 8-15 since 10:02:33"), "");
}

TEST(HostWords, FilesOfOneWord) {
  EXPECT_EQ(clocks(file("cx-1/uptime.txt", "351735.47 9284388.90\n")), "uptime +351735s");
  EXPECT_EQ(clocks(file("proc/uptime", "12.00 9284388.90")), "uptime +12s");
  EXPECT_EQ(clocks(file("collected_at.txt", "2026-03-07T10:00:00Z\n")),
            "collected 2026-03-07T10:00:00Z");
  EXPECT_EQ(clocks(file("date", "Sat Mar  7 10:00:00 UTC 2026\n")),
            "collected 2026-03-07T10:00:00Z");
  EXPECT_EQ(clocks(file("date.txt", "Sat Mar  7 06:00:00 PM CET 2026\n")),
            "collected 2026-03-07T17:00:00Z");
  EXPECT_EQ(clocks(file("date.txt", "1772877600\n")), "collected 2026-03-07T10:00:00Z");
  EXPECT_EQ(clocks(file("uptime-s.txt", "2026-03-01 08:12:33\n")),
            "boot_time 2026-03-01T08:12:33Z? +0s");
  EXPECT_EQ(clocks(file("btime", "1772877600\n")), "boot_time 2026-03-07T10:00:00Z +0s");
  EXPECT_EQ(names(file("sos/hostname", "cx-7.cluster.example\n")), "hostname:cx-7.cluster.example");
  EXPECT_EQ(settings(file("etc/timezone", "Asia/Singapore\n")), "timezone=Asia/Singapore");
  const auto zoned = file("date.txt", "Sat Mar  7 18:00:00 +08 2026\n");
  EXPECT_EQ(clocks(zoned), "collected 2026-03-07T10:00:00Z");
  EXPECT_EQ(settings(zoned), "timezone=+08:00");
}

TEST(HostWords, FilesThatOnlyHaveSuchNames) {
  for (const auto& [name, bytes] : {std::pair{"hostname.txt", "two words\n"},
                                    {"date.csv", "a,b\n1,2\n"},
                                    {"uptime.txt", "never\n"},
                                    {"timezone.txt", "unknown\n"},
                                    {"hostname", "12345\n"},
                                    {"update.log", "2026-03-07T10:00:00Z started\n"}}) {
    const auto rows = file(name, bytes);
    EXPECT_EQ(clocks(rows) + names(rows) + settings(rows), "") << name;
  }
}

TEST(HostWords, LinesOfTools) {
  EXPECT_EQ(
      clocks(file("uptime.txt",
                  " 10:00:05 up 12 days,  3:04,  2 users,  load average: 1.02, 0.98, 0.91\n")),
      "uptime 36005s +1047840s sample 35105s sample 36005s");
  EXPECT_EQ(
      clocks(file("sys.log",
                  "$ uptime\n 10:00:05 up 7 min,  1 user,  load average: 1.02, 0.98, 0.91\n")),
      "uptime 36005s +420s sample 35105s sample 36005s");
  EXPECT_EQ(clocks(file("who.txt", "         system boot  2026-03-01 08:12\n")),
            "boot_time 2026-03-01T08:12:00Z? +0s");
  EXPECT_EQ(clocks(file("last.txt",
                        "reboot   system boot  5.15.0-91-generi Sun Mar  1 08:12:33 2026   still "
                        "running\nroot pts/0 10.0.0.1 Sun Mar  1 08:14\n")),
            "boot_time 2026-03-01T08:12:33Z? +0s");
  EXPECT_EQ(
      clocks(file("proc_stat.txt", "cpu  1 2 3\nctxt 1990473\nbtime 1772877600\nprocesses 2915\n")),
      "boot_time 2026-03-07T10:00:00Z +0s");
  EXPECT_EQ(clocks(file("dmesg.txt", "(boot time of this node: 2026-03-07 10:00:00 UTC)\n")),
            "boot_time 2026-03-07T10:00:00Z +0s");
  EXPECT_EQ(clocks(file("list-boots.txt",
                        "-1 0a1b2c3d4e5f60718293a4b5c6d7e8f9 Sun 2026-02-01 08:12:33 UTC—Sun "
                        "2026-03-01 08:10:00 UTC\n 0 1a1b2c3d4e5f60718293a4b5c6d7e8f9 Sun "
                        "2026-03-01 08:12:33 UTC—Sat 2026-03-07 10:00:00 UTC\n")),
            "boot_time 2026-03-01T08:12:33Z +0s");
  const auto timedatectl =
      file("timedatectl.txt",
           "               Local time: Sat 2026-03-07 18:00:00 +08\n           Universal time: Sat "
           "2026-03-07 10:00:00 UTC\n                 RTC time: Sat 2026-03-07 10:00:00\n          "
           "      Time zone: Asia/Singapore (+08, +0800)\n");
  EXPECT_EQ(clocks(timedatectl), "collected 2026-03-07T10:00:00Z");
  EXPECT_EQ(settings(timedatectl), "timezone=Asia/Singapore");
  EXPECT_EQ(settings(file("ls.txt",
                          "lrwxrwxrwx 1 root root 27 Jan  1  2025 /etc/localtime -> "
                          "../usr/share/zoneinfo/Europe/Oslo\n")),
            "timezone=Europe/Oslo");
}

TEST(HostWords, NamesAndAddresses) {
  EXPECT_EQ(
      names(file("cx-7/ip_addr.txt",
                 "1: lo: <LOOPBACK,UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo\n2: eth0: "
                 "<UP> mtu 9000\n    inet 10.1.4.7/16 brd 10.1.255.255 scope global eth0\n    "
                 "inet6 fd00::7/64 scope global\n    inet6 fe80::7/64 scope link\n")),
      "ip addr:=10.1.4.7 ip addr:=fd00::7");
  EXPECT_EQ(names(file("hostnamectl.txt",
                       "   Static hostname: cx-7\n         Icon name: computer-server\n")),
            "hostname:cx-7");
  EXPECT_EQ(names(file("paste.txt",
                       "ops@cx-7:~$ dmesg | tail\n[  100.000000] a\n[root@cx-8 ~]# "
                       "nvidia-smi\nops@login:~$ cat console.log\n")),
            "prompt:cx-7 prompt:cx-8");
  EXPECT_EQ(names(file("env.txt", "HOME=/root\nPATH=/bin\nPWD=/\nSHELL=/bin/sh\nHOSTNAME=cx-7\n")),
            "hostname:cx-7");
}

TEST(Slurm, ShowJob) {
  const auto rows =
      file("scontrol.txt",
           "JobId=4711 JobName=pretrain\n   UserId=u(1) GroupId=g(1)\n   JobState=FAILED "
           "Reason=NonZeroExitCode Dependency=(null)\n   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 "
           "ExitCode=1:0\n"
           "   StartTime=2026-03-07T08:00:00 EndTime=2026-03-07T10:00:00 Deadline=N/A\n   "
           "NodeList=cx-[7-8]\n   BatchHost=cx-7\n\nunrelated EndTime=2026-01-01T00:00:00\n");
  EXPECT_EQ(settings(rows),
            "slurm.job.state=4711 FAILED\nslurm.job.exit_code=4711 1:0\nslurm.job.start=4711 "
            "2026-03-07T08:00:00\nslurm.job.end=4711 2026-03-07T10:00:00\nslurm.job.nodes=4711 "
            "cx-[7-8]\nslurm.nodelist=cx-[7-8]");
}

TEST(Slurm, ShowNode) {
  const auto rows =
      file("nodes.txt",
           "NodeName=cx-7 Arch=x86_64 CoresPerSocket=56\n   CPUAlloc=0 CPUTot=224 CPULoad=1.02\n   "
           "NodeAddr=10.1.4.7 NodeHostName=cx-7 Version=23.02.6\n   State=DOWN+DRAIN "
           "ThreadsPerCore=2 TmpDisk=0\n"
           "   BootTime=2026-03-01T08:12:33 SlurmdStartTime=2026-03-01T08:14:00\n\nNodeName=cx-8 "
           "Arch=x86_64 CoresPerSocket=56\n   NodeAddr=cx-8-mgmt NodeHostName=cx-8\n   State=IDLE "
           "ThreadsPerCore=2\n");
  EXPECT_EQ(names(rows), "scontrol:cx-7=10.1.4.7 scontrol:cx-8=cx-8-mgmt");
  EXPECT_EQ(settings(rows), "slurm.node_state=DOWN+DRAIN@cx-7\nslurm.node_state=IDLE@cx-8");
  EXPECT_EQ(clocks(rows), "boot_time 2026-03-01T08:12:33Z? +0s");
}

// A tag may mean another build on each machine.
TEST(Pods, BuildOfTheImageOfEachNode) {
  const std::string want =
      "container.image.moe=sha256:f3b07d551200@kn-41\ncontainer.image.moe=sha256:11aa90c2e700@kn-"
      "44";
  EXPECT_EQ(settings(file("imageids.txt",
                          "POD        NODE   IMAGE                       IMAGEID\n"
                          "raven-0    kn-41  reg.lab/train/moe:latest    sha256:f3b07d551200aa\n"
                          "raven-3    kn-44  reg.lab/train/moe:latest    sha256:11aa90c2e700aa\n")),
            want);
  std::string yaml;
  for (const auto& [pod, node, digest] :
       {std::tuple{"raven-0", "kn-41", "f3b07d551200aa"}, {"raven-3", "kn-44", "11aa90c2e700aa"}})
    yaml += fmt::format(
        "- metadata:\n    name: {}\n    namespace: lab\n  spec:\n    nodeName: {}\n  status:\n"
        "    containerStatuses:\n    - name: main\n      imageID: reg.lab/train/moe@sha256:{}\n",
        pod, node, digest);
  EXPECT_EQ(settings(file("pods.yaml", yaml)), want);
}

TEST(Slurm, QueueWithTheMachinesOfEachJob) {
  EXPECT_EQ(settings(file("squeue.txt",
                          "  JOBID PARTITION     NAME     USER ST       TIME  NODES "
                          "NODELIST(REASON)\n   4711       gpu vit-pre tschmidt  R      54:10      "
                          "2 cx-[07-08]\n   4712       gpu   other  someone PD       0:00      4 "
                          "(Resources)\n")),
            "slurm.queue.nodes=4711 cx-[07-08]");
  EXPECT_EQ(settings(file("squeue.txt",
                          "JOBID USER NODELIST\n"
                          "4711 lm-core cx-[07-08]\n")),
            "slurm.queue.nodes=4711 cx-[07-08]");
  EXPECT_EQ(settings(file("squeue.txt",
                          "JOBID USER NODES NODELIST STATE\n"
                          "4711 lm-core 2 cx-[07-08] FAILED\n")),
            "slurm.queue.nodes=4711 cx-[07-08]");
}

TEST(Slurm, Accounting) {
  const char* want =
      "slurm.job.state=4711 FAILED\nslurm.job.exit_code=4711 1:0\nslurm.job.start=4711 "
      "2026-03-07T08:00:00\nslurm.job.end=4711 2026-03-07T10:00:00\nslurm.job.name=4711 pretrain";
  EXPECT_EQ(settings(file("sacct.txt",
                          "JobID|JobName|State|ExitCode|Start|End\n4711|pretrain|FAILED|1:0|2026-"
                          "03-07T08:00:00|2026-03-07T10:00:00\n4711.batch|batch|FAILED|1:0|2026-03-"
                          "07T08:00:01|2026-03-07T10:00:00\n")),
            want);
  EXPECT_EQ(
      settings(file(
          "sacct.txt",
          "JobID           JobName      State ExitCode               Start                 End "
          "\n------------ ---------- ---------- -------- ------------------- ------------------- \n"
          "4711           pretrain     FAILED      1:0 2026-03-07T08:00:00 2026-03-07T10:00:00 "
          "\n4711.0           python     FAILED      1:0 2026-03-07T08:00:02 2026-03-07T10:00:00 "
          "\n")),
      want);
  // Without exit codes: which job had which machines, and when.
  EXPECT_EQ(
      settings(file("sacct.txt",
                    "JobID|State|Start|End|NodeList\n4711|RUNNING|2026-03-07T08:00:00|Unknown|"
                    "cx-[7-8]\n")),
      "slurm.job.state=4711 RUNNING\nslurm.job.start=4711 2026-03-07T08:00:00\n"
      "slurm.job.nodes=4711 cx-[7-8]");
  // As somebody pasted it: dashes of other columns, or none; a row that lacks a word is not
  // guessed.
  const std::string row = "4711 pretrain FAILED 1:0 2026-03-07T08:00:00 2026-03-07T10:00:00\n";
  const std::string heading = "JobID   JobName State ExitCode Start End\n";
  EXPECT_EQ(settings(file("sacct.txt", heading + row)), want);
  EXPECT_EQ(settings(file("sacct.txt", heading + "------------------ ---- ---- ---- ----\n" + row)),
            want);
  EXPECT_EQ(settings(file("sacct.txt", heading + "4711 FAILED 1:0 2026-03-07T08:00:00\n")), "");
  // Dashes that end in the middle of a word are of another table.
  EXPECT_EQ(
      settings(file("sacct.txt",
                    heading + "------- ------- ----- -------- ------------------- ------\n" + row)),
      want);
  // A file of numbers by its name, and of jobs by its heading; lists of nodes have commas.
  EXPECT_EQ(settings(file("sacct.csv",
                          "JobID,JobName,State,ExitCode,Start,End,NodeList\n4711,pretrain,FAILED,"
                          "1:0,2026-03-07T08:00:00,2026-03-07T10:00:00,cx-[1-2,4],\n")),
            std::string(want) + "\nslurm.job.nodes=4711 cx-[1-2,4]");
}

TEST(Slurm, ReasonsOfSinfo) {
  const test::Rows rows = file("sinfo-R.txt",
                               "REASON               USER      TIMESTAMP           NODELIST\n"
                               "Not responding       slurm     2026-03-07T10:00:00 cx-[01-02]\n"
                               "gpu 3: xid 79        root      2026-03-01T09:12:44 cx-17\n"
                               "firmware upgrade     root      Unknown             cx-18\n");
  std::string seen;
  for (const EventRow& e : rows.events)
    seen += e.event_class + " " + std::string(name_of(e.host)) + " " + iso_utc(e.time.ns) + "\n";
  EXPECT_EQ(seen,
            "slurm_node_fail cx-01 2026-03-07T10:00:00Z\n"
            "slurm_node_fail cx-02 2026-03-07T10:00:00Z\n"
            "node_drained cx-17 2026-03-01T09:12:44Z\n");
}

TEST(Slurm, SeveralNodesInOneLine) {
  const test::Rows rows =
      file("slurmctld.log",
           "[2026-03-07T10:00:00.107] error: Nodes cx-[01-02,07] not responding, setting DOWN\n");
  std::string hosts;
  for (const EventRow& e : rows.events) hosts += std::string(name_of(e.host)) + " ";
  EXPECT_EQ(hosts, "cx-01 cx-02 cx-07 ");
}

TEST(Slurm, TheControllersLog) {
  const test::Rows rows =
      file("slurmctld.log",
           "[2026-03-07T08:00:00.107] sched: Allocate JobId=4711 NodeList=cx-[1-4] #CPUs=512\n"
           "[2026-03-07T08:10:00.107] sched/backfill: _start_job: Started JobId=99 in gpu on cx-9\n"
           "[2026-03-07T10:00:00.907] _job_complete: JobId=4711 WEXITSTATUS 1\n");
  EXPECT_EQ(
      settings(rows),
      "slurm.nodelist=cx-[1-4]\nslurm.log.start=4711\nslurm.log.start=99\nslurm.log.end=4711");
  EXPECT_EQ(clocks(rows),
            "job record 2026-03-07T08:00:00.107Z? job record 2026-03-07T08:10:00.107Z? "
            "job record 2026-03-07T10:00:00.907Z?");
}

TEST(HostWords, HowFarAClockIsFromItsTimeService) {
  EXPECT_EQ(settings(file("cx-7/chronyc_tracking.txt",
                          "Stratum         : 0\n"
                          "System time     : 187.004512300 seconds slow of NTP time\n")),
            "clock_ahead_ms=-187004");
  EXPECT_EQ(settings(file("chrony.txt",
                          "cx-7: System time     : 0.000087736 seconds fast of NTP time\n"
                          "cx-8: System time     : 3.5 seconds fast of NTP time\n")),
            "clock_ahead_ms=0@cx-7\nclock_ahead_ms=3500@cx-8");
}

TEST(Pods, ATableWithoutItsLastColumnsAndTheSchedulersWord) {
  EXPECT_EQ(
      names(file("pods.txt",
                 "NAME          READY   STATUS   RESTARTS   AGE   IP           NODE\n"
                 "pt-worker-0   0/1     Error    0          5h    10.8.1.4     cx-7.example\n")),
      "pod:cx-7.example=pt-worker-0 pod:cx-7.example=10.8.1.4");
  EXPECT_EQ(names(file("pods.txt",  // -o custom-columns
                       "NAME          READY   STATUS   RESTARTS   NODE\n"
                       "pt-worker-0   0/1     Error    0          cx-7.example\n")),
            "pod:cx-7.example=pt-worker-0");
  EXPECT_EQ(names(file("pods.txt",  // typed by hand: a column too far to the left
                       "NAME          READY   STATUS   RESTARTS   AGE   IP           NODE\n"
                       "pt-worker-1   0/1     Error    0          5h    10.8.1.5    cx-8\n")),
            "pod:cx-8=pt-worker-1 pod:cx-8=10.8.1.5");
  EXPECT_EQ(names(file("events.txt",
                       "LAST SEEN   TYPE     REASON      OBJECT            MESSAGE\n"
                       "69m         Normal   Scheduled   pod/pt-worker-0   Successfully assigned "
                       "ml/pt-worker-0 to cx-7\n")),
            "pod:cx-7=pt-worker-0");
}

TEST(Nodes, TheirAddressesAndInstances) {
  EXPECT_EQ(
      names(file("nodes.txt",
                 "NAME    STATUS   ROLES    VERSION   INTERNAL-IP   EXTERNAL-IP   INSTANCE-ID\n"
                 "cx-7    Ready    <none>   v1.33.5   10.8.1.4      <none>        i-0a1\n"
                 "cx-8    Ready    <none>   v1.33.5   10.8.1.5      <none>        i-0a2\n")),
      "pod:cx-7=10.8.1.4 pod:cx-7=i-0a1 pod:cx-8=10.8.1.5 pod:cx-8=i-0a2");
}

TEST(EccCounters, OfAGpusWholeLifeAreNoErrorOfTheJob) {
  const auto errors = [](const char* block) {
    std::string text =
        "==============NVSMI LOG==============\nAttached GPUs : 1\nGPU 00000000:47:00.0\n"
        "    Product Name : X\n    ECC Errors\n        Volatile\n"
        "            DRAM Uncorrectable            : 0\n        Aggregate\n"
        "            DRAM Uncorrectable            : 0\n    Remapped Rows\n"
        "        Pending                           : No\n";
    text[text.find(": 0", text.find(block)) + 2] = '3';
    std::size_t n = 0;
    for (const EventRow& e : file("cx-1/nvidia-smi-q.txt", text).events)
      n += e.event_class == "gpu_ecc_uncorrectable_count";
    return n;
  };
  EXPECT_EQ(errors("Volatile"), 1u);
  EXPECT_EQ(errors("Aggregate"), 0u);
}

TEST(Inventory, NamesAndAddressesOfMachines) {
  EXPECT_EQ(names(file("inventory.csv",
                       "serial,host,mgmt,rdma\nS1,cx-1,172.20.4.1,10.8.0.1\n"
                       ",cx-2,172.20.4.2,10.8.0.2\n")),
            "inventory:cx-1=172.20.4.1 inventory:cx-1=10.8.0.1 inventory:cx-2=172.20.4.2 "
            "inventory:cx-2=10.8.0.2");
  EXPECT_EQ(names(file("pods.txt",
                       "NAME READY STATUS RESTARTS AGE IP NODE\n"
                       "a-0 1/1 Running 0 5h 10.8.0.1 cx-1\n"
                       "a-1 1/1 Running 0 5h 10.8.0.2 cx-2\n"))
                .find("inventory"),
            std::string::npos);
  EXPECT_EQ(names(file("x.csv", "host,load\ncx-1,2.5\ncx-2,2.5\n")), "") << "no addresses";
}

TEST(KernelLog, SaysTheZoneThatItPrints) {
  const auto zone = [](const std::string& offset) {
    std::string text;
    for (const char* second : {"12", "13", "14"})
      text += std::string("kern  :info : 2026-03-07T11:36:") + second + ",135000" + offset +
              " hrtimer: interrupt took 22806 ns\n";
    return settings(file("nodes/cx-7-dmesg.txt", text));
  };
  EXPECT_EQ(zone("+01:00"), "timezone=+01:00");
  EXPECT_EQ(zone("+00:00"), "") << "journals are exported in UTC wherever they come from";
}

TEST(RankTable, UnderAHeadingOfAnyOrder) {
  const auto said = [](const std::string& bytes) {
    const test::Rows rows = file("ranks.txt", bytes);
    std::string out;
    for (const IdentityRow& i : rows.identities)
      if (i.rank)
        out += fmt::format("{}@{}:{} ", *i.rank, i.host.value_or(Host("-")), i.pid.value_or(0));
    return out;
  };
  EXPECT_EQ(said("# rank host local pid\n0 cx-1 0 811\n1 cx-1 1 812\n"), "0@cx-1:811 1@cx-1:812 ");
  EXPECT_EQ(said("hostname,global_rank\ncx-1,0\ncx-2,1\n"), "0@cx-1:0 1@cx-2:0 ");
  EXPECT_EQ(said("rank host\n0 cx-1\nlater: nothing\n"), "") << "not every line is a row";
  EXPECT_EQ(said("rank loss\n0 2.5\n1 2.5\n"), "") << "no machine";
  EXPECT_EQ(said("# two a node\nranks 0-1 cx-1\nranks 2-3 cx-2\n"),
            "0@cx-1:0 1@cx-1:0 2@cx-2:0 3@cx-2:0 ");
  EXPECT_EQ(said("cx-1: 0..1\ncx-2: 2..3\n"), "0@cx-1:0 1@cx-1:0 2@cx-2:0 3@cx-2:0 ");
  EXPECT_EQ(said("ranks 0-1 cx-1\nranks 2-5 cx-2\n"), "") << "as many on each";
}

TEST(RankLine, ALocalRankIsNoneOfTheJob) {
  const auto said = [](const std::string& line) {
    std::string out;
    for (const IdentityRow& i : file("job.log", line + "\n").identities)
      out += fmt::format("{} {} {}", i.rank.value_or(-1), i.task.value_or(-1), *i.host);
    return out;
  };
  EXPECT_EQ(said("global rank 9, local rank 1, host cx-07"), "9 -1 cx-07");
  EXPECT_EQ(said("local rank 1 of host cx-07"), "");
  EXPECT_EQ(said("[rank9]: starting on hostname cx-07, local rank 1"), "9 -1 cx-07");
  EXPECT_EQ(said("9: 2026-01-29 16:20:19 hostname cx-07, local rank 1"), "-1 9 cx-07");
}

TEST(EtcHosts, AddressesOfMachines) {
  const std::string table =
      "127.0.0.1 localhost\n::1 localhost ip6-localhost\nff02::1 ip6-allnodes\n\n"
      "10.7.0.4\tcx-4.example cx-4  # first rack\n10.7.0.5   cx-5\nfd00::6 cx-6\n";
  for (const char* name : {"hosts", "etc/hosts", "cx-4/etc_hosts.txt"})
    EXPECT_EQ(names(file(name, table)),
              "etc-hosts:cx-4.example=10.7.0.4 etc-hosts:cx-5=10.7.0.5 etc-hosts:cx-6=fd00::6")
        << name;
  EXPECT_EQ(
      names(file("addresses.txt", "cx-4 rail0 10.7.0.4\ncx-4,rail1,10.7.1.4\ncx-5 fd00::5\n")),
      "etc-hosts:cx-4=10.7.0.4 etc-hosts:cx-4=10.7.1.4 etc-hosts:cx-5=fd00::5");
  EXPECT_EQ(
      names(file("hosts.inc", "# eth0 ib0\n10.7.0.4 10.9.0.4 cx-4\n10.7.0.5 10.9.0.5 cx-5\n")),
      "etc-hosts:cx-4=10.7.0.4 etc-hosts:cx-4=10.9.0.4 etc-hosts:cx-5=10.7.0.5 "
      "etc-hosts:cx-5=10.9.0.5");
  for (const char* other :
       {"cx-4 10.7.0.4\nlater: nothing\n", "cx-4 gateway 10.7.0.1\ncx-5 gateway 10.7.0.1\n",
        "2 cx-4 10.7.0.4\n3 cx-5 10.7.0.5\n", "r12,cx-4,10.7.0.4\nr12,cx-5,10.7.0.5\n",
        "eth0 10.7.0.4\nib0 10.7.1.4\n", "MASTER_ADDR=10.7.0.4\n", "gateway 10.7.0.1\n"})
    EXPECT_EQ(names(file("addr.txt", other)), "") << other;
  for (const char* name : {"addr_neighbours.txt", "unreachable_hosts.txt", "master_addr.txt"})
    EXPECT_EQ(names(file(name, "cx-4 10.7.0.5\ncx-5 10.7.0.4\n")), "") << name;
  EXPECT_EQ(names(file("hosts", "cx-4 slots=8\n10.7.0.5 cx-5\n")), "");
}

TEST(Pods, TheirNodes) {
  EXPECT_EQ(names(file("pods.txt",
                       "NAME             READY   STATUS    RESTARTS      AGE   IP           NODE   "
                       " NOMINATED NODE   READINESS GATES\n"
                       "pt-worker-0      0/1     Error     2 (3h ago)    5h    10.8.1.4     cx-7   "
                       " <none>           <none>\npt-worker-1      1/1     Running   0             "
                       "5h    <none>       cx-8    <none>           <none>\n"
                       "pt-worker-2      0/1     Pending   0             5h    <none>       <none> "
                       " <none>           <none>\n")),
            "pod:cx-7=pt-worker-0 pod:cx-7=10.8.1.4 pod:cx-8=pt-worker-1");
  EXPECT_EQ(
      names(file(
          "describe.txt",
          "Name:             pt-worker-0\nNamespace:        ml\nNode:             "
          "cx-7/10.1.4.7\nStatus:           Running\nIP:               10.8.1.4\nContainers:\n  "
          "a:\n    Restart Count:  0\nVolumes:\n  v:\n    Name:  x\n")),
      "pod:cx-7=pt-worker-0 pod:cx-7=10.8.1.4");
  EXPECT_EQ(names(file("short.txt",
                       "Name:         pt-worker-4\nNode:         cx-9/10.1.4.9\nStatus:       "
                       "Failed\nContainers:\n  a:\n    State:  Terminated\nEvents: <none>\n")),
            "pod:cx-9=pt-worker-4");
  EXPECT_EQ(
      names(
          file("pods.yaml",
               "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    labels:\n  "
               "    name: other\n    name: pt-worker-0\n    namespace: ml\n    ownerReferences:\n  "
               "  - kind: Job\n      name: pt\n  spec:\n    containers:\n    - name: main\n"
               "    nodeName: cx-7\n  status:\n    podIP: 10.8.1.4\nkind: List\n")),
      "pod:cx-7=pt-worker-0 pod:cx-7=10.8.1.4");
}

TEST(HostBlocks, WhoseTheLinesBelowAre) {
  const std::string xid =
      "[ 3000.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";
  const auto hosts = [](const test::Rows& rows) {
    std::string out;
    for (const EventRow& e : rows.events)
      out += (out.empty() ? "" : " ") + e.host.value_or(Host("-"));
    return out;
  };
  const std::string bar = "----------------\n";
  EXPECT_EQ(hosts(file("dmesg.all", bar + "cx-7\n" + bar + xid + bar + "cx-8\n" + bar + xid + bar +
                                        "cx-[9-10]\n" + bar + xid)),
            "cx-7 cx-8 -");
  EXPECT_EQ(hosts(file("dmesg.all",
                       "cx-7 | CHANGED | rc=0 >>\n" + xid + "\ncx-8 | FAILED | rc=1 >>\n" + xid)),
            "cx-7 cx-8");
  EXPECT_EQ(hosts(file("paste.txt", "ops@cx-7:~$ dmesg\n" + xid + "ops@cx-8:~$ dmesg\n" + xid)),
            "cx-7 cx-8");
  EXPECT_EQ(hosts(file("train.log", bar + "rank 3\n" + bar + xid)), "-");
}

}  // namespace
}  // namespace culprit::ingest
