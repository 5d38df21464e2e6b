#include "ingest/table/bare_table.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace culprit::ingest {
namespace {

using Use = TableColumn::Use;

BareTable read(std::string bytes, const TableOptions& options = {}) {
  auto table = read_bare_table(std::move(bytes), "t", options);
  EXPECT_TRUE(table) << (table ? "" : table.error().what);
  return table ? *std::move(table) : BareTable{};
}

// One line a column: name, use, values.
std::string shown(const BareTable& table) {
  std::string out;
  for (const TableColumn& c : table.columns) {
    out += c.name +
           (c.use == Use::series      ? ""
            : c.use == Use::index     ? "[index]"
            : c.use == Use::iteration ? "[iteration]"
            : c.use == Use::time      ? "[time]"
                                      : "[label]") +
           ":";
    for (std::size_t i = 0; i < c.values.size(); ++i)
      out += std::isnan(c.values[i]) ? (c.cells[i].empty() ? " ." : fmt::format(" {}", c.cells[i]))
                                     : fmt::format(" {}", c.values[i]);
    out += "\n";
  }
  return out;
}

TEST(BareTable, FormsAreToldFromTheBytes) {
  const std::pair<const char*, const char*> cases[] = {
      {"1\n2.5\n3e1\n", "value: 1 2.5 30\n"},
      {"iter_ms\n1\n2\n", "iter_ms: 1 2\n"},
      {"\xEF\xBB\xBFiteration,iter_ms\r\n1,10.5\r\n2,\r\n3,nan\r\n",
       "iteration[iteration]: 1 2 3\niter_ms: 10.5 . nan\n"},
      {"# exported\n\nts\tloss\n1700000000\t1\n1700000001\t2\n",
       "ts[time]: 1700000000 1700000001\nloss: 1 2\n"},
      {"a;b\n1;2\n3;4\n", "a: 1 3\nb: 2 4\n"},
      {"1 10\n2 20\n3 15\n4 11\n", "column 1[index]: 1 2 3 4\ncolumn 2: 10 20 15 11\n"},
      {"1,10\n2,20\n3,15\n", "column 1[index]: 1 2 3\ncolumn 2: 10 20 15\n"},
      {"time,0,1,2\n1.5,7,8,9\n2.5,7,8,9\n", "time[time]: 1.5 2.5\n0: 7 7\n1: 8 8\n2: 9 9\n"},
      {"when,ms\n2026-11-21T01:00:00Z,5\n2026-11-21T01:00:09Z,6\n",
       "when[time]: 2026-11-21T01:00:00Z 2026-11-21T01:00:09Z\nms: 5 6\n"},
      {"host,ms\nn1,5\nn2,6\n", "host[label]: n1 n2\nms: 5 6\n"},
      {"n1,5\nn2,6\n", "column 1[label]: n1 n2\ncolumn 2: 5 6\n"},
      {"\"a \"\"x\"\"\",\"b,c\"\n\"1\",\"2\"\n", "a \"x\": 1\nb,c: 2\n"},
      {"ms,ms\n1,2\n", "ms: 1\nms (2): 2\n"},
      {"[1, null, NaN, 4]", "value: 1 . nan 4\n"},
      {"[null, \"nan\", 3]", "value: . nan 3\n"},
      {R"([{"it": 1, "ms": 2}, {"it": 2}, {"ms": 4, "x": true}])",
       "it[iteration]: 1 2 .\nms: 2 . 4\nx: . . 1\n"},
      {R"([["it", "ms"], [1, 5], [2, 6]])", "it[iteration]: 1 2\nms: 5 6\n"},
      {R"([[1, 5], [2, 6]])", "column 1: 1 2\ncolumn 2: 5 6\n"},
      {R"({"a": [1, 2], "b": [3]})", "a: 1 2\nb: 3 .\n"},
      {R"({"loss": {"step_interval": 5, "values": {"10": 3, "5": 2, "1": "nan"}}})",
       "index[index]: 1 5 10\nloss: nan 2 3\n"},
      {R"({"a": {"values": {"1": 1, "2": 2}}, "b": {"values": {"2": 5, "3": 6}}})",
       "index[index]: 1 2 3\na: 1 2 .\nb: . 5 6\n"},
      {R"({"2": 20, "1": 10})", "index: 1 2\nvalue: 10 20\n"},
      {R"({"name": "s", "n_obs": 3, "series": [{"label": "V1", "raw": [1, null, 3]}, {"label": "V2", "raw": [4, 5, 6]}]})",
       "V1: 1 . 3\nV2: 4 5 6\n"},
      {"{\"iteration\": 7, \"m\": {\"ms\": 1.5}}\n\n{\"iteration\": 8, \"m\": {\"ms\": Infinity}, "
       "\"l\": [1]}\n",
       "iteration[iteration]: 7 8\nm.ms: 1.5 inf\nl[label]: . [1]\n"},
  };
  for (const auto& [bytes, want] : cases) {
    auto options = TableOptions{};
    std::string expected = want;
    if (expected.starts_with("index: 1 2\n")) expected.replace(0, 6, "index[index]:");
    EXPECT_EQ(shown(read(bytes, options)), expected) << bytes;
  }
}

TEST(BareTable, TellsWhatADocumentIs) {
  const auto tcpd =
      read(R"({"name": "s", "n_obs": 2, "series": [{"raw": [1, 2]}, {"raw": [4, 5]}]})");
  EXPECT_EQ(tcpd.form, "tcpd");
  EXPECT_EQ(tcpd.name, "s");
  EXPECT_TRUE(tcpd.multivariate);
  EXPECT_FALSE(read(R"({"name": "s", "series": [{"raw": [1, 2]}]})").multivariate);
  EXPECT_EQ(read("{\"a\": 1}\n{\"a\": 2}\n").form, "jsonl");
  EXPECT_EQ(read("a\n1\n").form, "numbers");
}

TEST(BareTable, OneBlankLineInAListOfNumbersIsAMissingOneAndTheLastAreNone) {
  EXPECT_EQ(shown(read("1\n\n3\n\n\n")), "value: 1 . 3\n");
  EXPECT_EQ(shown(read("ms\n\n3\n")), "ms: 3\n");
}

TEST(BareTable, HeaderCanBeToldOrDenied) {
  EXPECT_EQ(shown(read("1\n2\n", {TableOptions::Header::yes, {}})), "1: 2\n");
  EXPECT_EQ(shown(read("a\n2\n", {TableOptions::Header::no, {}})), "value: a 2\n");
}

// Rejects with the user's line numbers; the rest of the table stands.
TEST(BareTable, BrokenLinesAreRejectsWithTheirPlace) {
  struct Case {
    std::string bytes, code;
    std::uint64_t line;
    std::size_t rows;
  };
  const Case cases[] = {
      {"a,b\n1,2\n3\n4,5\n", "table.short_row", 3, 3},
      {"a,b\n1,2\n3,4,5\n6,7\n", "table.long_row", 3, 3},
      {"# c\na\n1\n2\nERROR\n4\n", "table.not_a_number", 5, 4},
      {"a,b\n1,\"2\n3,4\n5,6\n", "table.quote", 2, 2},
      {"{\"a\": 1}\n{\"a\": \n{\"a\": 3}\n", "table.bad_json", 2, 2},
      {"{\"a\": 1}\n{\"a\": 2} x\n{\"a\": 3}\n", "table.bad_json", 2, 2},
      {"{\"a\": 1}\n7\n", "table.bad_json", 2, 1},
      {"a\n1\n" + std::string(70000, '9') + "\n3\n", "table.cell_too_long", 3, 3},
  };
  for (const Case& c : cases) {
    const auto table = read(c.bytes);
    EXPECT_EQ(table.rows, c.rows) << c.bytes.substr(0, 80);
    EXPECT_EQ(table.rejected, 1u) << c.bytes.substr(0, 80);
    ASSERT_FALSE(table.rejects.empty()) << c.bytes.substr(0, 80);
    EXPECT_EQ(table.rejects[0].code, c.code);
    EXPECT_EQ(table.rejects[0].line, c.line) << c.code;
  }
}

TEST(BareTable, ManyRejectsAreCountedAndFewKept) {
  std::string bytes = "a,b\n";
  for (int i = 0; i < 30; ++i) bytes += "1,2\n";
  for (int i = 0; i < 500; ++i) bytes += "7\n";
  const auto table = read(bytes);
  EXPECT_EQ(table.rejected, 500u);
  EXPECT_EQ(table.rejects.size(), 100u);
}

TEST(BareTable, WhatIsNoTableIsAnErrorWithAPlace) {
  for (const std::string& bytes :
       {std::string(), std::string(" \n\n"), std::string("a,b\n"), std::string("[1, 2"),
        std::string("{\"a\": {\"b\": []}}"), std::string("[1] [2]"),
        std::string("\xFF\xFE"
                    "1\0",
                    4),
        std::string("{}"), std::string("[]")}) {
    const auto table = read_bare_table(bytes, "f.csv");
    ASSERT_FALSE(table) << bytes;
    ASSERT_TRUE(table.error().where);
    EXPECT_EQ(table.error().where->file, "f.csv");
    EXPECT_FALSE(table.error().help.empty()) << bytes;
  }
  EXPECT_EQ(read_bare_table("{\"a\": [1,\n2,\n", "f").error().where->line, 3u);
}

TEST(BareTable, ThousandsOfColumns) {
  std::string bytes = "iteration";
  for (int i = 0; i < 5000; ++i) bytes += fmt::format(",rank {}", i);
  for (int row = 0; row < 20; ++row) {
    bytes += fmt::format("\n{}", row);
    for (int i = 0; i < 5000; ++i) bytes += fmt::format(",{}", row + i);
  }
  const auto table = read(bytes);
  ASSERT_EQ(table.columns.size(), 5001u);
  EXPECT_EQ(table.columns[0].use, Use::iteration);
  EXPECT_EQ(table.columns[5000].values[19], 19 + 4999.0);
}

// Few bytes may not become many cells.
TEST(BareTable, LimitsAreErrors) {
  TableOptions small;
  small.limits.columns = 3;
  EXPECT_NE(read_bare_table("1,2,3,4\n", "f", small).error().what.find("3 columns"),
            std::string::npos);
  std::string holes;
  for (int i = 0; i < 3000; ++i) holes += fmt::format("{{\"k{}\":1}}\n", i);
  const auto table = read_bare_table(holes, "f");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().what.find("cells"), std::string::npos);
  small.limits.bytes = 4;
  EXPECT_FALSE(read_bare_table("1\n2\n3\n", "f", small));
}

