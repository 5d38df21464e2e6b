// Where readers of step metrics (one record: several named numbers at one step or time) write.
// Samples go into the member's SeriesBook; a record with a step and a loss or an iteration time is
// a row of progress too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/training/step_names.hpp"
#include "ingest/training/step_time_unit.hpp"

namespace culprit::ingest {

// Whose numbers a record has, as far as it says so itself.
struct StepOwner {
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<Host> host;
  std::optional<std::string> gpu, nic;
  std::string labels;
  auto operator<=>(const StepOwner&) const = default;
};

// What a record says of a device, gathered from its columns.
struct DeviceWords {
  std::string nic, port, device;
  void clear() { nic.clear(), port.clear(), device.clear(); }
  // Once the record is whole: "mlx5_0" and "1" are mlx5_0/1; a name that is neither a GPU's nor
  // beside one is a card's.
  void name(StepOwner& owner);
};

struct StepRow {
  struct Cell {
    std::uint32_t slot;
    double value;
  };
  std::int64_t step = kNoValue;
  Timestamp time;  // Clock::none: not given
  StepOwner owner;
  std::vector<Cell> cells;
};

class StepRows {
 public:
  static constexpr std::uint32_t kNoSlot =
      0xffffffff;  // too many names: the record is to be rejected with 'series.too_many'

  // framework: of the progress rows; "" = the records are no progress.
  explicit StepRows(std::string_view framework) : framework_(framework) {}

  // A name of numbers, to be asked for once a column.
  std::uint32_t slot(std::string_view name, std::string_view unit = {},
                     std::string_view labels = {});
  const std::string& name(std::uint32_t slot) const { return slots_[slot].key.name; }
  // A step that nobody numbers gets its number. False: too many series; some samples of the row may
  // have been kept.
  bool put(StepRow& row, const Place& place, Reading& reading);

 private:
  struct Slot {
    SeriesRow key;
    FigureMeaning figure;
    bool part = false;                 // it tells how long a part of a step took
    std::uint32_t owner = 0xffffffff;  // the series found last is of this owner
    SeriesBook::Index index = SeriesBook::kFull;
  };
  std::uint32_t owner_of(const StepRow& row);
  void progress(const StepRow& row, const Place& place, Reading& reading);
  bool tells_of_step(const StepRow& row) const;

  std::string framework_;
  bool nan_told_ = false;  // of a file of numbers, once
  bool numbered_ = false;  // a record had the number of its step: nothing is counted
  std::unordered_map<std::uint32_t, std::int64_t> counted_;  // by owner
  std::vector<Slot> slots_;
  std::unordered_map<std::string, std::uint32_t> slot_of_;  // by name, unit and labels
  std::map<std::pair<StepOwner, Clock>, std::uint32_t> owners_;
  StepOwner last_owner_;
  Clock last_clock_ = Clock::none;
  std::uint32_t last_owner_id_ = 0xffffffff;
  std::unordered_map<std::uint64_t, SeriesBook::Index> indices_;  // by owner and slot
  StepTimeUnit unit_;  // of an iteration time whose name does not tell it
};

}  // namespace culprit::ingest
