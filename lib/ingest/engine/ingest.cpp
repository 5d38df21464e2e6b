#include "ingest/engine/ingest.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ingest/engine/member_reader.hpp"
#include "ingest/engine/recorded_rows.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kBlockBytes = 128 << 10;
// A member up to this size is read as a whole by one thread.
constexpr std::size_t kWholeBytes = 1 << 20;
// Small members go together: so many bytes, or so many of them.
constexpr std::size_t kTogetherBytes = 256 << 10, kTogether = 64;

// What waits to be consumed, in bytes: enough that nobody waits for one slow block.
constexpr std::size_t kMostWaiting = 8 << 20;
constexpr std::size_t kMostRooms = kMostWaiting / kBlockBytes;
constexpr std::size_t kItemBytes = 1 << 10;  // what an item or a member counts for besides its text

// What is on its way: small members, or a part of a large one. Worked on by anybody, consumed in
// order.
struct Item {
  enum class Kind { pieces, begin, block, end } kind = Kind::block;
  std::vector<Piece> pieces;
  std::uint64_t place = 0;  // begin
  MemberRow member;         // begin and end
  Opened opened;            // begin
  std::string bytes;        // block
  std::string text_kind;
  line::Habit habit;
  bool rules = true;
  bool worked_on = true;  // by the pool: small members, and blocks that are scanned
  std::size_t cost = kItemBytes;

  BlockScan scan;  // of a block
  RowBatch rows;   // of pieces
  std::uint64_t problems = 0;
  std::exception_ptr failure;
  enum class State { waiting, running, done } state = State::waiting;
};

// Works on items on threads of its own. The consumer helps: an item nobody has begun is done by
// whoever needs it.
class WorkPool {
 public:
  WorkPool(const Scanner& scanner, int workers, bool places) : scanner_(scanner), places_(places) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~WorkPool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void scan(Item& item) const {
    item.scan = scanner_.scan(item.bytes, item.text_kind, item.habit, item.rules);
  }
  void read(Item& item, MemberSink& sink) const {
    for (Piece& piece : item.pieces) {
      item.problems += read_piece(piece, scanner_, sink, places_);
      piece.blocks = {};
    }
  }

  void submit(Item& item) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&item);
    }
    wake_.notify_one();
  }

  // The consumer needs this item next. While somebody else is at it, it does another instead of
  // sleeping.
  void finish(Item& item) {
    std::unique_lock lock(mutex_);
    while (item.state != Item::State::done) {
      if (item.state == Item::State::waiting)
        run(lock, item);
      else if (!waiting_.empty())
        run(lock, *waiting_.front());
      else
        done_.wait(lock, [&] { return item.state == Item::State::done; });
    }
    if (item.failure != nullptr) std::rethrow_exception(item.failure);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      run(lock, *waiting_.front());
      done_.notify_all();
    }
  }

  // An item that waits, with the lock held before and after but not meanwhile.
  void run(std::unique_lock<std::mutex>& lock, Item& item) {
    std::erase(waiting_, &item);
    item.state = Item::State::running;
    lock.unlock();
    try {
      if (item.kind == Item::Kind::pieces) {
        RowRecorder recorder;
        read(item, recorder);
        item.rows = recorder.take();
      } else {
        scan(item);
      }
    } catch (...) { item.failure = std::current_exception(); }
    lock.lock();
    item.state = Item::State::done;
  }

  const Scanner& scanner_;
  const bool places_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Item*> waiting_;
  bool stopping_ = false;
};

// Takes items in their order, beside the walk when there are threads; what it puts is then written
// on one more.
class Consumer {
 public:
  Consumer(const Scanner& scanner, MemberSink& sink, const Options& options)
      : scanner_(scanner),
        places_(static_cast<bool>(options.share)),
        pool_(scanner, std::max(0, options.threads - 1), places_) {
    rooms_.reserve(kMostRooms);  // keeping one never fails
    if (options.threads > 1) {
      writer_.emplace(sink);
      recorder_.emplace(&*writer_);
      thread_ = std::thread([this] { work(); });
    }
    sink_ = recorder_ ? static_cast<MemberSink*>(&*recorder_) : &sink;
  }
  // What waits is thrown away; finish() comes first.
  ~Consumer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  bool threaded() const { return thread_.joinable(); }

