#include "analyze/pace/checkpoints.hpp"

#include <algorithm>

#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

bool is_load(CheckpointEvent event) {
  return event == CheckpointEvent::loading || event == CheckpointEvent::loaded;
}

bool complete(CheckpointEvent event) {
  return event == CheckpointEvent::saved || event == CheckpointEvent::loaded;
}

}  // namespace

std::set<std::size_t> rows_of_saves(std::span<const JobCheckpoint> checkpoints) {
  std::set<std::size_t> out;
  for (const JobCheckpoint& c : checkpoints)
    if (c.event == CheckpointEvent::saved || c.event == CheckpointEvent::saving) out.insert(c.row);
  return out;
}

JobCheckpoints::JobCheckpoints(const Facts& facts, const JobSteps& steps)
    : facts_(facts), steps_(steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Range& range = members_.try_emplace(steps.place[i].member, Range{i, i}).first->second;
    range.end = i + 1;
    if (steps.time[i] != kNoValue) times_.emplace_back(steps.time[i], i);
    if (steps.iteration[i] != kNoValue) iterations_.emplace_back(steps.iteration[i], i);
  }
  sort_rows(times_);
  sort_rows(iterations_);
}

// How many steps were done before the line: in the same file by its lines, in others by time, and
// where there is none by the number. Nothing when the line cannot be placed.
std::optional<std::size_t> JobCheckpoints::steps_before(const CheckpointRow& row) const {
  if (const auto at = members_.find(row.place.member); at != members_.end()) {
    const auto begin = steps_.place.begin() + static_cast<std::ptrdiff_t>(at->second.begin),
               end = steps_.place.begin() + static_cast<std::ptrdiff_t>(at->second.end);
    return static_cast<std::size_t>(
        std::upper_bound(begin, end, row.place.line,
                         [](std::uint64_t line, const Place& step) { return line < step.line; }) -
        steps_.place.begin());
  }
  const auto until = [](const auto& sorted, std::int64_t key) {
    const auto at =
        std::ranges::upper_bound(sorted, key, {}, [](const auto& entry) { return entry.first; });
    return at == sorted.begin() ? std::size_t{0} : std::prev(at)->second + 1;
  };
  const auto offset = row.time.clock == Clock::none
                          ? std::nullopt
                          : facts_.clock_offset(row.place.member, row.time.clock);
  if (offset && !times_.empty()) return until(times_, row.time.ns + *offset);
  if (!is_load(row.event) && row.iteration && !iterations_.empty())
    return until(iterations_, *row.iteration);
  return std::nullopt;
}

void JobCheckpoints::take(const CheckpointRow& row) {
  if (steps_.size() == 0 || !facts_.counts(facts_.member(row.place.member))) return;
  const bool load = is_load(row.event);
  const auto before = steps_before(row);
  // What was written before the first step, or read after the last, is of a part that the log of
  // steps does not show.
  if (!before || *before == (load ? steps_.size() : 0)) return;
  auto& iteration =
      kept_.try_emplace({load ? *before : *before - 1, load, complete(row.event)}).first->second;
  iteration = std::max(iteration, row.iteration);
}

std::vector<JobCheckpoint> JobCheckpoints::found() const {
  std::vector<JobCheckpoint> out;
  for (const auto& [key, iteration] : kept_) {
    const auto [row, load, complete_one] = key;
    const auto event = load ? complete_one ? CheckpointEvent::loaded : CheckpointEvent::loading
                       : complete_one ? CheckpointEvent::saved
                                      : CheckpointEvent::saving;
    // The begin and the end of one, and the same of another rank: with a step or two between them
    // when it is written beside the training.
    const bool same = !out.empty() && is_load(out.back().event) == load &&
                      steps_.attempt[out.back().row] == steps_.attempt[row] &&
                      (out.back().row == row ||
                       (iteration && out.back().iteration ? iteration == out.back().iteration
                                                          : row - out.back().row <= 1));
    if (!same) {
      out.push_back({event, iteration, row});
      continue;
    }
    if (complete_one) out.back().event = event;
    out.back().iteration = std::max(out.back().iteration, iteration);
  }
  return out;
}

}  // namespace culprit::analyze
