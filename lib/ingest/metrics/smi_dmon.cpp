// nvidia-smi dmon and dcgmi dmon: a table whose header comes again every few rows, a row a GPU.
// nvidia-smi pmon looks alike and lists processes: smi_pmon.cpp.
#include <algorithm>
#include <string>
#include <vector>

#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostDmonGpus = 4'096;

enum class DmonColumn { date, time, gpu, reading };

// "# gpu pwr ...", "#Date Time gpu ...", "#Entity GPUTL ...": the names; empty when the line is no
// header.
struct Header {
  std::vector<DmonColumn> columns;
  std::vector<std::string> names;
  bool dcgm = false;
  bool processes = false;
};

bool dmon_header(const std::vector<std::string_view>& all, Header& out) {
  out = {};
  if (all.empty() || all[0].front() != '#') return false;
  std::vector<std::string_view> words = all;
  words[0].remove_prefix(1);
  if (words[0].empty()) words.erase(words.begin());
  if (words.empty() || words.size() > kMostMetricWords) return false;
  bool gpu = false;
  for (const std::string_view word : words) {
    const bool first = out.columns.empty();
    if (word == "Date" && !gpu)
      out.columns.push_back(DmonColumn::date);
    else if (word == "Time" && !gpu)
      out.columns.push_back(DmonColumn::time);
    else if (!gpu && (word == "gpu" || (first && word == "Entity")))
      gpu = true, out.columns.push_back(DmonColumn::gpu), out.dcgm = word == "Entity";
    else if (gpu)
      out.columns.push_back(DmonColumn::reading);
    else
      return false;
    out.names.emplace_back(word);
    out.processes = out.processes || word == "pid";
  }
  return gpu && out.columns.back() == DmonColumn::reading;
}

// "# Idx W C", "#YYYYMMDD HH:MM:SS Idx", "ID", "# Id": the line under the names.
bool units(const std::vector<std::string_view>& words) {
  if (words.empty()) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 4); ++i) {
    std::string_view word = words[i];
    if (word.front() == '#') word.remove_prefix(1);
    if (word == "Idx" || word == "ID" || word == "Id") return words[0].front() == '#' || i == 0;
    if (!word.empty() && word != "YYYYMMDD" && word != "HH:MM:SS") return false;
  }
  return false;
}

