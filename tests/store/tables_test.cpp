// The lists of columns say what schemas/store.sql says, and rows come back as they were put.
#include "store/tables.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schema/schema.hpp"
#include "store/database.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"

namespace culprit::store {
namespace {

struct Described {
  std::string type;
  bool not_null = false, key = false;
};

class Schema : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    const std::string sql(schema::text("store.sql"));
    ASSERT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  }
  void TearDown() override { sqlite3_close(db_); }

  template <class Row>
  void check() {
    const std::string table(TableOf<Row>::name);
    std::map<std::string, Described, std::less<>> schema;
    for (Statement s(db_,
                     "SELECT name, type, \"notnull\", pk FROM pragma_table_info('" + table + "')");
         s.next();) {
      std::string name = s.text();
      Described& d = schema[name];
      d.type = s.text();
      d.not_null = s.integer() != 0;
      d.key = s.integer() != 0;
    }
    std::map<std::string, std::string, std::less<>> references;
    for (Statement s(db_,
                     "SELECT \"from\", \"table\" FROM pragma_foreign_key_list('" + table + "')");
         s.next();) {
      const std::string from = s.text();
      references[from] = s.text();
    }
    for (const Column& column : column_names<Row>().columns) {
      const std::string where = table + "." + std::string(column.name);
      const auto it = schema.find(column.name);
      ASSERT_NE(it, schema.end()) << where;
      EXPECT_EQ(it->second.type, column.type) << where;
      if (!it->second.key) { EXPECT_EQ(it->second.not_null, column.not_null) << where; }
      EXPECT_EQ(references[std::string(column.name)], column.references) << where;
      schema.erase(it);
    }
    for (const auto& [name, described] : schema)
      EXPECT_TRUE(described.key) << table << "." << name << " is in no list of columns";
  }

  sqlite3* db_ = nullptr;
};

TEST_F(Schema, IsWhatTheListsOfColumnsSay) {
#define CULPRIT_CHECK_TABLE(Row, name) check<Row>();
  CULPRIT_ROWS(CULPRIT_CHECK_TABLE)
#undef CULPRIT_CHECK_TABLE
  check<MemberRow>();
  check<GroupRow>();
  check<SeriesRow>();
  check<RankRow>();
}

// What a database makes of one row, put and read again.
class Rows : public testing::Test {
 protected:
  void SetUp() override {
    auto db = Database::open("", Access::create);
    ASSERT_TRUE(db);
    db_.emplace(std::move(*db));
    ASSERT_TRUE(db_->begin_ingest());
    open_.path = "ra\xFFnk.log";
    member_ = open_.id = db_->sink().begin_member(open_);
  }
  template <class Row>
  Row again(const Row& row) {
    db_->sink().put(row);
    const auto rows = db_->rows<Row>();
    EXPECT_EQ(rows.size(), 1u);
    EXPECT_TRUE(db_->health());
    return rows.empty() ? Row{} : rows.front();
  }
  std::vector<std::optional<std::int64_t>> stack_ids() const {
    std::vector<std::optional<std::int64_t>> out;
    db_->each_sample([&](const StackRow&, auto stack_id) { out.push_back(stack_id); });
    return out;
  }
  std::optional<Database> db_;
  MemberRow open_;
  MemberId member_ = 0;
};

