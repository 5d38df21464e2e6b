#include "analyze/facts/clock.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/facts/earlier_runs.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "line/timestamp.hpp"
#include "line/zone.hpp"
#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

struct Bundle {
  Facts facts;

  MemberId file(const std::string& path, const std::string& kind = "",
                const std::string& host = "") {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = path;
    m.text_kind = kind;
    m.format = "text";
    if (!host.empty()) m.host = Host(host);
    facts.members.push_back(m);
    return m.id;
  }
  EventRow& event(MemberId member, Timestamp time) {
    EventRow e;
    e.place.member = member;
    e.time = e.last_time = time;
    e.host = facts.member(member)->host;
    facts.events.push_back(e);
    return facts.events.back();
  }
  void clock(MemberId member, const char* kind, Timestamp time, std::optional<Timestamp> boot = {},
             std::uint64_t text = 0) {
    ClockRow c;
    c.place.member = member;
    c.kind = kind;
    c.time = time;
    c.boot = boot;
    c.text_hash = text;
    facts.clocks.push_back(c);
  }
  void setting(MemberId member, const char* name, const std::string& value) {
    facts.configs.push_back({{member, 1, 0, 0}, name, value, {}, {}});
  }
  void resolve() {
    for (const MemberRow& m : facts.members)
      if (m.host && std::none_of(facts.hosts.begin(), facts.hosts.end(),
                                 [&](const HostRow& h) { return h.host == *m.host; })) {
        facts.hosts.emplace_back();
        facts.hosts.back().host = Host(*m.host);
      }
    resolve_clocks(facts);
  }
  std::string when(std::size_t event) const {
    return facts.events[event].time_ns ? iso_utc(*facts.events[event].time_ns) : "-";
  }
};

