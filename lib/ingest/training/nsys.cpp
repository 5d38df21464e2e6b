// Exports of Nsight Systems (nsys export --type sqlite), of one process or of all of a machine: the
// same of each rank's GPU as a trace of torch.profiler tells.
//
//   CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid, demangledName, shortName ...),
//   CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _GRAPH_TRACE   what is on a GPU
//   NVTX_EVENTS (start, end, globalTid, text, textId ...)   ranges: "step 12", "iteration 12"
//   StringIds (id, value)   names of both
//   TARGET_INFO_SESSION_START_TIME (utcEpochNs)   what the nanoseconds count from
//   TARGET_INFO_SYSTEM_ENV (name, value)   Hostname is read; variables of the environment, which
//                                          stand there, too, are not
//   MPI_RANKS (globalTid, rank)
//
// The upper bits of globalTid and globalPid are the process. Tables are there where something was
// recorded, and columns differ between versions; the names are those of the manual's "SQLite Export
// Schema Reference".
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "foreign/database.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/training/gpu_trace.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

using foreign::Row;

constexpr std::size_t kMostNames = 500'000, kLongestName = 200, kMostProcesses = 64;
constexpr std::size_t kMostStepsOfExport = 1'000'000;
constexpr int kBitsOfThread = 24;
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kOnGpu[] = {kKernels, "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET",
                                       "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
// What a range of a step is called, before its number. Where a program has ranges of several of
// these names, the first counts.
constexpr std::string_view kStepWords[] = {
    "profilerstep", "global_step", "training_step", "train_step", "step", "iteration", "iter"};

struct StepName {
  std::size_t word = 0;  // of kStepWords
  std::int64_t number = 0;
};

// "step 12", "ProfilerStep#12", "iter_12".
std::optional<StepName> step_name(std::string_view text) {
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  StepName out;
  if (digits == 0 || !parse_whole(text.substr(digits), out.number)) return std::nullopt;
  std::string word;
  for (const char c : text.substr(0, digits))
    word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  word.resize(word.find_last_not_of(" #:=_-.") + 1);
  out.word = static_cast<std::size_t>(std::ranges::find(kStepWords, word) - std::begin(kStepWords));
  return out.word < std::size(kStepWords) ? std::optional(out) : std::nullopt;
}

class NsysExport {
 public:
  explicit NsysExport(const foreign::Database& db) : db_(db) {}

  // False: it has neither kernels nor ranges.
  bool read() {
    if (columns(kKernels).empty() && columns("NVTX_EVENTS").empty()) return false;
    of_one_process_ = !contains(columns(kKernels), "globalPid");  // exports of old versions
    read_names();
    read_session();
    for (const std::string_view table : kOnGpu) read_spans(table);
    read_steps();
    return true;
  }

  std::string write(const MemberRow& member, Reading& reading) {
    std::erase_if(processes_, [](const auto& one) { return one.second.devices.empty(); });
    // Where each process has a device of its own, its number is the rank on the machine.
    std::set<std::int64_t> devices;
    for (const auto& [id, process] : processes_) devices.insert(*process.devices.begin());
    const bool one_each =
        devices.size() == processes_.size() &&
        std::ranges::all_of(processes_, [](const auto& p) { return p.second.devices.size() == 1; });
    const auto place = [&](std::size_t) { return Place{member.id, 0, 0, 0}; };
    bool any = false;
    std::string reason = "nsys.no_kernel";
    for (auto& [id, process] : processes_) {
      const auto word =
          std::ranges::find_if(process.steps, [](const auto& steps) { return !steps.empty(); });
      if (word != process.steps.end())
        for (const Range& step : *word)
          process.gpu.add_step(step.number, step.begin, step.end, 0, false);
      SeriesRow key;
      key.host = host_;
      key.rank = process.rank;
      if (processes_.size() > 1 && one_each) key.local_rank = LocalRank(*process.devices.begin());
      too_many = too_many || process.gpu.too_many();
      switch (process.gpu.write(std::move(key), base_, place, reading)) {
        case GpuTrace::Written::all: any = true; break;
        case GpuTrace::Written::no_step: reason = "nsys.no_step"; break;
        case GpuTrace::Written::no_span: break;
        case GpuTrace::Written::too_many_series: return "series.too_many";
      }
    }
    return any ? "" : reason;
  }

  bool damaged = false, too_many = false;

 private:
  struct Range {
    std::int64_t number, begin, end;
  };
  struct Process {
    GpuTrace gpu;
    std::set<std::int64_t> devices;
    std::optional<Rank> rank;
    std::array<std::vector<Range>, std::size(kStepWords)> steps;
  };

  const std::vector<std::string>& columns(std::string_view table) {
    const auto [at, fresh] = columns_.try_emplace(std::string(table));
    if (fresh) at->second = db_.columns(table);
    return at->second;
  }
  // The rows of a table that has the first `needed` of these columns; of the others, those that it
  // lacks are empty.
  void each(std::string_view table, std::vector<std::string> wanted, std::size_t needed,
            const std::function<bool(const Row&)>& visit) {
    const auto& has = columns(table);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!contains(has, wanted[i])) {
        if (i < needed) return;
        wanted[i] = wanted[0];  // of numbers, where a text is asked for, and the reverse
        absent_.insert(i);
      }
    if (!db_.each(table, wanted, visit)) damaged = true;
    absent_.clear();
  }
  std::optional<std::int64_t> number(const Row& row, int column) const {
    return absent_.contains(static_cast<std::size_t>(column)) ? std::nullopt : row.number(column);
  }
  std::string_view text(const Row& row, int column) const {
    return absent_.contains(static_cast<std::size_t>(column)) ? "" : row.text(column);
  }
  // A name that stands in the row, or whose number does.
  std::string_view name(const Row& row, int column) const {
    const auto id = number(row, column);
    if (!id) return text(row, column);
    const auto at = names_.find(*id);
    return at == names_.end() ? std::string_view() : at->second;
  }
  std::int64_t id_of(std::optional<std::int64_t> global) const {
    return of_one_process_ ? 0 : global.value_or(0) >> kBitsOfThread;
  }
  Process* process(std::optional<std::int64_t> global) {
    const std::int64_t id = id_of(global);
    const auto at = processes_.find(id);
    if (at != processes_.end()) return &at->second;
    if (processes_.size() >= kMostProcesses) too_many = true;
    return too_many ? nullptr : &processes_[id];
  }

  void read_names() {
    each("StringIds", {"id", "value"}, 2, [&](const Row& row) {
      if (names_.size() >= kMostNames) return !(too_many = true);
      if (const auto id = row.number(0)) names_.emplace(*id, row.text(1).substr(0, kLongestName));
      return true;
    });
  }

  void read_session() {
    each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 1, [&](const Row& row) {
      base_ = std::max<std::int64_t>(row.number(0).value_or(0), 0);
      return false;
    });
    each("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, 2, [&](const Row& row) {
      if (row.text(0) != "Hostname" || row.text(1).empty()) return true;
      host_ = Host(row.text(1).substr(0, kLongestName));
      return false;
    });
    each("MPI_RANKS", {"globalTid", "rank"}, 2, [&](const Row& row) {
      const auto rank = row.number(1);
      Process* const p = process(row.number(0));
      if (p != nullptr && rank && is_rank_of(10'000'001, Rank(*rank))) p->rank = Rank(*rank);
      return p != nullptr;
    });
  }

  void read_spans(std::string_view table) {
    const bool kernel = table == kKernels;
    each(table, {"start", "end", "deviceId", "globalPid", "demangledName", "shortName", "name"}, 2,
         [&](const Row& row) {
           const auto begin = row.number(0), end = row.number(1);
           if (!begin || !end || *begin < 0 || *end < *begin) return true;
           Process* const p = process(number(row, 3));
           if (p == nullptr) return false;
           p->devices.insert(number(row, 2).value_or(0));
           std::string_view called;
           for (int column = 4; kernel && called.empty() && column < 7; ++column)
             called = name(row, column);
           p->gpu.add_span(called, kernel, *begin, *end);
           return !p->gpu.too_many();
         });
  }

  void read_steps() {
    std::size_t count = 0;
    each("NVTX_EVENTS", {"start", "end", "globalTid", "text", "textId"}, 2, [&](const Row& row) {
      const auto begin = row.number(0), end = row.number(1);
      if (!begin || !end || *begin < 0 || *end < *begin) return true;
      std::string_view called = text(row, 3);
      if (called.empty()) called = name(row, 4);
      const auto step = step_name(called);
      if (!step) return true;
      if (++count > kMostStepsOfExport) return !(too_many = true);
      // One that used no GPU is of no interest.
      const auto p = processes_.find(id_of(number(row, 2)));
      if (p != processes_.end())
        p->second.steps[step->word].push_back({step->number, *begin, *end});
      return true;
    });
  }

  const foreign::Database& db_;
  std::map<std::string, std::vector<std::string>> columns_;
  std::set<std::size_t> absent_;  // of the columns that are being read
  std::unordered_map<std::int64_t, std::string> names_;
  std::int64_t base_ = 0;
  std::optional<Host> host_;
  bool of_one_process_ = false;
  std::map<std::int64_t, Process> processes_;
};

