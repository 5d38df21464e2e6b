// Cards: what a report becomes on one line, what a file of them says, and which are alike.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fleet/card.hpp"
#include "fleet/document.hpp"
#include "fleet/likeness.hpp"
#include "model/json.hpp"

namespace culprit::fleet {
namespace {

using nlohmann::json;

// A small report of a hang; what a card reads of it.
json report_of(const std::string& digest) {
  return json::parse(R"({"schema":"culprit.diagnosis/1",
    "tool":{"name":"culprit","version":"0.1.0","rules":"aa"},
    "job":{"name":"pretrain","id":"41"},
    "bundle":{"digest":")" +
                     digest + R"(","world_size":16,"complete":true,"hosts":["n2","n1"]},
    "incident":{"symptom":"Job Hang","start":"2026-05-02T10:00:00Z","end":"2026-05-02T10:30:00Z"},
    "verdict":{"action":"isolate","precision":"exact","restart":"after_repair",
      "sureness":{"word":"likely"},"summary":"The job hung.",
      "targets":[{"kind":"host","id":"n1","confidence":0.8,"because":["hang/rank/5"]},
                 {"kind":"rank","id":"5","confidence":0.8,"because":["hang/rank/5"]}],
      "steps":[{"step":"stopped_rank","outcome":"taken","reason":"x","why":"y"}],
      "differential":[
        {"kind":"stopped_rank","name":"a","action":"isolate","score":41,"what":"w","targets":[],
         "weights":[{"decibans":22,"reason":"how common it is: rank that stopped"},
                    {"decibans":12,"reason":"waited_for: usual seen with this kind of cause"},
                    {"decibans":7,"reason":"its own evidence: seen with this kind of cause"}]},
        {"kind":"stuck_group","action":"checks","score":17,"what":"v","targets":[],"weights":[]}]},
    "findings":[
      {"id":"hang/rank/5","class":"hang/host_stopped","outcome":"fired","role":"root"},
      {"id":"a","class":"gloo_timeout","outcome":"fired","role":"cascade"},
      {"id":"b","class":"gloo_timeout","outcome":"fired","role":"cascade"},
      {"id":"c","class":"host_mce","outcome":"ruled_out","role":"root"}],
    "rank_map":{"hosts":[{"host":"n1","ranks":"0-7"}]},
    "waits":{"nodes":[{"doing":"all_reduce of dp","end":false,"size":4},
                      {"doing":"own code","end":true,"size":1}]},
    "time":[{"part":"training","seconds":3600}]})");
}

Cards read(const std::string& text, unsigned threads = 1) {
  auto cards = Cards::read(text, "cards.jsonl", threads);
  if (!cards) {
    ADD_FAILURE() << cards.error().what;
    return {};
  }
  return std::move(cards).value();
}

std::string error_of(const std::string& text, unsigned threads = 1) {
  const auto cards = Cards::read(text, "cards.jsonl", threads);
  if (cards) return "none";
  return fmt::format("{}:{}: {}", cards.error().where->file, cards.error().where->line,
                     cards.error().what);
}

TEST(Card, HasWhatTheReportSays) {
  const auto line = card_of(report_of("00000000000000a1"));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->find('\n'), std::string::npos);
  const json card = json::parse(*line);
  EXPECT_EQ(card["id"], "00000000000000a1");
  EXPECT_EQ(card["line"], "ISOLATE  n1, rank 5");
  EXPECT_EQ(card["kind"], "stopped_rank");
  EXPECT_EQ(card["sureness"], "likely");
  EXPECT_EQ(card["signs"], json({"waited_for"}));
  EXPECT_EQ(card["effects"], json({"cascade gloo_timeout", "root hang/host_stopped"}));
  EXPECT_EQ(card["waits"], json({"all_reduce of dp", "one waited for in own code"}));
  EXPECT_EQ(card["hosts"], "n[1-2]");
  EXPECT_EQ(card["machines"], 2);
  EXPECT_EQ(card["gpus"], 16);
  EXPECT_EQ(card["job_id"], "41");
  EXPECT_EQ(card["class"], "hang/host_stopped");
  EXPECT_EQ(card["targets"][1]["host"], "n1");  // of rank 5
  EXPECT_EQ(card["differential"].size(), 2u);
  EXPECT_EQ(card_of(json::object()), std::nullopt);
}

