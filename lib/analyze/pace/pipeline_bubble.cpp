// Takes stages and micro-batches from what each log prints at its start.
#include "analyze/pace/pipeline_bubble.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/facts/path_facts.hpp"
#include "model/number.hpp"

namespace culprit::analyze {

namespace {

struct Sizes {
  std::int64_t stages = 0, micro_batches = 0, chunks = 1;

  std::optional<double> share() const {
    if (stages < 2 || micro_batches < 1 || chunks < 1) return std::nullopt;
    const auto idle = static_cast<double>(stages - 1);
    return idle / (static_cast<double>(chunks) * static_cast<double>(micro_batches) + idle);
  }
};

// A run's log, or the folder that holds its log and its arguments.
std::string run_of(const MemberRow& m) {
  const std::size_t slash = m.path.rfind('/');
  return slash == std::string::npos ? m.path : m.path.substr(0, slash);
}

// Other numbers of one run are of another launch.
std::map<std::string, Sizes> sizes_of_runs(const Facts& facts) {
  std::map<std::string, Sizes> out;
  for (const ConfigRow& c : facts.configs) {
    std::int64_t value = 0;
    const MemberRow* m = facts.member(c.place.member);
    if (m == nullptr || !parse_whole(c.value, value) || value < 1) continue;
    if (c.name == "job.num_microbatches")
      out[run_of(*m)].micro_batches = value;
    else if (c.name == "job.pipeline_model_parallel_size" || c.name == "parallel.pp")
      out[run_of(*m)].stages = value;
    else if (c.name == "job.virtual_pipeline_model_parallel_size")
      out[run_of(*m)].chunks = value;
  }
  return out;
}

}  // namespace

std::optional<PipelineBubble> pipeline_bubble(const Facts& facts) {
  const std::map<std::string, Sizes> sizes = sizes_of_runs(facts);
  // By the words and numbers of their names, and when they began.
  using Key = std::tuple<int, std::int64_t, Nanoseconds, std::string>;
  std::vector<Key> runs;
  for (const ProgressSpan& p : facts.progress) {
    const MemberRow* m = facts.member(p.member);
    const auto known = m == nullptr ? sizes.end() : sizes.find(run_of(*m));
    if (known != sizes.end() && known->second.share())
      runs.emplace_back(file_of_run(m->path).age, m->attempt.value_or(0),
                        p.first.time_ns.value_or(0), known->first);
  }
  // Arguments that lie apart from the logs: by their names.
  if (runs.empty())
    for (const auto& [run, known] : sizes)
      if (known.share()) runs.emplace_back(file_of_run(run).age, 0, 0, run);
  if (runs.empty()) return std::nullopt;
  std::ranges::sort(runs);
  const Sizes& now = sizes.at(std::get<3>(runs.back()));
  PipelineBubble out{now.stages, now.micro_batches, *now.share(), {}};
  for (const Key& run : runs)
    if (std::get<3>(run) != std::get<3>(runs.back()))
      out.before = sizes.at(std::get<3>(run)).share();
  return out;
}

}  // namespace culprit::analyze
