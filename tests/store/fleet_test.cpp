// fleet.db: what goes in comes out, the same record gives the same bytes, and what is not one is
// refused.
#include "store/fleet.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace culprit::store {
namespace {

namespace fs = std::filesystem;

class Fleet : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-fleet-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string path(const char* name) const { return (folder / name).string(); }
  std::string bytes(const char* name) const {
    std::ifstream in(folder / name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static FleetRecord record() {
    FleetRecord r;
    FleetIncident i;
    i.id = "beef";
    i.name = "job";
    i.start = 5;
    i.ran_s = 1.5;
    i.symptom = "Job Hang";
    i.action = "isolate";
    i.hosts = {"a", "b"};
    i.targets = {{"host", "a", "a", 0.9, true}, {"gpu", "a/3", "a", 0.8, false}};
    i.attributes = {{"a", "", "switch", "tor\xff-1"}};
    i.time = {{"training", 12.25}};
    i.complete = false;
    r.incidents = {i};
    i.id = "babe";
    i.start.reset();
    i.targets.clear();
    r.incidents.push_back(i);
    FleetEvent e;
    e.id = "1";
    e.system = "bmc";
    e.kind = "failure";
    e.host = "a";
    e.start = 7;
    r.events = {e};
    r.scopes = {{"bmc", 1, std::nullopt, 400, 8}};
    return r;
  }

  fs::path folder;
};

TEST_F(Fleet, WhatGoesInComesOut) {
  FleetRecord r = record();
  ASSERT_TRUE(write_fleet(path("f.db"), r));
  EXPECT_TRUE(is_fleet_database(path("f.db")));
  const auto back = read_fleet(path("f.db"));
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_EQ(back->incidents.size(), 2u);
  EXPECT_EQ(back->incidents[0].id, "babe");
  const FleetIncident& i = back->incidents[1];
  EXPECT_EQ(i.start, 5);
  EXPECT_FALSE(i.end);
  EXPECT_EQ(*i.ran_s, 1.5);
  EXPECT_EQ(i.hosts, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(i.targets.size(), 2u);
  EXPECT_TRUE(i.targets[0].blamed);
  EXPECT_EQ(i.targets[1].id, "a/3");
  EXPECT_EQ(i.time[0].seconds, 12.25);
  EXPECT_FALSE(i.complete);
  EXPECT_EQ(i.attributes[0].value, "tor\xEF\xBF\xBD-1");
  EXPECT_EQ(back->events[0].start, 7);
  EXPECT_FALSE(back->events[0].end);
  EXPECT_EQ(back->scopes[0].hosts, 400);
}

TEST_F(Fleet, TheSameRecordGivesTheSameBytes) {
  FleetRecord one = record(), other = record();
  std::swap(other.incidents[0], other.incidents[1]);
  ASSERT_TRUE(write_fleet(path("one.db"), one));
  FleetRecord more = record();
  more.incidents[0].summary = std::string(100'000, 'x');
  ASSERT_TRUE(write_fleet(path("other.db"), more));  // what stood there before does not matter
  ASSERT_TRUE(write_fleet(path("other.db"), other));
  EXPECT_EQ(bytes("one.db"), bytes("other.db"));
  auto back = read_fleet(path("one.db"));
  ASSERT_TRUE(write_fleet(path("again.db"), *back));
  EXPECT_EQ(bytes("again.db"), bytes("one.db"));
}

TEST_F(Fleet, MergingReplacesWhatIsKnown) {
  FleetRecord r = record(), more = record();
  more.incidents.pop_back();
  more.incidents[0].symptom = "CUDA Error";
  more.events[0].end = 9;
  merge_fleet(r, std::move(more));
  EXPECT_EQ(r.incidents.size(), 2u);
  EXPECT_EQ(r.events.size(), 1u);
  EXPECT_EQ(r.events[0].end, 9);
}

TEST_F(Fleet, OtherFilesAreRefusedAndLeftAlone) {
  std::ofstream(folder / "text") << "not a database, and long enough to be looked at: "
                                 << std::string(200, 'x');
  const std::string before = bytes("text");
  EXPECT_FALSE(read_fleet(path("text")));
  FleetRecord r = record();
  EXPECT_FALSE(write_fleet(path("text"), r));
  EXPECT_EQ(bytes("text"), before);
  EXPECT_FALSE(read_fleet(path("missing")));
  ASSERT_TRUE(write_fleet(path("cut.db"), r));
  fs::resize_file(folder / "cut.db", 8192);
  EXPECT_FALSE(read_fleet(path("cut.db")));
}

}  // namespace
}  // namespace culprit::store
