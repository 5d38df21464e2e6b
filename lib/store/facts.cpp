// Facts out of incident.db.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "store/database_impl.hpp"
#include "store/select.hpp"

namespace culprit::store {

// Members' rows stand together and in order: an index over millions of rows would say no more. The
// ends are found by ever longer steps.
std::vector<Range> ranges(sqlite3* db, const std::string& table) {
  std::vector<Range> out;
  // Two questions: each is a look at one end, and both in one would walk the table.
  Statement ends(
      db, "SELECT (SELECT MIN(rowid) FROM " + table + "), (SELECT MAX(rowid) FROM " + table + ")");
  if (!ends.next()) return out;
  std::int64_t at = ends.integer();
  const std::int64_t last = ends.integer();
  Statement owner(db, "SELECT member_id FROM " + table + " WHERE rowid=?");
  const auto member_of = [&](std::int64_t row) {
    owner.bind(row);
    const MemberId member = owner.next() ? owner.integer() : 0;
    owner.reset();
    return member;
  };
  while (at > 0 && at <= last) {
    Range range{member_of(at), at, at};
    std::int64_t step = 1;
    while (range.last + step <= last && member_of(range.last + step) == range.member) {
      range.last += step;
      step *= 2;
    }
    for (; step > 0; step /= 2)
      if (range.last + step <= last && member_of(range.last + step) == range.member)
        range.last += step;
    out.push_back(range);
    at = range.last + 1;
  }
  return out;
}

namespace {

template <class Row>
void each_with_stack(sqlite3* db, const Database::TakeStacked<Row>& take) {
  Select<Row> select(db);
  while (auto row = select.next()) take(std::move(*row), select.stack_id());
}

const auto& stretches(sqlite3* db, StepReader& steps, MemberId member) {
  Statement last(db, "SELECT COALESCE(MAX(rowid), 0) FROM iteration");
  if (const std::int64_t now = last.next() ? last.integer() : 0; now != steps.known) {
    steps.stretches_of.clear();
    steps.last = {};
    for (const Range& range : ranges(db, "iteration"))
      steps.stretches_of[range.member].emplace_back(range.first, range.last);
    steps.known = now;
  }
  return steps.stretches_of[member];
}

// The n-th chunk of a series, for those that share its columns. They are asked for in order, and
// for small series all after one another.
const SeriesPoints& axis(sqlite3* db, SampleReader& r, SeriesId series, std::uint32_t n) {
  if (!r.axis_of)
    r.axis_of = Statement(db, "SELECT data FROM sample_chunk WHERE series_id=? ORDER BY rowid");
  if (r.axis_series == series && r.axis_next == n + 1) return r.axis_points;
  if (r.axis_series != series || r.axis_next > n) {
    r.axis_of.reset();
    r.axis_of.bind(series);
    r.axis_series = series;
    r.axis_next = 0;
  }
  r.axis_points = {};
  while (r.axis_next <= n && r.axis_of.next()) ++r.axis_next;
  if (r.axis_next <= n || !unpack(r.axis_of.text(), r.axis_points))
    r.axis_series = 0, r.axis_points = {};
  return r.axis_points;
}

}  // namespace

template <class Row>
std::vector<Row> Database::rows() const {
  return all_rows<Row>(impl_->db.get());
}
#define CULPRIT_INSTANTIATE(Row, name) template std::vector<Row> Database::rows<Row>() const;
CULPRIT_FACT_ROWS(CULPRIT_INSTANTIATE)
CULPRIT_INSTANTIATE(RejectRow, rejects)
CULPRIT_INSTANTIATE(MemberRow, members)
CULPRIT_INSTANTIATE(GroupRow, groups)
CULPRIT_INSTANTIATE(SeriesRow, series)
CULPRIT_INSTANTIATE(RankRow, ranks)
CULPRIT_INSTANTIATE(StartMarkRow, start_marks)
CULPRIT_INSTANTIATE(LastLineRow, last_lines)
#undef CULPRIT_INSTANTIATE

void Database::load(FactRows& facts) const {
#define CULPRIT_LOAD(Row, name) facts.name = rows<Row>();
  CULPRIT_FACT_ROWS(CULPRIT_LOAD)
#undef CULPRIT_LOAD
}

std::vector<ProgressSpan> Database::progress() const {
  std::vector<ProgressSpan> out;
  sqlite3* db = impl_->db.get();
  Statement span_of(db,
                    "SELECT MIN(framework), COUNT(*), MIN(CASE WHEN loss_nan OR grad_norm_nan THEN "
                    "rowid END), AVG(CASE WHEN iteration_ms > 0 THEN iteration_ms END) "
                    "FROM iteration WHERE rowid BETWEEN ? AND ?");
  Select<ProgressRow> one(db, "WHERE rowid=?");
  Select<ProgressRow> good(db,
                           "WHERE rowid>=? AND rowid<? AND NOT loss_nan AND NOT grad_norm_nan "
                           "ORDER BY rowid DESC LIMIT 1");
  const auto row = [&](std::int64_t id) {
    one.bind(id);
    ProgressRow p = one.next().value_or(ProgressRow{});
    one.reset();
    return p;
  };
  for (const Range& range : ranges(db, "iteration")) {
    ProgressSpan span;
    span.member = range.member;
    span_of.bind(range.first, range.last);
    if (!span_of.next()) continue;
    span_of.read(span.framework, span.rows);
    span.first = row(range.first);
    span.last = row(range.last);
    const auto nan = span_of.maybe_integer();
    span.mean_ms = span_of.maybe_real();
    if (nan) {
      span.first_nan = row(*nan);
      good.bind(range.first, *nan);
      span.last_good = good.next();
      good.reset();
    }
    span_of.reset();
    out.push_back(std::move(span));
  }
  return out;
}

std::vector<ProblemRow> Database::problems() const {
  std::vector<ProblemRow> out;
  Statement s(impl_->db.get(),
              "SELECT path, code, reason FROM problem ORDER BY path, code, reason");
  while (s.next()) {
    ProblemRow& p = out.emplace_back();
    s.read(p.path, p.code, p.reason);
  }
  return out;
}

std::vector<HostRow> Database::hosts() const {
  std::vector<HostRow> out;
  Statement s(impl_->db.get(), "SELECT * FROM host ORDER BY host");
  while (s.next()) {
    HostRow& h = out.emplace_back();
    s.read(h.host, h.node_rank);
    h.addresses = split_commas(s.text());
    s.read(h.boot_ns, h.boot_source, h.boot_uncertainty, h.driver, h.has_log);
  }
  return out;
}

std::vector<StoredManifest> Database::manifests() const {
  Statement s(impl_->db.get(),
              "SELECT path, document FROM manifest JOIN member USING (member_id) ORDER BY path");
  std::vector<StoredManifest> out;
  // What was given beside the bundle counts first.
  if (auto given = meta("manifest"))
    out.push_back({meta("manifest_path").value_or("job.json"), std::move(*given)});
  while (s.next()) {
    StoredManifest& m = out.emplace_back();
    s.read(m.path, m.document);
  }
  return out;
}

std::vector<Frame> Database::frames() const {
  std::vector<Frame> out;
  Statement s(impl_->db.get(),
              "SELECT function, file, line, module, native FROM frame ORDER BY frame_id");
  while (s.next()) out.push_back(read_frame(s));
  return out;
}

std::vector<std::vector<std::uint32_t>> Database::stack_frames() const {
  std::vector<std::vector<std::uint32_t>> out;
  Statement s(impl_->db.get(),
              "SELECT stack_id, frame_id FROM stack_frame ORDER BY stack_id, depth");
  while (s.next()) {
    out.resize(std::max(out.size(), static_cast<std::size_t>(s.integer())));
    out.back().push_back(static_cast<std::uint32_t>(s.integer() - 1));
  }
  return out;
}

void Database::each_sample(const TakeStacked<StackRow>& take) const {
  each_with_stack(impl_->db.get(), take);
}

void Database::each_launch(const TakeStacked<CollectiveRow>& take) const {
  each_with_stack(impl_->db.get(), take);
}

std::vector<HistoryRow> Database::histories(GroupId group) const {
  std::vector<HistoryRow> out;
  Select<HistoryRow> select(impl_->db.get(), "WHERE group_id=? ORDER BY rowid");
  select.bind(static_cast<std::int64_t>(group));
  while (auto row = select.next()) out.push_back(std::move(*row));
  return out;
}

void Database::each_checkpoint(const std::function<void(const CheckpointRow&)>& take) const {
  Select<CheckpointRow> select(impl_->db.get(), "ORDER BY rowid");
  while (const auto row = select.next()) take(*row);
}

StepTable Database::steps(MemberId member) const {
  StepReader& reader = impl_->steps;
  const auto& of_member = stretches(impl_->db.get(), reader, member);
  if (reader.last.member == member) return reader.last;
  StepTable out;
  out.member = member;
  Statement s(impl_->db.get(),
              "SELECT line, byte_offset, time_raw, clock, framework, iteration, iteration_ms, "
              "loss, loss_nan, grad_norm, grad_norm_nan FROM iteration WHERE rowid BETWEEN ? AND ? "
              "ORDER BY rowid");
  for (const auto& [first_row, last_row] : of_member) {
    s.bind(first_row, last_row);
    while (s.next()) {
      const double missing = std::numeric_limits<double>::quiet_NaN();
      out.lines.push_back(s.integer());
      out.offsets.push_back(s.integer());
      const std::int64_t raw = s.integer();
      const Clock clock = clock_named(s.text());
      if (out.clock == Clock::none) out.clock = clock;
      out.times.push_back(clock == Clock::none || clock != out.clock ? kNoValue : raw);
      std::string framework = s.text();
      if (out.framework.empty()) out.framework = std::move(framework);
      out.iteration.push_back(s.maybe_integer().value_or(kNoValue));
      out.iteration_ms.push_back(s.maybe_real().value_or(missing));
      out.loss.push_back(s.maybe_real().value_or(missing));
      const bool loss_nan = s.integer() != 0;
      out.grad_norm.push_back(s.maybe_real().value_or(missing));
      out.not_a_number.push_back(
          static_cast<std::uint8_t>((loss_nan ? 1 : 0) | (s.integer() != 0 ? 2 : 0)));
    }
    s.reset();
  }
  return reader.last = std::move(out);
}

SeriesPoints Database::points(SeriesId series) const {
  SeriesPoints out;
  Statement& s = impl_->samples.points_of;
  if (!s)
    s = Statement(impl_->db.get(),
                  "SELECT data, axis_id FROM sample_chunk WHERE series_id=? ORDER BY rowid");
  s.bind(series);
  for (std::uint32_t n = 0; s.next(); ++n) {
    SeriesPoints chunk;
    if (!unpack(s.text(), chunk)) continue;
    if (const auto of = s.maybe_integer()) {
      const SeriesPoints& columns = axis(impl_->db.get(), impl_->samples, *of, n);
      if (columns.size() != chunk.size()) continue;  // a damaged database
      chunk = along(columns, std::move(chunk));
    }
    append(out, chunk);
  }
  s.reset();
  return out;
}

}  // namespace culprit::store