  // Throws what consuming an earlier item threw, as finish() does.
  void put(std::unique_ptr<Item> item) {
    if (!threaded()) {
      if (item->kind == Item::Kind::block && item->worked_on) pool_.scan(*item);
      consume(*item);
      return keep_room(*item);
    }
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_ < kMostWaiting || failure_ != nullptr; });
    rethrow();
    queue_.push_back(std::move(item));
    waiting_ += queue_.back()->cost;
    if (queue_.back()->worked_on) pool_.submit(*queue_.back());
    lock.unlock();
    wake_.notify_one();
  }

  // An empty text with the room of a block: fresh pages cost as much as reading into them.
  std::string room() {
    const std::lock_guard lock(mutex_);
    std::string out;
    if (rooms_.empty()) {
      out.reserve(kBlockBytes);
    } else {
      out = std::move(rooms_.back());
      rooms_.pop_back();
    }
    return out;
  }

  // Returns when all is written.
  void finish() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_ == 0 || failure_ != nullptr; });
    rethrow();
    lock.unlock();
    if (!writer_) return;
    recorder_->hand_over();
    writer_->flush();
  }

  std::uint64_t problems() const { return problems_; }  // after finish()

 private:
  void keep_room(Item& item) {
    if (item.bytes.capacity() < kBlockBytes || item.bytes.capacity() > 2 * kBlockBytes ||
        rooms_.size() >= kMostRooms)
      return;
    item.bytes.clear();
    rooms_.push_back(std::move(item.bytes));
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      at_hand_ = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      const std::size_t bytes = at_hand_->cost;
      std::exception_ptr failure;
      try {
        if (at_hand_->worked_on) pool_.finish(*at_hand_);
        consume(*at_hand_);
      } catch (...) { failure = std::current_exception(); }
      lock.lock();
      keep_room(*at_hand_);
      waiting_ -= bytes;
      failure_ = failure;
      if (waiting_ == 0 || waiting_ + bytes >= kMostWaiting || failure_ != nullptr)
        moved_.notify_one();
      if (failure_ != nullptr) return;
    }
  }

  void consume(Item& item) {
    switch (item.kind) {
      case Item::Kind::pieces:
        if (item.state == Item::State::done) {
          recorder_->hand_over();
          writer_->put(std::move(item.rows));
        } else {
          pool_.read(item, *sink_);
        }
        problems_ += item.problems;
        break;
      case Item::Kind::begin:
        if (places_) sink_->begin_place(item.place);
        reader_.emplace(scanner_, *sink_, std::move(item.opened), item.member);
        break;
      case Item::Kind::block: reader_->block(item.bytes, item.scan); break;
      case Item::Kind::end:
        problems_ += reader_->end(std::move(item.member), std::nullopt);
        reader_.reset();
        break;
    }
  }

  const Scanner& scanner_;
  const bool places_;
  std::optional<RowWriter> writer_;
  std::optional<RowRecorder> recorder_;
  MemberSink* sink_ = nullptr;
  std::optional<MemberReader> reader_;
  std::uint64_t problems_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_, moved_;
  std::deque<std::unique_ptr<Item>> queue_;
  std::unique_ptr<Item> at_hand_;
  std::vector<std::string> rooms_;
  std::size_t waiting_ = 0;  // what the queue and the item at hand count for
  bool stopping_ = false;
  std::exception_ptr failure_;
  WorkPool pool_;       // after the items: its threads end before these go
  std::thread thread_;  // the last member: it uses the others
};

class Pipeline final : public bundle::Visitor {
 public:
  Pipeline(const Scanner& scanner, MemberSink& sink, const Options& options)
      : sink_(sink),
        options_(options),
        consumer_(scanner, sink, options),
        hash_(XXH3_createState(), &XXH3_freeState) {
    if (hash_ == nullptr) throw std::bad_alloc();
  }

  void start(const Source& source) {
    label_ = source.label;
    std::error_code error;
    folder_ = std::filesystem::is_directory(source.path, error);
  }

  bool begin(const bundle::MemberHead& head) override {
    if (cut_off()) return false;
    open_ = MemberRow{};
    describe(head, open_);
    XXH3_128bits_reset(hash_.get());
    buffer_.clear();
    blocks_.clear();
    held_ = 0;
    opened_ = {};
    sniffed_ = streamed_ = false;
    size_ = 0;
    known_digest_ = sink_.finished(open_.path);
    return true;
  }

  void data(std::string_view bytes) override {
    if (dropped_) return;
    XXH3_128bits_update(hash_.get(), bytes.data(), bytes.size());
    size_ += bytes.size();
    summary_.bytes += bytes.size();
    report(bytes.size());
    if (known_digest_ || too_large_) return;
    const Detected& detected = opened_.detected;
    if (sniffed_ && !detected.text && detected.document == nullptr) return;
    while (!bytes.empty()) {
      // Blocks are cut at the same bytes however the bytes arrive: the rows must not depend on the
      // container.
      const std::size_t goal = !sniffed_                      ? kHeadBytes
                               : detected.document != nullptr ? detected.document->max_bytes + 1
                                                              : kBlockBytes;
      const std::size_t take = std::min(bytes.size(), goal - std::min(buffer_.size(), goal - 1));
      buffer_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      if (!sniffed_ && buffer_.size() >= kHeadBytes) {
        sniffed_ = true;
        opened_ = open_member(open_, buffer_, false);
      }
      if (!sniffed_) continue;
      if (detected.document != nullptr) {
        if (buffer_.size() > detected.document->max_bytes) {
          too_large_ = true;
          buffer_ = {};
          return;
        }
      } else if (!detected.text) {
        buffer_.clear();
        return;
      } else if (buffer_.size() >= kBlockBytes) {
        cut_block(false);
      }
    }
  }

