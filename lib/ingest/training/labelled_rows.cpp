// Tables in which every value stands behind its own name, read row by row.
#include "ingest/training/labelled_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/port_errors.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/training/step_names.hpp"
#include "line/digit.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kRowsKind = "rows";
constexpr std::size_t kMostRowBytes = 2048, kMostCells = 64;
constexpr double kWord = std::numeric_limits<double>::quiet_NaN();

bool column_letter(char c) { return line::alpha(c) || c == '_'; }

// What a value can be called: "symbol_error", "clocks.sm", "temp(C)".
bool names_value(std::string_view word) {
  return !word.empty() && column_letter(word.front()) && word.size() <= 64 &&
         std::ranges::all_of(word, [](char c) {
           return column_letter(c) || line::digit(c) || contains(std::string_view("-./()"), c);
         });
}

// "node-07", "n0519": what is counted has a number.
bool counted_name(std::string_view word) {
  return word.size() >= 2 && word.size() <= 253 && column_letter(word.front()) &&
         word.find_first_of("0123456789") != word.npos && std::ranges::all_of(word, [](char c) {
           return column_letter(c) || line::digit(c) || c == '-' || c == '.';
         });
}

bool of_card(std::string_view word) {
  for (const std::string_view stem : {"mlx", "ib", "bnxt", "roce", "rdma", "eth", "ens", "enp",
                                      "eno", "bond", "irdma", "efa", "hsn"})
    if (word.starts_with(stem) && word.find_first_of("0123456789") != word.npos) return true;
  return false;
}

std::string_view without(std::string_view word, std::string_view ends) {
  while (!word.empty() && contains(ends, word.back())) word.remove_suffix(1);
  return word;
}

// What stands beside a number and names its unit.
bool is_unit_word(std::string_view word) {
  return word == "Gb/sec" || word == "Gb/s" || word == "Gbps" ||
         (rules::unit_factor(word, word) && !word.empty() && word != "1");
}

class RowWords {
 public:
  explicit RowWords(std::string_view line) : rest_(line) { next(); }
  std::string_view word() const { return word_; }
  bool done() const { return word_.empty(); }
  void next() {
    const std::size_t from = rest_.find_first_not_of(kBetween);
    if (from == rest_.npos) return word_ = {}, rest_ = {}, void();
    const std::size_t end = std::min(rest_.find_first_of(kBetween, from), rest_.size());
    word_ = rest_.substr(from, end - from);
    rest_.remove_prefix(end);
  }
  // The word and the one behind it, as one.
  std::string_view with_next() const {
    const std::size_t from = rest_.find_first_not_of(' ');
    if (from != 1) return {};
    const std::size_t end = std::min(rest_.find_first_of(kBetween, from), rest_.size());
    return {word_.data(), word_.size() + end};
  }

 private:
  // Labels stand in braces: {Hostname="gx-07",gpu="5"}.
  static constexpr std::string_view kBetween = " \t\r,;|{}\"";
  std::string_view rest_, word_;
};

void read_time(RowWords& words, LabelledRow& row) {
  if (const std::string_view both = words.with_next(); moment(both, row.time)) {
    words.next();
    words.next();
  } else if (moment(words.word(), row.time)) {
    words.next();
  }
}

// The machine, its device, or both. What is followed by a number is the name of a value.
void read_owner(RowWords& words, LabelledRow& row) {
  const std::string_view first = without(words.word(), ":");
  if (counted_name(first) && !of_gpu(first) && !of_card(first)) {
    row.host = first;
    words.next();
  }
  const std::string_view device = without(words.word(), ":");
  if (of_gpu(device) && device.find_first_of("0123456789") != device.npos)
    row.gpu = device;
  else if (of_card(device))
    row.nic = device;
  else
    return;
  words.next();
}

// "[name] [number][unit] [unit] [(remark)]", "name=number".
bool read_value(RowWords& words, LabelledRow& row) {
  LabelledRow::Cell cell;
  const std::string_view word = words.word();
  if (const std::size_t cut = word.find('='); cut != word.npos && cut + 1 < word.size()) {
    cell.name = word.substr(0, cut);
    cell.text = word.substr(cut + 1);
  } else {
    cell.name = without(word, ":=");
    words.next();
    if (cell.name == word && words.word().ends_with(':')) return true;  // a word by itself
    cell.text = words.word();
  }
  if (!names_value(cell.name) || cell.text.empty()) return false;
  words.next();
  if (!metric_number(cell.text, cell.value, cell.unit) || !std::isfinite(cell.value)) {
    cell.value = kWord;
    cell.unit = {};
  } else if (cell.unit.empty() && is_unit_word(words.word())) {
    cell.unit = words.word();
    words.next();
  }
  if (words.word().starts_with('(')) {
    while (!words.done() && !words.word().ends_with(')')) words.next();
    words.next();
  }
  switch (meaning_of(cell.name).role) {
    case KeyRole::host: row.host = cell.text; return true;
    case KeyRole::gpu: row.gpu = cell.text; return true;
    case KeyRole::nic: row.nic = cell.text; return true;
    case KeyRole::port: row.port = cell.text; return true;
    case KeyRole::device: (of_gpu(cell.text) ? row.gpu : row.nic) = cell.text; return true;
    default: break;
  }
  row.cells.push_back(cell);
  return row.cells.size() <= kMostCells;
}

// The catalogue's name of a value, of whichever device the row names.
std::string known_name(const LabelledRow& row, std::string_view name) {
  const rules::Catalogue& catalogue = rules::Catalogue::built_in();
  for (const std::string_view device : {row.gpu.empty() ? "" : "gpu", row.nic.empty() ? "" : "nic"})
    if (auto out = rules::name_on_device(catalogue, device, std::string(name))) return *out;
  return {};
}