TEST(Card, StaysSmallWhateverTheIncident) {
  json report = report_of("00000000000000a1");
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    report["bundle"]["hosts"].push_back(fmt::format("h{:x}-{:x}", random(), random()));
    report["findings"].push_back({{"id", "x"},
                                  {"class", fmt::format("class_{}{}", i, std::string(200, 'x'))},
                                  {"outcome", "fired"},
                                  {"role", "cascade"}});
    report["verdict"]["targets"].push_back(
        {{"kind", "host"}, {"id", fmt::format("host-{}", i)}, {"confidence", 0.5}});
    report["waits"]["nodes"].push_back({{"doing", fmt::format("send {}", i)}, {"size", 1}});
  }
  report["verdict"]["summary"] = std::string(100'000, 's');
  std::string wide;
  for (int i = 0; i < 5000; ++i) wide += "\xF0\x9F\x94\xA5";
  report["verdict"]["targets"][0]["id"] = wide;
  report["verdict"]["differential"][0]["what"] = wide;
  report["job"] = {{"name", wide}, {"id", wide}};
  for (json& finding : report["findings"])
    finding["class"] = finding["class"].get<std::string>().insert(0, wide);
  const auto line = card_of(report);
  ASSERT_TRUE(line);
  EXPECT_LT(line->size(), 10'000u);
  const json card = json::parse(*line);
  EXPECT_EQ(card["machines"], 3002);
  EXPECT_EQ(card["targets_in_all"], 3002);
  EXPECT_EQ(read(*line).rows().size(), 1u);
}

TEST(Card, ReadsBackAsAnIncidentOfAFleet) {
  const auto incidents = incidents_of(read(*card_of(report_of("00000000000000a1"))));
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(incidents[0].symptom, "Job Hang");
  EXPECT_EQ(incidents[0].targets.size(), 2u);
  EXPECT_TRUE(incidents[0].targets[0].blamed);
  EXPECT_EQ(incidents[0].time.size(), 1u);
}

TEST(Cards, TheLastOutcomeCountsWhateverTheOrderOfLinesAndThreads) {
  const std::string a = *card_of(report_of("00000000000000a1")) + "\n";
  const std::string b = *card_of(report_of("00000000000000b2")) + "\r\n";
  const auto outcome = [](std::uint64_t id, Found found, Nanoseconds time) {
    return to_line({id, found, "psu \"3\"", "", time, "isolate", "stopped_rank", "likely"}) + "\n";
  };
  std::vector<std::string> lines{a,
                                 b,
                                 outcome(0xa1, Found::confirmed, 20 * kSecond),
                                 outcome(0xa1, Found::cleared, 10 * kSecond),
                                 outcome(0xb2, Found::other, 5 * kSecond),
                                 outcome(0xb2, Found::confirmed, 5 * kSecond),  // the same moment
                                 "\n"};
  std::set<std::string> seen;
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(lines.begin(), lines.end(), random);
    std::string text;
    for (const std::string& line : lines) text += line;
    const Cards cards = read(text, 1 + static_cast<unsigned>(i % 5));
    ASSERT_EQ(cards.rows().size(), 2u);
    ASSERT_EQ(cards.outcomes().size(), 2u);
    EXPECT_EQ(cards.outcomes().at(0xa1).found, Found::confirmed);
    EXPECT_EQ(cards.outcomes().at(0xa1).cause, "psu \"3\"");
    EXPECT_EQ(cards.find(0xa1)->target, "n1");
    seen.insert(std::string(name(cards.outcomes().at(0xb2).found)));
  }
  EXPECT_EQ(seen.size(), 1u);
}

