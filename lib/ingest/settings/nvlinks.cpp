// nvidia-smi nvlink --status: how many links of each GPU are up.
#include <map>
#include <utility>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kNoneUp = "as all links are inActive";

class NvLinks final : public Kept {
 public:
  void begin_gpu(std::string index, const Place& place, std::optional<Host> host) {
    gpu_ = {host, std::move(index)};
    gpus_[gpu_] = {place};  // of several looks the last one
  }
  bool add(bool up) {
    if (gpu_.second.empty()) return false;
    Links& links = gpus_[gpu_];
    links.up += up;
    ++links.all;
    return true;
  }
  bool none_up() {
    if (gpu_.second.empty()) return false;
    gpus_[gpu_].none = true;
    return true;
  }
  void finish(Reading& reading) override {
    for (const auto& [gpu, links] : gpus_)
      if (links.all > 0 || links.none)
        reading.sink.put(ConfigRow{links.place, "gpu.nvlinks[" + gpu.second + "]",
                                   std::to_string(links.up), gpu.first});
  }

 private:
  struct Links {
    Place place;
    int up = 0, all = 0;
    bool none = false;  // so the tool says, and lists none
  };
  std::pair<std::optional<Host>, std::string> gpu_;  // whose links follow
  std::map<std::pair<std::optional<Host>, std::string>, Links> gpus_;
};

Outcome read_nvlinks(const TextLine& line, Reading& reading) {
  static const re2::RE2 kGpu(R"(^\s*GPU (\d{1,3}): .{1,80}\(UUID: GPU-)"),
      kLink(R"(^\s*Link \d{1,2}: (<inactive>|[\d.]+ GB/s)\s*$)");
  if (line.raw.size() > 200) return {};
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  std::string found;
  if (re2::RE2::PartialMatch(text, kGpu, &found)) {
    reading.keep<NvLinks>().begin_gpu(std::move(found), line.place,
                                      reading.host_of(line.line.prefix));
    return {};
  }
  if (contains(line.raw, kNoneUp)) return {reading.keep<NvLinks>().none_up()};
  if (!re2::RE2::PartialMatch(text, kLink, &found)) return {};
  return {reading.keep<NvLinks>().add(found != "<inactive>")};
}

constexpr std::string_view kNvLinkWords[] = {kNoneUp,  "<inactive>", "0 GB/s",      "1 GB/s",
                                             "2 GB/s", "5 GB/s",     " (UUID: GPU-"};

}  // namespace

extern const Recogniser kNvLinks;
constinit const Recogniser kNvLinks{"nvidia-smi-nvlink",
                                    "nvidia-smi nvlink --status: links of each GPU that are up",
                                    kNvLinkWords, read_nvlinks};

}  // namespace culprit::ingest
