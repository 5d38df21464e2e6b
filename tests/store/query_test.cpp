// Queries of strangers: they read, they end, and their answers are bounded.
#include "store/query.hpp"

#include <gtest/gtest.h>

#include "store/database.hpp"

namespace culprit::store {
namespace {

class Query : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Database::open("", Access::create);
    ASSERT_TRUE(opened);
    db_.emplace(std::move(*opened));
    ASSERT_TRUE(db_->set_meta("job", "alpha"));
  }
  std::string refusal(const std::string& sql, const QueryLimits& limits = {}) {
    const auto answer = db_->query(sql, limits);
    return answer ? "" : answer.error().what;
  }
  std::optional<Database> db_;
};

TEST_F(Query, ReadsRowsOfAllTypes) {
  const auto answer = db_->query(
      "-- a comment\nSELECT key, value, 1, 2.5, NULL, x'0102' AS b FROM meta WHERE key = 'job'; ");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->columns.back(), "b");
  ASSERT_EQ(answer->rows.size(), 1u);
  const auto& row = answer->rows[0];
  EXPECT_EQ(std::get<std::string>(row[1]), "alpha");
  EXPECT_EQ(std::get<std::int64_t>(row[2]), 1);
  EXPECT_EQ(std::get<double>(row[3]), 2.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row[4]));
  EXPECT_EQ(std::get<std::string>(row[5]), "(2 bytes)");
  EXPECT_FALSE(answer->cut);
  EXPECT_TRUE(
      db_->query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                 "5) SELECT SUM(i) FROM n"));
}

TEST_F(Query, OnlyReads) {
  for (const char* sql : {"DELETE FROM meta",
                          "UPDATE meta SET value = ''",
                          "INSERT INTO meta VALUES ('a', 'b')",
                          "DROP TABLE meta",
                          "CREATE TABLE t (a)",
                          "CREATE TEMP TABLE t (a)",
                          "ATTACH '/etc/passwd' AS p",
                          "ATTACH ':memory:' AS p",
                          "DETACH main",
                          "PRAGMA user_version",
                          "PRAGMA writable_schema = 1",
                          "VACUUM",
                          "VACUUM INTO '/tmp/x'",
                          "BEGIN",
                          "COMMIT",
                          "SELECT load_extension('/tmp/x')",
                          "SELECT readfile('/etc/passwd')",
                          "WITH a AS (SELECT 1) DELETE FROM meta",
                          "SELECT * FROM pragma_table_info('meta')",
                          "REINDEX",
                          "ANALYZE",
                          "SAVEPOINT s"})
    EXPECT_NE(refusal(sql), "") << sql;
  const auto meta = db_->query("SELECT value FROM meta WHERE key = 'job'");
  ASSERT_TRUE(meta && meta->rows.size() == 1);
  EXPECT_EQ(std::get<std::string>(meta->rows[0][0]), "alpha");
  EXPECT_TRUE(db_->set_meta("job", "beta")) << "the connection is ours again";
}

TEST_F(Query, OneStatementAtATime) {
  EXPECT_EQ(refusal("SELECT 1; SELECT 2"), "one statement at a time");
  EXPECT_EQ(refusal("SELECT 1; DELETE FROM meta"), "one statement at a time");
  EXPECT_EQ(refusal("  -- nothing"), "there is no SQL in this query");
  EXPECT_NE(refusal(std::string("SELECT 1\0; x", 12)), "");
  EXPECT_NE(refusal(std::string(200'000, ' ') + "SELECT 1"), "");
  EXPECT_NE(refusal("SELEKT 1").find("syntax error"), std::string::npos);
}

TEST_F(Query, IsBounded) {
  QueryLimits few;
  few.rows = 2;
  few.cell_bytes = 4;
  const auto answer = db_->query("VALUES ('abcdefgh'), ('b'), ('c')", few);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(answer->rows[0][0]), "abcd…");
  EXPECT_TRUE(answer->cut);
  QueryLimits brief;
  brief.time = std::chrono::milliseconds(50);
  EXPECT_EQ(refusal("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                    "SELECT COUNT(*) FROM n",
                    brief),
            "this query takes too long");
  EXPECT_NE(refusal("SELECT zeroblob(100000000)"), "");
  EXPECT_TRUE(db_->query("SELECT 1"));
}

}  // namespace
}  // namespace culprit::store
