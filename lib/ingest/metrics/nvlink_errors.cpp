// nvidia-smi nvlink -e: what each link of each GPU has counted since the driver was loaded. One
// look says little, two say which link takes errors now.
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/metric.hpp"

namespace culprit::ingest {

namespace {

// The GPU whose links follow.
struct NvLinkGpu final : Kept {
  std::string index;
  void finish(Reading&) override {}
};

Outcome read_nvlink_errors(const TextLine& line, Reading& reading) {
  static const re2::RE2 kGpu(R"(^\s*GPU (\d{1,3}): .{1,80}\(UUID: GPU-)"),
      kLink(
          R"(^\s*Link (\d{1,2}): (Replay|Recovery|CRC|CRC FLIT|CRC Data|ECC) Errors: (\d{1,18})\s*$)");
  if (line.raw.size() > 200) return {};
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  std::string index, kind;
  if (re2::RE2::PartialMatch(text, kGpu, &index)) {
    reading.keep<NvLinkGpu>().index = std::move(index);
    return {};
  }
  std::int64_t link = 0, value = 0;
  if (!re2::RE2::PartialMatch(text, kLink, &link, &kind, &value)) return {};
  const std::string& gpu = reading.keep<NvLinkGpu>().index;
  if (gpu.empty()) return {};
  for (char& c : kind) c = c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  SeriesRow key{.name = fmt::format("nvlink_{}_errors", kind), .kind = "counter"};
  key.host = reading.host_of(line.line.prefix);
  key.gpu = gpu;
  key.labels = fmt::format("{}{}", kLinkLabel, link);
  key.clock = Clock::none;
  SeriesBook& book = reading.keep<SeriesBook>();
  const auto series = book.series(key);
  if (series == SeriesBook::kFull) return {false, nullptr, "series.too_many"};
  book.add(series, kNoValue, kNoValue, static_cast<double>(value), line.place, reading);
  return {true};
}

constexpr std::string_view kNvLinkErrorWords[] = {
    "Replay Errors: ",   "Recovery Errors: ", "CRC Errors: ", "CRC FLIT Errors: ",
    "CRC Data Errors: ", "ECC Errors: ",      " (UUID: GPU-"};

}  // namespace

extern const Recogniser kNvLinkErrors;
constinit const Recogniser kNvLinkErrors{"nvidia-smi-nvlink-errors",
                                         "nvidia-smi nvlink -e: errors of each link of each GPU",
                                         kNvLinkErrorWords, read_nvlink_errors};

}  // namespace culprit::ingest