// What was confirmed and taken back is no confirmation of anything, until it is confirmed again.
TEST(Cards, AConfirmationThatIsTakenBackReopensTheCard) {
  using enum Found;
  struct Case {
    std::vector<Found> found;  // one second after the other
    bool reopened;
  };
  for (const Case& one : std::vector<Case>{{{confirmed}, false},
                                           {{cleared, other}, false},
                                           {{confirmed, other}, true},
                                           {{confirmed, cleared, other}, true},
                                           {{confirmed, cleared, confirmed}, false},
                                           {{confirmed, confirmed}, false}}) {
    std::vector<std::string> lines{*card_of(report_of("00000000000000a1")) + "\n"};
    for (std::size_t i = 0; i < one.found.size(); ++i)
      lines.push_back(to_line({0xa1, one.found[i], "", "", static_cast<Nanoseconds>(i) * kSecond,
                               "isolate", "stopped_rank", "likely"}) +
                      "\n");
    for (int order = 0; order < 2; ++order) {
      std::ranges::reverse(lines);
      std::string text;
      for (const std::string& line : lines) text += line;
      const Cards cards = read(text);
      EXPECT_EQ(cards.outcomes().at(0xa1).found, one.found.back());
      EXPECT_EQ(cards.outcomes().at(0xa1).reopened, one.reopened);
      FleetRecord record;
      record.incidents = incidents_of(cards);
      DocumentParams params;
      params.cards = &cards;
      const json outcomes = json::parse(document(record, params))["outcomes"];
      EXPECT_EQ(outcomes["reopened"], one.reopened ? 1 : 0);
      EXPECT_EQ(outcomes["verdicts"][0]["confirmed"], one.found.back() == confirmed ? 1 : 0);
    }
  }
}

TEST(Cards, TheNewestProgramSpeaksForAnIncident) {
  json report = report_of("00000000000000a1");
  std::string text;
  for (const char* version : {"0.9.1", "0.10.0", "0.2.0"}) {
    report["tool"]["version"] = version;
    text += *card_of(report) + "\n";
  }
  const Cards cards = read(text);
  ASSERT_EQ(cards.rows().size(), 1u);
  EXPECT_EQ(cards.rows()[0].tool, "0.10.0");
}

TEST(Cards, ErrorsNameTheLine) {
  const std::string card = *card_of(report_of("00000000000000a1")) + "\n";
  EXPECT_EQ(error_of(""), "none");
  EXPECT_EQ(error_of(card + card + "{\"schema\":"),
            "cards.jsonl:3: this line is not a JSON object");
  EXPECT_EQ(error_of(card + "[]\n"), "cards.jsonl:2: this line is not a JSON object");
  EXPECT_EQ(error_of(card + "{} x\n"), "cards.jsonl:2: this line is not a JSON object");
  EXPECT_EQ(error_of("\n{\"id\":\"00000000000000a1\"}\n"),
            "cards.jsonl:2: this line is neither a card nor an outcome");
  EXPECT_EQ(error_of("{\"schema\":\"culprit.card/1\",\"id\":\"A1\"}\n"),
            "cards.jsonl:1: an id has 16 hexadecimal digits");
  EXPECT_EQ(error_of("{\"schema\":\"culprit.outcome/1\",\"id\":\"00000000000000a1\"}\n"),
            "cards.jsonl:1: an outcome is confirmed, cleared or other");
  std::string many;
  for (int i = 0; i < 40; ++i) many += card;
  for (unsigned threads = 1; threads < 9; ++threads)
    EXPECT_EQ(error_of(many + std::string(200, '{') + "\n" + many, threads),
              "cards.jsonl:41: this line is not a JSON object");
}

TEST(Cards, OutcomesAreCountedByWordAndKind) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += *card_of(report_of(card_id(static_cast<std::uint64_t>(i)))) + "\n";
    if (i < 8)
      text += to_line({static_cast<std::uint64_t>(i), i < 6 ? Found::confirmed : Found::cleared, "",
                       "", kSecond, "isolate", "stopped_rank", i < 4 ? "certain" : "likely"}) +
              "\n";
  }
  const Cards cards = read(text);
  FleetRecord record;
  record.incidents = incidents_of(cards);
  DocumentParams params;
  params.cards = &cards;
  const json outcomes = json::parse(document(record, params))["outcomes"];
  EXPECT_EQ(outcomes["cards"], 10);
  EXPECT_EQ(outcomes["known"], 8);
  ASSERT_EQ(outcomes["verdicts"].size(), 3u);  // kind, then the two words
  EXPECT_EQ(outcomes["verdicts"][0]["name"], "stopped_rank");
  EXPECT_EQ(outcomes["verdicts"][0]["confirmed"], 6);
  EXPECT_EQ(outcomes["verdicts"][0]["cleared"], 2);
  EXPECT_EQ(outcomes["verdicts"][1]["name"], "certain");
  EXPECT_EQ(outcomes["verdicts"][1]["count"], 4);
  // Wilson at 95 %, 4 of 4: [1 / (1 + z^2 / 4), 1].
  EXPECT_NEAR(outcomes["verdicts"][1]["share"]["interval"][0].get<double>(), 0.5101, 1e-4);
}

