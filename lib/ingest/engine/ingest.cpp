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

#include "ingest/engine/document.hpp"
#include "ingest/engine/queued_sink.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/scan.hpp"
#include "ingest/engine/text_reader.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kBlockBytes = 128 << 10;
constexpr std::size_t kHeadBytes = 64 << 10;

// What waits to be consumed, in bytes: enough that nobody waits for one slow block.
constexpr std::size_t kMostWaiting = 4 << 20;
constexpr std::size_t kMostRooms = kMostWaiting / kBlockBytes;
constexpr std::size_t kItemBytes = 1 << 10;  // what an item counts for besides its text

// A block of text on its way: filled by the reader, scanned by anybody, consumed in order.
struct Item {
  enum class Kind { begin, block, end, problem } kind = Kind::block;
  std::uint64_t place = 0;  // of the unit, see MemberSink::begin_place
  MemberRow member;         // begin and end; problem: its path
  std::string code;         // problem; `bytes` is the reason
  std::string bytes;        // block: text; end: the whole document, if one is read
  const Document* document = nullptr;
  std::unique_ptr<RecordReader> records;  // begin: of a text whose lines are records
  std::string text_kind;
  line::Habit habit;
  bool rules = true;
  bool text = false;
  bool scanned = false;  // block: unless its lines are records
  BlockScan scan;
  enum class State { waiting, running, done } state = State::waiting;
};

// Scans items on worker threads. The consumer helps: an item nobody has begun is scanned by whoever
// needs it.
class ScanPool {
 public:
  ScanPool(const Scanner& scanner, int workers) : scanner_(scanner) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~ScanPool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ScanPool(const ScanPool&) = delete;
  ScanPool& operator=(const ScanPool&) = delete;

  void scan(Item& item) const {
    item.scan = scanner_.scan(item.bytes, item.text_kind, item.habit, item.rules);
  }

  void submit(Item& item) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&item);
    }
    wake_.notify_one();
  }

  // The consumer needs this item next. While somebody else is at it, it scans another instead of
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
    scan(item);
    lock.lock();
    item.state = Item::State::done;
  }

  const Scanner& scanner_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Item*> waiting_;
  bool stopping_ = false;
};

// Takes items in their order, beside the walk when there are threads; it alone writes to the sink.
class Consumer {
 public:
  Consumer(const Scanner& scanner, MemberSink& sink, const Options& options)
      : scanner_(scanner),
        sink_(sink),
        shared_(static_cast<bool>(options.share)),
        pool_(scanner, std::max(0, options.threads - 1)) {
    rooms_.reserve(kMostRooms);  // keeping one never fails
    if (options.threads > 1) thread_ = std::thread([this] { work(); });
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

  // Throws what consuming an earlier item threw, as finish() does.
  void put(std::unique_ptr<Item> item) {
    if (!thread_.joinable()) {
      if (item->scanned) pool_.scan(*item);
      consume(*item);
      return keep_room(*item);
    }
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_ < kMostWaiting || failure_ != nullptr; });
    rethrow();
    queue_.push_back(std::move(item));
    waiting_ += cost(*queue_.back());
    if (queue_.back()->scanned) pool_.submit(*queue_.back());
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