// Its schema may begin behind the head.
bool sniff_nsys(const Head& head) {
  return head.bytes.starts_with("SQLite format 3") &&
         (head.base().ends_with(".sqlite") || head.has("CUPTI_ACTIVITY_KIND_") ||
          head.has("NVTX_EVENTS"));
}

// What was written to an export after the last checkpoint, by whoever opened it. It is a file of
// its own here, and pages without their database say nothing; a program that closes the database
// puts them into it and removes this.
bool sniff_log(const Head& head) {
  return head.base().ends_with(".sqlite-wal") &&
         (head.bytes.starts_with("\x37\x7f\x06\x82") || head.bytes.starts_with("\x37\x7f\x06\x83"));
}
std::string read_log(std::string_view bytes, const MemberRow&, Reading&) {
  constexpr std::size_t kHeader = 32;
  return bytes.size() > kHeader ? "nsys.log_not_merged" : "";
}

std::string read_nsys(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const auto db = foreign::Database::open(bytes);
  if (!db) return "nsys.damaged";
  NsysExport file(*db);
  if (!file.read()) return "nsys.not_an_export";
  const std::string reason = file.write(member, reading);
  if (file.damaged) {
    reading.cut = true;
    reading.sink.put(RejectRow{{member.id, 0, 0, 0}, "nsys.damaged", {}});
  }
  if (file.too_many) reading.sink.put(RejectRow{{member.id, 0, 0, 0}, "nsys.too_many", {}});
  return reason;
}

}  // namespace

extern constinit const Document kNsysExport{
    "nsys-export", "exports of Nsight Systems (nsys export --type sqlite): steps and GPU of ranks",
    1u << 30, sniff_nsys, read_nsys};
extern constinit const Document kNsysLog{
    "nsys-wal", "write-ahead logs beside exports of Nsight Systems: counted, not read", 1u << 30,
    sniff_log, read_log};

}  // namespace culprit::ingest
