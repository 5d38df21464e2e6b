// What torch's own analyser of flight recorders prints (torchfrtrace, torch/distributed/
// flight_recorder/components/types.py): one part for each collective that not all ranks joined.
//
//   Not all ranks joining collective, sequence number: 88120
//   group info: 41:EXPERT_MODEL_PARALLEL_GROUP
//   collective: nccl:all_to_all
//   missing ranks: {64, 72}
//   expected ranks: {0, 8, 16, 24, 32, 40, 48, 56, 64, 72}
#include <algorithm>
#include <string>
#include <vector>

#include "ingest/engine/operation.hpp"
#include "ingest/engine/recogniser.hpp"
#include "line/trimmed.hpp"
#include "model/number.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kNotAllJoined = "Not all ranks joining collective, sequence number: ";
constexpr std::size_t kMostFrontiers = 200'000;
constexpr int kForeignBetweenParts = 64;  // stacks of the program between two parts

// "{64, 72}", "[64, 72]", sorted; nothing else.
std::vector<Rank> ranks_in(std::string_view text) {
  std::string list(text);
  std::ranges::replace(list, '{', '[');
  std::ranges::replace(list, '}', ']');
  if (!list.starts_with('[')) return {};
  std::vector<Rank> ranks = from_ranges(list, kMostFrontiers);
  sort_unique(ranks);
  return ranks;
}

class RecorderAnalysis final : public Assembler {
 public:
  explicit RecorderAnalysis(std::int64_t sequence) : sequence_(sequence) {}

  std::uint64_t most_lines() const override { return 4'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line::trimmed(line.raw);
    if (text.starts_with(kNotAllJoined)) return Step::not_mine;  // the next collective
    const std::size_t colon = text.find(": ");
    const std::string_view key = text.substr(0, colon);
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : text.substr(colon + 2);
    if (key == "internal record id") {
      put(reading);
      return Step::took;
    }
    if (key == "group info") {
      const std::size_t between = value.find(':');
      group_.name = std::string(value.substr(0, between));
      if (between != std::string_view::npos)
        group_.description = std::string(value.substr(between + 1, 200));
    } else if (key == "collective") {
      operation_ = torch_operation(value.substr(value.find(':') + 1));
    } else if (key == "missing ranks") {
      missing_ = ranks_in(value);
      place_ = line.place;
    } else if (key == "expected ranks") {
      expected_ = ranks_in(value);
      std::int64_t count = 0;
      if (expected_.empty() && group_.name == "0" && parse_whole(value, count) &&
          count <= static_cast<std::int64_t>(kMostFrontiers))
        for (std::int64_t rank = 0; rank < count; ++rank) expected_.push_back(Rank(rank));
    } else if (key != "input sizes" && key != "output sizes" && key != "world size" &&
               key != "collective state") {
      return ++foreign_ > kForeignBetweenParts ? Step::not_mine : Step::watching;
    }
    foreign_ = 0;
    return Step::took;
  }

  void finish(Reading& reading) override { put(reading); }

 private:
  // Who joined has launched it and waits; the others had come as far as the one before.
  void put(Reading& reading) {
    if (!missing_.empty() && expected_.size() > missing_.size() &&
        rows_ + expected_.size() <= kMostFrontiers) {
      rows_ += expected_.size();
      group_.ranks = expected_;
      group_.size = static_cast<std::int64_t>(expected_.size());
      const GroupId id = reading.sink.group(group_);
      for (const Rank rank : expected_)
        put(rank, id, std::ranges::binary_search(missing_, rank), reading);
    }
    missing_.clear();
    expected_.clear();
    group_ = {};
    operation_.clear();
  }

  void put(Rank rank, GroupId group, bool missing, Reading& reading) const {
    const std::int64_t launched = missing ? sequence_ - 1 : sequence_;
    reading.sink.put(FrontierRow{.place = place_,
                                 .source = CollectiveSource::desync,
                                 .rank = rank,
                                 .group = group,
                                 .enqueued = launched,
                                 .started = launched,
                                 .completed = sequence_ - 1});
    if (!missing)
      reading.sink.put(CollectiveRow{.place = place_,
                                     .source = CollectiveSource::desync,
                                     .rank = rank,
                                     .group = group,
                                     .sequence = sequence_,
                                     .operation = operation_,
                                     .state = "timeout"});
  }

  std::int64_t sequence_;
  GroupRow group_;
  std::string operation_;
  std::vector<Rank> missing_, expected_;
  Place place_;
  std::size_t rows_ = 0;
  int foreign_ = 0;
};

Outcome read_recorder_analysis(const TextLine& line, Reading&) {
  const std::string_view text = line::trimmed(line.raw);
  const std::size_t at = text.find(kNotAllJoined);
  std::int64_t sequence = 0;
  if (at == std::string_view::npos ||
      !parse_whole(text.substr(at + kNotAllJoined.size()), sequence) || sequence < 1)
    return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<RecorderAnalysis>(sequence);
  return outcome;
}

constexpr std::string_view kAnalysisWords[] = {"Not all ranks joining collective"};

}  // namespace

extern constinit const Recogniser kRecorderAnalysis{
    "recorder-analysis", "torchfrtrace's text: ranks that did not join a collective",
    kAnalysisWords, read_recorder_analysis};

}  // namespace culprit::ingest
