#include "batch/batch.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "batch/fingerprint.hpp"
#include "batch/pool.hpp"
#include "batch/summary.hpp"
#include "model/sort.hpp"
#include "report/identity.hpp"
#include "report/report.hpp"
#include "store/fleet.hpp"

namespace culprit::batch {

namespace {

namespace fs = std::filesystem;

// Less than this and a usual bundle would not fit.
constexpr std::uint64_t kLeastShare = 192ULL << 20;
constexpr std::uint64_t kParent = 64ULL << 20;  // what this process itself takes
constexpr std::uint64_t kStack = 8ULL << 20;    // of each thread, counted as data

struct Lock {
  int fd = -1;
  ~Lock() {
    if (fd >= 0) close(fd);
  }
};

struct Task {
  const Bundle* bundle = nullptr;
  std::string fingerprint;
  std::uint64_t bytes = 0;
};

class Batch {
 public:
  Batch(const Inputs& inputs, const Work& work, const Options& options,
        const std::function<void(const Progress&)>& progress)
      : inputs_(inputs), work_(work), options_(options), told_(progress) {}

  Result<Outcomes> run() {
    std::error_code error;
    fs::create_directories(bundles(), error);
    if (error)
      return fail("cannot make this folder: " + error.message())
          .at({bundles().string(), 0})
          .hint("name a folder that you may write to with -o");
    Lock lock{open(options_.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (lock.fd >= 0 && flock(lock.fd, LOCK_EX | LOCK_NB) != 0)
      return fail("another batch works in this folder")
          .at({options_.out.string(), 0})
          .hint("wait for it, or name another folder with -o");
    const fs::path fleet = options_.fleet.empty() ? options_.out / "fleet.db" : options_.fleet;
    if (fs::exists(fleet, error)) CULPRIT_CHECK(store::read_fleet(fleet.string()));
    CULPRIT_CHECK(plan());
    Outcomes out;
    out.unchanged = progress_.unchanged;
    out.interrupted = !read_all();
    out.read = progress_.finished;
    if (failure_) return std::move(*failure_);
    if (out.interrupted) return out;
    CULPRIT_CHECK(conclude(fleet, out));
    return out;
  }

 private:
  fs::path bundles() const { return options_.out / "bundles"; }
  fs::path folder(const Bundle& b) const { return bundles() / b.name; }

  // Which bundles have to be read.
  Result<> plan() {
    std::map<std::string, Entry> earlier;
    for (Entry& e : read_entries(bundles())) earlier.emplace(e.name, std::move(e));
    if (options_.prune) forget(earlier);
    progress_.bundles = inputs_.bundles.size();
    for (const Bundle& b : inputs_.bundles) {
      const Fingerprint print = fingerprint(b.path, options_.contents);
      const auto it = earlier.find(b.name);
      // What crashed or ran out of something is tried again; what is damaged stays so.
      const bool settled = it != earlier.end() && it->second.source == b.source &&
                           it->second.fingerprint == print.digest &&
                           it->second.setup == options_.setup &&
                           (it->second.status == "done" || it->second.status == "unreadable");
      if (settled && !options_.again) {
        ++progress_.unchanged;
        continue;
      }
      std::error_code error;
      fs::create_directories(folder(b), error);
      if (error)
        return fail("cannot make this folder: " + error.message()).at({folder(b).string(), 0});
      clear(folder(b));
      tasks_.push_back({&b, print.digest, print.bytes});
      progress_.bytes += print.bytes;
    }
    return {};
  }

  // Without its entry a bundle is not finished, whatever else lies there.
  static void clear(const fs::path& folder) {
    std::error_code ignored;
    for (const char* name : {"entry.json", "entry.json.part", "report.json", "report.json.part",
                             "report.html", "report.html.part"})
      fs::remove(folder / name, ignored);
  }

  void forget(std::map<std::string, Entry>& earlier) {
    std::set<std::string> named;
    for (const Bundle& b : inputs_.bundles) named.insert(b.name);
    std::error_code ignored;
    for (auto it = earlier.begin(); it != earlier.end();) {
      if (named.count(it->first) > 0) {
        ++it;
        continue;
      }
      forgotten_.insert(it->second.source);
      fs::remove_all(bundles() / it->first, ignored);
      it = earlier.erase(it);
    }
  }

  // False when interrupted.
  bool read_all() {
    std::vector<std::size_t> all(tasks_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    // The largest first, so that the end does not wait for one of them.
    sort_rows(all, [&](std::size_t a, std::size_t b) { return tasks_[a].bytes > tasks_[b].bytes; });
    std::uint64_t memory = options_.memory > 0 ? options_.memory : free_memory() / 4 * 3;
    memory = memory > kParent ? memory - kParent : memory;
    PoolOptions pool;
    pool.jobs = std::max<std::size_t>(
        1, std::min<std::size_t>(options_.jobs, static_cast<std::size_t>(memory / kLeastShare)));
    const auto stacks = kStack * static_cast<std::uint64_t>(work_.request.options.threads);
    pool.memory = memory / pool.jobs + stacks;
    pool.timeout_s = options_.timeout_s;
    pool.interrupted = options_.interrupted;
    told_(progress_);
    if (!pass(all, pool, pool.jobs > 1)) return false;
    if (alone_.empty() || failure_) return true;
    // What did not fit beside others has all the memory for itself.
    pool.jobs = 1;
    pool.memory = memory + stacks;
    const std::vector<std::size_t> again = std::move(alone_);
    return pass(again, pool, false);
  }

  bool pass(const std::vector<std::size_t>& tasks, const PoolOptions& pool, bool may_repeat) {
    PoolEvents events{.started = [&](std::size_t) { ++progress_.running, told_(progress_); },
                      .ended = [&](const Outcome& outcome) { ended(outcome, pool, may_repeat); },
                      .tick = [&] { told_(progress_); }};
    return run_pool(
        tasks, pool, [&](std::size_t task) { return child(tasks_[task]); }, events);
  }

  // In the child.
  int child(const Task& task) const {
    auto entry = diagnose_bundle(*task.bundle, work_, folder(*task.bundle));
    if (!entry) {
      std::fprintf(stderr, "%s\n", entry.error().what.c_str());
      return 3;
    }
    entry->fingerprint = task.fingerprint;
    entry->setup = options_.setup;
    return write_file(folder(*task.bundle) / "entry.json", to_json(*entry)) ? 0 : 3;
  }

  void ended(const Outcome& outcome, const PoolOptions& pool, bool may_repeat) {
    const Task& task = tasks_[outcome.task];
    --progress_.running;
    const bool full =
        outcome.status == kOutOfMemory || (!outcome.timed_out && outcome.status != 0 &&
                                           pool.memory > 0 && outcome.peak > pool.memory / 5 * 4);
    // Other threads cannot hand an exception on: they abort.
    if (may_repeat && (full || outcome.signal == SIGABRT || outcome.signal == SIGKILL) &&
        !outcome.timed_out) {
      alone_.push_back(outcome.task);
      return;
    }
    ++progress_.finished;
    progress_.bytes_finished += task.bytes;
    if (outcome.status == 3 && !failure_) {
      failure_ =
          fail("cannot write the report of this bundle: " + last_line(outcome.said))
              .at({folder(*task.bundle).string(), 0})
              .hint("is the disk full, the folder writable? the same command goes on from there");
    } else if (outcome.status != 0) {
      ++progress_.failed;
      record(task, outcome, full, pool.memory);
    }
    told_(progress_);
  }

  void record(const Task& task, const Outcome& outcome, bool full, std::uint64_t memory) {
    Entry entry{.name = task.bundle->name,
                .source = task.bundle->source,
                .fingerprint = task.fingerprint,
                .setup = options_.setup,
                .where = task.bundle->path,
                .gate = "critical"};
    if (outcome.timed_out) {
      entry.status = "timeout";
      entry.reason = fmt::format("not finished after {:g} s", options_.timeout_s);
      entry.help = "give it more time with --timeout, or diagnose it by itself";
    } else if (full) {
      entry.status = "memory";
      entry.reason = fmt::format("it needs more than {} MB of memory", memory >> 20);
      entry.help = "give it more with --memory, or diagnose it by itself";
    } else {
      entry.status = "crashed";
      entry.reason = outcome.signal != 0
                         ? fmt::format("reading it ended by signal {} ({})", outcome.signal,
                                       strsignal(outcome.signal))
                         : fmt::format("reading it ended with status {}", outcome.status);
      if (const std::string said = last_line(outcome.said); !said.empty())
        entry.reason += ": " + said;
      entry.help = "this is a fault of culprit; please report it with the bundle";
    }
    if (auto written = write_file(folder(*task.bundle) / "entry.json", to_json(entry));
        !written && !failure_)
      failure_ = std::move(written).error();
  }

  static std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t at = text.rfind('\n');
    return at == std::string::npos ? text : text.substr(at + 1);
  }

  Result<> conclude(const fs::path& fleet, Outcomes& out) {
    out.entries = read_entries(bundles());
    const bool beside = fs::absolute(fleet).parent_path().lexically_normal() ==
                        fs::absolute(options_.out).lexically_normal();
    CULPRIT_CHECK(remember(fleet, out.entries, beside));
    out.summary = report::identified(summary_document(out.entries, inputs_.left_out),
                                     {options_.tool, {}, {}, {}, {}});
    CULPRIT_CHECK(write_file(options_.out / "summary.json", out.summary));
    CULPRIT_CHECK(write_file(options_.out / "summary.csv", summary_csv(out.summary)));
    return write_file(options_.out / "index.html", report::batch_index(out.summary));
  }

  // The incidents of these bundles take the place of what they said before; all others stay.
  Result<> remember(const fs::path& path, const std::vector<Entry>& entries, bool beside) {
    FleetRecord record;
    std::error_code error;
    if (fs::exists(path, error)) {
      CULPRIT_TRY(before, store::read_fleet(path.string()));
      record = std::move(before);
    }
    std::set<std::string> sources = forgotten_;
    for (const Entry& e : entries) sources.insert(e.source);
    std::erase_if(record.incidents,
                  [&](const FleetIncident& i) { return sources.count(i.source) > 0; });
    FleetRecord more;
    for (auto it = entries.rbegin(); it != entries.rend(); ++it)  // of copies the first name stays
      if (it->done()) {
        more.incidents.push_back(*it->incident);
        if (!beside)
          more.incidents.back().report =
              fs::absolute(options_.out / it->incident->report).lexically_normal().string();
      }
    store::merge_fleet(record, std::move(more));
    return store::write_fleet(path.string(), record);
  }

  const Inputs& inputs_;
  const Work& work_;
  const Options& options_;
  const std::function<void(const Progress&)>& told_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> alone_;
  std::set<std::string> forgotten_;
  Progress progress_;
  std::optional<Error> failure_;
};

}  // namespace

Result<Outcomes> run(const Inputs& inputs, const Work& work, const Options& options,
                     const std::function<void(const Progress&)>& progress) {
  return Batch(inputs, work, options, progress).run();
}

std::vector<std::pair<std::string, std::string>> names_taken(const fs::path& out) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Entry& e : read_entries(out / "bundles")) names.emplace_back(e.source, e.name);
  return names;
}

}  // namespace culprit::batch
