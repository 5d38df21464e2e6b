#include "ingest/training/step_rows.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostSlots = 200'000;  // names in one member
constexpr std::size_t kMostOwners = 1'000'000;

}  // namespace

void DeviceWords::name(StepOwner& owner) {
  if (!device.empty() && of_gpu(device)) {
    if (!owner.gpu) owner.gpu = device;
  } else if (nic.empty()) {
    nic = device;
  }
  if (!nic.empty())
    owner.nic = port.empty() || contains(nic, '/') ? nic : nic + "/" + port;
  else if (!port.empty())
    owner.labels = "port=" + port;
}

std::uint32_t StepRows::slot(std::string_view name, std::string_view unit,
                             std::string_view labels) {
  std::string key(name);
  if (!unit.empty() || !labels.empty())
    key.append(1, '\0').append(unit).append(1, '\0').append(labels);
  if (const auto found = slot_of_.find(key); found != slot_of_.end()) return found->second;
  if (slots_.size() >= kMostSlots) return kNoSlot;
  Slot slot;
  slot.key.name = name;
  slot.key.unit = unit;
  slot.key.labels = labels;
  slot.figure = figure_of(name);
  if (slot.figure.figure == Figure::iteration_time && slot.figure.to_ms == 0)
    slot.figure.to_ms = unit == "s" ? 1e3 : unit == "ms" ? 1 : 0;
  slot.part = rules::part_name(name).part != rules::StepPart::none;
  slots_.push_back(std::move(slot));
  const auto id = static_cast<std::uint32_t>(slots_.size() - 1);
  slot_of_.emplace(std::move(key), id);
  return id;
}

std::uint32_t StepRows::owner_of(const StepRow& row) {
  if (last_owner_id_ != 0xffffffff && last_clock_ == row.time.clock && last_owner_ == row.owner)
    return last_owner_id_;
  auto found = owners_.find({row.owner, row.time.clock});
  if (found == owners_.end()) {
    if (owners_.size() >= kMostOwners) return 0xffffffff;
    found = owners_
                .emplace(std::make_pair(row.owner, row.time.clock),
                         static_cast<std::uint32_t>(owners_.size()))
                .first;
  }
  last_owner_ = row.owner;
  last_clock_ = row.time.clock;
  return last_owner_id_ = found->second;
}

bool StepRows::put(StepRow& row, const Place& place, Reading& reading) {
  const std::uint32_t owner = owner_of(row);
  if (owner == 0xffffffff) return false;
  numbered_ = numbered_ || row.step != kNoValue;
  if (!numbered_ && tells_of_step(row)) row.step = counted_[owner]++;
  SeriesBook& book = reading.keep<SeriesBook>();
  const std::int64_t time = row.time.clock == Clock::none ? kNoValue : row.time.ns;
  for (const StepRow::Cell& cell : row.cells) {
    Slot& slot = slots_[cell.slot];
    if (slot.owner != owner) {
      const std::uint64_t both = static_cast<std::uint64_t>(owner) << 32 | cell.slot;
      auto found = indices_.find(both);
      if (found == indices_.end()) {
        SeriesRow key = slot.key;
        key.rank = row.owner.rank;
        key.local_rank = row.owner.local_rank;
        key.host = row.owner.host;
        key.gpu = row.owner.gpu;
        key.nic = row.owner.nic;
        if (!row.owner.labels.empty())
          key.labels = key.labels.empty() ? row.owner.labels : key.labels + "," + row.owner.labels;
        key.clock = row.time.clock;
        const SeriesBook::Index index = book.series(key);
        if (index == SeriesBook::kFull) return false;
        found = indices_.emplace(both, index).first;
      }
      slot.owner = owner;
      slot.index = found->second;
    }
    book.add(slot.index, row.step, time, cell.value, place, reading);
  }
  if (row.step != kNoValue && !framework_.empty()) progress(row, place, reading);
  return true;
}

// A step each, and nobody numbers them: a moment, a loss, and how long parts of the step took.
bool StepRows::tells_of_step(const StepRow& row) const {
  const auto any = [&](auto accept) {
    return std::ranges::any_of(
        row.cells, [&](const StepRow::Cell& cell) { return accept(slots_[cell.slot]); });
  };
  return row.time.clock != Clock::none &&
         any([](const Slot& slot) { return slot.figure.figure == Figure::loss; }) &&
         any([](const Slot& slot) { return slot.part; });
}

void StepRows::progress(const StepRow& row, const Place& place, Reading& reading) {
  const StepRow::Cell* best[4] = {};
  int grade[4] = {};
  for (const StepRow::Cell& cell : row.cells) {
    const FigureMeaning& figure = slots_[cell.slot].figure;
    const auto kind = static_cast<std::size_t>(figure.figure);
    if (figure.figure == Figure::none || figure.grade <= grade[kind]) continue;
    grade[kind] = figure.grade;
    best[kind] = &cell;
  }
  const auto* loss = best[static_cast<std::size_t>(Figure::loss)];
  const auto* norm = best[static_cast<std::size_t>(Figure::grad_norm)];
  const auto* took = best[static_cast<std::size_t>(Figure::iteration_time)];
  ProgressRow out;
  if (took != nullptr) {
    double to_ms = slots_[took->slot].figure.to_ms;
    if (to_ms == 0) to_ms = unit_.to_ms(row.step, row.time, took->value);
    if (to_ms != 0 && std::isfinite(took->value) && took->value >= 0)
      out.iteration_ms = took->value * to_ms;
  }
  unit_.pass(row.step, row.time);
  if (loss == nullptr && took == nullptr) return;
  out.place = place;
  out.time = row.time;
  out.framework = framework_;
  out.iteration = row.step;
  const auto figure = [](const StepRow::Cell* cell, std::optional<double>& value, bool& odd) {
    if (cell == nullptr) return;
    odd = !std::isfinite(cell->value);
    if (!odd) value = cell->value;
  };
  figure(loss, out.loss, out.loss_nan);
  figure(norm, out.grad_norm, out.grad_norm_nan);
  // No rule hears the rows of a file of numbers.
  if (out.loss_nan && !nan_told_ && reading.text_kind == "data") {
    nan_told_ = true;
    line::Line said;
    said.prefix.time = row.time;
    said.prefix.rank = row.owner.rank;
    said.message = fmt::format("iteration {}: loss: nan", row.step);
    put_said(place, said, reading.text_kind, reading);
  }
  reading.sink.put(out);
}

}  // namespace culprit::ingest