TEST_F(Rows, AnEventComesBackAsItWasPut) {
  EventRow e;
  e.place = {member_, 7, 99, 20};
  e.time = {Clock::local, 1'234, 1'000};
  e.boot = Timestamp{Clock::boot, 55, 1'000};
  e.rule = "a.rule";
  e.event_class = "a_class/1";
  e.severity = Severity::critical;
  e.role = Role::root;
  e.scope = Scope::shared;
  e.host = Host("node-3");
  e.rank = Rank(12);
  e.gpu = "0000:3b:00";
  e.code = -7;
  e.detail = "a=1\nb=2";
  e.count = 3;
  e.last_line = 9;
  e.last_time = {Clock::local, 2'345, 1'000};
  e.message = "bytes \xC3\x28 and a NUL \0 end";
  const EventRow r = again(e);
  EXPECT_EQ(r.id, 1);
  EXPECT_EQ(r.place.member, member_);
  EXPECT_EQ(r.place.length, 20u);
  EXPECT_EQ(r.time.clock, Clock::local);
  EXPECT_EQ(r.time.precision, 1'000);
  ASSERT_TRUE(r.boot);
  EXPECT_EQ(r.boot->ns, 55);
  EXPECT_FALSE(r.time_ns);
  EXPECT_EQ(r.severity, Severity::critical);
  EXPECT_EQ(r.role, Role::root);
  EXPECT_EQ(r.scope, Scope::shared);
  EXPECT_EQ(r.host, "node-3");
  EXPECT_EQ(r.rank, Rank(12));
  EXPECT_FALSE(r.nic);
  EXPECT_EQ(r.code, -7);
  EXPECT_EQ(r.detail, e.detail);
  EXPECT_EQ(r.last_time.ns, 2'345);
  EXPECT_EQ(r.last_time.clock, Clock::local);
  EXPECT_EQ(r.message.substr(0, 9), "bytes \xEF\xBF\xBD") << "what is no UTF-8 is replaced";
}

TEST_F(Rows, NamesThatTheResolutionMadeAreNotReadBack) {
  EventRow e;
  e.place = {member_, 1, 0, 1};
  e.host = Host("10.0.0.7");
  EventRow resolved = again(e);
  resolved.host = Host("node-7");
  resolved.rank = Rank(5);
  db_->sink().end_member(open_);
  const std::vector<EventRow> events{resolved};
  Resolution resolution{};
  resolution.events = events;
  ASSERT_TRUE(db_->save_resolution(resolution));
  EXPECT_EQ(db_->rows<EventRow>().front().host, "10.0.0.7") << "as printed";
  EXPECT_FALSE(db_->rows<EventRow>().front().rank);
}

TEST_F(Rows, ListsOfNamesAreTexts) {
  NetworkRow n;
  n.place.member = member_;
  n.name = "tor-1";
  n.hosts = Hosts({"node-1", "node-2"});
  const NetworkRow r = again(n);
  EXPECT_EQ(r.hosts, n.hosts);
  EXPECT_TRUE(r.children.empty());
}

// Found again by their bytes: where one text ends and the next begins is a part of them.
TEST_F(Rows, StacksWhoseTextsAreCutElsewhereAreOthers) {
  StackRow s;
  s.place.member = member_;
  std::vector<std::int64_t> ids;
  for (const Frame& f : {Frame{"ab", "c", "", 1, false}, Frame{"a", "bc", "", 1, false},
                         Frame{"a", "b", "c", 1, false}, Frame{"ab", "c", "", 1, true},
                         Frame{"ab", "c", "", 2, false}, Frame{"ab", "c", "", 1, false}}) {
    s.frames = {f};
    db_->sink().put(s);
    s.frames = {f, f};
    db_->sink().put(s);
  }
  for (const auto id : stack_ids()) ids.push_back(id.value_or(0));
  EXPECT_EQ(ids, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}));
}

TEST_F(Rows, EqualStacksAreStoredOnceAndEqualGroupsHaveOneId) {
  StackRow s;
  s.place.member = member_;
  s.pid = 1;
  s.frames = {{"wait", "a.py", "", 3, false}, {"main", "a.py", "", 9, false}};
  db_->sink().put(s);
  s.pid = 2;
  db_->sink().put(s);
  s.frames.clear();
  s.problem = "no such process";
  db_->sink().put(s);
  EXPECT_EQ(stack_ids(), (std::vector<std::optional<std::int64_t>>{1, 1, std::nullopt}));
  EXPECT_EQ(db_->stack_frames(), (std::vector<std::vector<std::uint32_t>>{{0, 1}}));
  EXPECT_EQ(db_->frames()[1].line, 9);
  const GroupRow group{"7", "TENSOR_MODEL_PARALLEL_GROUP", Ranks({0, 1, 2, 5}), 4};
  EXPECT_EQ(db_->sink().group(group), group_at(0));
  EXPECT_EQ(db_->sink().group({"8", "", {}, 0}), group_at(1));
  EXPECT_EQ(db_->sink().group(group), group_at(0));
  EXPECT_EQ(db_->rows<GroupRow>(), (std::vector<GroupRow>{group, {"8", "", {}, 0}}));
}

TEST_F(Rows, HistoriesAndChunksKeepTheirBytes) {
  const GroupId group = db_->sink().group({"1", "", {}, 0});
  HistoryRow h;
  h.member = member_;
  h.group = group;
  h.entries.resize(3);
  h.entries[2].sequence = 17;
  h.entries[2].duration_ms = 1.5F;
  db_->sink().put(h);
  const auto histories = db_->histories(group);
  ASSERT_EQ(histories.size(), 1u);
  ASSERT_EQ(histories[0].entries.size(), 3u);
  EXPECT_EQ(histories[0].entries[2].sequence, 17);
  EXPECT_FLOAT_EQ(histories[0].entries[2].duration_ms, 1.5F);
  EXPECT_TRUE(db_->histories(group_at(7)).empty());
}

TEST_F(Rows, StepsAreSummedUpByMember) {
  for (int i = 0; i < 10; ++i) {
    ProgressRow p;
    p.place.member = member_;
    p.place.line = static_cast<std::uint64_t>(i + 1);
    p.time = {Clock::utc, i * kSecond, 1'000'000};
    p.framework = "megatron";
    p.iteration = 100 + i;
    if (i < 6)
      p.loss = 2.5;
    else
      p.loss_nan = true;
    db_->sink().put(p);
  }
  const auto spans = db_->progress();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].rows, 10u);
  EXPECT_EQ(spans[0].first.iteration, 100);
  EXPECT_EQ(spans[0].last.iteration, 109);
  ASSERT_TRUE(spans[0].first_nan);
  EXPECT_EQ(spans[0].first_nan->iteration, 106);
  ASSERT_TRUE(spans[0].last_good);
  EXPECT_EQ(spans[0].last_good->iteration, 105);
  EXPECT_EQ(spans[0].first.time_ns, 0) << "a time in UTC needs no resolution";
}

TEST(PlainText, IsAsciiWithoutNul) {
  EXPECT_TRUE(is_plain(""));
  EXPECT_TRUE(is_plain("twelve bytes"));
  EXPECT_FALSE(is_plain(std::string_view("eight\0by", 8)));
  EXPECT_FALSE(is_plain(std::string_view("longer than eight \0", 19)));
  EXPECT_FALSE(is_plain("caf\xC3\xA9"));
  EXPECT_FALSE(is_plain("caf\xC3\xA9 and more"));
}

}  // namespace
}  // namespace culprit::store
