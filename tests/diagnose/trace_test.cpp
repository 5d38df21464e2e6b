// Traces of large jobs: their size, and who keeps a track.
#include "diagnose/trace.hpp"

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "report/trace.hpp"

namespace culprit::diagnose {
namespace {

constexpr Nanoseconds kStart = 1'790'000'000 * kSecond;

// Hosts with eight ranks each, whose every rank is in a call and prints an error.
analyze::Facts many(std::int64_t ranks) {
  analyze::Facts facts;
  MemberRow m;
  m.id = 1;
  m.path = m.stored_path = "all.log";
  facts.members.push_back(m);
  facts.member_clocks.push_back({1, Clock::utc, 0});
  facts.groups.push_back({"0", "default_pg", {}, ranks});
  for (std::int64_t r = 0; r < ranks; ++r) {
    const Host host(fmt::format("node-{:05}", r / 8));
    if (r % 8 == 0) {
      HostRow row;
      row.host = host;
      facts.hosts.push_back(row);
    }
    RankRow row;
    row.rank = Rank(r);
    row.host = host;
    facts.ranks.push_back(row);
    EventRow e;
    e.place = {1, static_cast<std::uint64_t>(r + 1), 0, 10};
    e.time_ns = kStart + r;
    e.rank = Rank(r);
    e.host = host;
    e.event_class = "nccl_watchdog_timeout";
    e.message = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41)";
    facts.events.push_back(e);
    analyze::CollectiveSample c;
    c.row.place = e.place;
    c.row.time = {Clock::utc, kStart - kMinute + r, 1};
    c.row.rank = Rank(r);
    c.row.group = group_at(0);
    c.row.operation = "all_reduce";
    c.row.state = "started";
    c.row.sequence = 41;
    facts.collectives.push_back(c);
  }
  return facts;
}

constexpr char kDocument[] = R"({"verdict": {"action": "isolate", "targets": [
  {"kind": "rank", "id": "77777", "because": ["a"]}]}, "findings": [
  {"id": "a", "outcome": "fired", "title": "stopped", "role": "root",
   "subject": {"kind": "rank", "id": "77777"}, "interval": {"start_ns": 1790000000000000000}}]})";

TEST(Trace, OfAHundredThousandRanksIsSmall) {
  auto db = store::Database::open("", store::Access::create);
  ASSERT_TRUE(db);
  const analyze::Facts facts = many(100'000);
  const Trace trace = trace_of(*db, facts, kDocument);
  EXPECT_LE(trace.processes.size(), 2'300u);
  EXPECT_LE(trace.threads.size(), 10'000u);
  const auto named = [&](const std::string& name) {
    return std::any_of(trace.threads.begin(), trace.threads.end(),
                       [&](const Trace::Thread& t) { return t.name == name; });
  };
  EXPECT_TRUE(named("rank 77777 findings"));
  EXPECT_TRUE(named("rank 77777 collectives"));
  EXPECT_FALSE(named("rank 77776 collectives"));
  // Nothing is lost by being summed up.
  std::size_t calls = 0;
  for (const Trace::Slice& s : trace.slices) {
    if (s.category != std::string_view("wait")) continue;
    std::size_t count = 1;
    for (const auto& [name, value] : s.args)
      if (name == "calls") count = std::stoul(value);
    calls += count;
  }
  EXPECT_EQ(calls, 100'000u);
  const std::string text = report::to_trace_json(trace);
  RecordProperty("bytes", std::to_string(text.size()));
  EXPECT_LE(text.size(), 50'000'000u);
  EXPECT_TRUE(nlohmann::json::accept(text));
}

// As much of everything as is drawn one by one, on as many tracks as ranks may have.
TEST(Trace, AtItsLimitsIsSmallEnough) {
  auto db = store::Database::open("", store::Access::create);
  ASSERT_TRUE(db);
  const TraceLimits limits;
  analyze::Facts facts = many(static_cast<std::int64_t>(limits.ranks));
  facts.members[0].path = std::string(200, 'p');
  const std::vector<EventRow> events = facts.events;
  const std::vector<analyze::CollectiveSample> calls = facts.collectives;
  while (facts.events.size() + events.size() <= limits.events) {
    facts.events.insert(facts.events.end(), events.begin(), events.end());
    facts.collectives.insert(facts.collectives.end(), calls.begin(), calls.end());
  }
  for (EventRow& e : facts.events) e.message = std::string(400, '\x01');
  nlohmann::json document = nlohmann::json::parse(kDocument);
  document["findings"][0]["evidence"] = {
      {{"path", std::string(200, 'p')}, {"line", 1}, {"excerpt", std::string(400, 'x')}}};
  for (std::size_t i = 0; i < limits.findings; ++i)
    document["findings"].push_back(document["findings"][0]);
  const Trace trace = trace_of(*db, facts, document.dump());
  EXPECT_EQ(trace.instants.size(), facts.events.size());
  const std::string text = report::to_trace_json(trace);
  RecordProperty("bytes", std::to_string(text.size()));
  EXPECT_LE(text.size(), 35'000'000u) << "curves and steps have the rest";
}

TEST(Trace, OfFewRanksHasEachOfThem) {
  auto db = store::Database::open("", store::Access::create);
  ASSERT_TRUE(db);
  const Trace trace = trace_of(*db, many(16), kDocument);
  EXPECT_EQ(trace.processes.size(), 3u);
  EXPECT_EQ(trace.instants.size(), 16u);
  std::size_t waits = 0;
  for (const Trace::Slice& s : trace.slices)
    if (s.category == std::string_view("wait")) {
      ++waits;
      EXPECT_EQ(s.name, "waits in all_reduce of default_pg");
      EXPECT_EQ(s.end, kStart + 1'000'000) << "until the last that is known";
    }
  EXPECT_EQ(waits, 16u);
}

// A document and times of a stranger's database.
TEST(Trace, TakesAnything) {
  auto db = store::Database::open("", store::Access::create);
  ASSERT_TRUE(db);
  analyze::Facts facts = many(4);
  facts.events[0].time_ns = std::numeric_limits<Nanoseconds>::max();
  facts.events[1].time_ns = std::numeric_limits<Nanoseconds>::min();
  facts.events[2].last_time_ns = std::numeric_limits<Nanoseconds>::max();
  facts.collectives[0].row.started_ns = std::numeric_limits<Nanoseconds>::min();
  facts.collectives[1].row.duration_ms = 1e300;
  for (const char* document :
       {"", "[]", "{}", R"({"findings": [3, {"interval": {"start_ns": 9223372036854775807}}]})",
        R"({"incident": {"start_ns": 1790000000000000000}, "waits": {"nodes": [1, {"ranks": "0-99"},
            {"ranks": "1", "end": true}], "edges": [{"from": 1, "to": 2}, {"from": 9, "to": -1}, 7]}})",
        R"({"incident": {"start_ns": -5, "end_ns": "x"}, "verdict": {"chain": [1, {}]}})"})
    EXPECT_TRUE(nlohmann::json::accept(report::to_trace_json(trace_of(*db, facts, document))));
}

}  // namespace
}  // namespace culprit::diagnose
