// What the pictures of a report are drawn from: small, whatever the size of the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/rank.hpp"
#include "model/rows.hpp"
#include "model/text.hpp"
#include "model/time.hpp"

namespace culprit {

// What became of a rank, the worst first; a rank has the first that holds for it.
enum class RankState {
  failed,   // the verdict rests on a failure of this rank or its GPU
  stopped,  // stands where the others do not: all wait for it
  silent,   // never reported what the others report
  slow,     // works while the others wait
  error,    // another error of its own
  waiting,  // a consequence: lost its peer, timed out
  ended,    // was stopped with the rest
  quiet,    // there is output, and nothing was found in it
  unseen,   // nothing of it was collected
};
std::string_view name(RankState state);
inline constexpr std::size_t kRankStates = 9;

struct RankMap {
  std::int64_t total = 0;               // ranks of the job; 0: not known
  std::int64_t tp = 0, pp = 0, dp = 0;  // 0: not known
  std::vector<std::pair<std::string, std::vector<Rank>>>
      hosts;                             // in the order of their first ranks
  std::vector<std::vector<Rank>> ranks;  // of each RankState, sorted; empty, or kRankStates of them
};

// Step times of the job, thinned: a point is the median of `bucket` rows.
struct StepChart {
  struct Slow {
    std::size_t begin = 0, end = 0;    // points; end is exclusive
    std::int64_t first = 0, last = 0;  // iterations
    double factor = 1;                 // to the baseline
    bool open = false;                 // lasts to the end of the attempt
  };
  struct Checkpoint {
    CheckpointEvent event = CheckpointEvent::saved;
    std::optional<std::int64_t> iteration;  // whose state it is
    std::size_t point = 0;
  };
  std::vector<std::int64_t> iteration;  // of the first row of each point
  std::vector<double> ms;               // median
  std::vector<double> high;             // the largest; empty when a point is one row
  std::vector<double> loss, grad_norm;  // medians, NaN = not printed; empty when none is
  std::vector<std::size_t> bad;         // points with a loss or a norm that is not a number
  std::vector<std::size_t> restarts;    // points at which an attempt begins
  std::vector<Slow> slow;
  std::vector<Checkpoint> checkpoints;  // in the order of the points
  double baseline = 0;                  // ms; 0: not known
  std::size_t rows = 0, bucket = 1;
};

// Who waits for whom. A node is a set of ranks that stand at the same place.
struct WaitPicture {
  struct Node {
    std::vector<Rank> ranks;  // sorted; empty: not known which
    std::int64_t size = 0;    // ranks, also when they are not known
    std::string hosts;        // folded; "" = not known
    Text doing;               // "all_reduce of tp", "never launched it"
    std::size_t layer = 0;    // waits to go until the end of the chain; 0: the end
    bool end = false;         // what the others wait for
  };
  struct Edge {
    std::size_t from = 0, to = 0;  // nodes
    std::string what;              // the operation that `from` is in
  };
  std::vector<Node> nodes;  // by layer, from the farthest to the end
  std::vector<Edge> edges;
  std::string source;      // stacks, collectives
  std::size_t hidden = 0;  // nodes that are left out
};

// Stacks of all trainers as one tree; frames that follow each other alone are one node.
struct StackIcicle {
  struct Node {
    std::vector<std::string> frames;  // outermost first
    std::size_t depth = 0;            // 0: the outermost; preorder
    std::uint64_t processes = 0;
    std::uint64_t odd = 0;  // of which the exception
    std::string ranks;      // as ranges
  };
  struct Odd {
    std::string ranks, hosts;
    Text doing;
    std::vector<std::string> frames;  // innermost first
  };
  std::vector<Node> nodes;
  std::vector<Odd> odd;  // opened for the reader
  std::uint64_t processes = 0;
  std::size_t hidden = 0;  // nodes that are left out
};

// A metric of one that left the crowd, with the crowd around it.
struct MetricPanel {
  std::string metric, unit, entity, crowd_name;
  Nanoseconds begin = 0, end = 0;          // of the picture, UTC
  Nanoseconds out_begin = 0, out_end = 0;  // it stood out
  // Equally long, a bin each; NaN = no sample. low and high: a tenth of the crowd lies beyond.
  std::vector<double> value, low, middle, high;
  std::size_t crowd = 0;  // how many others
};

// A version or a setting as the hosts print it.
struct SettingLine {
  struct Value {
    std::string value, hosts;  // hosts folded
    std::size_t count = 0;     // hosts
  };
  std::string name;
  std::vector<Value> values;  // most hosts first
  std::string missing;        // hosts that do not print it
  bool differs = false;
};
struct Settings {
  std::vector<SettingLine> lines;                  // differing ones first
  std::size_t hosts = 0, same = 0, differing = 0;  // settings, also those that are not in lines
};

struct TimePart {
  std::string name;
  Nanoseconds time = 0;
};

}  // namespace culprit