  // Returns when all is consumed.
  void finish() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_ == 0 || failure_ != nullptr; });
    rethrow();
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
  static std::size_t cost(const Item& item) { return kItemBytes + item.bytes.size(); }
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
      const std::size_t bytes = cost(*at_hand_);
      std::exception_ptr failure;
      try {
        if (at_hand_->scanned) pool_.finish(*at_hand_);
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
      case Item::Kind::begin:
        if (shared_) sink_.begin_place(item.place);
        current_ = item.member;
        current_.id = sink_.begin_member(item.member);
        reader_.reset();
        record_reader_.reset();
        if (item.records != nullptr)
          record_reader_ = std::make_unique<RecordTextReader>(
              std::move(item.records),
              Reading{sink_, scanner_.pack(), item.text_kind, {}, {}, item.member.path},
              current_.id);
        if (item.text)
          reader_ = std::make_unique<TextReader>(scanner_, sink_, current_.id, item.text_kind,
                                                 item.habit, item.rules, item.member.path);
        break;
      case Item::Kind::block:
        if (reader_ != nullptr) reader_->block(item.bytes, item.scan);
        if (record_reader_ != nullptr) record_reader_->block(item.bytes);
        break;
      case Item::Kind::end: {
        MemberRow row = item.member;
        row.id = current_.id;
        if (reader_ != nullptr) {
          finish_lines(*reader_, row);
          reader_.reset();
        } else if (record_reader_ != nullptr) {
          finish_lines(*record_reader_, row);
          record_reader_.reset();
        } else if (item.document != nullptr) {
          read_document(item, row);
        } else if (row.format.ends_with("(too large)")) {
          row.lines = row.rejected = 1;
          sink_.put(RejectRow{{row.id, 0, 0, 0}, "document.too_large", row.format});
        } else if (row.kind == "file" && row.size > 0) {
          row.lines = row.skipped = 1;  // one record: bytes that nobody reads
        }
        sink_.end_member(row);
        break;
      }
      case Item::Kind::problem:
        if (shared_) sink_.begin_place(item.place);
        ++problems_;
        sink_.problem(item.member.path, item.code, item.bytes);
        break;
    }
  }

  template <class Reader>
  static void finish_lines(Reader& reader, MemberRow& row) {
    reader.finish();
    row.lines = reader.lines();
    row.used = reader.used();
    row.rejected = reader.rejected();
    row.skipped = row.lines - row.used - row.rejected;
    row.tail_truncated = reader.tail_truncated();
  }

  void read_document(Item& item, MemberRow& row) {
    Reading reading{sink_, scanner_.pack(), row.text_kind, {}, {}, row.path};
    const std::string reason = item.document->read(item.bytes, row, reading);
    for (const auto& kept : reading.kept) kept->finish(reading);
    row.lines = 1;
    if (reading.cut) {
      row.tail_truncated = true;
      ++problems_;
      sink_.problem(row.path, "document.cut",
                    reason.empty()
                        ? "the file breaks off or is damaged; what stands before that was read"
                        : "the file breaks off or is damaged before it tells anything");
    }
    if (reason.empty()) {
      row.used = 1;
    } else {
      row.rejected = 1;
      sink_.put(RejectRow{{row.id, 0, 0, 0}, reason, item.bytes.substr(0, 200)});
    }
  }

  const Scanner& scanner_;
  MemberSink& sink_;
  const bool shared_;
  MemberRow current_;
  std::unique_ptr<TextReader> reader_;
  std::unique_ptr<RecordTextReader> record_reader_;
  std::uint64_t problems_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_, moved_;
  std::deque<std::unique_ptr<Item>> queue_;
  std::unique_ptr<Item> at_hand_;
  std::vector<std::string> rooms_;
  std::size_t waiting_ = 0;  // what the queue and the item at hand count for
  bool stopping_ = false;
  std::exception_ptr failure_;
  ScanPool pool_;       // after the items: its threads end before these go
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
    detected_ = {};
    sniffed_ = false;
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
    if (sniffed_ && !detected_.text && detected_.document == nullptr) return;
    while (!bytes.empty()) {
      // Blocks are cut at the same bytes however the bytes arrive: the rows must not depend on the
      // container.
      const std::size_t goal = !sniffed_                       ? kHeadBytes
                               : detected_.document != nullptr ? detected_.document->max_bytes + 1
                                                               : kBlockBytes;
      const std::size_t take = std::min(bytes.size(), goal - std::min(buffer_.size(), goal - 1));
      buffer_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      if (!sniffed_ && buffer_.size() >= kHeadBytes) sniff(false);
      if (!sniffed_) continue;
      if (detected_.document != nullptr) {
        if (buffer_.size() > detected_.document->max_bytes) {
          too_large_ = true;
          buffer_ = {};
          return;
        }
      } else if (!detected_.text) {
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
    if (!sniffed_) sniff(true);
    if (detected_.text && detected_.document == nullptr && !buffer_.empty()) cut_block(true);
    auto item = make(Item::Kind::end);
    item->member = open_;
    if (too_large_)
      item->member.format += " (too large)";
    else if ((item->document = detected_.document) != nullptr)
      item->bytes = std::move(buffer_);
    buffer_ = {};
    too_large_ = false;
    consumer_.put(std::move(item));
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
    if (sink_.finished(row.path)) return;
    for (const Item::Kind kind : {Item::Kind::begin, Item::Kind::end}) {
      auto item = make(kind);
      item->member = row;
      consumer_.put(std::move(item));
    }
  }

  void problem(const bundle::Problem& problem) override {
    if (cut_off()) return;
    auto item = make(Item::Kind::problem);
    item->member.path = full(problem.path);
    item->code = problem.code;
    item->bytes = problem.reason;
    consumer_.put(std::move(item));
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

  void sniff(bool whole) {
    sniffed_ = true;
    detected_ = detect({open_.path, std::string_view(buffer_).substr(0, kHeadBytes), whole});
    open_.format = std::string(detected_.format);
    open_.text_kind = std::string(detected_.kind);
    habit_ = detected_.text ? line::habit_of(std::string_view(buffer_).substr(0, kHeadBytes))
                            : line::Habit{};
    auto item = make(Item::Kind::begin);
    item->member = open_;
    item->text_kind = open_.text_kind;
    item->habit = habit_;
    item->rules = detected_.rules_apply;
    item->text = detected_.text && detected_.document == nullptr && detected_.records == nullptr;
    if (detected_.records != nullptr)
      item->records = detected_.records->make(
          {open_.path, std::string_view(buffer_).substr(0, kHeadBytes), whole});
    consumer_.put(std::move(item));
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
    auto item = make(Item::Kind::block);
    item->bytes = std::move(buffer_);
    buffer_ = last ? std::string{} : consumer_.room();
    buffer_.append(item->bytes, end);
    item->bytes.resize(end);
    item->text_kind = open_.text_kind;
    item->habit = habit_;
    item->rules = detected_.rules_apply;
    item->scanned = detected_.records == nullptr;
    consumer_.put(std::move(item));
  }

  std::unique_ptr<Item> make(Item::Kind kind) const {
    auto item = std::make_unique<Item>();
    item->kind = kind;
    item->place = place_;
    return item;
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
  Detected detected_;
  line::Habit habit_;
  bool sniffed_ = false;
  bool too_large_ = false;
  bool dropped_ = false;
  std::uint64_t size_ = 0;
  std::size_t since_report_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t place_ = 0;  // in the walk over all sources
  std::optional<std::string> known_digest_;
  std::optional<std::string> changed_;

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
  std::optional<QueuedSink> queued;
  if (options.threads > 1) queued.emplace(sink);
  Pipeline pipeline(scanner, queued ? static_cast<MemberSink&>(*queued) : sink, options);
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
  if (queued) queued->flush();
  if (pipeline.changed())
    return fail("this file of the bundle has changed since it was read into the database")
        .at({*pipeline.changed(), 0})
        .hint(
            "name a new database with -d, or a new folder with -o: one holds one state of one "
            "bundle");
  return summary;
}

}  // namespace culprit::ingest