  void end(const bundle::MemberEnd& end) override {
    if (cut_off()) return;  // these are not all its bytes, or perhaps not: it is read again
    open_.size = size_;
    open_.complete = end.complete;
    open_.digest = digest();
    ++summary_.members;
    if (known_digest_) {
      if (*known_digest_ != open_.digest) changed_ = open_.path;
      return;
    }
    if (streamed_) {
      if (!buffer_.empty()) cut_block(true);
      auto item = std::make_unique<Item>();
      item->kind = Item::Kind::end;
      item->worked_on = false;
      item->member = open_;
      return consumer_.put(std::move(item));
    }
    if (!buffer_.empty()) {
      held_ += buffer_.size();
      blocks_.push_back(std::move(buffer_));
      buffer_ = {};
    }
    too_large_ = false;
    add({.place = place_,
         .member = open_,
         .code = {},
         .reason = {},
         .opened_before = sniffed_,
         .opened = std::move(opened_),
         .blocks = std::move(blocks_)});
  }

  void note(const bundle::MemberHead& head) override {
    if (cut_off()) return;
    MemberRow row;
    describe(head, row);
    static constexpr std::string_view kKinds[] = {"file", "link", "device", "other"};
    row.kind = kKinds[static_cast<std::size_t>(head.kind)];
    row.format = row.kind;
    row.link_target = head.link_target;
    ++summary_.members;
    if (!sink_.finished(row.path)) add({.place = place_, .member = std::move(row)});
  }

  void problem(const bundle::Problem& problem) override {
    if (cut_off()) return;
    Piece piece{.place = place_, .code = problem.code, .reason = problem.reason};
    piece.member.path = full(problem.path);
    add(std::move(piece));
  }

  void own(const std::string& path) override {
    if (path.ends_with(".db") || path.ends_with(".sqlite") || path.ends_with(".sqlite3"))
      summary_.own_databases.push_back(full(path));
  }

  bool unit(const Unit& unit) override {
    if (!options_.share) return true;
    const std::uint64_t n = place_ / 2;
    if (cut_off() || !options_.share(n, full(unit.path), unit)) {
      place_ = 2 * n + 2;
      return false;
    }
    place_ = 2 * n + 1;
    return true;
  }
  void unit_end() override { place_ += place_ % 2; }
  void counted(std::uint64_t entries) override { summary_.entries.push_back(entries); }

  void taken(std::uint64_t bytes) override { taken_ += bytes; }

  bool stop() override { return interrupted() || changed_.has_value(); }

  // An interrupted member is begun and never ended: closing the database undoes it, as a kill
  // would.
  Summary finish() {
    send_together();
    consumer_.finish();
    summary_.problems = consumer_.problems();
    summary_.interrupted = interrupted();
    return summary_;
  }
  const std::optional<std::string>& changed() const { return changed_; }

 private:
  bool interrupted() const {
    return (options_.interrupted != nullptr && options_.interrupted->load()) ||
           (options_.sink_failed != nullptr && options_.sink_failed->load());
  }
  // Once the walk is interrupted nothing it still tells counts: members would be there that were
  // not read to their end.
  bool cut_off() { return dropped_ = dropped_ || interrupted(); }
  std::string full(const std::string& path) const {
    return label_.empty() ? path : path.empty() ? label_ : label_ + "/" + path;
  }

  void describe(const bundle::MemberHead& head, MemberRow& row) const {
    row.path = full(head.path);
    row.in_archive = !folder_ && !head.rooted;
    row.container = head.container.empty() ? "" : full(head.container);
    row.origin_offset = head.origin_offset;
    row.origin_line = head.origin_line;
    row.mtime_s = head.mtime_s;
  }

