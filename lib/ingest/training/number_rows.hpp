// Rows of cells below names, whatever separates them (a CSV, words in a report, objects of JSON):
// whose they are, of which step or time, and their numbers as samples of series.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "ingest/training/step_names.hpp"
#include "ingest/training/step_rows.hpp"

namespace culprit::ingest {

struct NumberColumn {
  enum class Kind : unsigned char { value, text, skipped };
  KeyMeaning meaning;
  Kind kind = Kind::value;
  std::string name, labels;
  std::optional<Rank> rank;                // "rank_7": a column of each rank
  std::string gpu;                         // "gpu3": of each device
  bool with_gpu = false;                   // a machine and its device in one cell
  std::optional<Nanoseconds> offset;       // "time(PST)"
  std::uint32_t slot = StepRows::kNoSlot;  // for cells with this unit
  std::string unit;
};

struct NumberColumns {
  std::vector<NumberColumn> columns;
  std::size_t metric = kNone, amount = kNone, operation = kNone, bytes = kNone, group = kNone;
  bool step = false, time = false, owner = false, several_runs = false;
  bool owner_each = false;     // each column of numbers is one rank's or device's
  bool named_by_file = false;  // the file says what its columns measure
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is_long() const { return metric != kNone && amount != kNone; }
  bool calls() const { return operation != kNone && bytes != kNone && time; }
};

// base: name of the file, which says what is measured where the columns do not. for_people: names
// are words with blanks between them.
NumberColumns number_columns(std::span<const std::string_view> names, std::string_view base,
                             bool for_people);

// "%", "MiB"; what follows the first number of a date or a version is none.
bool is_cell_unit(std::string_view text);

class NumberRows {
 public:
  // framework: of the rows of progress that they are, too; "": of none
  explicit NumberRows(std::string_view base, std::string_view framework)
      : base_(base), rows_(framework) {}

  bool begun() const { return !columns_.columns.empty(); }
  void header(std::span<const std::string_view> names, bool for_people, const Place& place,
              Reading& reading);
  // Rejects rows with more or fewer cells. cut: the last one may be half of a number.
  Outcome row(std::span<const std::string_view> cells, bool cut, const Place& place,
              Reading& reading);

 private:
  void clear();
  bool read(std::span<const std::string_view> cells, bool cut);
  void take(std::size_t i, std::string_view cell);
  void take_number(std::size_t i, std::string_view cell);
  void tell_apart(const std::string& column, std::string_view cell);
  void rename(const std::string& name, std::size_t main, bool all);
  bool put(const Place& place, Reading& reading);
  bool put_each(const Place& place, Reading& reading);
  void keep_rates(const Place& place, Reading& reading);

  std::string base_, group_, run_;
  NumberColumns columns_;
  StepRows rows_;
  StepRow row_;
  DeviceWords devices_;
  std::vector<std::string> text_;
  std::vector<std::size_t> at_;  // the columns of the row's cells
  std::string_view problem_;
  int step_grade_ = 0, time_grade_ = 0, rank_grade_ = 0, host_grade_ = 0, gpu_grade_ = 0;
};

}  // namespace culprit::ingest
