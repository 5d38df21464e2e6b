// nvidia-smi pmon: which programs compute on each GPU of a machine. What stands there beside the
// job's own takes the GPU's time.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/metrics/metric_value.hpp"
#include "line/trimmed.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostPmonGpus = 64, kMostPrograms = 16;

// "# gpu  pid  type  sm  mem ... command", with a date and a time before them (-o DT).
struct PmonColumns {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t gpu = kNone, sm = kNone, command = kNone;
  bool known() const { return gpu != kNone && sm != kNone && command != kNone; }
};

PmonColumns pmon_columns(std::string_view raw) {
  raw = line::trimmed(raw);
  if (!raw.starts_with('#')) return {};
  raw.remove_prefix(1);
  PmonColumns out;
  std::vector<std::string_view> words;
  metric_words(raw, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "gpu") out.gpu = i;
    if (words[i] == "sm") out.sm = i;
    if (words[i] == "command") out.command = i;
  }
  return out;
}

class SmiPmon final : public RecordReader {
 public:
  Outcome read(std::string_view raw, const Place& place, Reading&) override {
    if (const PmonColumns next = pmon_columns(raw); next.known()) columns_ = next;
    std::vector<std::string_view> words;
    metric_words(raw, words);
    if (words.empty() || words.front().starts_with('#') || !columns_.known()) return {};
    const std::size_t most = std::max({columns_.gpu, columns_.sm, columns_.command});
    std::int64_t gpu = 0, busy = 0;
    if (words.size() <= most || !parse_whole(words[columns_.gpu], gpu) || gpu < 0 ||
        gpu >= static_cast<std::int64_t>(kMostPmonGpus))
      return {false, nullptr, "smi_pmon.columns"};
    auto& [first, programs] = programs_[gpu];
    if (first.line == 0) first = place;
    if (parse_whole(words[columns_.sm], busy) && busy >= kBusy && programs.size() < kMostPrograms)
      programs.emplace(words[columns_.command]);
    return {true};
  }
  void finish(Reading& reading) override {
    for (const auto& [gpu, told] : programs_)
      if (!told.second.empty())
        reading.sink.put(ConfigRow{told.first, fmt::format("gpu.program[{}]", gpu),
                                   fmt::format("{}", fmt::join(told.second, " "))});
  }

 private:
  static constexpr std::int64_t kBusy = 5;  // per cent: what only looks at a GPU needs less

  PmonColumns columns_;
  std::map<std::int64_t, std::pair<Place, std::set<std::string>>> programs_;
};

bool sniff_smi_pmon(const Head& head) {
  std::string_view rest = head.bytes;
  // The header is the first line, or follows the command that somebody typed.
  for (int lines = 0; !rest.empty() && lines < 3; ++lines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (pmon_columns(rest.substr(0, end)).known()) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::unique_ptr<RecordReader> make_smi_pmon(const Head&) { return std::make_unique<SmiPmon>(); }

}  // namespace

extern constinit const RecordText kSmiPmon{"nvidia-smi-pmon",
                                           "nvidia-smi pmon: which programs compute on each GPU",
                                           sniff_smi_pmon, make_smi_pmon, true};

}  // namespace culprit::ingest
