// One training step of a pipeline, simulated: costs of a step in a table, and the
// one-forward-one-backward schedule over them. An inner part of analyze/what_if.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "model/rank.hpp"

namespace culprit::analyze {

inline constexpr std::size_t kForward = 0, kBackward = 1, kSend = 2, kData = 3, kSync = 4,
                             kCosts = 5;

struct PipelineShape {
  std::size_t stages = 0, replicas = 0, micros = 0;
  std::size_t worker(std::size_t stage, std::size_t replica) const {
    return stage * replicas + replica;
  }
};

struct Worker {
  Rank rank = kNoRank;
  std::size_t stage = 0, replica = 0;
};

// NaN: not measured. Forward, backward and send have one cell a micro-batch.
class StepCosts {
 public:
  explicit StepCosts(const PipelineShape& shape)
      : micros_(shape.micros),
        workers_(shape.stages * shape.replicas),
        cells_((3 * micros_ + 2) * workers_, std::numeric_limits<double>::quiet_NaN()) {}
  std::size_t width(std::size_t kind) const { return kind < kData ? micros_ : 1; }
  double& at(std::size_t kind, std::size_t worker, std::size_t micro) {
    return cells_[index(kind, worker, micro)];
  }
  double at(std::size_t kind, std::size_t worker, std::size_t micro) const {
    return cells_[index(kind, worker, micro)];
  }

 private:
  std::size_t index(std::size_t kind, std::size_t worker, std::size_t micro) const {
    return kind < kData ? (kind * micros_ + micro) * workers_ + worker
                        : (3 * micros_ + (kind - kData)) * workers_ + worker;
  }
  std::size_t micros_, workers_;
  std::vector<double> cells_;
};

// When each stage has finished its last backward. cost(kind, stage, micro); every stage loads data
// before its first forward. A send delays the neighbour, not the sender.
template <class Cost>
std::vector<double> run_pipeline(std::size_t stages, std::size_t micros, Cost cost) {
  // The order of a stage: warm-up forwards, then forward and backward by turns, then the rest of
  // the backwards.
  struct PipelineStage {
    std::size_t forwards = 0, backwards = 0;
    double free = 0;
  };
  std::vector<PipelineStage> at(stages);
  std::vector<double> forward(stages * micros, -1), backward(stages * micros, -1);
  for (std::size_t s = 0; s < stages; ++s) at[s].free = cost(kData, s, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages; ++s)
      for (;;) {
        PipelineStage& st = at[s];
        const std::size_t warm = std::min(micros, stages - 1 - s);
        const bool ahead =
            st.forwards < micros && (st.forwards < warm || st.forwards == st.backwards + warm);
        if (ahead) {
          const std::size_t m = st.forwards;
          const double ready = s == 0 ? 0 : forward[(s - 1) * micros + m];
          if (ready < 0) break;
          st.free =
              std::max(st.free, ready + (s == 0 ? 0 : cost(kSend, s, m))) + cost(kForward, s, m);
          forward[s * micros + m] = st.free;
          ++st.forwards;
        } else if (st.backwards < micros) {
          const std::size_t m = st.backwards;
          const bool last = s + 1 == stages;
          const double ready = last ? forward[s * micros + m] : backward[(s + 1) * micros + m];
          if (ready < 0) break;
          st.free =
              std::max(st.free, ready + (last ? 0 : cost(kSend, s, m))) + cost(kBackward, s, m);
          backward[s * micros + m] = st.free;
          ++st.backwards;
        } else {
          break;
        }
        moved = true;
      }
  }
  std::vector<double> out;
  for (const PipelineStage& st : at) out.push_back(st.free);
  return out;
}

}  // namespace culprit::analyze
