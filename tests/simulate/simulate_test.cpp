// Every kind can be told, the same way twice, and its truth and data satisfy their schemas.
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"
#include "simulate/bundle.hpp"

namespace culprit::simulate {
namespace {

using nlohmann::json;

void expect_valid(const json& document, const char* schema) {
  const json rules = json::parse(schema::text(schema));
  for (const auto& violation : schema::validate(document, rules))
    ADD_FAILURE() << schema << " " << violation.path << ": " << violation.reason;
}

Incident told(const Kind& kind, std::uint64_t seed, Size size = {}) {
  auto incident = simulate(kind, size, seed);
  EXPECT_TRUE(incident) << kind.name;
  return incident ? std::move(*incident) : Incident{};
}

TEST(Kinds, SatisfyTheirSchema) {
  std::set<std::string> names;
  for (const Kind& kind : kinds()) {
    expect_valid({{"kinds", {kind.data}}}, "simulate-v1.json");
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name << " is there twice";
  }
  EXPECT_GE(names.size(), 24u);
  json any = kinds().front().data;
  for (const auto& [name, events] : scenes().items()) {
    any["events"] = events;
    expect_valid({{"kinds", {any}}}, "simulate-v1.json");
  }
  any["events"] = world()["start"];
  any["collect"] = json::array();
  for (const json& collector : world()["collectors"]) any["collect"].push_back(collector["id"]);
  expect_valid({{"kinds", {any}}}, "simulate-v1.json");
  any["guitly"] = "host";
  EXPECT_FALSE(
      schema::validate({{"kinds", {any}}}, json::parse(schema::text("simulate-v1.json"))).empty());
}

TEST(Kinds, SayScenesThatThereAre) {
  for (const Kind& kind : kinds())
    for (const json& event : kind.data.value("events", json::array()))
      if (event.contains("scene")) {
        EXPECT_TRUE(scenes().contains(event["scene"].get<std::string>())) << kind.name;
      }
}

TEST(Simulate, EveryKindHasATruthAndKnowsItsWords) {
  for (const Kind& kind : kinds())
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Incident incident = told(kind, seed);
      expect_valid(json::parse(incident.truth.dump()), "truth-v1.json");
      const json truth = json::parse(incident.truth.dump());
      for (const json& host : truth["guilty"]["hosts"])
        for (const json& innocent : truth["innocent"]) EXPECT_NE(host, innocent) << kind.name;
      EXPECT_EQ(truth["guilty"]["hosts"].empty(), kind.data["guilty"] == "none") << kind.name;
      EXPECT_EQ(truth["why"].get<std::string>().find('{'), std::string::npos) << truth["why"];
      EXPECT_GT(incident.files.size(), 3u) << kind.name;
      for (const auto& [path, bytes] : incident.files) {
        EXPECT_FALSE(bytes.empty()) << kind.name << " " << path;
        if (path.ends_with(".gz")) continue;
        EXPECT_EQ(bytes.find("{?"), std::string::npos)
            << kind.name << " " << path << ": " << bytes.substr(bytes.find("{?"), 20);
        EXPECT_EQ(path.find(kind.name), std::string::npos) << "the path tells the kind: " << path;
      }
    }
}

TEST(Simulate, TheSameSeedGivesTheSameBytes) {
  for (const Kind& kind : kinds()) {
    const Incident one = told(kind, 7, {4, 8}), again = told(kind, 7, {4, 8}),
                   other = told(kind, 8, {4, 8});
    EXPECT_EQ(one.files, again.files) << kind.name;
    EXPECT_EQ(one.truth, again.truth) << kind.name;
    EXPECT_NE(one.files, other.files) << kind.name;
  }
}

TEST(Draws, OfOnePurposeDoNotMoveThoseOfAnother) {
  Dice dice(3);
  const std::uint64_t noise = dice.fork("noise").next();
  dice.next();
  EXPECT_EQ(Dice(3).fork("noise").next(), noise);
  EXPECT_NE(Dice(3).fork("other").next(), noise);
}

// Launches, requests and completions by communicator, rank and peer: the last row of each counts.
struct Counts {
  std::int64_t launches = 0, requests = 0, completions = 0;
};
using Counters = std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Counts>;

Counters counters_of(const Incident& incident) {
  Counters out;
  for (const auto& [path, bytes] : incident.files) {
    if (path.find("collective-counters") == path.npos) continue;
    const char separator = path.find(".tsv") != path.npos ? '\t' : ',';
    std::vector<std::string> names;
    std::istringstream lines(bytes);
    for (std::string line; std::getline(lines, line);) {
      json row;
      if (line.starts_with('{')) {
        row = json::parse(line);
      } else {
        std::vector<std::string> cells;
        std::istringstream text(line);
        for (std::string cell; std::getline(text, cell, separator);) cells.push_back(cell);
        if (names.empty()) {
          names = cells;
          continue;
        }
        for (std::size_t i = 0; i < cells.size(); ++i)
          row[names[i]] = json::accept(cells[i]) ? json::parse(cells[i]) : json(cells[i]);
      }
      out[{row["communicator"], row["rank"], row.value("peer", -1)}] = {row["CL"], row["WR"],
                                                                        row["WC"]};
    }
  }
  return out;
}

// Aegis section 4.2.2, as its figures 7b and 7c read: who is behind in CL, and whose WR and WC
// differ where CL is equal.
TEST(Counters, ShowTheFaultOfTheirKind) {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const char* kind :
         {"collective-never-launched", "requests-of-one-rank", "requests-to-one-rank"}) {
      const Incident incident = told(*find_kind(kind), seed, {3, 12});
      const std::int64_t guilty = incident.truth["guilty"]["ranks"][0];
      const Counters counters = counters_of(incident);
      if (counters.empty()) continue;  // packed, by host
      ++checked;
      std::map<std::string, std::int64_t> most;  // launches, by communicator
      for (const auto& [key, c] : counters) {
        std::int64_t& one = most[std::get<0>(key)];
        one = std::max(one, c.launches);
      }
      const std::string within = fmt::format("tp{}", guilty / 4),
                        across = fmt::format("dp{}", guilty % 4);
      for (const auto& [key, c] : counters) {
        const auto& [communicator, rank, peer] = key;
        EXPECT_LE(c.completions, c.requests) << "requests cannot be fewer than completions";
        const bool behind = c.launches < most[communicator];
        if (kind == std::string("collective-never-launched")) {
          if (communicator == within) { EXPECT_EQ(behind, rank == guilty) << rank; }
        } else if (communicator == across) {
          EXPECT_FALSE(behind) << rank;
          EXPECT_EQ(c.completions < c.requests,
                    (kind == std::string("requests-of-one-rank") ? rank : peer) == guilty)
              << kind << " " << rank << " " << peer;
        }
      }
    }
  EXPECT_GE(checked, 24);
}

