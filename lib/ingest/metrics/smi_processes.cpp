// The list of processes below the table of nvidia-smi: which programs hold each GPU. One more on
// one GPU than on all others is somebody else's.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

class SmiProcesses final : public Assembler {
 public:
  explicit SmiProcesses(const Reading& reading) : host_(reading.host_of({})) {}

  Step feed(const TextLine& line, Reading&) override {
    static const re2::RE2 kProcess(
        R"(^\|\s+(\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?\d+\s+C(?:\+G)?\s+(\S.*?)\s+(\d+)MiB \|)");
    static const re2::RE2 kOther(R"(^(?:\||\+[-=]))");
    const re2::StringPiece text(line.raw.data(), std::min<std::size_t>(line.raw.size(), 512));
    std::int64_t gpu = 0, mebibytes = 0;
    std::string program;
    if (!re2::RE2::PartialMatch(text, kProcess, &gpu, &program, &mebibytes))
      return re2::RE2::PartialMatch(text, kOther) ? Step::took : Step::not_mine;
    if (gpu < 0 || gpu >= kMostGpus || mebibytes < kLeastMemory) return Step::took;
    auto& [first, programs] = programs_[gpu];
    if (first.line == 0) first = line.place;
    program = program.substr(program.rfind('/') + 1);
    std::ranges::replace(program, ' ', '_');
    if (programs.size() < kMostPrograms) programs.push_back(program.substr(0, 64));
    return Step::took;
  }
  void finish(Reading& reading) override {
    for (auto& [gpu, told] : programs_) {
      std::ranges::sort(told.second);
      reading.sink.put(ConfigRow{.place = told.first,
                                 .name = fmt::format("gpu.program[{}]", gpu),
                                 .value = fmt::format("{}", fmt::join(told.second, " ")),
                                 .host = host_});
    }
  }

 private:
  static constexpr std::int64_t kMostGpus = 64;
  static constexpr std::size_t kMostPrograms = 16;
  static constexpr std::int64_t kLeastMemory = 128;  // MiB; a display or a monitor has a few
  std::optional<Host> host_;
  std::map<std::int64_t, std::pair<Place, std::vector<std::string>>> programs_;
};

Outcome read_smi_processes(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHeading(R"(^\| Processes: +(?:GPU Memory )?\|)");
  if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kHeading)) return {};
  return {true, std::make_unique<SmiProcesses>(reading)};
}

constexpr std::string_view kProcessesWords[] = {"| Processes:"};

}  // namespace

extern constinit const Recogniser kSmiProcesses{
    "nvidia-smi-processes", "processes below the table of nvidia-smi: which programs hold each GPU",
    kProcessesWords, read_smi_processes};

}  // namespace culprit::ingest
