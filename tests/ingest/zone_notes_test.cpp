// What people note of the clocks of what they collected.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

std::string noted(const std::string& text) {
  EXPECT_EQ(detect(Head{"README", text, true}).kind, "notes");
  std::string out;
  for (const ConfigRow& c : test::read_text(text, "notes").configs)
    out += c.name + "=" + c.value + " ";
  return out;
}

TEST(ZoneNotes, ClausesOfTheJobAndOfItsMachines) {
  EXPECT_EQ(noted("console is UTC, machines are on America/Los_Angeles (-7)\n"),
            "timezone.job=+00:00 timezone.machines=America/Los_Angeles ");
  EXPECT_EQ(noted("job.log is in CET (local), kern.log of nodes in UTC. cn07: cable of the job\n"),
            "timezone.file[job.log]=+01:00 timezone.job=+01:00 timezone.file[kern.log]=+00:00 "
            "timezone.machines=+00:00 ");
  EXPECT_EQ(
      noted("sys/*.log are in local time (CEST, UTC+2); run-0605.out is UTC\n"),
      "timezone.file[sys/*.log]=+02:00 timezone.machines=+02:00 timezone.file[run-0605.out]=+00:00 "
      "timezone.job=+00:00 ");
}

TEST(ZoneNotes, FilesByTheirNames) {
  EXPECT_EQ(noted("train.log UTC; smi.csv is PDT (UTC-7). 0x40 = HW thermal slowdown\n"),
            "timezone.file[train.log]=+00:00 timezone.job=+00:00 timezone.file[smi.csv]=-07:00 ");
}

// In a comment or a heading among what a tool printed, of that file or of a machine by its name.
TEST(ZoneComments, OfTheFileThatTheyStandIn) {
  const auto said = [](const std::string& text, const std::string& kind = "") {
    std::string out;
    for (const ConfigRow& c : test::read_text(text, kind, {}, false, "bmc/gx-7.sel").configs)
      out += c.name + "=" + c.value + " ";
    return out;
  };
  const std::string heading = "  ID | Date | Time | Sensor | Event   (BMC gx-7, BMC clock UTC+2)\n";
  EXPECT_EQ(said(heading, "bmc"), "timezone.file[bmc/gx-7.sel]=UTC+2 ");
  EXPECT_EQ(said(heading, "kernel"), "") << "another clock than its own";
  EXPECT_EQ(said("# gx hosts UTC; nas-2 clock EST\n"),
            "timezone.machines=+00:00 timezone.file[nas-2]=-05:00 ");
  EXPECT_EQ(said("the clock of this model runs at 1980 MHz (UTC is the unit)\n"), "");
  EXPECT_EQ(said("2026-03-01 10:00:00 INFO set clock UTC+2 for eval\n"), "");
}

TEST(ZoneNotes, WhoCopiedAFileAndWhenIsAnotherMatter) {
  for (const char* note :
       {"dmesg.txt was copied by Maria who is in EST\n",
        "See dmesg.txt: first Xid on gpu-03 at 21:20 EST.\n", "dmesg.txt uploaded on Wed in CET\n"})
    EXPECT_EQ(noted(note).find("timezone.file"), std::string::npos) << note;
}

TEST(ZoneNotes, TwoClausesAreTwoClocks) {
  for (const char* note :
       {"the kernel log is in UTC+3 and the job prints UTC\n",
        "Console and kernel logs differ: the console is UTC, kernel logs are UTC+3\n"}) {
    const std::string out = noted(note);
    EXPECT_NE(out.find("timezone.job=+00:00"), std::string::npos) << note;
    EXPECT_NE(out.find("timezone.machines=UTC+3"), std::string::npos) << note;
    EXPECT_EQ(out.find("timezone.machines=+00:00"), std::string::npos) << note;
  }
}

TEST(ZoneNotes, WhoWroteALogDoesNotHideItsClock) {
  for (const char* note : {"Kernel logs were exported by journalctl in UTC+3; job log in UTC\n",
                           "All nodes run in UTC+3 (set by the OS team). Job log is UTC.\n"}) {
    const std::string out = noted(note);
    EXPECT_NE(out.find("timezone.machines=UTC+3"), std::string::npos) << note << out;
    EXPECT_NE(out.find("timezone.job=+00:00"), std::string::npos) << note << out;
  }
}

TEST(ZoneNotes, WhereThePeopleAreIsNoClock) {
  EXPECT_EQ(noted("The nodes and the trainer image are managed by ops in Europe/Berlin\n"), "");
}

TEST(ZoneComments, WhoCollectsAndPlansLivesByAClockOfHisOwn) {
  for (const char* remark : {"# collected by helpdesk at 18:00 local time (UTC+9)\n",
                             "# maintenance window 02:00-04:00 local (UTC+2)\n"})
    EXPECT_TRUE(test::read_text(remark, "", {}, false, "gx-3/syslog").configs.empty()) << remark;
  EXPECT_FALSE(
      test::read_text("# every night from 01:45 local (UTC+3)\n", "", {}, false, "gx-3/train.log")
          .configs.empty());
}

TEST(ZoneNotes, OfBothWhereOneCountsThemUp) {
  for (const char* note : {"the job and its hosts print EST\n", "console + kern.log is EST\n"})
    EXPECT_NE(noted(note).find("timezone.job=-05:00 timezone.machines=-05:00 "), std::string::npos)
        << note;
}

TEST(ZoneNotes, WhatIsOfNobodyIsLeftOut) {
  EXPECT_EQ(noted("hosts of the job print EST\n"), "");
  EXPECT_EQ(noted("collected at 12:31 UTC on a Monday\n"), "");
  EXPECT_EQ(noted("it began at 12:31 UTC, and the job died\n"), "");
}

}  // namespace
}  // namespace culprit::ingest