// Three cards, whose likeness is computed by hand.
TEST(Likeness, IsTheWeightedJaccardIndex) {
  const auto card = [](const char* id, const char* effects) {
    return fmt::format(R"({{"schema":"culprit.card/1","id":"{}","effects":{}}})"
                       "\n",
                       id, effects);
  };
  const Cards cards =
      read(card("0000000000000001", R"(["a","b"])") + card("0000000000000002", R"(["a","c"])") +
           card("0000000000000003", R"(["a"])"));
  const CardRow& own = *cards.find(1);
  const auto like = likest(cards, own.id, cards.traits(own));
  ASSERT_EQ(like.size(), 2u);
  const double a = std::log1p(3.0 / 3), b = std::log1p(3.0 / 1), c = b;
  EXPECT_EQ(like[0].card->id, 3u);
  EXPECT_NEAR(like[0].share, a / (a + b), 1e-12);
  EXPECT_EQ(like[1].card->id, 2u);
  EXPECT_NEAR(like[1].share, a / (a + b + c), 1e-12);
}

// A kind of incident: what its reports have in common, of words that kinds share.
struct Kind {
  std::string symptom, step, action, root, wait, sign;
  std::vector<std::string> effects;
};

// 200 pairs of one kind each, on other hosts, at other times, with a quarter of the effects not
// collected and others that have nothing to do with it; among 2,000 more of yet other kinds.
TEST(Likeness, FindsTheTwin) {
  std::mt19937 random(20261127);
  const auto one_of = [&](const char* what, unsigned most) {
    return fmt::format("{}{}", what, random() % most);
  };
  const auto kind = [&] {
    Kind k{one_of("symptom", 20),
           one_of("step", 25),
           one_of("action", 8),
           one_of("root", 150),
           one_of("wait", 12),
           one_of("sign", 11),
           {}};
    for (auto i = 3 + random() % 6; i > 0; --i) k.effects.push_back(one_of("effect", 60));
    return k;
  };
  std::uint64_t next = 0;
  const auto report = [&](const Kind& k) {
    json r = report_of(card_id(++next));
    const std::string host = one_of("host", 5000);
    r["incident"] = {{"symptom", k.symptom},
                     {"start", iso_utc(static_cast<Nanoseconds>(random()) * kSecond)}};
    r["bundle"]["hosts"] = {host, one_of("host", 5000)};
    r["bundle"]["world_size"] = 8 << random() % 10;
    r["verdict"]["action"] = k.action;
    r["verdict"]["targets"][0]["id"] = host;
    r["verdict"]["targets"][1]["id"] = std::to_string(random() % 512);
    r["verdict"]["steps"][0]["step"] = k.step;
    r["verdict"]["differential"][0]["weights"][1]["reason"] =
        k.sign + ": usual seen with this kind of cause";
    r["findings"] = json::array();
    const auto finding = [&](const std::string& role, const std::string& event_class) {
      r["findings"].push_back(
          {{"id", "x"}, {"class", event_class}, {"outcome", "fired"}, {"role", role}});
    };
    finding("root", k.root);
    for (const std::string& effect : k.effects)
      if (random() % 4 != 0) finding("cascade", effect);
    for (auto i = random() % 3; i > 0; --i) finding("confirmation", one_of("noise", 200));
    r["waits"]["nodes"][0]["doing"] = k.wait;
    return *card_of(r) + "\n";
  };
  std::string text;
  for (int i = 0; i < 2000; ++i) text += report(kind());
  std::vector<std::uint64_t> firsts;
  for (int i = 0; i < 200; ++i) {
    const Kind k = kind();
    text += report(k) + report(k);
    firsts.push_back(next - 1);
  }
  const Cards cards = read(text, 2);
  ASSERT_EQ(cards.rows().size(), 2400u);
  int found = 0, such = 0, strangers = 0;
  for (const std::uint64_t id : firsts) {
    const auto like = likest(cards, id, cards.traits(*cards.find(id)));
    found += like[0].card->id == id + 1 ? 1 : 0;
    for (const Likeness& l : like) {
      if (l.share < 0.5) break;
      (l.card->id == id + 1 ? such : strangers) += 1;
    }
  }
  RecordProperty("twin_first", found);
  RecordProperty("twin_such", such);
  RecordProperty("strangers", strangers);
  EXPECT_GE(found, 180);
}

}  // namespace
}  // namespace culprit::fleet