Timestamp iso(const char* text) {
  Timestamp stamp;
  EXPECT_GT(line::parse_iso(text, stamp), 0u);
  return stamp;
}
Timestamp calendar(const char* text) {
  Timestamp stamp;
  EXPECT_GT(line::parse_calendar(text, stamp), 0u);
  return stamp;
}
Timestamp boot(std::int64_t seconds) { return {Clock::boot, seconds * kSecond, 1'000}; }

TEST(BootTimes, UptimeAndTheMomentOfCollection) {
  Bundle b;
  const MemberId dmesg = b.file("cx-1/dmesg", "kernel", "cx-1");
  const MemberId uptime = b.file("cx-1/uptime", "", "cx-1");
  const MemberId date = b.file("collected_at.txt");
  b.event(dmesg, boot(1000));
  b.clock(uptime, "uptime", {}, boot(4600));
  b.clock(date, "collected", iso("2026-03-07T10:00:00Z"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T09:00:00Z");
  EXPECT_EQ(b.facts.hosts[0].boot_source, "uptime");
  EXPECT_GE(b.facts.events[0].uncertainty, 600 * kSecond) << "collectors go from host to host";
}

TEST(BootTimes, TheHostsOwnDateIsNearer) {
  Bundle b;
  const MemberId dmesg = b.file("cx-1/dmesg", "kernel", "cx-1");
  const MemberId uptime = b.file("cx-1/uptime", "", "cx-1");
  const MemberId own = b.file("cx-1/date", "", "cx-1");
  const MemberId all = b.file("collected_at.txt");
  b.event(dmesg, boot(1000));
  b.clock(uptime, "uptime", {}, boot(4600));
  b.clock(own, "collected", iso("2026-03-07T10:04:00Z"));
  b.clock(all, "collected", iso("2026-03-07T10:00:00Z"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T09:04:00Z");
  EXPECT_LT(b.facts.events[0].uncertainty, 60 * kSecond);
}

TEST(BootTimes, WhatTheMachineSaysOfItsStart) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId who = b.file("who", "", "cx-1");
  b.event(dmesg, boot(100));
  Timestamp minute = iso("2026-03-07T10:00:00Z");
  minute.precision = 60 * kSecond;
  b.clock(who, "boot_time", iso("2026-03-01T10:00:00Z"), boot(0));  // an earlier start
  b.clock(who, "boot_time", minute, boot(0));
  b.clock(who, "boot_time", iso("2026-03-07T10:00:20Z"), boot(0));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:02:00Z");
}

TEST(BootTimes, AnUptimeOfALaterStartSaysNothing) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId uptime = b.file("uptime", "", "cx-1");
  b.event(dmesg, boot(900'000));
  b.clock(uptime, "uptime", {}, boot(300));
  b.clock(uptime, "collected", iso("2026-03-07T10:00:00Z"));
  b.resolve();
  EXPECT_EQ(b.when(0), "-");
}

TEST(BootTimes, TheArchivesTimeOfTheFile) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId uptime = b.file("uptime", "", "cx-1");
  b.event(dmesg, boot(1000));
  b.clock(uptime, "uptime", {}, boot(4600));
  b.facts.members[1].mtime_s = 1'772'877'600;  // 2026-03-07T10:00:00Z
  Bundle folder = b;
  b.facts.members[1].in_archive = true;
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T09:00:00Z");
  folder.resolve();
  EXPECT_EQ(folder.when(0), "-") << "a folder may have been copied since";
}

TEST(BootTimes, AFileThatWasCopiedBeforeItWasPacked) {
  const auto resolved = [](std::int64_t mtime_s, const char* last_line,
                           std::optional<Nanoseconds> up) {
    Bundle b;
    const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
    const MemberId uptime = b.file("uptime", "", "cx-1");
    b.event(dmesg, boot(1000));
    b.clock(uptime, "uptime", up ? Timestamp{Clock::local_no_date, *up, kSecond} : Timestamp{},
            boot(4600));
    b.clock(dmesg, "last", iso(last_line));
    b.facts.members[1].mtime_s = mtime_s;
    b.facts.members[1].in_archive = true;
    b.resolve();
    return b.when(0);
  };
  constexpr std::int64_t at_ten = 1'772'877'600;  // 2026-03-07T10:00:00Z
  EXPECT_NE(resolved(at_ten, "2026-03-06T23:00:00Z", std::nullopt), "-");
  EXPECT_EQ(resolved(at_ten, "2025-09-02T23:00:00Z", std::nullopt), "-") << "half a year later";
  EXPECT_EQ(resolved(at_ten, "2026-03-06T23:00:00Z", (4 * 60 + 52) * kMinute), "-")
      << "the line says 04:52, which is 10:00 nowhere";
}

TEST(BootTimes, TheSameMessageInADatedLog) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId syslog = b.file("syslog", "kernel", "cx-1");
  b.event(dmesg, boot(1000));
  b.clock(dmesg, "kernel", boot(500), {}, 77);
  b.clock(syslog, "kernel", iso("2026-03-07T10:00:00Z"), {}, 77);
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:08:20Z");
  EXPECT_EQ(b.facts.hosts[0].boot_source, "twin");
}

TEST(BootTimes, UptimeWithATimeOfDay) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId uptime = b.file("uptime.txt", "", "cx-1");
  const MemberId date = b.file("date.txt");
  b.event(dmesg, boot(600));
  b.clock(uptime, "uptime", {Clock::local_no_date, 10 * kHour + 300 * kSecond, kSecond},
          Timestamp{Clock::boot, kHour, 60 * kSecond});
  b.clock(date, "collected", iso("2026-03-07T10:00:00Z"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T09:15:00Z");
}

TEST(TimesOfDay, GetTheDayThatIsNearestToTheDatedFiles) {
  const auto at = [](int hour, int minute) {
    return Timestamp{Clock::local_no_date, hour * kHour + minute * kMinute, kSecond};
  };
  Bundle b;
  const MemberId dated = b.file("train.log"), console = b.file("console.log"),
                 elapsed = b.file("bar.log");
  const auto line = [&](MemberId member, std::uint64_t offset, Timestamp time) {
    b.event(member, time).place.offset = offset;
  };
  line(console, 0, at(22, 50));
  line(console, 10, at(23, 59));
  line(console, 20, at(0, 10));
  line(console, 15, at(23, 58));
  line(elapsed, 0, at(0, 1));
  b.event(dated, iso("2026-03-07T00:09:00Z")).severity = Severity::distributed;
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-06T22:50:00Z");
  EXPECT_EQ(b.when(1), "2026-03-06T23:59:00Z");
  EXPECT_EQ(b.when(2), "2026-03-07T00:10:00Z");
  EXPECT_EQ(b.when(3), "2026-03-06T23:58:00Z");
  EXPECT_EQ(b.when(4), "-") << "it counts from the start of something";
}

// The steps between the first and the last are read from their table later.
TEST(TimesOfDay, OfStepsPlaceTheirWholeTable) {
  Bundle b;
  const MemberId console = b.file("console.log"), dated = b.file("syslog");
  ProgressSpan span;
  span.member = console;
  span.first.place.member = span.last.place.member = console;
  span.first.time = {Clock::local_no_date, 10 * kHour, kSecond};
  span.last.time = {Clock::local_no_date, 11 * kHour, kSecond};
  b.facts.progress.push_back(span);
  b.event(dated, iso("2026-03-07T11:09:00Z")).severity = Severity::distributed;
  b.resolve();
  const auto offset = b.facts.clock_offset(console, Clock::local_no_date);
  ASSERT_TRUE(offset);
  EXPECT_EQ(*offset % kDay, 0);
  EXPECT_TRUE(b.facts.day_assumed);
}

TEST(TimesOfDay, StayWithoutADayWhereNothingPrintsADate) {
  Bundle b;
  b.event(b.file("console.log"), {Clock::local_no_date, 10 * kHour, kSecond});
  b.resolve();
  EXPECT_EQ(b.when(0), "-");
}

TEST(ExactDistance, OfTwoLinesOfOneBootClock) {
  Bundle b;
  const MemberId dmesg = b.file("dmesg", "kernel", "cx-1");
  const MemberId other = b.file("dmesg2", "kernel", "cx-2");
  b.event(dmesg, boot(100));
  b.event(dmesg, boot(102));
  b.event(other, boot(104));
  b.resolve();
  const auto& e = b.facts.events;
  EXPECT_FALSE(e[0].time_ns);
  EXPECT_EQ(exact_distance(b.facts, e[0], e[1]), 2 * kSecond);
  EXPECT_FALSE(exact_distance(b.facts, e[0], e[2])) << "two machines, two clocks";
}

TEST(Year, NeverAfterTheCollection) {
  for (const auto& [collected, printed, want] :
       {std::tuple{"2027-01-02T08:00:00Z", "Dec 31 23:59:58", "2026-12-31T23:59:58Z"},
        {"2027-01-02T08:00:00Z", "Jan  1 00:00:03", "2027-01-01T00:00:03Z"},
        {"2026-11-20T08:00:00Z", "Dec 24 10:00:00", "2025-12-24T10:00:00Z"},
        {"2026-11-20T08:00:00Z", "Jan  5 10:00:00", "2026-01-05T10:00:00Z"}}) {
    Bundle b;
    const MemberId log = b.file("syslog", "kernel", "cx-1");
    b.clock(b.file("date"), "collected", iso(collected));
    b.event(log, calendar(printed));
    b.resolve();
    EXPECT_EQ(b.when(0), want) << printed << " collected " << collected;
  }
}

TEST(Year, NeverAfterTheFileWasWritten) {
  Bundle b;
  const MemberId log = b.file("messages", "kernel", "cx-1");
  b.facts.members.back().mtime_s = iso("2026-11-20T08:00:00Z").ns / kSecond;
  b.event(log, calendar("Feb  3 15:49:55"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-02-03T15:49:55Z");  // and not ten weeks later
}

TEST(Year, OfTheSchedulersRecord) {
  Bundle b;
  const MemberId log = b.file("messages", "kernel", "cx-1");
  b.facts.members.back().mtime_s = iso("2026-11-20T08:00:00Z").ns / kSecond;
  b.setting(b.file("sacct.csv"), "slurm.job.end", "4711 2025-02-03T15:50:00");
  b.event(log, calendar("Feb  3 15:49:55"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2025-02-03T15:49:55Z");
}

struct Runs : Bundle {
  MemberId log(const std::string& path, const char* first, const char* last, bool fails = true) {
    const MemberId id = file(path);
    event(id, iso(last)).role = Role::cascade;
    clock(id, "first", iso(first));
    clock(id, "last", iso(last));
    if (!fails) return id;
    facts.exits.emplace_back();
    facts.exits.back().place.member = id;
    facts.exits.back().code = 1;
    return id;
  }
  void undated(MemberId id) { event(id, {}).role = Role::root; }
  std::set<MemberId> earlier() {
    resolve();
    return facts.earlier_output;
  }
};

TEST(EarlierRuns, FilesOfOneNameInTurnThatFailed) {
  Runs b;
  const MemberId old =
      b.log("driver_0917_2000.log", "2026-09-17T20:00:00Z", "2026-09-17T21:05:00Z");
  const MemberId now =
      b.log("driver_0917_2230.log", "2026-09-17T22:30:00Z", "2026-09-18T03:36:00Z");
  b.undated(old);
  b.undated(now);
  EXPECT_EQ(b.earlier(), std::set<MemberId>{old});
  EXPECT_EQ(iso_utc(b.facts.job_start.value_or(0)), "2026-09-17T22:30:00Z");
  EXPECT_FALSE(b.facts.start_is_known);  // what broke minutes before may be of this run
  EXPECT_EQ(b.when(2), "2026-09-17T21:05:00Z");
  EXPECT_EQ(b.when(3), "-");
  EXPECT_TRUE(b.facts.exits[0].time_ns);
  EXPECT_FALSE(b.facts.exits[1].time_ns);
}

TEST(EarlierRuns, ATimeOutOfACollectiveEndsARun) {
  Runs b;
  std::vector<MemberId> runs;
  for (const char* hour : {"02", "08", "13"}) {
    runs.push_back(b.log(fmt::format("run{}/train.log", runs.size() + 1),
                         fmt::format("2026-03-04T{}:35:08Z", hour).c_str(),
                         fmt::format("2026-03-04T{}:35:10Z", hour).c_str(), false));
    b.facts.events.back().severity = Severity::distributed;
  }
  EXPECT_EQ(b.earlier(), (std::set<MemberId>{runs[0], runs[1]}));
}

// Of logs that print no times the steps say which goes on where another ended.
TEST(EarlierRuns, UndatedStepsThatAnotherLogGoesOnWith) {
  Runs b;
  const auto steps = [&](const std::string& path, std::int64_t from, std::int64_t to) {
    ProgressSpan span{.member = b.file(path), .framework = "fields", .rows = 20};
    span.first.iteration = from;
    span.last.iteration = to;
    span.last.place.line = 20;
    b.facts.progress.push_back(span);
    return span.member;
  };
  const MemberId was = steps("logs/r3-0.log", 60'001, 61'010);
  steps("logs/r4-0.log", 61'001, 61'262);
  EXPECT_EQ(b.earlier(), std::set<MemberId>{was});
  Runs ranks;
  std::swap(b.facts.progress, ranks.facts.progress);
  ranks.file("rank0.log");
  ranks.file("rank1.log");
  for (ProgressSpan& p : ranks.facts.progress) p.first.iteration = 1, p.last.iteration = 200;
  EXPECT_EQ(ranks.earlier(), std::set<MemberId>{});
}

TEST(EarlierRuns, RotatedLogsRanksAndMachinesAreOneRun) {
  const char *eight = "2026-09-17T20:00:00Z", *nine = "2026-09-17T21:05:00Z",
             *ten = "2026-09-17T22:30:00Z", *end = "2026-09-18T03:36:00Z";
  Runs rotated;
  rotated.log("train.log.1", eight, nine, false);
  rotated.log("train.log.2", ten, end);
  EXPECT_TRUE(rotated.earlier().empty()) << "nothing in the first one failed";
  Runs ranks;
  ranks.log("task_0.log", eight, end);
  ranks.log("task_1.log", ten, end);
  EXPECT_TRUE(ranks.earlier().empty());
  Runs beside;
  beside.log("upload_1.log", eight, nine);
  beside.log("upload_2.log", ten, end);
  beside.log("train.log", eight, end);
  EXPECT_TRUE(beside.earlier().empty()) << "the training runs on";
  Runs machines;
  machines.log("n1/job.log", eight, nine);
  machines.log("n2/job.log", ten, end);
  for (std::size_t i = 0; i < 2; ++i) machines.facts.members[i].host = Host(i == 0 ? "n1" : "n2");
  EXPECT_TRUE(machines.earlier().empty());
  Runs open;
  const MemberId tail = open.log("job_1.log", eight, nine);
  open.log("job_2.log", ten, end);
  std::erase_if(open.facts.clocks,
                [&](const ClockRow& c) { return c.place.member == tail && c.kind == "last"; });
  EXPECT_TRUE(open.earlier().empty()) << "nobody knows when the first one ended";
}

TEST(EarlierRuns, WhatEndsBeforeTheSchedulersStart) {
  Runs b;
  b.setting(b.file("sacct.csv"), "slurm.job.start", "4711 2026-09-17T22:00:00");
  const MemberId old = b.log("a.log", "2026-09-17T20:00:00Z", "2026-09-17T21:05:00Z", false);
  const MemberId appended = b.log("b.log", "2026-09-17T20:00:00Z", "2026-09-17T21:05:00Z");
  b.event(appended, iso("2026-09-17T23:00:00Z"));
  EXPECT_EQ(b.earlier(), std::set<MemberId>{old});
}

TEST(SchedulerJob, OfSeveralTheOneThatTheBundleIsOf) {
  Bundle b;
  const MemberId sacct = b.file("sacct.csv");
  b.setting(sacct, "slurm.job.state", "90911 FAILED");
  b.setting(sacct, "slurm.job.nodes", "90911 gn[06-09]");
  b.setting(sacct, "slurm.job.state", "91240 COMPLETED");
  b.setting(sacct, "slurm.job.nodes", "91240 gn[01-04]");
  EXPECT_EQ(job_in_question(b.facts), "");
  b.file("host/gn01/dmesg-gn01.log", "kernel", "gn01");
  EXPECT_EQ(job_in_question(b.facts), "91240");
  EXPECT_EQ(job_by_number(b.facts), "");
  b.setting(sacct, "slurm.job.nodes", "90911 gn[01-03]");  // requeued there: nobody knows
  EXPECT_EQ(job_in_question(b.facts), "");
  b.file("logs/train-90911.out");
  EXPECT_EQ(job_by_number(b.facts), "90911");
  b.file("logs/train-91240.out");
  EXPECT_EQ(job_by_number(b.facts), "");
  b.file("slurm-555.out");  // the name of the output itself
  EXPECT_EQ(job_by_number(b.facts), "555");
}

TEST(Zones, HostsInLocalTimeBesideContainersInUtc) {
  Bundle b;
  const MemberId syslog = b.file("cx-1/syslog", "kernel", "cx-1");
  const MemberId zone = b.file("cx-1/timedatectl.txt", "", "cx-1");
  const MemberId console = b.file("console.log");
  const MemberId agent = b.file("agent.log");
  b.setting(zone, "timezone", "+08:00");
  b.event(syslog, iso("2026-03-07T18:00:00"));
  b.event(console, iso("2026-03-07T10:01:00")).role = Role::cascade;
  b.event(agent, iso("2026-03-07T10:02:00Z")).role = Role::cascade;
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:00:00Z");
  EXPECT_EQ(b.when(1), "2026-03-07T10:01:00Z");
}

// Journals reach days back and end when they are collected, after the job.
TEST(Zones, AJobDoesNotEndHoursAfterTheJournalsOfItsMachines) {
  const auto bundle = [](const char* collected) {
    Bundle b;
    const MemberId journal = b.file("hosts/cx-1.journal", "system", "cx-1");
    const MemberId console = b.file("attempts/1/cx-1.log");
    b.setting(journal, "timezone", "-04:00");
    b.event(console, {Clock::local_no_year, iso("2000-03-07T02:15:15").ns, kSecond}).role =
        Role::cascade;
    b.event(journal, iso("2026-03-05T01:00:00Z")).role = Role::confirmation;
    b.event(journal, iso(collected)).role = Role::confirmation;
    b.resolve();
    return b;
  };
  EXPECT_EQ(bundle("2026-03-07T04:47:00Z").when(0), "2026-03-07T02:15:15Z");
  EXPECT_EQ(bundle("2026-03-07T07:00:00Z").when(0), "2026-03-07T06:15:15Z")
      << "either would do: the zone of its machines";
}

// A console in local time, journals with their zone: what the end of the job left in them.
TEST(Zones, SeveralMachinesEchoTheEndOfTheJob) {
  const auto bundle = [](std::vector<const char*> echoes, bool year = true) {
    Bundle b;
    const MemberId console = b.file("slurm.out");
    Timestamp printed = iso("2026-03-07T02:18:01");
    if (!year) printed = {Clock::local_no_year, iso("2000-03-07T02:18:01").ns, kSecond};
    EventRow& end = b.event(console, printed);
    end.role = Role::cascade;
    end.severity = Severity::distributed;
    for (const char* time : echoes) {
      const std::string host = "cx-" + std::to_string(b.facts.members.size());
      const MemberId journal = b.file(host + "/journal.log", "kernel", host);
      b.event(journal, iso("2026-01-01T00:00:00Z")).role = Role::root;  // reaches back for weeks
      b.event(journal, iso(time)).role = Role::teardown;
    }
    b.resolve();
    return b;
  };
  const Bundle two = bundle({"2026-03-07T10:18:02Z", "2026-03-07T10:18:10Z"});
  EXPECT_EQ(two.when(0), "2026-03-07T10:18:01Z");
  EXPECT_TRUE(two.facts.zone_known);
  const Bundle glog = bundle({"2026-03-07T10:18:02Z", "2026-03-07T10:18:10Z"}, false);
  EXPECT_EQ(glog.when(0), "2026-03-07T10:18:01Z") << "a logger that prints no year";
  EXPECT_FALSE(bundle({"2026-03-07T10:18:02Z"}).facts.zone_known) << "one machine is no proof";
  EXPECT_FALSE(bundle({"2026-03-07T10:27:02Z", "2026-03-07T10:42:10Z"}).facts.zone_known)
      << "no whole half hours apart";
}

// The job gives up half an hour after the fault: what began to fail then, and no zone of half an
// hour.
TEST(Zones, AnOperationThatTimedOutFailedWhenItBegan) {
  Bundle b;
  const MemberId console = b.file("trainer.log");
  EventRow& end = b.event(console, iso("2026-10-05T14:50:04"));
  end.role = Role::cascade;
  end.severity = Severity::distributed;
  end.place.line = 7;
  CollectiveSample operation;
  operation.row.place = {console, 7, 0, 0};
  operation.row.timeout_ms = 1'800'000;
  b.facts.collectives.push_back(operation);
  for (const char* host : {"fra-11", "fra-12", "fra-13"})
    b.event(b.file(std::string(host) + "/journal.log", "kernel", host), iso("2026-10-05T12:20:03Z"))
        .role = Role::confirmation;
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-10-05T12:50:04Z");
}

// The other way round: the kernels print no zone, and the job's output does.
TEST(Zones, FaultsOfSeveralMachinesMeetTheEndOfTheJob) {
  const auto bundle = [](std::vector<const char*> faults) {
    Bundle b;
    EventRow& end = b.event(b.file("train.out"), iso("2026-03-07T10:18:01Z"));
    end.role = Role::cascade;
    end.severity = Severity::distributed;
    for (const char* time : faults) {
      const std::string host = "cx-" + std::to_string(b.facts.members.size());
      EventRow& fault = b.event(b.file(host + "/dmesg.txt", "kernel", host), iso(time));
      fault.role = Role::root;
      fault.severity = Severity::warning;
    }
    b.resolve();
    return b;
  };
  const Bundle two = bundle({"2026-03-07T03:18:00", "2026-03-07T03:18:01"});
  EXPECT_EQ(two.when(1), "2026-03-07T10:18:00Z");
  EXPECT_EQ(two.when(0), "2026-03-07T10:18:01Z");
  EXPECT_EQ(bundle({"2026-03-07T03:18:00"}).when(1), "2026-03-07T03:18:00Z") << "one is no proof";
  EXPECT_EQ(bundle({"2026-03-07T03:25:00", "2026-03-07T03:25:01"}).when(1), "2026-03-07T03:25:00Z");
}

// The kernel names the process that it ended, and the launcher the same one by the job's clock.
TEST(Zones, AProcessThatFailedIsNamedOnBothClocks) {
  const auto bundle = [](const char* kernel, const char* end, std::int64_t pid) {
    Bundle b;
    const MemberId journal = b.file("journal/cx-1.log", "", "cx-1");
    EventRow& kill = b.event(journal, iso(kernel));
    kill.severity = Severity::critical;
    kill.role = Role::root;
    kill.pid = 214471;
    const MemberId console = b.file("train.log");
    ExitRow x;
    x.place.member = console;
    x.time = iso(end);
    x.code = -7;
    x.pid = pid;
    b.facts.exits.push_back(x);
    b.resolve();
    return b;
  };
  const auto ended = [](const Bundle& b) { return iso_utc(*b.facts.exits[0].time_ns); };
  const Bundle container = bundle("2026-03-07T10:00:00+01:00", "2026-03-07T09:00:08", 214471);
  EXPECT_EQ(ended(container), "2026-03-07T09:00:08Z") << "in UTC, beside hosts in local time";
  EXPECT_TRUE(container.facts.zone_known);
  const Bundle ahead = bundle("2026-03-07T10:00:00+01:00", "2026-03-07T17:00:08", 214471);
  EXPECT_EQ(ended(ahead), "2026-03-07T09:00:08Z");
  const Bundle neither = bundle("2026-03-07T10:00:00", "2026-03-07T09:00:08", 214471);
  EXPECT_EQ(neither.when(0), "2026-03-07T09:00:00Z") << "how far they are apart is known";
  EXPECT_FALSE(neither.facts.zone_known);
  const Bundle another = bundle("2026-03-07T10:00:00", "2026-03-07T09:00:08", 214472);
  EXPECT_EQ(another.when(0), "2026-03-07T10:00:00Z") << "of another process it says nothing";
  const Bundle before = bundle("2026-03-07T10:00:00", "2026-03-07T08:50:00", 214471);
  EXPECT_EQ(before.when(0), "2026-03-07T10:00:00Z") << "no whole half hours apart";
}

// slurmctld's log speaks of every job of the site; the name of the output says which is ours.
TEST(SlurmJob, TheControllersLogFramesTheJobOfTheOutput) {
  Bundle b;
  const MemberId log = b.file("central/slurmctld.log");
  b.file("slurm-4711.out");
  const auto record = [&](std::uint64_t line, const char* what, const char* id, const char* time) {
    b.facts.configs.push_back({{log, line, 0, 0}, what, id, {}, {}});
    b.clock(log, "job record", iso(time));
    b.facts.clocks.back().place.line = line;
  };
  record(1, "slurm.log.start", "4711", "2026-03-07T08:00:00Z");
  record(2, "slurm.log.start", "99", "2026-03-07T09:00:00Z");
  record(3, "slurm.log.end", "4711", "2026-03-07T10:00:00Z");
  b.resolve();
  ASSERT_TRUE(b.facts.job_start && b.facts.job_end);
  EXPECT_TRUE(b.facts.start_is_known);
  EXPECT_EQ(iso_utc(*b.facts.job_start), "2026-03-07T08:00:00Z");
  EXPECT_EQ(iso_utc(*b.facts.job_end), "2026-03-07T10:00:00Z");
}

// Dumps of a job that stands, whose console prints local time.
TEST(Zones, RecordersMeetTheLastStep) {
  const auto zone = [](const char* last_launch, std::size_t dumps = 2) {
    Bundle b;
    const MemberId console = b.file("train.log");
    ProgressSpan span;
    span.member = console;
    span.framework = "fields";
    span.rows = 61;
    span.first.time = iso("2026-03-07T17:00:00");
    span.last.time = iso("2026-03-07T17:10:00");  // a line each 10 s
    b.facts.progress.push_back(span);
    for (std::size_t i = 0; i < dumps; ++i) {
      CollectiveSample sample;
      sample.row.place.member = b.file("fr/rank" + std::to_string(i));
      sample.row.time = iso(last_launch);
      b.facts.collectives.push_back(sample);
    }
    b.event(console, iso("2026-03-07T17:10:00"));
    b.resolve();
    return b;
  };
  EXPECT_EQ(zone("2026-03-07T16:10:08Z").when(0), "2026-03-07T16:10:00Z");
  EXPECT_TRUE(zone("2026-03-07T16:10:08Z").facts.zone_known);
  EXPECT_TRUE(zone("2026-03-07T17:10:08Z").facts.zone_known) << "it is UTC, then";
  EXPECT_FALSE(zone("2026-03-07T16:12:08Z").facts.zone_known) << "12 lines later";
  EXPECT_FALSE(zone("2026-03-07T16:08:00Z").facts.zone_known) << "steps after the last launch";
  EXPECT_FALSE(zone("2026-03-07T16:10:08Z", 1).facts.zone_known) << "one dump";
}

TEST(Zones, TheManifestsWordForSources) {
  Bundle b;
  const MemberId slurm = b.file("slurmctld.log");
  const MemberId kernel = b.file("cx-1/kern.log", "kernel", "cx-1");
  const MemberId console = b.file("out/console.log");
  const MemberId other = b.file("out/other.log");
  b.facts.manifest.emplace().timezone = "-05:00";
  b.facts.manifest->timezones = {
      {"scheduler", "+01:00"}, {"cx-1", "+02:00"}, {"*/console.log", "UTC"}};
  for (const MemberId m : {slurm, kernel, console, other}) b.event(m, iso("2026-03-07T10:00:00"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T09:00:00Z");
  EXPECT_EQ(b.when(1), "2026-03-07T08:00:00Z");
  EXPECT_EQ(b.when(2), "2026-03-07T10:00:00Z");
  EXPECT_EQ(b.when(3), "2026-03-07T15:00:00Z");
  EXPECT_TRUE(b.facts.zone_known);
}

// "smi.csv is PDT (UTC-7)", in a README beside it. What notes contradict each other about is left.
TEST(Zones, NotesNameFiles) {
  Bundle b;
  const MemberId note = b.file("README");
  const MemberId metrics = b.file("smi.csv");
  const MemberId console = b.file("train.log");
  b.setting(note, "timezone.file[smi.csv]", "-07:00");
  b.setting(note, "timezone.file[train.log]", "+00:00");
  b.setting(note, "timezone.file[train.log]", "+02:00");
  b.event(metrics, iso("2026-03-07T03:00:00"));
  b.event(console, iso("2026-03-07T10:00:00"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:00:00Z");
  EXPECT_EQ(b.when(1), "2026-03-07T10:00:00Z");
}

// "gpu_export_MESZ.csv" beside a job that prints UTC; where all outputs of the job have a zone in
// their names, it is the job's.
TEST(Zones, TheNamesOfFiles) {
  Bundle b;
  b.event(b.file("gpu_export_MESZ.csv"), iso("2026-07-07T12:00:00"));
  b.event(b.file("train_pdt.log"), iso("2026-07-07T03:00:00"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-07-07T10:00:00Z");
  EXPECT_EQ(b.when(1), "2026-07-07T10:00:00Z");
  EXPECT_TRUE(b.facts.zone_known);
}

// A job that never began still says when it waited for its ranks.
TEST(JobFrame, ARendezvousThatTimedOutIsOutputOfTheJob) {
  Bundle b;
  const MemberId log = b.file("out/cx-1.log");
  b.clock(log, "first", iso("2026-03-07T06:30:00Z"));
  b.clock(log, "last", iso("2026-03-07T06:39:55Z"));
  EventRow& e = b.event(log, iso("2026-03-07T06:39:55Z"));
  e.role = Role::root;
  b.resolve();
  EXPECT_FALSE(b.facts.job_start);
  b.facts.events[0].traits.add(Trait::rendezvous_timeout);
  b.resolve();
  ASSERT_TRUE(b.facts.job_start && b.facts.job_end);
  EXPECT_EQ(iso_utc(*b.facts.job_start), "2026-03-07T06:30:00Z");
}

// "2019-05-05 12:00:00 data set built" above the first step is no start of the job.
TEST(JobFrame, WhatIsDatedDaysBeforeTheFirstStepIsNoStart) {
  Bundle b;
  const MemberId log = b.file("out/rank0.log"), other = b.file("out/rank1.log");
  b.clock(log, "first", iso("2019-05-05T12:00:00Z"));
  b.clock(log, "last", iso("2026-03-07T09:00:00Z"));
  b.clock(other, "first", iso("2026-03-07T06:30:00Z"));
  for (const MemberId member : {log, other}) {
    ProgressSpan span{.member = member, .rows = 10};
    span.first.place = span.last.place = {member, 5, 0, 10};
    span.first.time = iso("2026-03-07T07:00:00Z");
    span.last.time = iso("2026-03-07T08:30:00Z");
    b.facts.progress.push_back(span);
  }
  b.resolve();
  ASSERT_TRUE(b.facts.job_start);
  EXPECT_EQ(iso_utc(*b.facts.job_start), "2026-03-07T06:30:00Z");
}

TEST(HostClocks, TheTimeServicesWord) {
  Bundle b;
  const MemberId journal = b.file("cx-1/journal.log", "kernel", "cx-1");
  b.setting(b.file("cx-1/chronyc_tracking.txt", "", "cx-1"), "clock_ahead_ms", "-391702");
  const MemberId other = b.file("cx-2/journal.log", "kernel", "cx-2");
  b.setting(b.file("cx-2/chronyc_tracking.txt", "", "cx-2"), "clock_ahead_ms", "2");
  b.event(journal, iso("2026-03-07T10:00:00Z"));
  b.event(other, iso("2026-03-07T10:00:00Z"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:06:31.702Z");
  EXPECT_EQ(b.when(1), "2026-03-07T10:00:00Z");
}

// Hosts minutes apart: all ranks end a step together.
TEST(HostClocks, OffByMinutes) {
  Bundle b;
  for (int host = 0; host < 4; ++host) {
    const MemberId log = b.file("h" + std::to_string(host), "", "cx-" + std::to_string(host));
    const Nanoseconds off = host == 2 ? 420 * kSecond : 0;
    ProgressSpan p;
    p.member = log;
    p.framework = "megatron";
    p.first.iteration = 10;
    p.last.iteration = 90;
    p.first.time = {Clock::utc, iso("2026-03-07T10:00:00Z").ns + off, 1'000'000};
    p.last.time = {Clock::utc, iso("2026-03-07T10:20:00Z").ns + off + host * 100'000'000,
                   1'000'000};
    b.facts.progress.push_back(p);
    b.event(log, {Clock::utc, iso("2026-03-07T10:21:00Z").ns + off, 1'000'000});
  }
  b.resolve();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_LT(std::abs(*b.facts.events[i].time_ns - iso("2026-03-07T10:21:00Z").ns), 2 * kSecond);
  ASSERT_EQ(b.facts.notes.size(), 1u);
  EXPECT_NE(report::words(b.facts.notes[0]).find("the clock of cx-2 is 7 min ahead of the others'"),
            std::string::npos)
      << report::words(b.facts.notes[0]);
}

// A host that joined late, or stopped early, has no clock that is off.
TEST(HostClocks, OneStepApartProvesNothing) {
  Bundle b;
  for (int host = 0; host < 4; ++host) {
    const MemberId log = b.file("h" + std::to_string(host), "", "cx-" + std::to_string(host));
    ProgressSpan p;
    p.member = log;
    p.framework = "megatron";
    p.first.iteration = 10;
    p.last.iteration = host == 2 ? 50 : 90;
    p.first.time = iso("2026-03-07T10:00:00Z");
    p.last.time = {Clock::utc, iso("2026-03-07T10:20:00Z").ns - (host == 2 ? 600 * kSecond : 0),
                   1'000'000};
    b.facts.progress.push_back(p);
  }
  b.resolve();
  EXPECT_TRUE(b.facts.notes.empty());
}

// The time that a folder keeps for a file is UTC, and that of its last line.
TEST(Zones, FromTheTimesOfFiles) {
  Bundle b;
  for (int i = 0; i < 3; ++i) {
    const MemberId log = b.file("rank" + std::to_string(i) + ".log");
    Timestamp end = iso("2026-03-07T18:00:00");
    end.ns += i * 17 * kSecond;
    b.clock(log, "last", end);
    b.facts.members.back().mtime_s = (end.ns - 8 * kHour) / kSecond + 1;
    b.event(log, end);
  }
  Bundle copied = b;
  for (MemberRow& m : copied.facts.members) m.mtime_s = b.facts.members[0].mtime_s + 7777;
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-03-07T10:00:00Z");
  EXPECT_TRUE(b.facts.zone_known);
  copied.resolve();
  EXPECT_EQ(copied.when(0), "2026-03-07T18:00:00Z");
  EXPECT_FALSE(copied.facts.zone_known);
}

TEST(Zones, SummerTime) {
  Bundle b;
  const MemberId log = b.file("console.log");
  b.facts.manifest.emplace().timezone = "Europe/Berlin";
  if (!line::Zone::named("Europe/Berlin")) GTEST_SKIP() << "no zoneinfo on this system";
  b.event(log, iso("2026-10-25T01:30:00"));
  b.event(log, iso("2026-10-25T04:30:00"));
  b.resolve();
  EXPECT_EQ(b.when(0), "2026-10-24T23:30:00Z");
  EXPECT_EQ(b.when(1), "2026-10-25T03:30:00Z");
}

}  // namespace
}  // namespace culprit::analyze
