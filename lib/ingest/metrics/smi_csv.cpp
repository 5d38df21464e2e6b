// nvidia-smi --query-gpu=... --format=csv, once or in a loop (-l, -lms): a header of fields with
// their units, a row a GPU; the same of many hosts ("node7: ..."), and without a header where the
// command or its fields stand above the rows, behind the machine: "# gx-07 12:05 index,power.draw".
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/remarks.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "model/pci.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostSmiColumns = 512;
constexpr std::size_t kMostSmiGpus = 4'096;  // of one file; a host has 16
constexpr std::size_t kMostRowsATick = 64;

// False: more columns than any query has.
bool split_smi_cells(std::string_view raw, std::vector<std::string_view>& cells) {
  cells.clear();
  CsvCursor line(raw, ',');
  for (CsvCell cell; line.more();) {
    if (cells.size() >= kMostSmiColumns) return false;
    if (!line.next(cell)) {  // a quote that is not closed: the rest is one cell
      cells.push_back(line::trimmed(raw.substr(line.offset())));
      return true;
    }
    cells.push_back(line::trimmed(cell.text));
  }
  return true;
}

enum class SmiField { number, time, index, uuid, pci, host, description };

// Fields that tell no number, of `nvidia-smi --help-query-gpu`, under both of their names.
constexpr std::string_view kDescriptions =
    "name gpu_name driver_version count gpu_count serial gpu_serial vbios_version "
    "inforom.img inforom.image inforom.oem inforom.ecc inforom.pwr inforom.power pci.domain "
    "pci.bus pci.device pci.device_id pci.sub_device_id compute_mode compute_cap "
    "driver_model.current driver_model.pending gom.current gom.pending fabric.clusterUuid "
    "fabric.cliqueId gpu_recovery_action product_name module_id";

// How a field of nvidia-smi begins. A table is taken for its output when one of its columns does.
constexpr std::string_view kFamilies =
    "utilization. memory. temperature. power. clocks. clocks_throttle_reasons. "
    "clocks_event_reasons. clocks_event_reasons_counters. ecc. pcie. retired_pages. "
    "remapped_rows. encoder. fan.speed pstate enforced.power.limit accounting. mig.mode. "
    "persistence_mode pci.bus_id gpu_bus_id gpu_uuid row_remapper. temp.gpu "
    "hw_thermal_slowdown hw_slowdown";

SmiField field_of(std::string_view name) {
  if (line::names_moment(name)) return SmiField::time;  // "ts": somebody wrote the table
  if (name == "index" || name == "idx" || name == "gpu") return SmiField::index;
  if (name == "uuid" || name == "gpu_uuid") return SmiField::uuid;
  if (name == "pci.bus_id" || name == "gpu_bus_id") return SmiField::pci;
  if (name == "host" || name == "hostname" || name == "node") return SmiField::host;
  return has_word(kDescriptions, name) ? SmiField::description : SmiField::number;
}

// "utilization.gpu [%]": the name; the unit to `unit`.
std::string_view smi_heading(std::string_view cell, std::string_view& unit) {
  unit = {};
  const std::size_t open = cell.rfind('[');
  if (open == std::string_view::npos || cell.back() != ']') return cell;
  unit = cell.substr(open + 1, cell.size() - open - 2);
  return line::trimmed(cell.substr(0, open));
}

