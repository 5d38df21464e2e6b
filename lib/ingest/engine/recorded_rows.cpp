#include "ingest/engine/recorded_rows.hpp"

namespace culprit::ingest {

namespace {

constexpr MemberId kRecorded = 1;  // what every member is called until it is written

}  // namespace

MemberId RowRecorder::begin_member(const MemberRow& row) {
  groups_.clear();
  series_ = 0;
  add(MemberBegun{row});
  return kRecorded;
}

GroupId RowRecorder::group(const GroupRow& row) {
  const auto [it, fresh] = groups_.try_emplace(row, group_at(groups_.size()));
  if (fresh) add(row);
  return it->second;
}

void RowRecorder::hand_over() {
  if (!rows_.empty()) writer_->put(take());
}

RowWriter::RowWriter(MemberSink& behind) : behind_(behind), thread_([this] { work(); }) {}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RowWriter::put(RowBatch batch) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return rows_ < kMostRows || failure_ != nullptr; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  rows_ += batch.size();
  waiting_.push_back(std::move(batch));
  lock.unlock();
  wake_.notify_one();
}

void RowWriter::flush() {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return rows_ == 0 || failure_ != nullptr; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

// The names of a row that was recorded become those of the sink.
template <class Row>
void RowWriter::name(Row& row) const {
  const auto own = [&](MemberId& id) {
    if (id == kRecorded) id = member_;
  };
  if constexpr (requires { row.place; }) own(row.place.member);
  if constexpr (requires { row.member; }) own(row.member);
  if constexpr (requires { row.group; })
    if (row.group != GroupId::none) row.group = groups_.at(index_of(row.group));
  if constexpr (requires { row.series; }) {
    const auto given = [&](SeriesId id) { return series_.at(static_cast<std::size_t>(id) - 1); };
    row.series = given(row.series);
    if (row.axis) row.axis = given(*row.axis);
  }
}

template <class Row>
void RowWriter::write_row(Row& row) {
  if constexpr (std::is_same_v<Row, MemberBegun>) {
    groups_.clear();
    series_.clear();
    member_ = behind_.begin_member(row.row);
  } else if constexpr (std::is_same_v<Row, MemberEnded>) {
    row.row.id = member_;
    behind_.end_member(row.row);
  } else if constexpr (std::is_same_v<Row, PlaceBegun>) {
    behind_.begin_place(row.place);
  } else if constexpr (std::is_same_v<Row, ProblemRow>) {
    behind_.problem(row.path, row.code, row.reason);
  } else if constexpr (std::is_same_v<Row, GroupRow>) {
    groups_.push_back(behind_.group(row));
  } else if constexpr (std::is_same_v<Row, std::pair<Manifest, Place>>) {
    if (row.second.member == kRecorded) row.second.member = member_;
    behind_.put(row.first, row.second);
  } else {
    name(row);
    if constexpr (std::is_same_v<Row, SeriesRow>)
      series_.push_back(behind_.series(row));
    else
      behind_.put(row);
  }
}

void RowWriter::write(RowBatch& batch) {
  for (RecordedRow& row : batch) std::visit([this](auto& one) { write_row(one); }, row);
}

void RowWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    RowBatch batch = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const std::size_t size = batch.size();
    std::exception_ptr failure;
    try {
      write(batch);
    } catch (...) { failure = std::current_exception(); }
    batch = {};
    lock.lock();
    rows_ -= size;
    if (failure != nullptr) {  // what came after it must not be written as if nothing were missing
      failure_ = failure;
      waiting_.clear();
    }
    moved_.notify_all();
    if (failure != nullptr) return;
  }
}

}  // namespace culprit::ingest