class SmiDmon final : public RecordReader {
 public:
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, false);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, true);
  }

  // The time of the line as a log prints it in front, for tables without a column of times.
  void printed_at(const Timestamp& time) { outer_ = time; }

 private:
  struct Gpu {
    std::string id;
    std::int64_t tick = -1;
    std::vector<SeriesBook::Index> series;  // by column
  };

  // `cut`: the last line of a file that ends within it.
  Outcome row(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    if (place.offset == 0 && raw.starts_with("\xEF\xBB\xBF")) raw.remove_prefix(3);
    metric_words(raw, words_);
    if (words_.empty()) return {};
    Header next;
    if (dmon_header(words_, next)) {
      if (cut) return {false, nullptr, "smi_dmon.cut"};
      if (next.names != header_.names) gpus_.clear(), units_.clear();
      header_ = std::move(next);
      return {};
    }
    if (units(words_)) {
      if (!cut) keep_units();
      return {};
    }
    if (words_[0].front() == '#') return {};
    if (header_.columns.empty()) return {false, nullptr, "smi_dmon.no_header"};
    if (header_.processes) return {};

    std::string id;
    if (header_.dcgm)
      if (const std::string_view problem = join_entity(id); !problem.empty())
        return {false, nullptr, problem};
    if (words_.size() != header_.columns.size())
      return {false, nullptr, cut ? "smi_dmon.cut" : "smi_dmon.columns"};
    std::string_view date, hour;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (header_.columns[i] == DmonColumn::date) date = words_[i];
      if (header_.columns[i] == DmonColumn::time) hour = words_[i];
      if (header_.columns[i] == DmonColumn::gpu) id = words_[i];
    }
    if (!header_.dcgm && id.find_first_not_of("0123456789") != std::string::npos)
      return {false, nullptr, "smi_dmon.entity"};
    Timestamp time;
    if ((!date.empty() || !hour.empty()) && !moment(date, hour, time))
      return {false, nullptr, "smi_dmon.time"};
    if (time.clock == Clock::none) time = outer_;
    Gpu* const gpu = gpu_of(id);
    if (gpu == nullptr) return {false, nullptr, "series.too_many"};
    if (time.clock == Clock::none) {
      // The same GPU again: the next round. Without a time its number is all there is.
      if (gpu->tick == tick_) ++tick_;
      gpu->tick = tick_;
    }
    return readings(*gpu, time, place, reading, cut);
  }

  void keep_units() {
    if (words_[0] == "#") words_.erase(words_.begin());
    if (header_.dcgm || words_.size() != header_.columns.size() || !units_.empty()) return;
    units_.assign(words_.begin(), words_.end());
    for (std::string& unit : units_)
      if (unit == "-") unit.clear();
  }

  // "GPU 0", "GPU-I 1/0", "Switch 3": two words where nvidia-smi has one. Makes one word of them,
  // which lives in `id`; returns why that cannot be, or nothing.
  std::string_view join_entity(std::string& id) {
    if (words_.size() < 2) return "smi_dmon.columns";
    if (words_[0].find_first_of("0123456789") != std::string_view::npos) return "smi_dmon.entity";
    id = words_[0] == "GPU" ? std::string(words_[1])
                            : std::string(words_[0]) + " " + std::string(words_[1]);
    words_.erase(words_.begin());
    words_[0] = id;
    return {};
  }

  // The columns that are samples, into their series.
  Outcome readings(Gpu& gpu, const Timestamp& time, const Place& place, Reading& reading,
                   bool cut) {
    bool added = false;
    std::string_view reject;
    if (book_ == nullptr) book_ = &reading.keep<SeriesBook>();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (header_.columns[i] != DmonColumn::reading) continue;
      if (cut && i + 1 == words_.size()) {
        reject = "smi_dmon.cut";
        break;
      }
      double value = 0;
      const std::size_t used = read_number(words_[i], value);
      if (used != words_[i].size()) {
        if (words_[i] != "-" && words_[i] != "N/A" && words_[i] != "[N/A]")
          reject = "smi_dmon.value";
        continue;
      }
      if (header_.dcgm && dcgm_blank(value)) continue;
      SeriesBook::Index& index = gpu.series[i];
      if (index == SeriesBook::kFull) index = series_of(i, gpu, time.clock);
      if (index == SeriesBook::kFull) return {added, nullptr, "series.too_many"};
      book_->add(index, time.clock == Clock::none ? tick_ : kNoValue,
                 time.clock == Clock::none ? kNoValue : time.ns, value, place, reading);
      added = true;
    }
    return {added, nullptr, reject};
  }

  SeriesBook::Index series_of(std::size_t column, const Gpu& gpu, Clock clock) {
    SeriesRow key;
    key.name = header_.names[column];
    if (column < units_.size()) key.unit = units_[column];
    // MIG instances, switches and processors of dcgmi are no GPUs.
    if (!contains(gpu.id, ' '))
      key.gpu = gpu.id;
    else
      key.labels = "entity=" + gpu.id;
    key.clock = clock;
    return book_->series(key);
  }

  static bool moment(std::string_view date, std::string_view hour, Timestamp& time) {
    if (date.empty()) return line::parse_time_of_day(hour, time) == hour.size() && !hour.empty();
    if (hour.empty()) return false;
    // 20240908 as nvidia-smi prints it, or with separators.
    const std::string text =
        date.size() == 8 ? std::string(date.substr(0, 4)) + "-" + std::string(date.substr(4, 2)) +
                               "-" + std::string(date.substr(6, 2)) + " " + std::string(hour)
                         : std::string(date) + " " + std::string(hour);
    return line::parse_iso(text, time) == text.size();
  }

  Gpu* gpu_of(std::string_view id) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      next_gpu_ = next_gpu_ + 1 < gpus_.size() ? next_gpu_ + 1 : 0;
      if (gpus_[next_gpu_].id == id) return &gpus_[next_gpu_];
    }
    if (gpus_.size() >= kMostDmonGpus || id.size() > 128) return nullptr;
    gpus_.push_back({std::string(id), -1,
                     std::vector<SeriesBook::Index>(header_.columns.size(), SeriesBook::kFull)});
    next_gpu_ = gpus_.size() - 1;
    return &gpus_.back();
  }

  Header header_;
  std::vector<std::string> units_;  // by column
  std::vector<std::string_view> words_;
  std::vector<Gpu> gpus_;
  std::size_t next_gpu_ = 0;
  std::int64_t tick_ = 0;
  Timestamp outer_;
  SeriesBook* book_ = nullptr;
};