// Two runs in one bundle: the steps of the second go on behind a checkpoint of the first.
TEST(Attempts, OfOneJobStandInOrder) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const char* kind : {"restart-goes-on", "restart-gpu-lost", "restart-program-error"}) {
      const Incident incident = told(*find_kind(kind), seed, {3, 6});
      EXPECT_EQ(incident.truth["drawn"]["attempts"], 2) << kind;
      std::set<std::string> resumed;
      for (const auto& [path, bytes] : incident.files) {
        for (auto at = bytes.find("resuming at step "); at != bytes.npos;
             at = bytes.find("resuming at step ", at + 1))
          resumed.insert(bytes.substr(at, bytes.find(',', at) - at));
        // A clock that counts from the boot goes one way, whatever the attempt.
        double last = 0;
        std::istringstream lines(
            path.find("dmesg.txt") == path.npos && path.find("dmesg/") == path.npos ? std::string()
                                                                                    : bytes);
        for (std::string line; std::getline(lines, line);) {
          const double now = std::atof(line.c_str() + 1);
          EXPECT_LE(last, now) << kind << " " << seed << " " << path << ": " << line;
          last = now;
        }
      }
      EXPECT_EQ(resumed.size(), 2u) << kind << " " << seed;
    }
}

// Flat, by collector, by host, and as one archive.
TEST(Simulate, KeepsTheFilesInSeveralWays) {
  std::set<std::string> ways;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Incident incident = told(*find_kind("nic-port-down"), seed, {2, 4});
    bool deep = false, hosts = false, by_collector = false;
    for (const auto& [path, bytes] : incident.files) {
      deep = deep || path.find('/') != path.npos;
      hosts = hosts || path.starts_with("hosts/");
      by_collector = by_collector || path.starts_with("ibstat/");
    }
    ways.insert(!deep ? "flat" : by_collector ? "by collector" : hosts ? "by host" : "other");
    if (incident.archived) ways.insert("archive");
  }
  EXPECT_EQ(ways, (std::set<std::string>{"flat", "by collector", "by host", "archive"}));
}

TEST(Simulate, TakesTheWantedSize) {
  const Kind& kind = *find_kind("gpu-lost");
  const json truth = json::parse(told(kind, 1, {3, 12}).truth.dump());
  EXPECT_EQ(truth["drawn"]["hosts"], 3);
  EXPECT_EQ(truth["drawn"]["ranks"], 12);
  EXPECT_EQ(truth["innocent"].size(), 2u);
  EXPECT_EQ(json::parse(told(kind, 1, {0, 20}).truth.dump())["drawn"]["hosts"], 4);
  EXPECT_EQ(json::parse(told(kind, 1, {40, 0}).truth.dump())["drawn"]["ranks"], 320);
}

TEST(Simulate, RefusesAnImpossibleSize) {
  const Kind& kind = *find_kind("leaf-congested");
  EXPECT_EQ(simulate(kind, {2, 0}, 1).error().what,
            "'leaf-congested' needs at least 4 hosts, not 2");
  EXPECT_EQ(simulate(kind, {5, 12}, 1).error().what,
            "12 ranks do not divide among 5 hosts with 1 to 8 each");
  EXPECT_EQ(simulate(kind, {4, 64}, 1).error().kind, ErrorKind::usage);
}

TEST(Simulate, AStoppedHostSaysNothingMore) {
  const Kind& kind = *find_kind("kernel-panic");
  const Incident incident = told(kind, 5);
  const std::string host = incident.truth["guilty"]["hosts"][0].get<std::string>();
  std::string console;
  for (const auto& [path, bytes] : incident.files)
    if (path.find("serial-console") != std::string::npos) console = path;
  EXPECT_NE(console.find(host), std::string::npos);
  EXPECT_EQ(incident.files.count("hosts/" + host + "/date.txt"), 0u);
}

}  // namespace
}  // namespace culprit::simulate