TEST(BareTable, RestartedIterationsAreStillIterations) {
  std::string bytes = "step,ms\n";
  for (int i = 0; i < 60; ++i) bytes += fmt::format("{},5\n", i < 40 ? i : i - 10);
  EXPECT_EQ(read(bytes).columns[0].use, Use::iteration);
  EXPECT_EQ(shown(read("time\n5\n4\n6\n")),
            "time: 5 4 6\n");  // the only column is what was asked about
}

// Numbers written as CSV come back the same.
RC_GTEST_PROP(BareTable, ReadsWhatWasWritten, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 6);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 20);
  std::vector<std::vector<double>> want(width, std::vector<double>(rows));
  std::string bytes;
  for (std::size_t c = 0; c < width; ++c) bytes += fmt::format("{}x{}", c ? "," : "", c);
  for (std::size_t r = 0; r < rows; ++r) {
    bytes += "\r\n";
    for (std::size_t c = 0; c < width; ++c) {
      want[c][r] =
          *rc::gen::map(rc::gen::inRange(-1000000, 1000000), [](int n) { return n / 1024.0; });
      bytes += fmt::format("{}{}", c ? "," : "", want[c][r]);
    }
  }
  const auto table = read_bare_table(bytes, "t");
  RC_ASSERT(table.has_value());
  RC_ASSERT(table->columns.size() == width);
  for (std::size_t c = 0; c < width; ++c) RC_ASSERT(table->columns[c].values == want[c]);
}