// A dmon that ran beside the program and wrote into the same log: its rows stand in blocks, each
// under a header.
class DmonOfLog final : public Kept {
 public:
  SmiDmon reader;
};

class DmonBlock final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    constexpr int kForeignLines = 64;  // of the program, between two rows
    const std::string_view text = line::trimmed(line.line.message);
    if (text.empty()) return Step::watching;
    SmiDmon& reader = reading.keep<DmonOfLog>().reader;
    reader.printed_at(line.line.prefix.time);
    const bool comment = text.front() == '#';
    Outcome outcome = reader.read(text, line.place, reading);
    // A date and a time in front are columns of the table, not the log's own.
    if (!outcome.used && !comment && line.raw != line.line.message)
      outcome = reader.read(line::trimmed(line.raw), line.place, reading);
    if (outcome.used || (comment && outcome.reject.empty())) return foreign_ = 0, Step::took;
    return ++foreign_ <= kForeignLines ? Step::watching : Step::not_mine;
  }

 private:
  int foreign_ = 0;
};

// In a log "# gpu" may begin a sentence: columns must have the names that the tools give them.
bool of_tool(const Header& dmon_header) {
  static constexpr std::string_view kColumns[] = {
      "pwr",   "gtemp", "mtemp", "sm",   "mem",  "enc",   "dec",   "jpg", "ofa",   "mclk",  "pclk",
      "pviol", "tviol", "fb",    "bar1", "ccpm", "sbecc", "dbecc", "pci", "rxpci", "txpci", "temp"};
  for (std::size_t i = 0; i < dmon_header.names.size(); ++i) {
    if (dmon_header.columns[i] != DmonColumn::reading) continue;
    const std::string& name = dmon_header.names[i];
    if (dmon_header.dcgm ? name.find_first_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos
                         : !contains(kColumns, name))
      return false;
  }
  return true;
}

Outcome read_block(const TextLine& line, Reading& reading) {
  std::vector<std::string_view> words;
  metric_words(line::trimmed(line.line.message), words);
  Header found;
  if (!dmon_header(words, found) || found.processes || !of_tool(found)) return {};
  reading.keep<DmonOfLog>().reader.read(line::trimmed(line.line.message), line.place, reading);
  return {true, std::make_unique<DmonBlock>()};
}

constexpr std::string_view kHeaderWords[] = {"# gpu ", "#Date ", "#Time ", "#Entity"};

bool sniff_smi_dmon(const Head& head) {
  std::string_view rest = head.bytes;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<std::string_view> words;
  // The header is the first line, or follows the command that somebody typed.
  for (int lines = 0; !rest.empty() && lines < 3;) {
    const std::size_t end = rest.find('\n');
    const std::string_view raw = line::trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (raw.empty()) continue;
    ++lines;
    if (raw.size() > 8192) return false;
    if (raw[0] != '#') continue;  // no header
    metric_words(raw, words);
    Header found;
    if (dmon_header(words, found)) {
      if (found.processes) return false;
      metric_words(line::trimmed(rest.substr(0, rest.find('\n'))), words);
      return units(words);
    }
  }
  return false;
}

std::unique_ptr<RecordReader> make_smi_dmon(const Head&) { return std::make_unique<SmiDmon>(); }

}  // namespace

extern constinit const Recogniser kSmiDmonBlock{
    "dmon-in-log", "tables of nvidia-smi dmon and dcgmi dmon within another log", kHeaderWords,
    read_block};
extern constinit const RecordText kSmiDmon{"nvidia-smi-dmon", "nvidia-smi dmon and dcgmi dmon",
                                           sniff_smi_dmon, make_smi_dmon, true};

}  // namespace culprit::ingest