  std::string digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(hash_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

  void report(std::size_t bytes) {
    since_report_ += bytes;
    if (since_report_ < (8u << 20) || !options_.progress) return;
    since_report_ = 0;
    options_.progress(summary_.bytes, taken_, open_.path);
  }

  // What is told at once waits for more of its kind.
  void add(Piece piece) {
    if (together_ == nullptr) {
      together_ = std::make_unique<Item>();
      together_->kind = Item::Kind::pieces;
    }
    together_->cost += kItemBytes + std::exchange(held_, 0);
    together_->pieces.push_back(std::move(piece));
    if (!consumer_.threaded() || together_->pieces.size() >= kTogether ||
        together_->cost >= kTogetherBytes)
      send_together();
  }
  void send_together() {
    if (together_ == nullptr) return;
    // The rows of a large document are not held as a whole.
    together_->worked_on = together_->cost <= 2 * kWholeBytes;
    consumer_.put(std::move(together_));
  }

  // The next block ends after a line end; a line longer than a block is cut where it stands.
  void cut_block(bool last) {
    std::size_t end = buffer_.size();
    if (!last) {
      // Only a block without a newline is searched for the other: most hold none, to their begin.
      if (const std::size_t newline = buffer_.rfind('\n'); newline != std::string::npos)
        end = newline + 1;
      else if (const std::size_t carriage = buffer_.rfind('\r');
               carriage != std::string::npos && carriage > 0)
        end = carriage;
    }
    std::string block = std::move(buffer_);
    buffer_ = last ? std::string{} : consumer_.room();
    buffer_.append(block, end);
    block.resize(end);
    if (streamed_) return put_block(std::move(block));
    held_ += end;
    blocks_.push_back(std::move(block));
    if (held_ > kWholeBytes) stream();
  }

  // The member is large: its blocks are read as they come.
  void stream() {
    send_together();
    streamed_ = true;
    held_ = 0;
    auto item = std::make_unique<Item>();
    item->kind = Item::Kind::begin;
    item->worked_on = false;
    item->place = place_;
    item->member = open_;
    item->opened.detected = opened_.detected;
    item->opened.habit = opened_.habit;
    item->opened.records = std::move(opened_.records);
    consumer_.put(std::move(item));
    for (std::string& block : std::exchange(blocks_, {})) put_block(std::move(block));
  }
  void put_block(std::string block) {
    auto item = std::make_unique<Item>();
    item->bytes = std::move(block);
    item->cost += item->bytes.size();
    item->text_kind = open_.text_kind;
    item->habit = opened_.habit;
    item->rules = opened_.detected.rules_apply;
    item->worked_on = opened_.scanned();
    consumer_.put(std::move(item));
  }

  MemberSink& sink_;
  const Options& options_;
  Consumer consumer_;
  std::string label_;
  bool folder_ = false;

  // The member being read in.
  MemberRow open_;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
  std::string buffer_;
  std::vector<std::string> blocks_;  // that were cut
  std::size_t held_ = 0;             // bytes of them
  Opened opened_;
  bool sniffed_ = false;
  bool streamed_ = false;
  bool too_large_ = false;
  bool dropped_ = false;
  std::uint64_t size_ = 0;
  std::size_t since_report_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t place_ = 0;  // in the walk over all sources
  std::optional<std::string> known_digest_;
  std::optional<std::string> changed_;
  std::unique_ptr<Item> together_;

  Summary summary_;
};

std::string without_archive_ending(std::string name) {
  for (const std::string_view ending : {".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tgz",
                                        ".tzst", ".txz", ".tbz2", ".tar", ".zip"})
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  return name;
}

}  // namespace

std::vector<Source> label_sources(const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  for (const std::string& path : paths) sources.push_back({path, ""});
  if (paths.size() < 2) return sources;
  for (int depth = 1; depth < 16; ++depth) {
    std::set<std::string> seen;
    bool clash = false;
    for (Source& source : sources) {
      std::string path = source.path;
      while (path.size() > 1 && path.back() == '/') path.pop_back();
      std::size_t at = path.size();
      for (int i = 0; i < depth && at != std::string::npos && at > 0; ++i)
        at = path.rfind('/', at - 1);
      source.label = without_archive_ending(at == std::string::npos ? path : path.substr(at + 1));
      if (source.label.empty() || source.label == "-") source.label = "stdin";
      clash = !seen.insert(source.label).second || clash;
    }
    if (!clash) return sources;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i].label += "~" + std::to_string(i + 1);
  return sources;
}

Result<Summary> ingest(const std::vector<Source>& sources, const rules::RulePack& pack,
                       MemberSink& sink, const Options& options) {
  const Scanner scanner(pack);
  Pipeline pipeline(scanner, sink, options);
  for (const Source& source : sources) {
    pipeline.start(source);
    if (auto walked = bundle::walk(source.path, options.limits, pipeline); !walked) {
      // After an exception a member may have lost a part: nothing more is written, and closing the
      // database undoes it.
      if (walked.error().kind != ErrorKind::internal) pipeline.finish();
      return std::move(walked).error();
    }
    if (pipeline.stop()) break;
  }
  const Summary summary = pipeline.finish();
  if (pipeline.changed())
    return fail("this file of the bundle has changed since it was read into the database")
        .at({*pipeline.changed(), 0})
        .hint(
            "name a new database with -d, or a new folder with -o: one holds one state of one "
            "bundle");
  return summary;
}

}  // namespace culprit::ingest
