// Checkpoints among the steps of the job: where each was written, and from which one an attempt
// went on. Every rank may print each of them, and a line often says less than a step's does.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/pace/job_steps.hpp"

namespace culprit::analyze {

struct JobCheckpoint {
  // saving, loading: no line says that it came to its end.
  CheckpointEvent event = CheckpointEvent::saved;
  std::optional<std::int64_t> iteration;  // whose state it is
  std::size_t row = 0;  // of JobSteps: the last step before it; the first step after a load
};

// Rows behind which one was written.
std::set<std::size_t> rows_of_saves(std::span<const JobCheckpoint> checkpoints);

// Takes the rows one by one, as a database gives them; keeps no more than there are steps.
class JobCheckpoints {
 public:
  JobCheckpoints(const Facts& facts, const JobSteps& steps);
  void take(const CheckpointRow& row);
  // In the order of the steps.
  std::vector<JobCheckpoint> found() const;

 private:
  struct Range {
    std::size_t begin = 0, end = 0;  // rows of one member
  };
  std::optional<std::size_t> steps_before(const CheckpointRow& row) const;

  const Facts& facts_;
  const JobSteps& steps_;
  std::map<MemberId, Range> members_;
  std::vector<std::pair<Nanoseconds, std::size_t>> times_;        // sorted
  std::vector<std::pair<std::int64_t, std::size_t>> iterations_;  // sorted
  // Row, whether it is a load, whether it is complete; the iteration as the line prints it.
  std::map<std::tuple<std::size_t, bool, bool>, std::optional<std::int64_t>> kept_;
};

}  // namespace culprit::analyze
