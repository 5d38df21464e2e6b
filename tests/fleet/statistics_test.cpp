// The numbers of a fleet, held against values from tables and against counting by hand.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "fleet/document.hpp"
#include "fleet/incident.hpp"
#include "fleet/import.hpp"
#include "fleet/taxonomy.hpp"
#include "model/json.hpp"

namespace culprit::fleet {
namespace {

constexpr Nanoseconds kDay = 86400 * kSecond;
constexpr Nanoseconds kStart = 1'767'225'600 * kSecond;  // 2026-01-01

FleetEvent event(const std::string& host, double day, double days,
                 const std::string& what = "GPU") {
  FleetEvent e;
  e.system = "test";
  e.kind = "failure";
  e.host = host;
  e.event_class = what;
  e.start = kStart + static_cast<Nanoseconds>(day * static_cast<double>(kDay));
  if (days > 0) e.end = *e.start + static_cast<Nanoseconds>(days * static_cast<double>(kDay));
  e.id = host + what + std::to_string(day);
  return e;
}

FleetIncident incident(const std::string& id, const std::string& action, const std::string& symptom,
                       double day, const std::string& host) {
  FleetIncident i;
  i.id = id;
  i.action = action;
  i.symptom = symptom;
  i.precision = "exact";
  i.start = kStart + static_cast<Nanoseconds>(day * static_cast<double>(kDay));
  i.end = *i.start + 60 * kSecond;
  i.gpus = 16;
  i.hosts = {"a", "b"};
  if (!host.empty()) i.targets.push_back({"host", host, host, 0.9, action == "isolate"});
  return i;
}

TEST(Intervals, AreThoseOfTheTables) {
  // Garwood's limits as every table of Poisson means has them.
  EXPECT_NEAR(poisson_interval(0).high, 3.689, 1e-3);
  EXPECT_EQ(poisson_interval(0).low, 0);
  EXPECT_NEAR(poisson_interval(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(poisson_interval(1).high, 5.572, 1e-3);
  EXPECT_NEAR(poisson_interval(10).low, 4.795, 1e-3);
  EXPECT_NEAR(poisson_interval(10).high, 18.39, 1e-2);
  EXPECT_NEAR(poisson_interval(1000).low, 938.97, 0.05);
  EXPECT_NEAR(wilson(0, 10).high, 0.2775, 1e-4);
  EXPECT_NEAR(wilson(5, 10).low, 0.2366, 1e-4);
  EXPECT_NEAR(wilson(5, 10).high, 0.7634, 1e-4);
  EXPECT_EQ(wilson(10, 10).high, 1);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Intervals, TailsAreSums) {
  for (const double mean : {0.1, 1.46, 30.0})
    for (const int k : {0, 1, 3, 8, 40}) {
      double below = 0;
      for (int i = 0; i < k; ++i)
        below += std::exp(i * std::log(mean) - mean - std::lgamma(i + 1.0));
      EXPECT_NEAR(poisson_tail(k, mean), 1 - below, 1e-12) << k << " of " << mean;
    }
  EXPECT_NEAR(binomial_tail(2, 3, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(binomial_tail(3, 3, 0.1), 0.001, 1e-12);
  EXPECT_EQ(binomial_tail(4, 3, 0.1), 0);
  // A sharp prior is a Poisson variable.
  EXPECT_NEAR(predictive_tail(5, 2e7, 1e7, 1), poisson_tail(5, 2), 1e-5);
  EXPECT_NEAR(gamma_cumulative(1, 2), 1 - std::exp(-2.0), 1e-12);
  EXPECT_NEAR(gamma_quantile(1, 0.5), std::log(2.0), 1e-10);
}

TEST(Offenders, AFleetOfEqualsHasNone) {
  std::mt19937 random(7);
  std::poisson_distribution<int> failures(1.5);
  int flagged = 0;
  for (int round = 0; round < 40; ++round) {
    std::map<std::string, std::int64_t> counts;
    for (int i = 0; i < 400; ++i)
      if (const int n = failures(random); n > 0) counts["h" + std::to_string(i)] = n;
    flagged += offenders(counts, 400, 300).beyond > 0 ? 1 : 0;
  }
  EXPECT_LE(flagged, 6);  // 5 % of 40, and some luck
}

TEST(Offenders, ThoseThatFailMoreAreFoundAndDrawnToTheMean) {
  std::map<std::string, std::int64_t> counts{{"bad-1", 8}, {"bad-2", 7}, {"twice", 2}};
  for (int i = 0; i < 60; ++i) counts["h" + std::to_string(i)] = 1;
  const OffenderReport r = offenders(counts, 240, 100);
  EXPECT_EQ(r.beyond, 2);
  EXPECT_LT(r.expected_beyond, 0.01);
  ASSERT_EQ(r.machines.size(), 3u);
  EXPECT_EQ(r.machines[0].host, "bad-1");
  EXPECT_TRUE(r.machines[0].beyond_chance);
  EXPECT_FALSE(r.machines[2].beyond_chance);
  EXPECT_LT(r.machines[0].rate, 8.0 / 100);
  EXPECT_GT(r.machines[0].rate, r.mean / 100);
  EXPECT_GT(r.machines[0].interval.high, r.machines[0].rate);
  EXPECT_GT(r.machines[0].twice, 0.95);
  EXPECT_GT(r.dispersion, 1);
  std::int64_t machines = 0;
  for (const CountRow& row : r.counts) machines += row.machines;
  EXPECT_EQ(machines, 240);
}

TEST(Bursts, AWeekOfManyIsSeenAndASteadyRateIsNot) {
  std::vector<Failure> all;
  Watched w;
  w.from = kStart;
  w.to = kStart + 140 * kDay;
  w.days = 140;
  const auto add = [&](double day, const std::string& host) {
    Failure f;
    f.host = host;
    f.component = "network";
    f.start = kStart + static_cast<Nanoseconds>(day * static_cast<double>(kDay));
    all.push_back(f);
  };
  for (int week = 0; week < 20; ++week) add(week * 7 + 1, "a");
  EXPECT_TRUE(bursts(all, w).empty());
  for (int i = 0; i < 15; ++i) add(99.5 + i * 0.3, "b" + std::to_string(i));
  const auto found = bursts(all, w);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 16);
  EXPECT_EQ(found[0].hosts, 16);
  EXPECT_NEAR(found[0].expected, 1, 1e-9);
}

TEST(Groups, ASharedSwitchIsSeen) {
  std::map<std::string, std::map<std::string, std::string>> values;
  std::map<std::string, std::int64_t> counts;
  for (int i = 0; i < 100; ++i) {
    const std::string host = "h" + std::to_string(i);
    values["switch"][host] = "tor-" + std::to_string(i / 10);
    values["driver"][host] = "535";
    if (i / 10 == 3 || i == 70) counts[host] = 1;
  }
  const auto rows = groups(values, counts);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].value, "tor-3");
  EXPECT_LT(rows[0].chance, 1e-6);
  for (const GroupRow& row : rows) EXPECT_NE(row.name, "driver");  // one value compares nothing
}

TEST(Returning, ThreeRebootsAndARepair) {
  std::vector<Failure> all;
  const auto add = [&](double day) {
    Failure f;
    f.host = "a";
    f.component = "gpu";
    f.start = kStart + static_cast<Nanoseconds>(day * static_cast<double>(kDay));
    all.push_back(f);
  };
  for (const double day : {1, 5, 9}) add(day);
  ASSERT_EQ(returning(all, {}).size(), 1u);
  EXPECT_FALSE(returning(all, {})[0].repair);
  add(14);
  EXPECT_TRUE(returning(all, {})[0].repair);
  FleetEvent repair;
  repair.kind = "repair";
  repair.host = "a";
  repair.start = kStart + 10 * kDay;
  const std::vector<FleetEvent> events{repair};
  for (const Returning& r : returning(all, events)) EXPECT_FALSE(r.repair);
  // Months apart they are two stories.
  std::vector<Failure> rare = all;
  for (std::size_t i = 0; i < rare.size(); ++i)
    rare[i].start = kStart + static_cast<Nanoseconds>(i) * 60 * kDay;
  EXPECT_TRUE(returning(rare, {}).empty());
}

TEST(Durations, WhatIsOpenCountsAsLongAsItWasSeen) {
  // Kaplan and Meier by hand: 1 2 3+ 4 5: 0.8 0.6 0.6 0.3 0.
  const DurationSummary s = summarise({{1, false}, {2, false}, {3, true}, {4, false}, {5, false}});
  EXPECT_EQ(s.open, 1);
  EXPECT_EQ(*s.median, 4);
  EXPECT_EQ(*s.p90, 5);
  EXPECT_FALSE(summarise({{1, false}, {2, true}, {3, true}}).median);
  EXPECT_EQ(summarise({}).count, 0);
}

TEST(Down, AMachineIsDownOnce) {
  FleetRecord record;
  record.events = {event("a", 0, 10), event("a", 5, 2, "NIC"), event("b", 5, 5), event("c", 20, 0)};
  record.scopes = {{"test", kStart, kStart + 40 * kDay, 10, 8}};
  const FailureParams params;
  const Watched w = watched(record, params);
  EXPECT_EQ(w.hosts, 10);
  EXPECT_EQ(w.gpus, 80);
  EXPECT_NEAR(w.days, 40, 1e-9);
  const DownSummary d = machines_down(failures(record, params), w);
  EXPECT_EQ(d.most, 2);
  EXPECT_NEAR(d.mean, (10 + 5 + 20) / 40.0, 1e-9);  // the open one lasts to the end
  EXPECT_EQ(d.most_new, 2);
}

TEST(Failures, FlappingIsOneEpisodeAndAVerdictIsNotCountedTwice) {
  FleetRecord record;
  record.events = {event("a", 1.0, 0.1, "Link"), event("a", 1.3, 0.1, "Link"),
                   event("a", 1.5, 0.1, "GPU"), event("a", 9, 1, "Link"), event("b", 20, 1)};
  EXPECT_EQ(failures(record, {}).size(), 4u);
  FailureParams each;
  each.episode_gap = 0;
  EXPECT_EQ(failures(record, each).size(), 5u);
  record.incidents = {incident("1", "isolate", "CUDA Error", 20, "b"),
                      incident("2", "checks", "NaN value", 30, "a"),
                      incident("3", "none", "None", 40, "")};
  EXPECT_EQ(failures(record, {}).size(),
            4u);  // b's event is the incident's, a candidate is not counted
}

TEST(Document, IsWhatOneCountsByHand) {
  FleetRecord record;
  for (int i = 0; i < 6; ++i)
    record.incidents.push_back(
        incident("x" + std::to_string(i), "isolate", "CUDA Error", i * 2, i < 5 ? "a" : "b"));
  record.incidents.push_back(incident("y", "rollback", "Code/Data Adjustment", 13, ""));
  record.incidents.push_back(incident("z", "none", "None", 14, ""));
  record.incidents.push_back(incident("w", "investigate", "None", 15, ""));
  record.incidents[0].ran_s = 100;
  record.incidents[1].ran_s = 5000;
  DocumentParams params;
  params.failures.hosts = 100;
  params.failures.from = kStart;
  params.failures.to = kStart + 20 * kDay;
  const auto d = nlohmann::json::parse(document(record, params));
  EXPECT_EQ(d["incidents"], 9);
  EXPECT_EQ(d["failed"], 7);
  EXPECT_EQ(d["undecided"], 1);
  EXPECT_EQ(d["machine_failures"], 6);
  EXPECT_EQ(d["rates"]["interruptions_per_1000_machines_a_day"]["value"], 3.5);  // 7 / (0.1 * 20)
  EXPECT_NEAR(d["rates"]["machine_mtbf"]["days"].get<double>(), 2000.0 / 6, 1e-2);
  EXPECT_EQ(d["rates"]["gpu_mtbf"]["days"].get<double>(),
            std::round(100 * 8 * 20 / 6.0 * 100) / 100);
  EXPECT_EQ(d["symptoms"][0]["count"], 6);
  EXPECT_EQ(d["mechanisms"][0]["name"], "eviction, explicit error");
  EXPECT_EQ(d["early"]["known"], 2);
  EXPECT_EQ(d["early"]["count"], 1);
  EXPECT_EQ(d["diagnosed"]["known"], 7);
  EXPECT_EQ(d["diagnosed"]["count"], 7);
  EXPECT_EQ(d["offenders"]["beyond_chance"], 1);
  EXPECT_EQ(d["offenders"]["machines"][0]["machine"], "a");
  EXPECT_EQ(d["returning"][0]["advice"], "repair");
  const MachineRate r = machine_rate(record, params.failures);
  EXPECT_NEAR(r.rate, 6 / 2000.0, 1e-12);
  EXPECT_LT(r.interval.low, r.rate);
  const std::vector<std::string> hosts{"a", "b", "never heard of"};
  const std::vector<double> relative = relative_rates(record, hosts, params.failures);
  ASSERT_EQ(relative.size(), 3u);
  EXPECT_GT(relative[0], 2 * relative[1]);
  EXPECT_GT(relative[1], relative[2]);
  EXPECT_LT(relative[2], 1) << "a machine that did not fail is a little better than the mean";
  EXPECT_TRUE(relative_rates({}, hosts).empty());
}

TEST(Document, NothingRecordedIsNoFault) {
  const auto d = nlohmann::json::parse(document({}, {}));
  EXPECT_EQ(d["incidents"], 0);
  EXPECT_TRUE(d["rates"]["machine_mtbf"].is_null());
}

TEST(Taxonomy, WordsOfRulesAndOfOtherSystems) {
  EXPECT_EQ(component_group("gpu memory", "GPU Memory Error"), "gpu memory");
  EXPECT_EQ(component_group("nic port", ""), "nic");
  EXPECT_EQ(component_group("cable, switch", ""), "network");
  EXPECT_EQ(component_group("Power Supply", ""), "power");
  EXPECT_EQ(component_group("", "Job Hang"), "communication timeout");
  EXPECT_EQ(component_group("", ""), "unknown");
  EXPECT_EQ(component_group("", "OS Kernel Panic"), "kernel");
  EXPECT_EQ(category_of("Job Hang"), "implicit");
  EXPECT_EQ(mechanism_of("isolate", "Job Hang"), "eviction, analysis");
  double sum = 0;
  for (const Share& s : published_symptoms()) sum += s.percent;
  EXPECT_NEAR(sum, 100, 0.5);
}

std::optional<Nanoseconds> parse(std::string_view text) { return parse_utc(std::string(text)); }

ImportTable table(std::vector<std::string> columns,
                  const std::vector<std::vector<std::string_view>>& rows) {
  ImportTable t;
  t.columns = std::move(columns);
  t.cells.resize(t.columns.size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) t.cells[c].push_back(row[c]);
  t.rows = rows.size();
  return t;
}

TEST(Import, BeginningsAndEndsAreMatched) {
  const ImportTable t =
      table({"node_id", "event_time", "event_type", "fault_type.Class", "fault_type.Desc"},
            {{"n1", "0.5", "fault_start", "GPU", "lost"},
             {"n2", "0.75", "fault_start", "NIC", "down"},
             {"n1", "1.5", "fault_end", "GPU", "lost"},
             {"n1", "2", "fault_start", "GPU", "lost"},
             {"n3", "3", "fault_end", "GPU", "lost"},
             {"", "3", "fault_start", "GPU", ""},
             {"n4", "soon", "fault_start", "GPU", ""}});
  ImportParams params;
  params.system = "trace";
  params.file = "trace.json";
  params.unit_s = 86400;
  params.epoch = kStart;
  const auto got = import_events(t, params, parse);
  ASSERT_TRUE(got) << got.error().what;
  ASSERT_EQ(got->events.size(), 3u);
  EXPECT_EQ(got->events[0].start, kStart + kDay / 2);
  EXPECT_EQ(got->events[0].end, kStart + kDay + kDay / 2);
  EXPECT_FALSE(got->events[1].end);
  EXPECT_EQ(got->events[0].event_class, "GPU");
  EXPECT_EQ(got->rows, got->used + got->rejects.size());
  EXPECT_EQ(got->rejects.size(), 3u);
  const auto again = import_events(t, params, parse);
  EXPECT_EQ(again->events[2].id, got->events[2].id);
}

TEST(Import, WholeEventsWithTimesOfSeveralKinds) {
  const ImportTable t = table({"hostname", "start", "duration", "kind", "class"},
                              {{"h", "2026-01-02T00:00:00Z", "3600", "", "NIC"},
                               {"h", "1767225600", "60", "repair", ""},
                               {"h", "1767225600123", "", "", "GPU"},
                               {"h", "2026-01-02T00:00:00Z", "-5", "", "NIC"}});
  ImportParams params;
  params.file = "x.csv";
  const auto got = import_events(t, params, parse);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->events.size(), 3u);
  EXPECT_EQ(got->events[0].kind, "repair");
  EXPECT_EQ(got->events[0].start, kStart);
  EXPECT_EQ(got->events[1].start, kStart + 123'000'000);
  EXPECT_EQ(*got->events[2].end - *got->events[2].start, 3600 * kSecond);
}

TEST(Import, AMissingColumnIsNamed) {
  EXPECT_FALSE(import_events(table({"when", "what"}, {{"1", "x"}}), {}, parse));
  ImportParams params;
  params.columns = {{"host", "box"}};
  EXPECT_FALSE(import_events(table({"when", "what"}, {{"1", "x"}}), params, parse));
  params.columns = {{"host", "what"}};
  EXPECT_TRUE(import_events(table({"when", "what"}, {{"1", "x"}}), params, parse));
  params.columns = {{"owner", "what"}};
  EXPECT_FALSE(import_events(table({"when", "what"}, {{"1", "x"}}), params, parse));
}

TEST(Incident, OfAReport) {
  const auto document = nlohmann::json::parse(R"({"schema": "culprit.diagnosis/1",
    "bundle": {"digest": "00ff", "hosts": ["n1", "n2"], "world_size": 16, "complete": true},
    "incident": {"symptom": "GPU Unavailable", "start": "2026-01-01T00:00:00.5Z", "end": null},
    "verdict": {"action": "isolate", "precision": "exact", "restart": "after_repair", "summary": "s",
      "targets": [{"kind": "host", "id": "n1", "confidence": 0.9, "because": ["f1"]}, {"kind": "gpu", "id": "n1/0000:3b:00", "confidence": 0.8, "because": []},
                  {"kind": "rank", "id": "9", "confidence": 0.8, "because": []}]},
    "findings": [{"id": "f1", "class": "gpu_xid/79"}],
    "rank_map": {"hosts": [{"host": "n2", "ranks": "8-15"}]},
    "time": [{"part": "training", "seconds": 100.5}, {"part": "after the last step", "seconds": 50}]})");
  const auto got = incident_of(
      document, [](const std::string& c) { return c == "gpu_xid/79" ? "gpu" : "?"; },
      kStart - 100 * kSecond);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->component, "gpu");
  EXPECT_EQ(got->start, kStart + kSecond / 2);
  EXPECT_FALSE(got->end);
  EXPECT_EQ(got->targets[1].host, "n1");
  EXPECT_EQ(got->targets[2].host, "n2");
  EXPECT_TRUE(got->targets[0].blamed);
  EXPECT_EQ(*got->ran_s, 100.5);
  const auto back = from_json(nlohmann::json::parse(to_json(*got).dump()));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(*got));
  EXPECT_FALSE(incident_of(nlohmann::json::parse("{\"schema\": 3}"), {}, std::nullopt));
}

}  // namespace
}  // namespace culprit::fleet