// Whatever the bytes are: an answer, no crash.
RC_GTEST_PROP(BareTable, AnyBytes, (std::vector<std::uint8_t> noise)) {
  static constexpr std::string_view kAlphabet = "0123456789,.\"\n\r\t{}[]:;abNn -e\\";
  std::string bytes;
  for (const std::uint8_t b : noise) bytes.push_back(kAlphabet[b % kAlphabet.size()]);
  for (const std::string start : {"", "{\"a\":", "[", "\"a\",b\n"}) {
    const auto table = read_bare_table(start + bytes, "t");
    if (table)
      for (const TableColumn& c : table->columns)
        RC_ASSERT(c.values.size() == table->rows && c.cells.size() == table->rows);
  }
}

TEST(BareTable, RealFiles) {
  const std::string shared = CULPRIT_SHARED_DIR;
  if (shared.empty()) GTEST_SKIP() << "no shared data";
  const auto load = [&](const std::string& path) {
    std::ifstream in(shared + "/" + path, std::ios::binary);
    return read(std::string(std::istreambuf_iterator<char>(in), {}));
  };
  const auto golden = load("formats/metrics/megatron_golden_gpt3_15b_h100.json");
  EXPECT_EQ(golden.rows, 2601u);
  ASSERT_NE(golden.find("iteration-time"), nullptr);
  EXPECT_EQ(golden.find("iteration-time")->texts, 0u);
  const auto rank = load("bundles/failslow-a/bundle/metrics/rank_0.jsonl");
  EXPECT_EQ(rank.rows, 420u);
  EXPECT_EQ(rank.find("ts")->use, Use::time);
  EXPECT_EQ(rank.find("rank")->use, Use::label);
  EXPECT_EQ(rank.find("iteration")->use, Use::iteration);
  EXPECT_EQ(rank.find("iter_ms")->use, Use::series);
  const auto runs = load("changepoint/series/run_log.json");
  EXPECT_TRUE(runs.multivariate);
  EXPECT_EQ(runs.columns.size(), 2u);
}

}  // namespace
}  // namespace culprit::ingest
