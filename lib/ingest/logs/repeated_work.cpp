// The same work repeated on several GPUs, as people note how often the results were equal:
//
//   h100-070 gpu5: 20/20 identical, norm 0.2093        batch 7310 on dgx-06 gpu5: ... (46 of 50
//   equal)
//
// The one GPU whose results differ among themselves computes wrongly.
#include <map>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "line/trimmed.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kLeastRepeated = 5;
constexpr std::size_t kMostDevices = 10'000, kFewestOthers = 2;

class RepeatedWork final : public Kept {
 public:
  void add(std::string device, std::int64_t equal, std::int64_t all, const Place& place) {
    if (all < kLeastRepeated || equal > all ||
        (devices_.size() >= kMostDevices && !devices_.contains(device)))
      return;
    Device& one = devices_[std::move(device)];
    one.all += all;
    if (equal == all) return;
    if (one.odd == 0) one.place = place;
    one.odd += all - equal;
  }
  void finish(Reading& reading) override {
    const std::pair<const std::string, Device>* odd = nullptr;
    for (const auto& one : devices_) {
      if (one.second.odd == 0) continue;
      if (odd != nullptr) return;  // several: what they have in common
      odd = &one;
    }
    if (odd == nullptr || devices_.size() <= kFewestOthers) return;
    line::Line said;
    said.message =
        fmt::format("same work, other result: {} differs from {} others in {} of {} checks",
                    odd->first, devices_.size() - 1, odd->second.odd, odd->second.all);
    put_said(odd->second.place, said, reading.text_kind, reading);
  }

 private:
  struct Device {
    std::int64_t odd = 0, all = 0;
    Place place;
  };
  std::map<std::string, Device> devices_;
};

Outcome read_repeated_work(const TextLine& line, Reading& reading) {
  static const re2::RE2 kRow(
      R"((?i)\b([a-z][a-z0-9.-]*\d[a-z0-9.-]*)[ /:]+gpu ?(\d{1,2})\b.*?\b(\d{1,6})(?:/| of )(\d{1,6}) (?:bit-?)?(?:identical|equal)\b)");
  const std::string_view text = line::trimmed(line.raw);
  std::string host, gpu;
  std::int64_t equal = 0, all = 0;
  if (text.size() > 400 ||
      !re2::RE2::PartialMatch({text.data(), text.size()}, kRow, &host, &gpu, &equal, &all))
    return {};
  reading.keep<RepeatedWork>().add(fmt::format("GPU {} of {}", gpu, host), equal, all, line.place);
  return {true};
}

constexpr std::string_view kRepeatedWords[] = {"identical", " equal)", " equal,"};

}  // namespace

extern constinit const Recogniser kRepeatedWork{
    "repeated-work", "work repeated on several GPUs: the one whose results differ", kRepeatedWords,
    read_repeated_work};

}  // namespace culprit::ingest
