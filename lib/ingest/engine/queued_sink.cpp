#include "ingest/engine/queued_sink.hpp"

namespace culprit::ingest {

QueuedSink::QueuedSink(MemberSink& behind) : behind_(behind), thread_([this] { work(); }) {}

QueuedSink::~QueuedSink() {
  try {
    flush();
  } catch (...) {  // whoever wants to know flushes before
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void QueuedSink::hand_over() {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return waiting_.size() < kBatchesWaiting; });
  rethrow();
  waiting_.push_back(std::move(filling_));
  filling_ = {};
  if (!empty_.empty()) {
    filling_ = std::move(empty_.back());
    empty_.pop_back();
  }
  lock.unlock();
  wake_.notify_one();
}

// A few rows are written here: small members, of which a bundle may have a hundred thousand, never
// wait for another thread.
void QueuedSink::flush() {
  {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_.empty() && !writing_; });
    rethrow();
  }
  write(filling_);
}

void QueuedSink::rethrow() {
  if (failure_ == nullptr) return;
  filling_.clear();
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void QueuedSink::write(Batch& batch) {
  for (const Row& row : batch)
    std::visit(
        [this](const auto& one) {
          using T = std::decay_t<decltype(one)>;
          if constexpr (std::is_same_v<T, MemberRow>)
            behind_.end_member(one);
          else if constexpr (std::is_same_v<T, std::pair<Manifest, Place>>)
            behind_.put(one.first, one.second);
          else
            behind_.put(one);
        },
        row);
  batch.clear();
}

void QueuedSink::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      write(batch);
    } catch (...) {
      failure = std::current_exception();
      batch.clear();
    }
    lock.lock();
    if (failure != nullptr) {  // what came after it must not be written as if nothing were missing
      failure_ = failure;
      waiting_.clear();
    }
    empty_.push_back(std::move(batch));
    writing_ = false;
    moved_.notify_one();
  }
}

}  // namespace culprit::ingest