bool is_smi_header(const std::vector<std::string_view>& cells) {
  bool family = false;
  for (const std::string_view cell : cells) {
    std::string_view unit;
    const std::string_view name = smi_heading(cell, unit);
    if (name.empty() || name.size() > 128 ||
        !((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z')))
      return false;
    if (name.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
        std::string_view::npos)
      return false;
    family =
        family || any_word(kFamilies, ' ', [&](std::string_view f) { return name.starts_with(f); });
  }
  return family;
}

// "$ nvidia-smi --query-gpu=index,power.draw --format=csv,noheader": the fields; "" if none.
std::string_view fields_of_command(std::string_view raw) {
  constexpr std::string_view kQuery = "--query-gpu=";
  const std::size_t found = raw.find(kQuery);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = raw.substr(found + kQuery.size());
  return rest.substr(0, rest.find_first_of(" \t\"'"));
}

// What stands above rows without a header: the fields, and the machine whose rows they are, if
// said.
struct FieldsAbove {
  std::string_view fields, host;
};
FieldsAbove fields_above(std::string_view raw) {
  FieldsAbove out{fields_of_command(raw), {}};
  if (!line::remark(raw)) return out;
  if (out.fields.empty()) {
    const std::string_view last = raw.substr(raw.find_last_of(" \t") + 1);
    std::vector<std::string_view> cells;
    if (!contains(last, ',') || !split_smi_cells(last, cells) || !is_smi_header(cells)) return out;
    out.fields = last;
  }
  const std::size_t begin = std::min(raw.find_first_not_of("#=- \t"), raw.size());
  const std::string_view first = raw.substr(begin, raw.find_first_of(" \t:,", begin) - begin);
  if (first.find_first_of("0123456789") != std::string_view::npos && line::may_name_machine(first))
    out.host = first;
  return out;
}

bool is_time(std::string_view cell) {
  return cell.size() == 23 && cell[4] == '/' && cell[7] == '/' && cell[10] == ' ' &&
         cell[13] == ':' && cell[16] == ':' && cell[19] == '.';
}

// A row without its header: two readings with the units that nvidia-smi prints, or its time and
// readings.
bool is_row(const std::vector<std::string_view>& cells) {
  bool time = false;
  std::size_t units = 0, readings = 0;
  for (const std::string_view cell : cells) {
    if (is_time(cell)) {
      time = true;
      continue;
    }
    double value = 0;
    const std::size_t used = read_number(cell, value);
    const std::string_view rest = line::trimmed(cell.substr(used));
    units += used > 0 && (rest == "%" || rest == "MiB" || rest == "W" || rest == "MHz");
    readings += (used > 0 && rest.size() <= 5) || cell.starts_with("[");
  }
  return units >= 2 || (time && readings > 0 && readings * 2 + 1 >= cells.size());
}

struct SmiWord {
  std::string_view text;
  double value;
};
constexpr SmiWord kSmiCsvWords[] = {{"Active", 1},   {"Not Active", 0}, {"Enabled", 1},
                                    {"Disabled", 0}, {"Yes", 1},        {"No", 0}};

// A reading that is no plain number: a word for yes or no, the state P0 to P15, the bit mask of
// clock event reasons.
bool word_value(std::string_view cell, double& value) {
  for (const SmiWord& word : kSmiCsvWords)
    if (word.text == cell) return value = word.value, true;
  if (cell.size() >= 2 && cell.size() <= 3 && cell[0] == 'P')
    return read_number(cell.substr(1), value) == cell.size() - 1;
  if (cell.starts_with("0x")) {
    std::uint64_t mask = 0;
    const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), mask, 16);
    if (error != std::errc() || end != cell.data() + cell.size()) return false;
    value = static_cast<double>(mask);
    return true;
  }
  return false;
}

class SmiCsv final : public RecordReader {
 public:
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, false);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, true);
  }

  void finish(Reading& reading) override {
    end_tick(reading);
    // Where rounds of rows follow, it was there again.
    constexpr std::size_t kOneRound = 16;
    if (lost_.length > 0 && rows_after_ <= kOneRound)
      reading.keep<Remarks>().hear(lost_line_, lost_, reading);
  }

 private:
  std::string lost_line_;  // the last that said so
  Place lost_;
  std::size_t rows_after_ = 0;
  struct Column {
    SmiField field = SmiField::number;
    std::string name, unit;
    bool numeric = false;  // it has given a number
  };
  struct Gpu {
    std::string host, id;
    std::int64_t tick = -1;
    std::vector<SeriesBook::Index> series;  // by column
    bool told_lanes = false;
  };
  struct Waiting {  // a row of a tick whose GPU follows from how many rows it has
    Place place;
    std::vector<double> values;
    std::vector<bool> given;
  };

  Outcome row(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    if (place.offset == 0 && raw.starts_with("\xEF\xBB\xBF")) raw.remove_prefix(3);
    const auto [fields, machine] = fields_above(raw);
    // "== gx-07 ==" above the rows of a machine.
    if (fields.empty() && !contains(raw, ',') && headings_.take(raw)) {
      end_tick(reading);
      machine_ = headings_.host();
      return {};
    }
    if (fields.empty() && line::remark(raw)) {
      if (contains(lower(raw), "boot")) reading.keep<Remarks>().hear(raw, place, reading);
      return {};
    }
    if (!fields.empty()) {
      raw = fields;
      machine_ = machine;
    }
    std::string_view speaker = take_host(raw);
    if (speaker.empty()) speaker = machine_;
    if (!split_smi_cells(raw, cells_)) return {false, nullptr, "smi_csv.columns"};
    if (is_smi_header(cells_)) {
      end_tick(reading);
      return header();
    }
    if (raw.starts_with("Unable to determine the device handle") ||
        raw.starts_with("No devices were found") || raw.starts_with("NVIDIA-SMI has failed") ||
        raw.starts_with("Failed to initialize NVML")) {
      lost_line_ = raw;
      lost_ = place;
      rows_after_ = 0;
      return {false, nullptr, "smi_csv.device_lost"};
    }
    if (columns_.empty()) return {false, nullptr, "smi_csv.no_header"};
    if (cells_.size() != columns_.size())
      return {false, nullptr, cut ? "smi_csv.cut" : "smi_csv.columns"};
    return cells(speaker, place, reading, cut);
  }

  // A row that has a cell for each column. host: whose it is, unless a column says so.
  Outcome cells(std::string_view host, const Place& place, Reading& reading, bool cut) {
    ++rows_after_;
    std::string_view index, uuid, pci;
    Timestamp time;
    std::string_view reject;
    values_.assign(cells_.size(), 0);
    given_.assign(cells_.size(), false);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::string_view cell = cells_[i];
      const bool last = cut && i + 1 == cells_.size();
      Column& column = columns_[i];
      switch (column.field) {
        case SmiField::time:
          if (last || !days_.read(cell, time))
            return {false, nullptr, last ? "smi_csv.cut" : "smi_csv.timestamp"};
          break;
        case SmiField::index: index = cell; break;
        case SmiField::uuid: uuid = cell; break;
        case SmiField::pci: pci = cell; break;
        case SmiField::host: host = cell; break;
        case SmiField::description: break;
        case SmiField::number:
          if (last) {
            reject = "smi_csv.cut";
            break;
          }
          if (std::string_view trouble = number(cell, column, i); !trouble.empty())
            reject = trouble;
      }
    }
    if (cut && reject.empty()) reject = "smi_csv.cut";  // the entity itself may be cut
    if (cut && reject == "smi_csv.cut" &&
        (columns_.back().field == SmiField::index || columns_.back().field == SmiField::uuid ||
         columns_.back().field == SmiField::pci))
      return {false, nullptr, reject};
    const std::string_view id = usable(index) ? index : usable(uuid) ? uuid : pci;
    if (timed_ && clock_ == Clock::none) clock_ = time.clock;
    if (id.empty() && timed_) {
      if (!waiting_.empty() && (time.ns != waiting_time_ || waiting_.size() >= kMostRowsATick))
        end_tick(reading);
      waiting_time_ = time.ns;
      waiting_host_ = host;
      waiting_.push_back({place, values_, given_});
      return {true, nullptr, reject};
    }
    Gpu* gpu = gpu_of(host, id);
    if (gpu == nullptr) return {false, nullptr, "series.too_many"};
    tell_lanes(*gpu, pci, place, reading);
    if (!timed_) {
      // The same GPU again: the next round of the loop.
      if (gpu->tick == tick_) ++tick_;
      gpu->tick = tick_;
    }
    const bool added = add(*gpu, values_, given_, timed_ ? kNoValue : tick_,
                           timed_ ? time.ns : kNoValue, place, reading);
    return {added, nullptr, reject};
  }

  // Lanes are a setting of the device, as other tools tell them: they come back at a start only.
  void tell_lanes(Gpu& gpu, std::string_view pci, const Place& place, Reading& reading) {
    if (gpu.told_lanes || lanes_ >= columns_.size() || !given_[lanes_] || values_[lanes_] < 1)
      return;
    const auto address = normal_pci(pci);
    if (!address) return;
    gpu.told_lanes = true;
    ConfigRow row{place, "gpu.pcie_width[" + *address + "]",
                  fmt::format("{:.0f}", values_[lanes_])};
    if (!gpu.host.empty()) row.host = Host(gpu.host);
    reading.sink.put(std::move(row));
  }

  static bool usable(std::string_view id) { return !id.empty() && id[0] != '['; }

  Outcome header() {
    columns_.clear();
    gpus_.clear();
    timed_ = false;
    for (const std::string_view cell : cells_) {
      std::string_view unit;
      Column column;
      const std::string_view name = smi_heading(cell, unit);
      column.field = field_of(name);
      column.name = name;
      column.unit = unit;
      timed_ = timed_ || column.field == SmiField::time;
      columns_.push_back(std::move(column));
    }
    lanes_ = static_cast<std::size_t>(
        std::ranges::find(columns_, std::string_view("pcie.link.width.current"), &Column::name) -
        columns_.begin());
    return {};
  }

  // "" or the code of a reject.
  std::string_view number(std::string_view cell, Column& column, std::size_t i) {
    double value = 0;
    std::size_t used = read_number(cell, value);
    if (used > 0 && used < cell.size() && cell[used] != ' ') used = 0;
    if (used > 0) {
      const std::string_view unit = line::trimmed(cell.substr(used));
      if (column.unit.empty() && !column.numeric)
        column.unit = unit.substr(0, 32);
      else if (!unit.empty() && unit != column.unit)
        return "smi_csv.unit";
    } else if (!word_value(cell, value)) {
      if (cell == "[Unknown Error]" || cell == "Unknown Error" || cell == "ERR!")
        return "smi_csv.unknown_error";
      if (cell == "[GPU requires reset]" || cell == "GPU requires reset" ||
          cell == "[Reset Required]")
        return "smi_csv.gpu_requires_reset";
      if (cell == "[GPU is lost]" || cell == "GPU is lost") return "smi_csv.gpu_is_lost";
      const bool missing = cell.empty() || cell == "-" || cell == "N/A" ||
                           (cell.front() == '[' && cell.back() == ']');
      return column.numeric && !missing ? "smi_csv.value" : std::string_view{};
    }
    column.numeric = true;
    values_[i] = value;
    given_[i] = true;
    return {};
  }

  Gpu* gpu_of(std::string_view host, std::string_view id) {
    // The rows of a loop name the GPUs in turn.
    for (std::size_t i = 0; i < std::min<std::size_t>(gpus_.size(), 4); ++i) {
      next_gpu_ = next_gpu_ + 1 < gpus_.size() ? next_gpu_ + 1 : 0;
      if (gpus_[next_gpu_].id == id && gpus_[next_gpu_].host == host) return &gpus_[next_gpu_];
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i].id == id && gpus_[i].host == host) return next_gpu_ = i, &gpus_[i];
    if (gpus_.size() >= kMostSmiGpus) return nullptr;
    gpus_.push_back({std::string(host), std::string(id), -1,
                     std::vector<SeriesBook::Index>(columns_.size(), SeriesBook::kFull)});
    next_gpu_ = gpus_.size() - 1;
    return &gpus_.back();
  }

  bool add(Gpu& gpu, const std::vector<double>& values, const std::vector<bool>& given,
           std::int64_t step, std::int64_t time, const Place& place, Reading& reading) {
    bool any = false;
    if (book_ == nullptr) book_ = &reading.keep<SeriesBook>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!given[i]) continue;
      if (gpu.series[i] == SeriesBook::kFull) {
        SeriesRow key{.name = columns_[i].name, .unit = columns_[i].unit};
        if (!gpu.host.empty()) key.host = Host(gpu.host);
        if (!gpu.id.empty()) key.gpu = gpu.id;
        key.clock = timed_ ? clock_ : Clock::none;
        gpu.series[i] = book_->series(key);
        if (gpu.series[i] == SeriesBook::kFull) continue;
      }
      book_->add(gpu.series[i], step, time, values[i], place, reading);
      any = true;
    }
    return any;
  }

  // Rows that name no GPU: those of one time are GPU 0, 1 ... as long as there are always as many.
  // With one row at a time the file tells of one GPU, and not which. With fewer rows than before
  // one is missing, and nobody can say which.
  void end_tick(Reading& reading) {
    if (waiting_.empty()) return;
    if (rows_ == 0) rows_ = waiting_.size();
    if (waiting_.size() != rows_) {
      reading.sink.put(
          RejectRow{waiting_.front().place,
                    waiting_.size() < rows_ ? "smi_csv.rows_missing" : "smi_csv.rows_added", ""});
    } else {
      for (std::size_t i = 0; i < waiting_.size(); ++i)
        if (Gpu* gpu = gpu_of(waiting_host_, rows_ > 1 ? std::to_string(i) : std::string());
            gpu != nullptr)
          add(*gpu, waiting_[i].values, waiting_[i].given, kNoValue, waiting_time_,
              waiting_[i].place, reading);
    }
    waiting_.clear();
  }

  std::vector<Column> columns_;
  std::size_t lanes_ = 0;  // the column of the PCIe width; past the last: none
  std::vector<Gpu> gpus_;
  std::vector<std::string_view> cells_;
  std::vector<double> values_;
  std::vector<bool> given_;
  std::vector<Waiting> waiting_;
  Nanoseconds waiting_time_ = 0;
  std::string waiting_host_;
  BlockHeadings headings_;
  std::string machine_;   // of the rows, as the line above them says
  std::size_t rows_ = 0;  // of a tick
  std::size_t next_gpu_ = 0;
  std::int64_t tick_ = 0;
  bool timed_ = false;
  Clock clock_ = Clock::none;
  DayCache days_;
  SeriesBook* book_ = nullptr;
};

bool sniff_smi_csv(const Head& head) {
  std::string_view rest = head.bytes;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<std::string_view> cells;
  int rows = 0;
  for (int lines = 0; !rest.empty() && lines < 8;) {
    const std::size_t end = rest.find('\n');
    std::string_view raw = line::trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const std::string_view fields = fields_above(raw).fields;
    if (fields.empty() && line::remark(raw)) continue;
    ++lines;
    if (!fields.empty()) raw = fields;
    take_host(raw);
    if (raw.size() > 8192 || !split_smi_cells(raw, cells)) return false;
    if (cells.size() > 1 && is_smi_header(cells)) return true;
    // One column alone is a word; what stands below it must be readings.
    if (cells.size() == 1 && is_smi_header(cells) && contains(raw, " [")) return true;
    if (!is_row(cells)) return false;
    ++rows;
  }
  return rows >= 1;
}

std::unique_ptr<RecordReader> make_smi_csv(const Head&) { return std::make_unique<SmiCsv>(); }

}  // namespace

extern constinit const RecordText kSmiCsv{"nvidia-smi-csv", "nvidia-smi --query-gpu --format=csv",
                                          sniff_smi_csv, make_smi_csv, true};

}  // namespace culprit::ingest