// Parts of steps are told by ranks; what a card waits for is a counter.
bool of_training(const LabelledRow& row) {
  return std::ranges::any_of(row.cells, [&](const LabelledRow::Cell& cell) {
    return meaning_of(cell.name).role == KeyRole::step ||
           figure_of(cell.name).figure != Figure::none ||
           contains(rules::loss_names(), cell.name) ||
           contains(rules::counter_names(), cell.name) ||
           (row.nic.empty() && rules::part_name(cell.name).of_step());
  });
}

// What holds a GPU down, in words: "none", "hw_thermal", "HW Power Brake".
struct ReasonWord {
  std::string_view word, metric;
};
constexpr ReasonWord kReasonWords[] = {{"sw_thermal", "sw_thermal_slowdown"},
                                       {"hw_thermal", "hw_thermal_slowdown"},
                                       {"power_brake", "hw_power_brake_slowdown"},
                                       {"hw_slowdown", "hw_slowdown"}};

bool meant_for_throttling(std::string_view name) {
  return name.starts_with("throttle") || name.starts_with("clocks_event");
}

void put_value(const LabelledRow& row, const std::string& name, std::string_view unit, double value,
               const Place& place, Reading& reading) {
  SeriesRow key{.name = name};
  if (is_unit_word(unit)) key.unit = unit.starts_with("Gb") ? std::string_view("Gbit/s") : unit;
  if (!row.host.empty()) key.host = Host(row.host);
  if (!row.gpu.empty()) key.gpu = std::string(row.gpu);
  if (!row.nic.empty())
    key.nic =
        row.port.empty() ? std::string(row.nic) : std::string(row.nic).append("/").append(row.port);
  key.clock = row.time.clock;
  SeriesBook& book = reading.keep<SeriesBook>();
  if (const SeriesBook::Index index = book.series(key); index != SeriesBook::kFull)
    book.add(index, kNoValue, row.time.clock == Clock::none ? kNoValue : row.time.ns, value, place,
             reading);
}

void put_reasons(const LabelledRow& row, std::string_view text, const Place& place,
                 Reading& reading) {
  std::string words = lower(text);
  std::ranges::replace(words, '-', '_');
  for (const ReasonWord& reason : kReasonWords)
    put_value(row, std::string(reason.metric), {}, contains(words, reason.word) ? 1 : 0, place,
              reading);
}

Outcome read_row(const TextLine& line, Reading& reading) {
  LabelledRow row;
  if (line::remark(line.raw) || !parse_labelled_row(line.raw, row) || of_training(row)) return {};
  std::vector<std::string> names;  // of the cells with a number; "": not known, or a word
  for (const LabelledRow::Cell& cell : row.cells)
    names.push_back(std::isnan(cell.value) ? std::string() : known_name(row, cell.name));
  if (std::ranges::all_of(names, &std::string::empty)) return {};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const LabelledRow::Cell& cell = row.cells[i];
    if (std::isnan(cell.value) && !row.gpu.empty() && meant_for_throttling(cell.name))
      put_reasons(row, cell.text, line.place, reading);
    if (names[i].empty()) continue;
    put_value(row, names[i], cell.unit, cell.value, line.place, reading);
    if (!row.host.empty() && !row.nic.empty())
      reading.keep<PortErrors>().add(std::string(row.host), std::string(row.nic), names[i],
                                     cell.value, line.place);
  }
  return {true};
}

}  // namespace

std::string LabelledRow::signature() const {
  std::string out;
  for (const Cell& cell : cells) out.append(cell.name).append(1, ' ');
  return out;
}

bool parse_labelled_row(std::string_view line, LabelledRow& row) {
  row = {};
  line = line::trimmed(line);
  if (line.size() > kMostRowBytes || line.starts_with('{')) return false;
  RowWords words(line);
  read_time(words, row);
  read_owner(words, row);
  while (!words.done())
    if (!read_value(words, row)) return false;
  const bool device = !row.gpu.empty() || !row.nic.empty();
  return row.cells.size() >= (device && !row.host.empty() ? 1 : 2) &&
         (device || !row.host.empty()) &&
         std::ranges::any_of(row.cells, [](const auto& cell) { return !std::isnan(cell.value); });
}

bool labelled_rows(const Head& head) {
  constexpr std::size_t kLookedAt = 64, kFewestRows = 4;
  std::map<std::string, std::size_t> signatures;
  std::size_t lines = 0, known = 0;
  LabelledRow row;
  for (std::string_view rest = head.bytes; !rest.empty() && lines < kLookedAt;) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos && !head.whole) break;
    const std::string_view text = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    if (line::remark(text)) continue;
    ++lines;
    if (!parse_labelled_row(text, row)) {
      if (lines >= kFewestRows && signatures.empty()) return false;
      continue;
    }
    if (of_training(row)) return false;
    if (++signatures[row.signature()] == 1)
      known += static_cast<std::size_t>(std::ranges::count_if(row.cells, [&](const auto& cell) {
        return !std::isnan(cell.value) && !known_name(row, cell.name).empty();
      }));
  }
  const auto most =
      std::ranges::max_element(signatures, {}, [](const auto& one) { return one.second; });
  return most != signatures.end() && known > 0 && most->second >= kFewestRows &&
         most->second * 5 >= lines * 4;
}

extern constinit const Recogniser kLabelledRows{
    .name = "labelled-rows",
    .summary = "rows of values behind their names, of machines or devices",
    .words = {},
    .read = read_row,
    .whole_kind = kRowsKind};

}  // namespace culprit::ingest
