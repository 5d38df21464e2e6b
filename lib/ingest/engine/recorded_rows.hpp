// Rows of members as their readers put them, kept until they are written: members are read on
// several threads, and written on one, in their order.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "model/sink.hpp"

namespace culprit::ingest {

struct PlaceBegun {
  std::uint64_t place = 0;
};
struct MemberBegun {
  MemberRow row;
};
struct MemberEnded {
  MemberRow row;
};

#define CULPRIT_ALTERNATIVE(Row, name) Row,
using RecordedRow =
    std::variant<CULPRIT_ROWS(CULPRIT_ALTERNATIVE) std::pair<Manifest, Place>, GroupRow, SeriesRow,
                 ProblemRow, PlaceBegun, MemberBegun, MemberEnded>;
#undef CULPRIT_ALTERNATIVE
using RowBatch = std::vector<RecordedRow>;

// Writes batches into a sink on a thread of its own. What the batches call members, groups and
// series gets the ids that the sink gives.
class RowWriter {
 public:
  // `behind` is called by one thread at a time, and outlives this.
  explicit RowWriter(MemberSink& behind);
  ~RowWriter();  // writes what is left
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Both throw what `behind` threw meanwhile; nothing after that is written.
  void put(RowBatch batch);  // waits while too much is waiting
  void flush();              // returns when everything is written

 private:
  void write(RowBatch& batch);
  template <class Row>
  void write_row(Row& row);
  template <class Row>
  void name(Row& row) const;
  void work();

  static constexpr std::size_t kMostRows = 2'048;  // that wait: a bound on memory

  MemberSink& behind_;
  MemberId member_ = 0;  // the one being written, and its groups and series
  std::vector<GroupId> groups_;
  std::vector<SeriesId> series_;
  std::mutex mutex_;
  std::condition_variable wake_, moved_;
  std::deque<RowBatch> waiting_;
  std::size_t rows_ = 0;  // in them, and in the one being written
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // the last member: it uses the others
};

class RowRecorder final : public MemberSink {
 public:
  // With a writer, rows are handed over when they are many; without one they wait to be taken.
  explicit RowRecorder(RowWriter* writer = nullptr) : writer_(writer) {}

  RowBatch take() { return std::exchange(rows_, {}); }
  void hand_over();  // to the writer

#define CULPRIT_PUT(Row, name) \
  void put(const Row& row) override { add(row); }
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest& manifest, const Place& place) override {
    add(std::pair(manifest, place));
  }
  GroupId group(const GroupRow& row) override;
  SeriesId series(const SeriesRow& row) override { return add(row), ++series_; }
  std::optional<std::string> finished(const std::string&) override { return std::nullopt; }
  void begin_place(std::uint64_t place) override { add(PlaceBegun{place}); }
  MemberId begin_member(const MemberRow& row) override;
  void end_member(const MemberRow& row) override { add(MemberEnded{row}); }
  void problem(const std::string& path, const std::string& code,
               const std::string& reason) override {
    add(ProblemRow{path, code, reason});
  }

 private:
  template <class Row>
  void add(Row&& row) {
    rows_.emplace_back(std::forward<Row>(row));
    if (writer_ != nullptr && rows_.size() >= kRowsAtOnce) hand_over();
  }

  static constexpr std::size_t kRowsAtOnce = 128;  // fewer are not worth waking a thread

  RowWriter* writer_;
  RowBatch rows_;
  std::map<GroupRow, GroupId> groups_;  // of the member, as are its series
  SeriesId series_ = 0;
};

}  // namespace culprit::ingest
