// Databases that are new, partial, damaged, handed over on media that cannot be written, or used by
// somebody else.
#include "report/phrases.hpp"
#include "store/database.hpp"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace culprit::store {
namespace {

namespace fs = std::filesystem;

class Databases : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("culprit_store_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = (folder_ / "x.db").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Two members, of which the second one is left open when `whole` is false.
  void make(bool whole = true) const {
    auto db = Database::open(path_, Access::create);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->begin_ingest());
    MemberSink& sink = db->sink();
    for (int i = 1; i <= 2; ++i) {
      MemberRow m;
      m.path = "rank_" + std::to_string(i) + ".log";
      m.kind = "file";
      m.id = sink.begin_member(m);
      EXPECT_EQ(m.id, i);
      EventRow e;
      e.place = {m.id, 3, 10, 5};
      e.host = Host("h" + std::to_string(i));
      sink.put(e);
      if (i == 2 && !whole) return;
      sink.end_member(m);
    }
    ASSERT_TRUE(db->finish_ingest());
  }
  void execute(const char* sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  fs::path folder_;
  std::string path_;
};

Error error_of(Result<Database>& result) { return result ? fail("no error") : result.error(); }

TEST_F(Databases, AreOnePlainFileWhenTheyAreClosed) {
  make();
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u);
  const auto db = Database::open(path_, Access::read);
  ASSERT_TRUE(db);
  EXPECT_FALSE(db.value().partial());
  EXPECT_TRUE(db.value().check());
  EXPECT_EQ(db.value().members().size(), 2u);
}

TEST_F(Databases, LoseTheMemberThatWasOpenAndGoOnWithItsNumber) {
  make(false);
  {
    const auto db = Database::open(path_, Access::read);
    ASSERT_TRUE(db);
    EXPECT_TRUE(db.value().partial());
    EXPECT_EQ(db.value().members().size(), 1u);
    EXPECT_EQ(db.value().rows<EventRow>().size(), 1u);
  }
  auto db = Database::open(path_, Access::create);
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->begin_ingest());
  MemberRow m;
  m.path = "rank_2.log";
  EXPECT_EQ(db->sink().begin_member(m), 2);
}

TEST_F(Databases, ThatLeadNowhereAreRefused) {
  for (const char* sql :
       {"DELETE FROM member WHERE member_id=1", "UPDATE member SET member_id=77 WHERE member_id=2",
        "UPDATE event SET member_id=99", "UPDATE event SET member_id='x'",
        "INSERT INTO stack VALUES (1, 1, 'd')",
        "INSERT INTO process_group VALUES (5, 'g', '', '', 0)",
        // NULL where the layout does not have it: only a damaged file has that.
        "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql=replace(sql, 'frame_id INTEGER "
        "NOT NULL', 'frame_id INTEGER') WHERE name='stack_frame'; PRAGMA writable_schema=RESET; "
        "INSERT INTO frame VALUES (1, 'f', '', 0, '', 0); INSERT INTO stack VALUES (1, 1, 'd'); "
        "INSERT INTO stack_frame VALUES (1, 0, NULL)"}) {
    fs::remove(path_);
    make();
    execute(sql);
    const auto db = Database::open(path_, Access::read);
    ASSERT_TRUE(db);
    auto checked = db.value().check();
    ASSERT_FALSE(checked) << sql;
    EXPECT_EQ(checked.error().what.find("this database is damaged"), 0u) << checked.error().what;
    EXPECT_FALSE(checked.error().help.empty());
  }
}

TEST_F(Databases, UsedBySomebodyElseSaySo) {
  make();
  auto first = Database::open(path_, Access::create);
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->begin_ingest());
  auto second = Database::open(path_, Access::create);
  EXPECT_NE(error_of(second).what.find("another process is using this database"),
            std::string::npos);
}

TEST_F(Databases, ThatCannotBeWrittenAreWorkedOnInMemory) {
  make();
  fs::permissions(path_, fs::perms::owner_read);
  if (access(path_.c_str(), W_OK) == 0) GTEST_SKIP() << "root writes everywhere";
  auto db = Database::open(path_, Access::write);
  ASSERT_TRUE(db);
  EXPECT_TRUE(db->read_only());
  EXPECT_TRUE(db->save_verdict(Action::none, "s", "{}"));
  EXPECT_TRUE(db->verdict());
  const auto again = Database::open(path_, Access::read);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again.value().verdict());
}

TEST_F(Databases, TakeFindingsWhoseIdsRepeat) {
  make();
  auto db = Database::open(path_, Access::write);
  ASSERT_TRUE(db);
  std::vector<Finding> findings(2);
  for (Finding& f : findings) {
    f.id = "slow/interval/7";
    f.analysis = Analysis::slow;
    f.evidence.push_back({1, "rank_1.log", 3, 10, 5, "words", "iter_ms in step 3"});
  }
  EXPECT_TRUE(db->save_findings(Analysis::slow, findings, report::words));
  const auto stored = db->findings();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[1].id, "slow/interval/7+2");
  EXPECT_EQ(stored[1].id, findings[1].id);
  ASSERT_EQ(stored[1].evidence.size(), 1u);
  EXPECT_EQ(stored[1].evidence[0].excerpt, "words");
  EXPECT_EQ(stored[1].evidence[0].reading, "iter_ms in step 3");
}

TEST_F(Databases, WhoseRulesWeBreakAreOurFault) {
  make();
  auto db = Database::open(path_, Access::write);
  ASSERT_TRUE(db);
  const std::vector<HostRow> twice(2, HostRow{});
  auto saved = db->save_resolution({{}, {}, {}, {}, {}, {}, twice, {}});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, ErrorKind::internal) << saved.error().what;
  EXPECT_NE(saved.error().what.find("UNIQUE"), std::string::npos) << saved.error().what;
}

// Rows are written on another thread than statements are prepared on.
TEST_F(Databases, DoNotLoseRowsWhoseStatementIsMissing) {
  make();
  execute("DROP TABLE identity");
  auto db = Database::open(path_, Access::create);
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->begin_ingest());
  MemberSink& sink = db->sink();
  std::thread([&] {
    MemberRow m;
    m.path = "rank_3.log";
    m.id = sink.begin_member(m);
    IdentityRow i;
    i.place = {m.id, 1, 0, 5};
    sink.put(i);
    sink.end_member(m);
  }).join();
  EXPECT_TRUE(db->failed());
  const Result<> finished = db->finish_ingest();
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().what.find("no such table: identity"), std::string::npos)
      << finished.error().what;
}

TEST_F(Databases, OfOthersAreRefused) {
  execute("CREATE TABLE t (x)");
  auto db = Database::open(path_, Access::create);
  EXPECT_EQ(error_of(db).what, "this database was not made by culprit");
  fs::resize_file(path_, 0);
  auto missing = Database::open((folder_ / "none.db").string(), Access::read);
  EXPECT_EQ(error_of(missing).kind, ErrorKind::input);
}

}  // namespace
}  // namespace culprit::store
