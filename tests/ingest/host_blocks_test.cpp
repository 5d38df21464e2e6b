#include "ingest/engine/host_blocks.hpp"

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

std::string heads(const char* line) {
  const CommandHeading heading = command_heading(line);
  return heading.host.empty() ? "-" : heading.host + (heading.bare ? " (bare)" : "");
}

TEST(CommandHeading, NamesTheMachineAndWhatRanThere) {
  EXPECT_EQ(heads("### gx-07: nvidia-smi -q"), "gx-07");
  EXPECT_EQ(heads("== gx07 (Tue Mar  3 20:12:40 UTC 2026) df -h"), "gx07");
  EXPECT_EQ(heads("=== gx-07: for d in $(ls /sys/class/infiniband); lspci -s $d"), "gx-07");
  EXPECT_EQ(heads("$ ssh gx-07 ip -br addr"), "gx-07");
  EXPECT_EQ(heads("op@head:~$ ssh -o BatchMode=yes root@gx-07.site 'dmesg -T | tail'"),
            "gx-07.site");
  EXPECT_EQ(heads("# ipmitool -H bmc-gx-07 sel elist  (BMC clock = +08:00)"), "gx-07");
  EXPECT_EQ(heads("$ ipmitool -I lanplus -H gx-07-ipmi.site -U adm sel list"), "gx-07");
  EXPECT_EQ(heads("## gx-07 eth0"), "gx-07");
  EXPECT_EQ(heads("### gx-07"), "gx-07 (bare)");
}

TEST(CommandHeading, BannersAndProseAreNone) {
  for (const char* line : {"=== llama3-8b: starting training ===", "### step-3: load the data",
                           "== rank 3 ==", "-- gx-07 --", "# see gx-07 for details",
                           "ssh: connect to host gx-07 port 22: Connection refused", "### notes",
                           "### eth0: ethtool -S eth0", "### H100: nvidia-smi -L"})
    EXPECT_EQ(heads(line), "-") << line;
}

// A bare name is a heading where a command follows it; the banner of a run is none.
TEST(CommandHeading, TheLinesBelowAreTheMachines) {
  const auto hosts = [](const std::string& text) {
    std::string out;
    for (const IdentityRow& row : read_text(text, "commands").identities)
      out += name_of(row.host) + " " + row.address.value_or("") + "\n";
    return out;
  };
  EXPECT_EQ(hosts("### rl-a3\n# uptime\n 16:31 up\n# ip -br addr\n"
                  "bond0.407@bond0  UP             10.40.7.23/24\n"
                  "### rl-b9\n# ip -br addr\nbond0.407@bond0  UP             10.40.7.23/24\n"),
            "rl-a3 10.40.7.23\nrl-b9 10.40.7.23\n");
}

// A machine's name behind a mark as sections have needs no prompt.
TEST(CommandHeading, SectionsAreTheMachines) {
  const std::string fault = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n";
  const Rows rows = read_text("===== gx-07  06:13\nfine\n===== gx-08  06:22\n" + fault, "commands");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].host, Host("gx-08"));
  for (const char* line : {"== gx-07", "=== python3", "=== sha256 ==="})
    EXPECT_FALSE(command_heading(line).section) << line;
}

// What looks like a heading and is not understood ends what the one before said.
TEST(CommandHeading, ItHoldsUntilTheNextOfAnyKind) {
  for (const char* other :
       {"### ada: dmesg -T", "### 10.1.0.3: dmesg -T", "### [n02] dmesg", "### n02 - dmesg",
        "2) n02: dmesg", "$ dmesg -T", "$ ssh 10.1.0.3 dmesg", "$ srun -w n02 dmesg",
        "### n02: /usr/bin/dmesg", "op@head:~$ cat /var/log/remote/n02/kern.log"}) {
    const Rows rows =
        read_text("### n01: nvidia-smi -L\nGPU 0\n" + std::string(other) +
                      "\nNVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n",
                  "commands");
    ASSERT_EQ(rows.events.size(), 1u) << other;
    EXPECT_NE(rows.events[0].host, Host("n01")) << other;
  }
}

}  // namespace
}  // namespace culprit::ingest
