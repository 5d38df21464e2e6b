// A sink whose rows are written by another thread, in the order in which they were put: building a
// row and writing it to a database take about the same time. What returns an id is answered at
// once, by whoever asks, after all rows before it; finished() may be asked by another thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "model/sink.hpp"

namespace culprit::ingest {

class QueuedSink final : public MemberSink {
 public:
  // `behind` is called by one thread at a time, and outlives this.
  explicit QueuedSink(MemberSink& behind);
  ~QueuedSink() override;  // writes what is left
  QueuedSink(const QueuedSink&) = delete;
  QueuedSink& operator=(const QueuedSink&) = delete;

  void flush();  // returns when everything is written; throws what `behind` threw meanwhile, as
                 // every put may

#define CULPRIT_PUT(Row, name) \
  void put(const Row& row) override { add(row); }
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest& manifest, const Place& place) override {
    add(std::pair(manifest, place));
  }
  GroupId group(const GroupRow& row) override { return flush(), behind_.group(row); }
  SeriesId series(const SeriesRow& row) override { return flush(), behind_.series(row); }
  std::optional<std::string> finished(const std::string& path) override {
    return behind_.finished(path);
  }
  void begin_place(std::uint64_t place) override { flush(), behind_.begin_place(place); }
  MemberId begin_member(const MemberRow& row) override {
    return flush(), behind_.begin_member(row);
  }
  void end_member(const MemberRow& row) override { add(row); }
  void problem(const std::string& path, const std::string& code,
               const std::string& reason) override {
    flush(), behind_.problem(path, code, reason);
  }

 private:
#define CULPRIT_ALTERNATIVE(Row, name) Row,
  using Row = std::variant<CULPRIT_ROWS(CULPRIT_ALTERNATIVE) std::pair<Manifest, Place>, MemberRow>;
#undef CULPRIT_ALTERNATIVE
  using Batch = std::vector<Row>;

  template <class T>
  void add(const T& row) {
    filling_.emplace_back(row);
    if (filling_.size() >= kRowsAtOnce) hand_over();
  }
  void hand_over();
  void write(Batch& batch);
  void work();
  void rethrow();  // with the mutex held

  static constexpr std::size_t kRowsAtOnce = 128;     // fewer are not worth waking a thread
  static constexpr std::size_t kBatchesWaiting = 16;  // a bound on memory: whoever puts waits

  MemberSink& behind_;
  Batch filling_;
  std::mutex mutex_;
  std::condition_variable wake_, moved_;
  std::deque<Batch> waiting_;
  std::vector<Batch> empty_;  // with room, to be filled again
  bool writing_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of the other thread, until somebody puts or flushes
  std::thread thread_;          // the last member: it uses the others
};

}  // namespace culprit::ingest
